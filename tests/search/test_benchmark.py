"""The benchmark runs, and its search misses nothing; its times are for people to read."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_benchmark_runs_on_a_small_index_and_finds_all_of_the_exact_best() -> None:
    command = [sys.executable, "benchmarks/search.py", "--sections", "3000", "--files", "3", "--questions", "10"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    lines = {line[:32].strip(): line[32:].split() for line in done.stdout.splitlines()}
    assert float(lines["recall of the exact best fifty"][0]) >= 0.998
    assert "question beside a busy writer" in lines
    assert "question, warm, 1,300 sections" in lines
