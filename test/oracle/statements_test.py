"""The scripts in test/oracle/statements say on tcudb what they say on PostgreSQL 15: rows, column names, command tags,
errors with SQLSTATE, message and position.

A script runs in a database and a schema of its own. Statements end in a semicolon at the end of a line; lines that
begin with -- are remarks. With arguments, only these scripts run.
"""
import pathlib
import sys

import compare
import engine
import postgres
from inputs import BUILD

HERE = pathlib.Path(__file__).resolve().parent / "statements"


def statements(path):
    text = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))
    return [sql.strip().removesuffix(";") for sql in text.split(";\n") if sql.strip()]


def check(path, theirs):
    database = engine.Database(BUILD)
    ours, wrong = database.connect(), 0
    for sql in ("DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public", "DISCARD TEMP", "DEALLOCATE ALL"):
        theirs.run(sql)
    for sql in statements(path):
        found = compare.difference(ours.run(sql), theirs.run(sql), sql)
        if found:
            wrong += 1
            print(f"{path.name}: {found}\n    {sql}")
    ours.close()
    database.close()
    return wrong


def main():
    scripts = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.sql"))
    try:
        with postgres.Cluster() as cluster:
            theirs = cluster.connect()
            theirs.run("SET client_min_messages = error")
            wrong = sum(check(path, theirs) for path in scripts)
    except postgres.Skip as reason:
        print(reason)
        return 77
    print(f"{len(scripts)} scripts, {wrong} differences")
    return 1 if wrong else 0


sys.exit(main())
