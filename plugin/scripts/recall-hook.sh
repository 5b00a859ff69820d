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

# Claude Code's input on stdin to the request's body on stdout.
request_body() {
    if [ "$json" = jq ]; then
        jq -c --argjson most "$MAX_PROMPT_CHARS" \
            '{prompt: (.prompt | strings | .[:$most]), session_id: (.session_id // ""), cwd: (.cwd // "")}'
    else
        python3 -c 'import json, sys
said = json.load(sys.stdin.buffer)
if not isinstance(said["prompt"], str):
    sys.exit(1)
sent = {name: said.get(name) or "" for name in ("session_id", "cwd")}
print(json.dumps({"prompt": said["prompt"][: int(sys.argv[1])], **sent}))' "$MAX_PROMPT_CHARS"
    fi
}

# A configuration file on stdin to curl's own: the address and the password, which thereby is in no process table.
curl_config() {
    if [ "$json" = jq ]; then
        jq -r 'select((.url | type == "string" and test("^https?://[^\\s\"\\\\]+$")) and (.token | type == "string"))
            | select(.token | test("[[:cntrl:]]") | not)
            | "url = \"\(.url | sub("/+$"; ""))/recall\"",
              "header = \"Authorization: Bearer \(.token | gsub("(?<c>[\\\\\"])"; "\\\(.c)"))\""'
    else
        python3 -c 'import json, re, sys
said = json.load(sys.stdin.buffer)
url, token = said["url"], said["token"]
if not re.fullmatch(r"https?://[^\s\"\\]+", url) or re.search(r"[\x00-\x1f\x7f]", token):
    sys.exit(1)
token = re.sub(r"([\\\"])", r"\\\1", token)
sys.stdout.reconfigure(encoding="utf-8")
print(f"url = \"{url.rstrip(chr(47))}/recall\"")
print(f"header = \"Authorization: Bearer {token}\"")'
    fi
}

# The replies, as arguments, to what Claude Code reads; nothing when none has a context.
hook_output() {
    if [ "$json" = jq ]; then
        local reply
        for reply in "$@"; do jq -c 'objects | .context | strings | select(. != "")' <"$reply" | head -n 1; done |
            jq -cs --argjson most "$MAX_CONTEXT_CHARS" '
                reduce .[] as $c (""; (if . == "" then $c else . + "\n\n" + $c end) as $all
                    | if ($all | length) > $most then . else $all end)
                | select(. != "")
                | {hookSpecificOutput: {hookEventName: "UserPromptSubmit", additionalContext: .}}'
    else
        python3 -c 'import json, sys
most, context = int(sys.argv[1]), ""
for path in sys.argv[2:]:
    try:
        with open(path, encoding="utf-8") as reply:
            more = json.load(reply)["context"]
    except (OSError, ValueError, KeyError, TypeError):
        continue
    if isinstance(more, str) and more and len(context) + len(more) + 2 <= most:
        context = f"{context}\n\n{more}" if context else more
if context:
    specific = {"hookEventName": "UserPromptSubmit", "additionalContext": context}
    print(json.dumps({"hookSpecificOutput": specific}))' "$MAX_CONTEXT_CHARS" "$@"
    fi
}

# Asks the instance of one configuration file; its answer, when it is one, is in reply-NUMBER.
ask() {
    curl_config <"$2" >"$work/curl-$1" && [ -s "$work/curl-$1" ] || return
    # -q: no ~/.curlrc. A proxy for the world is none for this machine.
    curl -q --config "$work/curl-$1" --silent --fail --proto '=http,https' --max-time 1.5 --connect-timeout 1 \
        --noproxy "localhost,127.0.0.1,::1,${NO_PROXY:-${no_proxy:-}}" --max-filesize "$MAX_REPLY_BYTES" \
        --header 'Content-Type: application/json' --data-binary "@$work/body" --output "$work/reply-$1" ||
        rm -f "$work/reply-$1"
}

config_files >"$work/configs"
[ -s "$work/configs" ] || old_config_file >"$work/configs"
[ -s "$work/configs" ] || give_up
request_body >"$work/body" && [ -s "$work/body" ] || give_up

count=0
while IFS= read -r file; do
    count=$((count + 1))
    ask "$count" "$file" </dev/null &
done <"$work/configs"
wait

replies=()
for number in $(seq 1 "$count"); do
    [ -s "$work/reply-$number" ] && replies+=("$work/reply-$number")
done
[ "${#replies[@]}" -gt 0 ] || give_up
hook_output "${replies[@]}" >"$work/output" && cat "$work/output"
exit 0
