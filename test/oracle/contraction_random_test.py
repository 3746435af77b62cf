"""Random aggregates over joins (test/random/gen.py) as contractions, against a private PostgreSQL 15: the same rows and errors.

usage: contraction_random_test.py [--seed N] [--seeds N] [--queries N] [--rows N]   CI runs a few with fixed seeds.
Each query runs with contractions forced, as they are priced, in one form that the seed picks, on one thread and on several,
and under a memory_limit, where it may also fail with 53200.
"""
import argparse
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(HERE.parent / "random"))
from compare import Remembered, Tally  # noqa: E402
from default_rates import SETTINGS, fix_rates  # noqa: E402
from engine import Database  # noqa: E402
from gen import Gen  # noqa: E402
from postgres import Cluster, Skip  # noqa: E402

FORMS = ["sparse", "dense", "bits", "split", "doubles"]
KILOBYTES = [3000, 1500, 1000, 700, 500]


class Limited:
    """A connection whose lack of memory is the other's answer, counted."""

    def __init__(self, db, answers):
        self.db, self.answers, self.short, self.ran = db, answers, 0, 0

    def run(self, sql):
        result = self.db.run(sql)
        self.ran += 1
        if result.error and result.error.sqlstate == "53200":
            self.short += 1
            return self.answers.run(sql)
        return result


def modes(seed):
    form = FORMS[seed % len(FORMS)]
    yield ["SET tcudb.engine = tcu", "RESET tcudb.product_form", "SET tcudb.threads = 2"], 0
    yield [f"SET tcudb.product_form = {form}", f"SET tcudb.threads = {1 + seed % 4}"], 0
    yield ["RESET tcudb.product_form"], KILOBYTES[seed % len(KILOBYTES)]


def run_seed(seed, args, cluster, tally, counts):
    gen = Gen(seed, 5, args.rows)
    theirs, database = cluster.connect(), Database(os.environ.get("BUILD", "build"))
    ours = database.connect()
    theirs.run("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    setup = list(gen.schema())
    for statement in SETTINGS + setup:
        for db in (ours, theirs) if statement in setup else (ours,):
            result = db.run(statement)
            if result.error:
                raise SystemExit(f"{result.error.message}\n    {statement}")
    theirs.run("SET statement_timeout = '20s'")
    answers = Remembered(theirs)
    statements = []
    for _ in range(args.queries):
        gen.alias = 0
        statements.append(gen.join_aggregate())
    for settings, limit in modes(seed):
        for setting in settings + ([f"SET tcudb.memory_limit = '{limit}kB'"] if limit else []):
            ours.run(setting)
        db = Limited(ours, answers) if limit else ours
        for statement in statements:
            slow = answers.run(statement).error
            if slow and slow.sqlstate == "57014":
                continue  # the peer's time is up
            before = len(tally.differences)
            tally.check(db, answers, statement)
            if len(tally.differences) > before:
                sql, difference = tally.differences[-1]
                tally.differences[-1] = (f"[seed {seed}; {'; '.join(settings)}; {limit}] {sql}", difference)
        if limit:
            counts[0] += db.ran
            counts[1] += db.short
    for db in (ours, database, theirs):
        db.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--rows", type=int, default=30)
    args = parser.parse_args()
    tally, counts = Tally(), [0, 0]
    fix_rates()
    try:
        with Cluster() as cluster:
            for seed in range(args.seed, args.seed + args.seeds):
                run_seed(seed, args, cluster, tally, counts)
    except Skip as why:
        print(why)
        sys.exit(77)
    print(f"{counts[0]} ran under a limit, {counts[1]} of them short of memory")
    sys.exit(0 if tally.report() and tally.same else 1)


main()
