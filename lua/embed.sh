#!/bin/sh

# Usage: embed.sh a.lua b.lua ... > header
#        embed.sh -n a.lua b.lua ... > header
#        embed.sh -c header a.c b.c ...
#        embed.sh -e a.lua, embed.sh -l a.lua
#
# Prints each script as a C string, "queue_check.lua" as
# ngx_adm_lua_queue_check, with its keys.  Comment lines become
# empty and indentation goes; lines keep their numbers, so that an error that
# Redis reports can be looked up in the script, as -e prints it.  A line
# "-- @include queue_lib.lua" stands for that file, and files *_lib.lua are for
# that alone.
#
# Arguments, keys and what is answered have names in scripts and in C, by lists
# at the heads of scripts: see embed.awk.  -n prints C's.  -c fails if an
# argument of that header, or a field of an answer, is nowhere in those C files:
# what a script asks for is to be given, what it tells is to be read.
#
# -e prints the one script as it is sent to Redis, for a look or a benchmark;
# -l its lists.

set -e

LC_ALL=C
export LC_ALL

awk=`dirname "$0"`/embed.awk

begin() {
    cat << END

/* made by lua/embed.sh from the scripts next to it: change those */

#ifndef _NGX_ADM_$1_H_INCLUDED_
#define _NGX_ADM_$1_H_INCLUDED_
END
}

end() {
    printf '\n\n#endif /* _NGX_ADM_%s_H_INCLUDED_ */\n' "$1"
}

case "$1" in

-e)
    exec awk -v what=text -f "$awk" "$2"
    ;;

-l)
    exec awk -v what=lists -f "$awk" "$2"
    ;;

-n)
    shift
    begin NAMES

    for file in "$@"; do
        awk -v what=names -f "$awk" "$file"
    done

    end NAMES
    exit
    ;;

-c)
    shift
    exec awk '
        FNR == 1 { files++ }

        files == 1 {
            if ($1 ~ /^NGX_ADM_(ARG|EACH|REPLY|DID)_.*[A-Z0-9]$/ \
                && $1 !~ /_COUNT$/)
            {
                names[$1] = 1
            }
            next
        }

        {
            gsub(/[^A-Z0-9_]+/, " ")
            n = split($0, word, " ")
            for (i = 1; i <= n; i++) { delete names[word[i]] }
        }

        END {
            for (name in names) {
                print name ": no C file has it" > "/dev/stderr"
                missing = 1
            }
            exit missing
        }
    ' "$@"
    ;;
esac

begin LUA

for file in "$@"; do

    # what spans lines would be damaged by dropping indentation and comments

    if grep -n -e '\[\[' -e '\[=' -e '\\$' "$file" >&2; then
        echo "$file: no long strings, block comments or continued lines" >&2
        exit 1
    fi

    case "$file" in
        *_lib.lua) continue ;;
    esac

    name=`basename "$file" .lua | tr -c 'A-Za-z0-9\n' _`

    printf '\n'
    awk -v what=counts -f "$awk" "$file"

    printf '\nstatic const char  ngx_adm_lua_%s[] =\n' "$name"

    # "?" is escaped for the sake of trigraphs

    awk -v what=text -f "$awk" "$file" \
        | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' \
              -e 's/.*/    "&\\n"/'

    echo '    "";'
done

end LUA
