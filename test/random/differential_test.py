#!/usr/bin/env python3
"""Random queries must give the same bags of rows as bound, optimised, and with contractions asked for.

usage: differential_test.py [--tcudb PATH] [--seed N] [--seeds N] [--queries N] [--keep FILE]

Runs gen.py for each seed, every query in each mode, and compares with the plan as bound. Prints each difference with
what is needed to repeat it; last line: N passed, N failed, N skipped (queries refused with the same message).
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
MARK = "~~next~~"
MODES = {
    "bound": ["SET tcudb.optimizer = off;"],
    "optimised": [],
    "contracted": ["SET tcudb.engine = tcu;"],
}


def generate(seed, queries):
    out = subprocess.run([sys.executable, HERE / "gen.py", "--seed", str(seed), "--queries", str(queries)],
                         capture_output=True, text=True, check=True).stdout.splitlines()
    setup = [line for line in out if line.startswith(("CREATE", "INSERT"))]
    return setup, out[len(setup):]


def run(tcudb, setup, queries, mode, timeout=600):
    """The rows of each query; none where it fails."""
    script = list(setup) + MODES[mode]
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
        return [one(tcudb, setup, q, mode)[0] for q in queries]
    return results


def same(a, b, ordered):
    return a == b if ordered else sorted(a) == sorted(b)


def one(tcudb, setup, query, mode):
    """One query by itself: (rows, error)."""
    proc = subprocess.run([tcudb, "-X", "-q", "-t", "-A", "--null=~", "-f", "-"],
                          input="\n".join(setup + MODES[mode] + [query]),
                          capture_output=True, text=True, timeout=120)
    error = next((l for l in proc.stderr.splitlines() if "ERROR" in l), "") or (
        f"status {proc.returncode}" if proc.returncode not in (0, 3) else "")
    return proc.stdout.splitlines(), error.split("ERROR:", 1)[-1].strip()


def ordered(query):
    return "ORDER BY" in query.split(") s ")[-1]


class Counts:
    def __init__(self, keep):
        self.passed = self.failed = self.skipped = 0
        self.keep = open(keep, "w") if keep else None

    def difference(self, setup, seed, i, query, mode, got, want):
        self.failed += 1
        print(f"seed {seed} query {i}: {query}\n  {mode}: {got[1] or sorted(got[0])[:8]}\n"
              f"  bound: {want[1] or sorted(want[0])[:8]}")
        if self.keep:
            self.keep.write("\n".join(setup) + f"\n-- seed {seed} query {i}\n{query}\n\n")


def compare(tcudb, setup, seed, i, query, results, counts):
    """Looks again, one process each, where the first look finds a difference or nothing to compare."""
    for mode in MODES:
        if mode == "bound" or (results["bound"][i] and same(results[mode][i], results["bound"][i], ordered(query))):
            continue
        got, want = one(tcudb, setup, query, mode), one(tcudb, setup, query, "bound")
        if not same(got[0], want[0], ordered(query)) or got[1] != want[1] or "status" in got[1]:
            return counts.difference(setup, seed, i, query, mode, got, want)
        if got[1]:
            counts.skipped += 1
            return print(f"seed {seed} query {i}: refused: {got[1]}")
    counts.passed += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    build = os.environ.get("BUILD", HERE.parent.parent / "build")
    parser.add_argument("--tcudb", default=str(pathlib.Path(build) / "tcudb"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=150)
    parser.add_argument("--keep", help="write differing cases to this file")
    args = parser.parse_args()
    counts = Counts(args.keep)
    for seed in range(args.seed, args.seed + args.seeds):
        setup, queries = generate(seed, args.queries)
        try:
            results = {mode: run(args.tcudb, setup, queries, mode) for mode in MODES}
        except subprocess.TimeoutExpired as fault:
            print(f"seed {seed}: {fault}")
            counts.failed += 1
            continue
        for i, query in enumerate(queries):
            compare(args.tcudb, setup, seed, i, query, results, counts)
    print(f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main())
