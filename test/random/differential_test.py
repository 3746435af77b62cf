#!/usr/bin/env python3
"""Random queries with the optimizer on and off must give the same bags of rows.

usage: differential_test.py [--tcudb PATH] [--seed N] [--seeds N] [--queries N] [--keep FILE]

Runs gen.py for each seed, every query twice in one process, and compares. Prints each difference with what is
needed to repeat it; last line: N passed, N failed, N skipped (queries that both refuse, with the same message).
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "~~next~~"


def generate(seed, queries):
    out = subprocess.run([sys.executable, HERE / "gen.py", "--seed", str(seed), "--queries", str(queries)],
                         capture_output=True, text=True, check=True).stdout.splitlines()
    setup = [line for line in out if line.startswith(("CREATE", "INSERT"))]
    return setup, out[len(setup):]


def run(tcudb, setup, queries, optimizer, timeout=600):
    """The sorted rows of each query, or its error."""
    script = list(setup) + [f"SET tcudb.optimizer = {optimizer};"]
    for i, query in enumerate(queries):
        script += [f"SELECT '{MARK}{i}';", query]
    proc = subprocess.run([tcudb, "-X", "-q", "-t", "-A", "--null=~", "-v", "ON_ERROR_STOP=0", "-f", "-"],
                          input="\n".join(script), capture_output=True, text=True, timeout=timeout)
    results = [None] * len(queries)
    at = -1
    rows = []
    for line in proc.stdout.splitlines() + [f"{MARK}{len(queries)}"]:
        if line.startswith(MARK):
            if at >= 0:
                results[at] = rows
            at, rows = int(line[len(MARK):]), []
        else:
            rows.append(line)
    if any(r is None for r in results):  # it crashed: one process a query then
        return [one(tcudb, setup, q, optimizer)[0] for q in queries]
    return results


def same(a, b, ordered):
    return a == b if ordered else sorted(a) == sorted(b)


def one(tcudb, setup, query, optimizer):
    """One query by itself: (rows, error)."""
    proc = subprocess.run([tcudb, "-X", "-q", "-t", "-A", "--null=~", "-f", "-"],
                          input="\n".join(setup + [f"SET tcudb.optimizer = {optimizer};", query]),
                          capture_output=True, text=True, timeout=120)
    error = next((l for l in proc.stderr.splitlines() if "ERROR" in l), "") or (
        f"status {proc.returncode}" if proc.returncode not in (0, 3) else "")
    return proc.stdout.splitlines(), error.split("ERROR:", 1)[-1].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = os.environ.get("BUILD", HERE.parent.parent / "build")
    parser.add_argument("--tcudb", default=str(pathlib.Path(build) / "tcudb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--keep", help="write differing cases to this file")
    args = parser.parse_args()
    passed = failed = skipped = 0
    keep = open(args.keep, "w") if args.keep else None
    for seed in range(args.seed, args.seed + args.seeds):
        setup, queries = generate(seed, args.queries)
        try:
            on, off = (run(args.tcudb, setup, queries, o) for o in ("on", "off"))
        except subprocess.TimeoutExpired as fault:
            print(f"seed {seed}: {fault}")
            failed += 1
            continue
        for i, query in enumerate(queries):
            ordered = "ORDER BY" in query.split(") s ")[-1]
            if same(on[i], off[i], ordered) and (on[i] or off[i]):
                passed += 1
                continue
            a, b = one(args.tcudb, setup, query, "on"), one(args.tcudb, setup, query, "off")
            if same(a[0], b[0], ordered) and a[1] == b[1]:
                skipped += 1 if a[1] else 0
                passed += 0 if a[1] else 1
                if a[1] and "status" in a[1]:
                    failed += 1
                if a[1]:
                    print(f"seed {seed} query {i}: both: {a[1]}")
                continue
            failed += 1
            print(f"seed {seed} query {i}: {query}\n  on:  {a[1] or sorted(a[0])[:8]}\n  off: {b[1] or sorted(b[0])[:8]}")
            if keep:
                keep.write("\n".join(setup) + f"\n-- seed {seed} query {i}\n{query}\n\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
