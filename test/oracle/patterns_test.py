"""Every pattern of queries that is a product of matrices, by price: what becomes of it, and the same answer as PostgreSQL's.

usage: patterns_test.py [-v] [PATTERN]

The patterns are in patterns.py: name, query, and the form that it must take where the optimizer chooses freely: a
contraction, sums before the join ("vector"), semi joins, the ordinary plan by price ("plain"), or that plan with the reason
that EXPLAIN gives. Prices are those of default_rates.py, on any machine. Each runs as chosen and with contractions off, and
PostgreSQL 15 has the answers.
"""
import os
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from compare import Remembered, Tally  # noqa: E402
from default_rates import SETTINGS, fix_rates  # noqa: E402
from engine import Database  # noqa: E402
from patterns import PATTERNS, SETUP  # noqa: E402
from postgres import Cluster, Skip  # noqa: E402


def explain(db, sql):
    result = db.run("EXPLAIN " + sql)
    return result.error.message if result.error else "\n".join(row[0] for row in result.rows)


def form_fits(form, plan):
    """Whether the plan is of the form; a form of several words is a text that EXPLAIN must have."""
    contractions = len(re.findall(r"^ *(?:->  )?Contract  ", plan, re.M))
    if form == "contraction":
        return contractions > 0
    if form == "contractions":
        return contractions > 1
    if form in ("vector", "plain"):
        return contractions == 0 and re.search(rf"Candidate {form}: .*, taken", plan) is not None
    return contractions == 0 and form in plan


def main():
    verbose, only = "-v" in sys.argv, [a for a in sys.argv[1:] if a != "-v"]
    tally, wrong = Tally(), []
    fix_rates()
    try:
        with Cluster() as cluster:
            theirs, database = cluster.connect(), Database(os.environ.get("BUILD", "build"))
            ours, answers = database.connect(), Remembered(theirs)
            for setting in SETTINGS:
                assert ours.run(setting).error is None, setting
            for statement in SETUP:
                for db in (ours, theirs):
                    result = db.run(statement)
                    if result.error:
                        raise SystemExit(f"{result.error.message}\n    {statement}")
            for name, sql, form in PATTERNS:
                if only and only[0] not in name:
                    continue
                plan, before = explain(ours, sql), len(tally.differences)
                if not form_fits(form, plan):
                    wrong.append(name)
                    print(f"{name}: not \"{form}\"\n    {sql}\n" + (plan if verbose else ""), flush=True)
                for setting in ("on", "off"):
                    ours.run(f"SET tcudb.contraction = {setting}")
                    tally.check(ours, answers, sql)
                ours.run("RESET tcudb.contraction")
                if len(tally.differences) > before:
                    tally.differences[before:] = [(f"[{name}] {s}", d) for s, d in tally.differences[before:]]
    except Skip as why:
        print(why)
        sys.exit(77)
    print(f"{len(PATTERNS)} patterns, {len(wrong)} of another form than asked for")
    sys.exit(0 if tally.report() and tally.same and tally.unsupported == 0 and not wrong else 1)


main()
