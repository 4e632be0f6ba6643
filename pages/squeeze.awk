# Takes blanks out of scripts that stand between a line "<script>" and a line
# "</script>", and out of styles likewise, where nothing needs them: not in strings, templates and regular
# expressions, nor between two words.  A line goes on in the next one where it
# could not end there anyway.  A string, template or expression that does so is
# an error.

function word(c) {
    return c ~ /[A-Za-z0-9_$]/ || c > "~"
}

function squeeze(line,  n, i, c, out, last, state, depth, deep, class) {
    n = length(line)
    state = "code"
    deep = 0

    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)

        if (state == "code") {

            if (c == " ") {
                after = substr(line, i + 1, 1)
                if (after == " ") { continue }
                if (word(last) && word(after)) { out = out c; last = c }
                else if (last == after && last ~ /[-+\/]/) { out = out c }
                continue
            }
            if (c == "\"" || c == "'" || c == "`") {
                state = c
            } else if (c == "/" && (last == "" || last ~ /[(,=:[!&|?{};>]/)) {
                state = "/"
                class = 0
            } else if (c == "{" && deep) {
                depth[deep]++
            } else if (c == "}" && deep) {
                if (depth[deep] == 0) { deep--; state = "`" }
                else { depth[deep]-- }
            }

        } else if (c == "\\") {
            out = out c
            c = substr(line, ++i, 1)

        } else if (state == "`" && c == "$" && substr(line, i + 1, 1) == "{") {
            out = out c
            c = substr(line, ++i, 1)
            depth[++deep] = 0
            state = "code"

        } else if (state == "/" && c == "[") {
            class = 1

        } else if (state == "/" && c == "]") {
            class = 0

        } else if (c == state && !(state == "/" && class)) {
            state = "code"
        }

        out = out c
        last = c
    }

    if (state != "code" || deep) {
        print "a line that does not end as it begins: " line > "/dev/stderr"
        exit 1
    }

    return out
}

# of a style: which has no strings with these

function trim(line) {
    gsub(/: /, ":", line)
    gsub(/, /, ",", line)
    gsub(/ \{/, "{", line)
    return line
}

$0 == "</script>" { script = 0 }
$0 == "</style>" { style = 0 }
style { print trim($0); next }
script { line = squeeze($0); printf line ~ /[;{,(]$/ ? "%s" : "%s\n", line; next }
{ print }
$0 == "<script>" { script = 1 }
$0 == "<style>" { style = 1 }
