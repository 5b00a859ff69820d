"""Runs `passageway embed` again and again, each a fork of this process, which has loaded the program already.

A start takes a tenth of what it takes from nothing. `start` on stdin is answered with the process's number, `wait` with
its exit status, once it is gone.
"""

import os
import sys

import passageway_cli.parts  # noqa: F401 - what a start spends its time on
from passageway_cli.main import main

number = 0
for line in sys.stdin:
    if line == "wait\n":
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)
        continue
    number = os.fork()
    if number == 0:
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        os._exit(main(["embed"]))
    print(number, flush=True)
