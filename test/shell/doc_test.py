#!/usr/bin/env python3
"""Runs the `console` blocks of the documentation: what follows a line `$ command` is what the command must print.

The blocks of one file run in one folder, in order. Standard error comes after standard output, as on a page.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
FILES = ["doc/shell.md"]


def steps(path):
    for block in re.findall(r"```console\n(.*?)```", path.read_text(), re.S):
        command, lines = None, []
        for line in block.splitlines():
            if line.startswith("$ "):
                if command is not None:
                    yield command, lines
                command, lines = line[2:], []
            else:
                lines.append(line)
        if command is not None:
            yield command, lines


def main():
    failed = total = 0
    env = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TERM": "dumb"}
    for name in FILES:
        status = 0
        with tempfile.TemporaryDirectory() as folder:
            env["HOME"] = folder
            for command, lines in steps(ROOT / name):
                total += 1
                run = subprocess.run(["bash", "-c", f"(exit {status}); {command}"], cwd=folder, env=env, text=True,
                                     stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
                status = run.returncode
                got = (run.stdout + run.stderr).splitlines()
                if got != lines:
                    failed += 1
                    print(f"--- {name}: $ {command}\nexpected:\n" + "\n".join(lines) + "\ngot:\n" + "\n".join(got))
    print(f"{total - failed} of {total} documented commands passed")
    sys.exit(1 if failed else 0)


main()
