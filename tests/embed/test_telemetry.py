"""Nothing leaves the machine: onnxruntime, which would report to its maker, is told not to before it is loaded."""

import os
import subprocess
import sys
from pathlib import Path


def test_loading_the_runtime_starts_no_report_and_leaves_no_identifier_of_the_machine(tmp_path: Path) -> None:
    # Neither CI nor a unit test's variable, either of which would silence onnxruntime by itself.
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    program = "import passageway_embed.onnx, onnxruntime; print(len(onnxruntime.get_available_providers()))"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, encoding="utf-8", timeout=60
    )
    assert done.returncode == 0 and int(done.stdout) >= 1, done.stderr
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")] == []
