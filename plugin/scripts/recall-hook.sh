#!/usr/bin/env bash
# Claude Code's UserPromptSubmit hook: asks every connected passageway for passages that bear on the prompt and hands
# them on as context. It never blocks a prompt: whatever goes wrong, it prints nothing and ends with 0, in 1.5 s.
#
# Configuration: passageway.json ({"url": "...", "token": "..."}) and passageway-NAME.json for further instances, in
# $CLAUDE_PLUGIN_DATA or ${CLAUDE_CONFIG_DIR:-~/.claude}/plugin-data/passageway. Needs bash, curl, and jq or python3.
set -u
umask 077
exec 2>/dev/null

MAX_PROMPT_CHARS=20000
MAX_CONTEXT_CHARS=9500 # Claude Code puts what is over 10,000 into a file
MAX_REPLY_BYTES=1000000
MAX_WAIT_S=1.3 # the server answers within 1

# Ends without output and without an error, which would reject the prompt.
give_up() { exit 0; }

# macOS has a python3 that only offers to install one; running it is the test.
if command -v jq >/dev/null; then
    json=jq
elif python3 -c 'import json' </dev/null; then
    json=python3
else
    give_up
fi
command -v curl >/dev/null || give_up

work=$(mktemp -d "${TMPDIR:-/tmp}/passageway-hook.XXXXXX") || give_up
trap 'rm -rf "$work"' EXIT
trap give_up HUP INT TERM

# Prints the configuration files: the plugin's own folder first, each name once.
config_files() {
    local folder file name seen=" "
    for folder in "${CLAUDE_PLUGIN_DATA:-}" "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/plugin-data/passageway"; do
        [ -n "$folder" ] || continue
        for file in "$folder"/passageway.json "$folder"/passageway-*.json; do
            name=${file##*/}
            case "$seen" in *" $name "*) continue ;; esac
            [ -f "$file" ] && [ -r "$file" ] || continue
            seen="$seen$name "
            printf '%s\n' "$file"
        done
    done
}

# Prints what a trilium-recall installation left, which speaks the same protocol; used while nothing replaces it.
old_config_file() {
    local folder
    for folder in "${CLAUDE_PLUGIN_DATA:-}" "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/plugin-data/passageway" \
        "${CLAUDE_CONFIG_DIR:-${HOME:-}/.claude}/plugin-data/trilium-recall"; do
        [ -n "$folder" ] && [ -f "$folder/recall.json" ] && { printf '%s\n' "$folder/recall.json"; return; }
    done
}

# Stdin is the configuration files in order, then Claude Code's input, with a record separator after each file: JSON
# holds that character only escaped. Stdout is the request's body in one line, then two lines for each file, curl's
# address and its header with the password, which thereby is in no process table; two empty ones for a file that is none.
# One program reads it all, because starting one costs more than the rest of this script.
requests() {
    if [ "$json" = jq ]; then
        jq -Rrs --argjson most "$MAX_PROMPT_CHARS" --argjson files "$1" '
            def of_file: fromjson
                | select((.url | type == "string" and test("^https?://[^\\s\"\\\\]+$")) and (.token | type == "string"))
                | select(.token | test("[[:cntrl:]]") | not)
                | ["url = \"\(.url | sub("/+$"; ""))/recall\"",
                   "header = \"Authorization: Bearer \(.token | gsub("(?<c>[\\\\\"])"; "\\\(.c)"))\""];
            split("\u001e") | .[:$files] as $configs | .[$files:] | join("\u001e") | fromjson
            | {prompt: (.prompt | strings | .[:$most]), session_id: (.session_id // ""), cwd: (.cwd // "")}
            | tojson, ($configs[] | ((try of_file catch null) // ["", ""])[])'
    else
        python3 -c 'import json, re, sys
most, files = map(int, sys.argv[1:])
*configs, said = sys.stdin.buffer.read().split(b"\x1e", files)
said = json.loads(said)
if not isinstance(said["prompt"], str):
    sys.exit(1)
sent = {name: said.get(name) or "" for name in ("session_id", "cwd")}
lines = [json.dumps({"prompt": said["prompt"][:most], **sent})]
for config in configs:
    try:
        config = json.loads(config)
        url, token = config["url"], config["token"]
        good = re.fullmatch(r"https?://[^\s\"\\]+", url) and not re.search(r"[\x00-\x1f\x7f]", token)
    except (ValueError, KeyError, TypeError):
        good = False
    if good:
        token = re.sub(r"([\\\"])", r"\\\1", token)
        lines += [f"url = \"{url.rstrip(chr(47))}/recall\"", f"header = \"Authorization: Bearer {token}\""]
    else:
        lines += ["", ""]
sys.stdout.buffer.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogatepass"))' \
            "$MAX_PROMPT_CHARS" "$1"
    fi
}

# The replies on stdin, a record separator after each, to what Claude Code reads; nothing when none has a context.
hook_output() {
    if [ "$json" = jq ]; then
        jq -Rcs --argjson most "$MAX_CONTEXT_CHARS" '
            reduce (split("\u001e")[] | fromjson? | objects | .context | strings) as $c ("";
                (if . == "" then $c else . + "\n\n" + $c end) as $all
                | if ($all | length) > $most then . else $all end)
            | select(. != "")
            | {hookSpecificOutput: {hookEventName: "UserPromptSubmit", additionalContext: .}}'
    else
        python3 -c 'import json, sys
most, context = int(sys.argv[1]), ""
for reply in sys.stdin.buffer.read().split(b"\x1e"):
    try:
        more = json.loads(reply)["context"]
    except (ValueError, KeyError, TypeError):
        continue
    if isinstance(more, str) and more and len(context) + len(more) + 2 <= most:
        context = f"{context}\n\n{more}" if context else more
if context:
    specific = {"hookEventName": "UserPromptSubmit", "additionalContext": context}
    print(json.dumps({"hookSpecificOutput": specific}))' "$MAX_CONTEXT_CHARS"
    fi
}

# Prints files, a record separator after each.
joined() {
    local file
    for file in "$@"; do printf '%s\036' "$(<"$file")"; done
}

# Asks one instance, by its number; its answer, when it is one, is in reply-NUMBER.
ask() {
    # -q: no ~/.curlrc. A proxy for the world is none for this machine. What is left of 1.5 s is for the rest of this.
    curl -q --config "$work/curl-$1" --silent --fail --proto '=http,https' --max-time "$MAX_WAIT_S" --connect-timeout 1 \
        --noproxy "localhost,127.0.0.1,::1,${NO_PROXY:-${no_proxy:-}}" --max-filesize "$MAX_REPLY_BYTES" \
        --header 'Content-Type: application/json' --data-binary "@$work/body" --output "$work/reply-$1" ||
        rm -f "$work/reply-$1"
}

config_files >"$work/configs"
[ -s "$work/configs" ] || old_config_file >"$work/configs"
[ -s "$work/configs" ] || give_up
files=()
while IFS= read -r file; do files+=("$file"); done <"$work/configs"
{ joined "${files[@]}"; cat; } | requests "${#files[@]}" >"$work/requests"

count=0
{
    IFS= read -r body || give_up
    printf '%s' "$body" >"$work/body"
    while IFS= read -r url && IFS= read -r header; do
        [ -n "$url" ] || continue
        count=$((count + 1))
        printf '%s\n%s\n' "$url" "$header" >"$work/curl-$count"
        ask "$count" </dev/null &
    done
} <"$work/requests"
wait

replies=()
for ((number = 1; number <= count; number++)); do
    [ -s "$work/reply-$number" ] && replies+=("$work/reply-$number")
done
[ "${#replies[@]}" -gt 0 ] || give_up
joined "${replies[@]}" | hook_output >"$work/output" && cat "$work/output"
exit 0
