#!/bin/sh

# Usage: embed.sh tier1.html tier2.html ... > header
#
# Prints each page as a C string, "tier1.html" as
# ngx_adm_pages_tier1.  A line "@include page.css" stands for that
# file, which is next to the page and may include others.  Indentation, empty
# lines, lines that are HTML comments and lines of scripts that are comments
# go, and esbuild makes scripts and styles short.  With -e FILE the one page is
# printed as it is sent, for a look; with -u FILE as it is before esbuild.

set -e

LC_ALL=C
export LC_ALL

page() {
    text=`awk -v dir="\`dirname "$1"\`" '
        function put(line) {
            if (line ~ /^@include /) { include(dir "/" substr(line, 10)) }
            else { print line }
        }
        function include(file,  line, got) {
            while ((got = (getline line < file)) > 0) { put(line) }
            if (got < 0) { print file ": not found" > "/dev/stderr"; exit 1 }
            close(file)
        }
        { put($0) }
    ' "$1"`

    printf '%s\n' "$text" | sed -e 's/^[[:space:]]*//' -e 's/[[:space:]]*$//' \
        -e '/^\/\//d' -e '/^\/\*.*\*\/$/d' -e '/^<!--.*-->$/d' -e '/^$/d'
}

# Names that a script declares become short ones as well.  Without esbuild pages
# are longer, and do the same.

if command -v esbuild > /dev/null; then
    esbuild='esbuild --charset=utf8 --log-level=warning --minify-whitespace'
else
    esbuild=
fi

squeezed() {
    page "$1" | awk -v esbuild="$esbuild" '
        $0 == "</script>" { squeeze("js --target=es2018 --minify-identifiers") }
        $0 == "</style>" { squeeze("css") }
        inside { text = text $0 "\n"; next }
        { print }
        $0 == "<script>" || $0 == "<style>" { inside = esbuild != ""; text = "" }

        function squeeze(as,  command) {
            if (!inside) { return }
            inside = 0
            command = esbuild " --loader=" as
            fflush()
            printf "%s", text | command
            if (close(command)) { exit 1 }
        }
    '
}

case $1 in
-e) squeezed "$2"; exit ;;
-u) page "$2"; exit ;;
esac

cat << END

/* made by pages/embed.sh from the pages next to it: change those */

#ifndef _NGX_ADM_PAGES_H_INCLUDED_
#define _NGX_ADM_PAGES_H_INCLUDED_

END

for file in "$@"; do

    html=`squeezed "$file"`
    name=`basename "$file" .html | tr -c 'A-Za-z0-9\n' _`

    printf '\nstatic const char  ngx_adm_pages_%s[] =\n' "$name"

    # "?" is escaped for the sake of trigraphs

    printf '%s\n' "$html" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' \
        -e 's/?/\\?/g' -e 's/.*/    "&\\n"/'

    echo '    "";'
done

printf '\n\n#endif /* _NGX_ADM_PAGES_H_INCLUDED_ */\n'
