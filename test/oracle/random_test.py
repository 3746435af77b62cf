"""Random queries (test/random/gen.py) on tcudb and a private PostgreSQL 15: the same rows, types and errors.

usage: random_test.py [--seed N] [--seeds N] [--queries N]   CI runs a few hundred with fixed seeds; any seed by hand.
Each query runs with the optimizer on, off, and with contractions forced; over large tables
(random_large_test.py) with contractions allowed, forced and off.
"""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from compare import Remembered, Tally  # noqa: E402
from engine import Database  # noqa: E402
from postgres import Cluster, Skip  # noqa: E402

MODES = [["RESET tcudb.engine", "SET tcudb.optimizer = on"], ["SET tcudb.optimizer = off"],
         ["SET tcudb.optimizer = on", "SET tcudb.engine = tcu"]]
LARGE_MODES = [["RESET tcudb.engine", "RESET tcudb.contraction"], ["SET tcudb.engine = tcu"],
               ["RESET tcudb.engine", "SET tcudb.contraction = off"]]  # unoptimised joins would make all pairs


def generate(seed, queries, generator):
    out = subprocess.run([sys.executable, HERE.parent / "random" / generator, "--seed", str(seed), "--queries", str(queries)],
                         stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    setup = [line for line in out if line.startswith(("CREATE", "INSERT"))]
    return setup, [line for line in out if line not in setup]


def run_seed(seed, queries, large, build, cluster, tally):
    setup, statements = generate(seed, queries, "gen_large.py" if large else "gen.py")
    theirs, database = cluster.connect(), Database(build)
    ours = database.connect()
    theirs.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    for statement in setup:
        for db in (ours, theirs):
            result = db.run(statement)
            if result.error:
                raise SystemExit(f"{result.error.message}\n    {statement}")
    theirs.run("SET statement_timeout = '20s'")
    answers = Remembered(theirs)
    for mode in LARGE_MODES if large else MODES:
        for setting in mode:
            ours.run(setting)
        for statement in statements:
            before = len(tally.differences)
            tally.check(ours, answers, statement)
            if len(tally.differences) > before:
                sql, difference = tally.differences[-1]
                tally.differences[-1] = (f"[seed {seed}; {'; '.join(mode)}] {sql}", difference)
    ours.close()
    database.close()
    theirs.close()


def main(large=False, seeds=4):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--queries", type=int, default=60)
    args = parser.parse_args()
    tally = Tally()
    try:
        with Cluster() as cluster:
            for seed in range(args.seed, args.seed + args.seeds):
                run_seed(seed, args.queries, large, os.environ.get("BUILD", "build"), cluster, tally)
    except Skip as why:
        print(why)
        sys.exit(77)
    # The generators ask for nothing that tcudb refuses: a refusal is a difference.
    sys.exit(0 if tally.report() and tally.same and not tally.unsupported else 1)


if __name__ == "__main__":
    main()
