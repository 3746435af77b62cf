"""Temporary tables, sequences, identity and generated columns, comments across connections, processes and a dump.

What each statement answers is compared with PostgreSQL by statements_test.py; here: what outlives a connection.
"""
import pathlib
import subprocess
import sys
import tempfile

import engine
from inputs import BUILD

FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-objects-"))
failures = 0


def expect(what, got, wanted):
    global failures
    if got != wanted:
        failures += 1
        print(f"{what}: {got!r} instead of {wanted!r}")


def rows(connection, sql):
    result = connection.run(sql)
    return result.error.sqlstate if result.error else result.rows


def shell(*arguments, text=None):
    done = subprocess.run([str(pathlib.Path(BUILD) / "tcudb"), "-q", "-At", *arguments], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout + done.stderr


def temporary_tables():
    database = engine.Database(BUILD, str(FOLDER / "temp.tcu"))
    one, two = database.connect(), database.connect()
    one.run("create table p (a int)")
    one.run("begin")
    one.run("create temp table t as select g as a from generate_series(1, 10) as g")
    expect("another writer while a temporary table is made", rows(two, "insert into p values (1) returning a"), [["1"]])
    one.run("commit")
    expect("own temporary table", rows(one, "select count(*) from t"), [["10"]])
    expect("another's temporary table", rows(two, "select count(*) from t"), "42P01")
    one.run("create temp table p (b int)")
    expect("hidden table", rows(one, "select count(*) from p"), [["0"]])
    expect("not hidden elsewhere", rows(two, "select count(*) from p"), [["1"]])
    one.close()
    one = database.connect()
    expect("gone with its connection", rows(one, "select count(*) from t"), "42P01")
    expect("the permanent one is back", rows(one, "select a from p"), [["1"]])
    for connection in (one, two):
        connection.close()
    database.close()


def sequences():
    path = str(FOLDER / "sequences.tcu")
    shell(path, "-c", "create table t (a serial primary key, b int generated always as (a * 2) stored, c text);"
                      "comment on column t.c is 'words'; insert into t (c) values ('x'), ('y')")
    expect("numbers of another process", shell(path, "-c", "insert into t (c) values ('z') returning a, b"), "3|6\n")
    shell(path, "-c", "copy t (c) from stdin", text="one\ntwo\n")
    expect("numbers of COPY", shell(path, "-c", "select a, b, c from t where a > 3 order by a"), "4|8|one\n5|10|two\n")
    expect("comment", shell(path, "-c", "select col_description('t'::regclass, 3)"), "words\n")
    writers = [subprocess.Popen([str(pathlib.Path(BUILD) / "tcudb"), "-q", path, "-c", "set tcudb.lock_timeout = '60s'",
                                 "-c", "insert into t (c) values ('many')"]) for _ in range(6)]
    expect("writers at once", [w.wait() for w in writers], [0] * 6)
    expect("no number twice", shell(path, "-c", "select count(*), count(distinct a), max(a) from t"), "11|11|11\n")
    database = engine.Database(BUILD, path)
    one, two = database.connect(), database.connect()
    one.run("begin")
    expect("in a block", rows(one, "select nextval('t_a_seq')"), [["12"]])
    one.run("rollback")
    expect("not given again", rows(one, "select nextval('t_a_seq')"), [["13"]])
    expect("currval is the session's", rows(two, "select currval('t_a_seq')"), "55000")
    one.close()
    two.close()
    database.close()


def dump():
    first, second = str(FOLDER / "first.tcu"), str(FOLDER / "second.tcu")
    shell(first, "-c", "create table t (a int generated always as identity, b text, c int generated always as (length(b)) "
                       "stored); create table u (a bigserial, b int); insert into t (b) values ('x'), ('yy');"
                       "insert into u (b) values (1), (2), (3); create sequence s start 5; select nextval('s')")
    text = shell(first, "-c", ".dump")
    shell(second, text=text)
    expect("a dump of what a dump made", shell(second, "-c", ".dump"), text)
    expect("goes on", shell(second, "-c", "insert into t (b) values ('zzz') returning a, c; select nextval('s')"), "3|3\n6\n")


temporary_tables()
sequences()
dump()
print(f"{failures} failures")
sys.exit(1 if failures else 0)
