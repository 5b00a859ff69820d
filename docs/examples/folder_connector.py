#!/usr/bin/env python3
"""Text files as a passageway source. The environment variable FOLDER says which."""

import hashlib
import json
import os
import sys
from datetime import datetime
from pathlib import Path


def text_files(folder):
    """Every item there is: its id, which is the path inside the folder, and its file."""
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.txt")) if path.is_file()}


def version(path):
    """Another string whenever the content is another."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def record(item_id, path):
    return {
        "id": item_id,
        "title": path.stem,
        "url": path.as_uri(),
        "version": version(path),
        "sections": [{"heading": None, "text": path.read_text(encoding="utf-8")}],
        "path": item_id.split("/")[:-1],
    }


def answer(files, mode, *options):
    """The messages that the mode asks for."""
    if mode == "check":
        return [{"ok": True, "count": len(files)}]
    if mode == "list":
        return [{"id": item_id, "version": version(path)} for item_id, path in files.items()]
    if mode == "fetch":
        requests = map(json.loads, sys.stdin)
        return [record(each["id"], files[each["id"]]) for each in requests if each["id"] in files]
    if mode == "changed":  # optional: without it, print nothing here
        since = datetime.fromisoformat(options[1]).timestamp()
        return [record(item_id, path) for item_id, path in files.items() if path.stat().st_mtime >= since]
    sys.exit(f"unknown mode {mode!r}")


folder = Path(os.environ["FOLDER"]).resolve(strict=True)
messages = answer(text_files(folder), *sys.argv[1:])
for message in messages:  # only now, when nothing can fail any more
    print(json.dumps(message))
