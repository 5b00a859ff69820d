"""A connector told what to do by the JSON file named in STATE; it notes every call in the file named in CALLS.

STATE holds {"items": {id: text}, "versions": {id: version}, "broken": [ids whose fetch fails], "fail": mode that fails,
"hang": mode that never ends, "changed": [ids that `changed` reports], "protocol": version}.
"""

import json
import os
import sys
import time
from pathlib import Path

state = json.loads(Path(os.environ["STATE"]).read_text(encoding="utf-8"))
mode = sys.argv[1]
items = state.get("items", {})


def note(call):
    with open(os.environ["CALLS"], "a", encoding="utf-8") as calls:
        calls.write(json.dumps(call) + "\n")


def version(item_id):
    return state.get("versions", {}).get(item_id) or f"v{len(items[item_id])}-{items[item_id][:20]}"


def record(item_id):
    return {
        "id": item_id,
        "title": f"Title of {item_id}",
        "url": f"https://example.org/{item_id}",
        "version": version(item_id),
        "sections": [{"heading": None, "text": part} for part in items[item_id].split("|")],
    }


wanted = [json.loads(line)["id"] for line in sys.stdin if line.strip()] if mode == "fetch" else []
note([mode, *wanted, *sys.argv[2:]])
if state.get("hang") == mode:
    time.sleep(600)
if state.get("fail") == mode or set(wanted) & set(state.get("broken", [])):
    sys.exit(f"the {mode} went wrong")
if mode == "check":
    print(json.dumps({"ok": True, "count": len(items), "protocol": state.get("protocol", "1")}))
elif mode == "list":
    for item_id in items:
        print(json.dumps({"id": item_id, "version": version(item_id)}))
elif mode == "fetch":
    for item_id in wanted:
        if item_id in items:
            print(json.dumps(record(item_id)))
elif mode == "changed":
    for item_id in state.get("changed", []):
        print(json.dumps(record(item_id)))
