#!/usr/bin/env python3
"""Text files as a passageway source, by way of the SDK. The environment variable FOLDER says which."""

from hashlib import sha256
from pathlib import Path

from passageway_sdk import Connector, SettingsError


class TextFiles(Connector):
    """Every .txt file below the folder is an item."""

    name = "text files"

    def __init__(self, env):
        self.folder = Path(env.get("FOLDER") or "nowhere").resolve()
        if not self.folder.is_dir():
            raise SettingsError(f"FOLDER is {env.get('FOLDER')!r}, expected a folder that exists")

    def versions(self):
        return {item_id: self.version(path) for item_id, path in self.text_files().items()}

    def fetch(self, ids):
        files = self.text_files()
        return [self.record(item_id, files[item_id]) for item_id in ids if item_id in files]

    def changed(self, since):
        files = self.text_files().items()
        return [self.record(item_id, path) for item_id, path in files if path.stat().st_mtime >= since.timestamp()]

    def text_files(self):
        paths = (path for path in sorted(self.folder.rglob("*.txt")) if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path for path in paths}

    def version(self, path):
        return sha256(path.read_bytes()).hexdigest()[:16]

    def record(self, item_id, path):
        return {
            "id": item_id,
            "title": path.stem,
            "url": path.as_uri(),
            "version": self.version(path),
            "sections": [{"heading": None, "text": path.read_text(encoding="utf-8")}],
            "path": item_id.split("/")[:-1],
        }


if __name__ == "__main__":
    TextFiles.main()
