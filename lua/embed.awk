# Usage: awk -v what=WHAT -f embed.awk FILE.lua
#
# Gives the inputs and the answer of a script their names.  The head of a
# script, and that of a *_lib.lua which it includes, lists them:
#
#   -- keys: queue active-seen      KEY.active_seen  is  KEYS[2]
#   -- args: user now               ARG.now          is  ARGV[2]
#   -- each: score at               ARG.at[i]        is  ARGV[i + 2]
#   -- reply: state size            REPLY.size       is  2
#   -- did: left stale              DID.stale        is  2, the same for a list
#                                                    inside of an answer
#
# "each" is a group of arguments that follows the others any number of times.
# A table that is answered names its fields, { [REPLY.state] = 1, ... }: these
# have to be in the order of the list, of which nothing but values is left.
# #KEY, #ARG, #EACH, #REPLY and #DID are the lengths of lists.  Names of the
# library come first.  All is resolved here: Redis gets plain numbers.
#
# WHAT is
#   text    the script as Redis gets it: without comments and indentation, a
#           line a line
#   counts  how many keys and arguments it has, and the names of keys, as C
#   names   an enum for each list of FILE itself, as C; a library's names are
#           of the family, "queue" for queue_lib.lua and queue_state_lib.lua
#   lists   the lists, for tests
#
# It fails for a name that is in no list, for one that is in two, for a key or
# an argument that is listed and not used, for one without a name, and for an
# answer that is not as its list.

BEGIN {
    file = ARGV[1]
    kinds = split("keys args each reply did", kind_names, " ")
    prefixes = split("KEY ARG EACH REPLY DID", kind_prefixes, " ")

    for (i = 1; i <= kinds; i++) {
        prefix_of[kind_names[i]] = kind_prefixes[i]
        kind_of[kind_prefixes[i]] = kind_names[i]
        count[kind_names[i]] = shared[kind_names[i]] = 0
    }

    load(file, 1)

    for (kind in count) { shared[kind] = count[kind] }

    # the library's are known by now
    for (i = 1; i <= nown; i++) { declare(own_kind[i], own_names[i]) }

    if (what == "names") {
        print_names()

    } else if (what == "lists") {
        for (i = 1; i <= kinds; i++) {
            if (count[kind_names[i]]) {
                print kind_names[i] listed[kind_names[i]]
            }
        }

    } else {
        resolve_all()

        if (what == "counts") {
            print_counts()

        } else {
            for (i = 1; i <= n; i++) { print text[i] }
        }
    }
}


function fail(at, message) {
    print at ": " message > "/dev/stderr"
    failed = 1
    exit 1
}


# the lines of a file, with what it includes, and its lists

function load(path, top,    line, number, got, dir, field) {
    number = 0

    while ((got = (getline line < path)) > 0) {
        number++

        if (line ~ /^-- @include /) {
            split(line, field, " ")
            dir = path
            if (!sub(/[^\/]*$/, "", dir)) { dir = "" }
            load(dir field[3], 0)
            continue
        }

        if (line ~ /^-- (keys|args|each|reply|did): /) {
            at_line = path ":" number
            split(line, field, " ")
            sub(/:.*/, "", field[2])
            sub(/^[^:]*: /, "", line)

            if (top) {
                own_kind[++nown] = field[2]
                own_names[nown] = line
            } else {
                declare(field[2], line)
            }

            line = ""
        }

        lines[++n] = line
        where[n] = path ":" number
    }

    if (got < 0) { fail(path, "not found") }
    close(path)
}


function declare(kind, names,    i, k, name) {
    k = split(names, name, " ")

    for (i = 1; i <= k; i++) {
        listed[kind] = listed[kind] " " name[i]
        spelled[kind, ++count[kind]] = name[i]
        gsub(/-/, "_", name[i])

        if (name[i] !~ /^[a-z][a-z0-9_]*$/ || name[i] == "count") {
            fail(file, "\"" name[i] "\" is no name")
        }
        if ((kind, name[i]) in place \
            || kind == "each" && ("args", name[i]) in place \
            || kind == "args" && ("each", name[i]) in place)
        {
            fail(file, "\"" name[i] "\" is listed twice")
        }

        place[kind, name[i]] = count[kind]
        named[kind, count[kind]] = name[i]
    }
}


function resolve_all(    i, k, kind) {
    for (i = 1; i <= n; i++) {
        text[i] = lines[i]
        sub(/^[ \t]+/, "", text[i])
        sub(/[ \t]+$/, "", text[i])

        if (text[i] ~ /^--/) {
            text[i] = ""
        }

        text[i] = resolve(text[i], where[i])
    }

    answered("reply", file)
    answered("did", file)

    for (k = 1; k <= 3; k++) {
        kind = kind_names[k]

        for (i = 1; i <= count[kind]; i++) {
            if (!((kind, i) in used)) {
                fail(file, "\"" named[kind, i] "\" of \"" kind \
                     "\" is not used")
            }
        }
    }
}


function resolve(rest, at,    out, word, prefix, kind, name, index_of) {
    out = ""

    while (match(rest, /[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?/)) {
        out = out substr(rest, 1, RSTART - 1)
        word = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)

        if (word == "ARGV" && rest ~ /^\[/ \
            || word == "KEYS" && rest ~ /^\[[0-9]/)
        {
            fail(at, word "[] instead of a name")
        }

        prefix = name = word
        sub(/\..*/, "", prefix)

        if (!(prefix in kind_of)) {
            out = out word
            continue
        }

        kind = kind_of[prefix]

        if (prefix == word) {
            if (out !~ /#$/) { fail(at, word " without a name") }
            out = substr(out, 1, length(out) - 1) count[kind]
            continue
        }

        sub(/^[^.]*\./, "", name)

        if (kind == "args" && ("each", name) in place) {
            kind = "each"
        }

        if (!((kind, name) in place)) {
            fail(at, word " is in no list")
        }

        index_of = place[kind, name]
        used[kind, index_of] = 1

        if (kind == "keys") {
            out = out "KEYS[" index_of "]"

        } else if (kind == "args") {
            out = out "ARGV[" index_of "]"

        } else if (kind == "each") {
            if (!match(rest, /^\[[a-z]+\]/)) {
                fail(at, word " without [place]")
            }
            out = out "ARGV" substr(rest, 1, RLENGTH - 1) " + " index_of "]"
            rest = substr(rest, RLENGTH + 1)

        } else if (out ~ /(^|[^])A-Za-z0-9_])\[$/ && rest ~ /^\] = /) {
            # a field of a table
            if (index_of == 1) { answered(kind, at) }
            if (index_of != ++field_of[kind]) {
                fail(at, word " is not where its list has it")
            }
            out = substr(out, 1, length(out) - 1)
            rest = substr(rest, 5)

        } else {
            out = out index_of
        }
    }

    return out rest
}


# a table that has begun has all fields, or those of the library

function answered(kind, at) {
    if (field_of[kind] != 0 && field_of[kind] != count[kind] \
        && field_of[kind] != shared[kind])
    {
        fail(at, "the answer before lacks \"" \
             named[kind, field_of[kind] + 1] "\"")
    }
    field_of[kind] = 0
}


# "queue_check" for lua/queue_check.lua

function unit(    name) {
    name = file
    sub(/.*\//, "", name)
    sub(/\.lua$/, "", name)
    if (name ~ /_lib$/) { sub(/_.*/, "", name) }
    return name
}


function print_names(    i, k, kind, name, first) {
    for (k = 1; k <= kinds; k++) {
        kind = kind_names[k]
        first = shared[kind] + 1

        if (count[kind] < first) { continue }

        name = "    NGX_ADM_" prefix_of[kind] "_" \
               toupper(unit()) "_"

        print "\n\nenum {"
        for (i = first; i <= count[kind]; i++) {
            print name toupper(named[kind, i]) " = " i - 1 ","
        }
        print name "COUNT = " count[kind]
        print "};"
    }
}


function print_counts(    i, name) {
    name = "ngx_adm_lua_" unit()

    print "\nenum {"
    print "    " name "_argc = " count["args"] ","
    print "    " name "_nkeys = " count["keys"]
    print "};"

    print "\nstatic ngx_str_t  " name "_keys[] = {"
    for (i = 1; i <= count["keys"]; i++) {
        print "    ngx_string(\"" spelled["keys", i] "\"),"
    }
    print "    ngx_null_string"
    print "};"
}
