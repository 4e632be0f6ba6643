# The names of scripts' arguments, keys and answers: one list, at the head of
# each script, for Lua and for C.  What is not as the list has it stops the
# build, since lua/embed.sh, which the makefile runs, fails.

use FindBin;
use lib "$FindBin::Bin/../lib";
use Admission::Test;

my $dir = test_dir . '/lua';
my @c = grep { read_file($_) =~ /ngx_http_admission_names\.h/ } sources('c');

mkdir $dir or die "$dir: $!";


# the status and what is printed, for files of the directory

sub embed (@args) {
    return run('sh', '-c', 'cd "$0" && exec sh embed.sh "$@" 2>&1', $dir, @args);
}

sub put ($name, $text) {
    open my $file, '>', "$dir/$name" or die "$name: $!";
    print $file $text;
    close $file or die "$name: $!";
}

sub copy () {
    put(s{.*/}{}r, read_file($_)) for glob root . '/lua/*';
}

copy;
my @lua = map { s{.*/}{}r } glob "$dir/*.lua";


# ---- what is there

my ($status, $header) = embed('-n', @lua);
is $status, 0, 'the names of all scripts, for C';
put('names.h', $header);

($status, my $said) = embed('-c', 'names.h', @c);
is $status, 0, 'C has them all' or diag $said;

for my $name (grep { !/_lib/ } @lua) {
    my ($status, $text) = embed('-e', $name);

    is $status, 0, "$name is printed";
    unlike $text, qr/\b(?:KEY|ARG|EACH|REPLY|DID)\b/, "$name: as numbers";
}


# ---- what they come to

put('names.lua', <<'END');
-- keys: queue active-seen
-- args: user now
-- each: score at
-- reply: state size
local a = #ARG
for i = #ARG, #ARGV - 1, #EACH do
  a = a + ARG.score[i] + ARG.at[i]
end
local answer = { [REPLY.state] = KEY.queue, [REPLY.size] = a }
answer[REPLY.size] = KEY.active_seen .. ARG.user .. ARG.now
return answer
END

is((embed('-e', 'names.lua'))[1], "\n" x 4 . <<'END', 'names are numbers');
local a = 2
for i = 2, #ARGV - 1, 2 do
a = a + ARGV[i + 1] + ARGV[i + 2]
end
local answer = { KEYS[1], a }
answer[2] = KEYS[2] .. ARGV[1] .. ARGV[2]
return answer
END

like((embed('-n', 'names.lua'))[1],
     qr/ARG_NAMES_NOW = 1,\n +NGX_ADM_ARG_NAMES_COUNT = 2\n/,
     'and of an enum');
is((embed('-l', 'names.lua'))[1],
   "keys queue active-seen\nargs user now\neach score at\nreply state size\n",
   'the lists, for tests');


# ---- what is wrong

sub wrong ($what, $name, $from, $to, $why) {
    my $text = read_file("$dir/$name");
    my $changed = $text =~ s/$from/$to/r;

    isnt $changed, $text, "$what: $name has it";
    put($name, $changed);

    # as the makefile does

    my ($status, $said) = embed(@lua);
    isnt $status, 0, "$what stops the build";
    like $said, $why, 'which says why';
    put($name, $text);
}

wrong('an argument that is in no list', 'queue_leave.lua', qr/ARG\.held/,
      'ARG.holds', qr/queue_leave\.lua:\d+: ARG\.holds is in no list/);
wrong('an argument that is not listed any more', 'queue_leave.lua',
      qr/^(-- args: .*) held$/m, '-- args: user beacon',
      qr/ARG\.held is in no list/);
wrong('one that is listed and not used', 'queue_leave.lua',
      qr/^-- args: user/m, '-- args: more user',
      qr/"more" of "args" is not used/);
wrong('one that is listed twice', 'queue_leave.lua',
      qr/^-- args: user/m, '-- args: brief user', qr/"brief" is listed twice/);
wrong('a key that is in no list', 'queue_state_lib.lua', qr/KEY\.seen/,
      'KEY.heard', qr/KEY\.heard is in no list/);
wrong('an argument by its number', 'queue_leave.lua', qr/ARG\.user/,
      'ARGV[20]', qr/ARGV\[\] instead of a name/);
wrong('a key by its number', 'queue_revoked.lua', qr/KEY\.state/, 'KEYS[2]',
      qr/KEYS\[\] instead of a name/);
wrong('an answer in another order', 'queue_state_lib.lua',
      qr/(\[REPLY\.us\] = .*\n)( *\[REPLY\.clock\] = .*\n)/, '[REPLY.clock] = 0, ',
      qr/REPLY\.clock is not where its list has it/);
wrong('an answer without its last field', 'vwr_lib.lua',
      qr/,\n *\[REPLY\.at\] = at \}/, ' }', qr/the answer before lacks "at"/);
wrong('a library that is not there', 'queue_leave.lua', qr/queue_lib\.lua/,
      'queue_lab.lua', qr/queue_lab\.lua: not found/);

put('names.h', $header =~ s/(\w+_ARG_\w+)_COUNT = /$1_MORE = 99,\n    $&/r);
($status, $said) = embed('-c', 'names.h', @c);
isnt $status, 0, 'an argument that C does not give stops the build';
like $said, qr/_MORE: no C file has it/, 'which says so';

done_testing;
