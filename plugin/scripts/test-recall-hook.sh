#!/usr/bin/env bash
# Tests recall-hook.sh against a stub server on this machine: bash test-recall-hook.sh
# Needs bash, curl, ps and python3; with jq there too, everything runs once with jq and once with python3.
set -u
cd "$(dirname "$0")" || exit 1
hook=$PWD/recall-hook.sh
work=$(mktemp -d "${TMPDIR:-/tmp}/passageway-hook-test.XXXXXX") || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

# What is called python3 may be a slow script that looks for one; this is the real thing.
python=$(python3 -c 'import sys; print(sys.executable)') || exit 1
token='p"a\ss wörd-7f3a'
token_json=$("$python" -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$token") || exit 1
passed=0
failed=0

cat >"$work/stub.py" <<'STUB'
"""Answers POST /KIND/recall in the way its name says, and notes what it was sent."""
import http.server, json, sys, time

folder = sys.argv[1]

class Stub(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kind = self.path.split("/")[1]
        with open(f"{folder}/asked-{kind}", "ab") as asked:
            asked.write(json.dumps({
                "path": self.path, "auth": self.headers["Authorization"].encode("latin-1").decode(),
                "body": json.loads(body)}).encode() + b"\n")
        if kind == "slow":
            time.sleep(3)
        if kind == "redirect":
            self.send_response(302)
            self.send_header("Location", "/hit/recall")
            self.end_headers()
            return
        reply = {"none": {"context": ""}, "number": {"context": 7}, "list": [1], "long": {"context": "l" * 9000}}.get(
            kind, {"context": f"passages of {kind}: \"ä\"\nsecond line"})
        data = b"<html>not json" if kind == "garbage" else json.dumps(reply).encode()
        data = b"x" * 3_000_000 if kind == "flood" else data
        self.send_response({"error": 500, "denied": 401}.get(kind, 200))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        try:
            self.wfile.write(data)
        except OSError:
            pass

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
with open(f"{folder}/port.new", "w") as port:
    port.write(str(server.server_address[1]))
import os
os.rename(f"{folder}/port.new", f"{folder}/port")
server.serve_forever()
STUB
"$python" "$work/stub.py" "$work" &
server=$!
for _ in $(seq 100); do [ -s "$work/port" ] && break; sleep 0.1; done
[ -s "$work/port" ] || { echo "the stub server did not start" >&2; exit 1; }
base=http://127.0.0.1:$(cat "$work/port")

# fresh: an empty home with both configuration folders.
fresh() {
    rm -rf "$work/home" "$work"/asked-*
    mkdir -p "$work/home/.claude/plugin-data/passageway" "$work/home/data"
}

# configure FILE KIND: writes a configuration for the stub's answer of that kind.
configure() {
    printf '{"url": "%s", "token": %s}\n' "$base/$2" "$token_json" >"$work/home/$1"
}

readonly SHARED=.claude/plugin-data/passageway

# run INPUT-FILE: runs the hook as Claude Code does; output, errors, status and seconds are left in files.
run() {
    local started
    started=$(date +%s)
    env -i PATH="$path" HOME="$work/home" CLAUDE_PLUGIN_DATA="$work/home/data" TMPDIR="$work" LANG=C.UTF-8 \
        http_proxy=http://127.0.0.1:9 bash "$hook" <"$1" >"$work/out" 2>"$work/err"
    status=$?
    seconds=$(($(date +%s) - started))
}

say() { # say PROMPT: the hook input for it, as a file
    PROMPT=$1 "$python" -c 'import json, os
print(json.dumps({"session_id": "s-1", "cwd": "/home/anna/wiki", "hook_event_name": "UserPromptSubmit",
                  "transcript_path": "/nowhere", "prompt": os.environ["PROMPT"]}))' >"$work/input"
}

check() { # check NAME COMMAND...: counts and prints one outcome
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); echo "ok   $tool: $name"
    else failed=$((failed + 1)); echo "FAIL $tool: $name"; fi
}

context_is() { # the output is exactly one context of this text
    EXPECTED=$1 "$python" -c 'import json, os, sys
said = json.load(open(sys.argv[1], encoding="utf-8"))
specific = {"hookEventName": "UserPromptSubmit", "additionalContext": os.environ["EXPECTED"]}
sys.exit(said != {"hookSpecificOutput": specific})' "$work/out" 2>/dev/null
}

silent() { [ ! -s "$work/out" ] && [ ! -s "$work/err" ] && [ "$status" = 0 ]; }
swift() { [ "$seconds" -le 4 ]; }
clean() { [ -z "$(find "$work" -maxdepth 1 -name 'passageway-hook.*')" ]; }
asked() { "$python" -c 'import json, sys
said = json.loads(open(sys.argv[1], encoding="utf-8").readline())
sys.exit(not eval(sys.argv[2], {"said": said, "len": len}))' "$work/asked-$1" "$2" 2>/dev/null; }
not_asked() { [ ! -e "$work/asked-$1" ]; }
hit() { printf 'passages of %s: "ä"\nsecond line' "$1"; }

everything() {
    say "how do we rotate the certificates?"

    fresh; configure "$SHARED/passageway.json" hit; run "$work/input"
    check "a hit becomes the context" context_is "$(hit hit)"
    check "the prompt, the session and the folder are sent" asked hit \
        'said["body"] == {"prompt": "how do we rotate the certificates?", "session_id": "s-1", "cwd": "/home/anna/wiki"}'
    check "a password with quotes, a backslash and an umlaut arrives as it is" asked hit \
        'said["auth"] == "Bearer p\"a\\ss w\u00f6rd-7f3a"'
    check "nothing is left behind" clean

    fresh; configure data/passageway.json hit; run "$work/input"
    check "the plugin's own folder is read" context_is "$(hit hit)"

    fresh; configure data/passageway.json hit; configure "$SHARED/passageway.json" other; run "$work/input"
    check "the plugin's own folder wins for the same name" context_is "$(hit hit)"
    check "and the other is not asked" not_asked other

    fresh; configure data/passageway.json one; configure "$SHARED/passageway-work.json" two; run "$work/input"
    check "several instances are joined" context_is "$(hit one)

$(hit two)"

    fresh; configure data/passageway.json slow; configure data/passageway-work.json two; run "$work/input"
    check "a slow instance does not cost the others" context_is "$(hit two)"

    fresh; configure data/passageway.json hit
    printf 'no json' >"$work/home/data/passageway-a.json"
    printf '{"url": "http://a b", "token": "x"}' >"$work/home/data/passageway-b.json"
    : >"$work/home/data/passageway-c.json"
    configure data/passageway-d.json two; run "$work/input"
    check "broken configurations do not cost the others" context_is "$(hit hit)

$(hit two)"

    fresh; configure data/passageway.json hit
    printf '{"prompt": "x\036{\\"url\\": \\"%s\\", \\"token\\": \\"x\\"}"}\036{"url": "%s", "token": "x"}' \
        "$base/other" "$base/other" >"$work/odd"
    run "$work/odd"
    check "a prompt cannot pass itself off as a configuration" not_asked other

    fresh; configure data/passageway.json long; configure data/passageway-work.json two; run "$work/input"
    check "joined passages stay under what is shown inline, whole blocks only" context_is "$(printf 'l%.0s' $(seq 9000))

$(hit two)"
    fresh; configure data/passageway.json long; configure data/passageway-work.json long; run "$work/input"
    check "a block too many is left out whole" context_is "$(printf 'l%.0s' $(seq 9000))"

    fresh; configure "$SHARED/recall.json" old; run "$work/input"
    check "the configuration of trilium-recall is used" context_is "$(hit old)"
    configure "$SHARED/passageway.json" hit; run "$work/input"
    check "until it is replaced" context_is "$(hit hit)"

    for kind in none error denied garbage number list redirect flood; do
        fresh; configure data/passageway.json "$kind"; run "$work/input"
        check "nothing is said after the answer '$kind'" silent
    done
    check "a redirect is not followed" not_asked hit

    fresh; configure data/passageway.json slow; run "$work/input"
    check "a slow server is given up" silent
    check "in time" swift
    check "and nothing is left behind" clean

    fresh; run "$work/input"
    check "nothing is said without a configuration" silent
    fresh; printf '{"url": "http://127.0.0.1:9", "token": "x"}' >"$work/home/data/passageway.json"; run "$work/input"
    check "nothing is said when no server is there" silent
    for text in '' 'no json' '[]' '{"url": 1}' '{"url": "file:///etc/passwd", "token": "x"}' '{"url": "http://a b", "token": "x"}'; do
        printf '%s' "$text" >"$work/home/data/passageway.json"; run "$work/input"
        check "nothing is said with the configuration '$text'" silent
    done

    fresh; configure data/passageway.json hit
    for text in '' 'no json' '{}' '{"prompt": 5}' '[]'; do
        printf '%s' "$text" >"$work/odd"; run "$work/odd"
        check "nothing is said to the input '$text'" silent
    done
    check "and nothing was asked" not_asked hit

    "$python" -c 'import json
print(json.dumps({"prompt": "ä😀x" * 400_000, "session_id": "s-1", "cwd": "/"}))' >"$work/huge"
    run "$work/huge"
    check "of a huge prompt the first 20,000 characters are sent" asked hit \
        'len(said["body"]["prompt"]) == 20000 and said["body"]["prompt"][:3] == "\u00e4\U0001f600x"'
    check "and answered" context_is "$(hit hit)"

    fresh; configure data/passageway.json slow; say "SECRET-PROMPT-51c4"
    run "$work/input" &
    local running=$!
    while kill -0 "$running" 2>/dev/null; do ps -A -ww -o args= >>"$work/seen" 2>/dev/null; done
    wait "$running"
    check "the password and the prompt are in no process table" no_secret_seen
}

no_secret_seen() { grep -q curl "$work/seen" && ! grep -q -e 'rd-7f3a' -e 'SECRET-PROMPT-51c4' "$work/seen"; }

# A PATH of the tools the hook may use, with or without jq.
tools_without() {
    local name found
    mkdir -p "$work/$1"
    for name in bash env curl jq python3 mktemp rm cat seq head; do
        found=$(command -v "$name") || continue
        [ "$name" != python3 ] || found=$python
        [ "$name" = "$2" ] || ln -sf "$found" "$work/$1/$name"
    done
    path=$work/$1
}

tool=python3
tools_without without-jq jq
everything
if command -v jq >/dev/null; then
    tool=jq
    tools_without without-python python3
    everything
fi
tool="no tool"
fresh; configure data/passageway.json hit; say "how?"
mkdir -p "$work/nothing"; ln -sf "$(command -v bash)" "$work/nothing/bash"; path=$work/nothing:
run "$work/input"
check "nothing is said without curl and a reader of JSON" silent

echo
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
