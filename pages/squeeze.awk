# Makes scripts that stand between a line "<script>" and a line "</script>"
# short, and styles likewise: blanks and ends of lines go where nothing needs
# them, not in strings, templates and regular expressions, nor between two words;
# and names that a script declares become short ones.  A string, template or
# expression that goes on in the next line is an error.

function word(c) {
    return c ~ /[A-Za-z0-9_$]/ || c > "~"
}

function squeeze(line,  n, i, c, out, last, after, state, depth, deep, class) {
    n = length(line)
    state = "code"
    deep = 0
    ends = 0

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
            } else if (c == ";") {
                ends++
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

function trim(text) {
    gsub(/: /, ":", text)
    gsub(/, /, ",", text)
    gsub(/ *\{ */, "{", text)
    gsub(/ *;+ *\}/, "}", text)
    gsub(/; /, ";", text)
    return text
}

# Whether nothing is lost if a line goes on in the next one.  Every statement of
# the scripts ends with a ";" or a "}", so that no end of a line does.

function joins(line, after) {
    line = substr(line, length(line))
    after = substr(after, 1, 1)
    return !(word(line) && word(after)) && !(line == after && line ~ /[-+\/]/)
}

# A declaration that is one line, and one of its kind after it: "const" and the
# like are said once.

function declares(line,  kind) {
    kind = line ~ /^const / ? "const" : line ~ /^let / ? "let" : ""
    return ends == 1 && line ~ /;$/ ? kind : ""
}

function put(line,  kind, one) {
    kind = declares(line)
    if (match(line, /^(async )?(const|let|function) [A-Za-z_][A-Za-z0-9_]*/)) {
        one = substr(line, 1, RLENGTH)
        sub(/.* /, "", one)
        mine[one] = 1
    }

    if (kind != "" && kind == declared) {
        text = substr(text, 1, length(text) - 1) ","
        line = substr(line, length(kind) + 2)
    } else if (text != "" && !joins(text, line)) {
        text = text "\n"
    }
    declared = kind
    text = text line
}

# The text of a script cut into words, which are names, and what is between
# them.  A name that is a key of an object, or follows a dot, stays as it is
# wherever it is.

function cut(text,  n, i, c, was, last, state, deep, depth, class, level, kind) {
    n = length(text)
    state = "code"
    deep = level = pieces = 0
    piece[0] = ""

    for (i = 1; i <= n; i++) {
        c = substr(text, i, 1)

        if (state == "code" && match(substr(text, i, 64), /^[A-Za-z0-9_$]+/)) {
            c = substr(text, i, RLENGTH)
            i += RLENGTH - 1
            was = piece[pieces]
            name[++pieces] = c
            piece[pieces] = ""
            used[c]++

            if (was ~ /\.$/ && was !~ /\.\.\.$/) { keys[c] = 1 }
            if (kind[level] == "object" && last ~ /^([{,]|async)$/) { keys[c] = 1 }
            last = c
            continue
        }

        if (state != "code") {

            if (c == "\\") {
                piece[pieces] = piece[pieces] c
                c = substr(text, ++i, 1)

            } else if (state == "`" && c == "$" && substr(text, i + 1, 1) == "{") {
                piece[pieces] = piece[pieces] c
                c = substr(text, ++i, 1)
                depth[++deep] = ++level
                kind[level] = "block"
                state = "code"

            } else if (state == "/" && c == "[") {
                class = 1

            } else if (state == "/" && c == "]") {
                class = 0

            } else if (c == state && !(state == "/" && class)) {
                state = "code"
            }

        } else if (c ~ /["'`]/) {
            state = c

        } else if (c == "/" && (last == "" || last ~ /[(,=:[!&|?{};>]/)) {
            state = "/"
            class = 0

        } else if (c ~ /[({[]/) {
            kind[++level] = c == "{" && last ~ /^([(,=:?[&|]|return|const|let)$/ \
                            ? "object" : "block"

        } else if (c ~ /[)}\]]/) {
            if (c == "}" && deep && depth[deep] == level) {
                deep--
                state = "`"
            }
            level--
        }

        piece[pieces] = piece[pieces] c
        last = c
    }

    if (level) {
        print "a script whose brackets do not match" > "/dev/stderr"
        exit 1
    }
}

# the next of a, b, c, ..., aa, ab, ... that the script does not have

function unused(  letters, n, one) {
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    do {
        n = names++
        one = substr(letters, n % 52 + 1, 1)
        if (n >= 52) { one = substr(letters, int(n / 52), 1) one }
    } while ((one in used) || one ~ /^(as|do|if|in|is|of)$/)
    return one
}

function renamed(text,  i, one, best, most, out) {
    cut(text)
    names = 0

    do {
        most = 0
        for (one in mine) {
            i = (one in keys) ? 0 : used[one] * (length(one) - 1)
            if (i > most || (i == most && one < best)) {
                most = i
                best = one
            }
        }
        if (most) { short[best] = unused() }
        delete mine[best]
    } while (most)

    out = piece[0]
    for (i = 1; i <= pieces; i++) {
        out = out ((name[i] in short) ? short[name[i]] : name[i]) piece[i]
    }
    return out
}

$0 == "</script>" { print renamed(text); script = 0 }
$0 == "</style>" { print trim(text); style = 0 }
style { text = text $0; next }
script { put(squeeze($0)); next }
{ print }
$0 == "<script>" { script = 1; text = declared = "" }
$0 == "<style>" { style = 1; text = "" }
