"""Run one program and print what it cost, as JSON: `python watched_call.py PROGRAM…`, its stdin from here.

A process of its own, because Linux counts the memory of the process that starts another into the other's peak.
"""

import json
import os
import subprocess
import sys
import time


def main() -> None:
    """Print seconds to the first byte, in all and of processor time, MiB at the peak, the exit code, and the output."""
    started = time.perf_counter()
    with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        first = process.stdout.read(1)
        first_byte_s = time.perf_counter() - started
        output = first + process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cost = {
        "first_byte_s": first_byte_s,
        "wall_s": time.perf_counter() - started,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mib": usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024),
        "exit_code": process.returncode,
        "output": output.decode("utf-8"),
    }
    print(json.dumps(cost))


if __name__ == "__main__":
    main()
