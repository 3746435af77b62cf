#!/usr/bin/env python3
"""kill -9 at random moments of statements: ALTER TABLE, CREATE INDEX, ON CONFLICT, MERGE, COPY in both directions, UPDATE,
CREATE TABLE AS, TRUNCATE, COMMENT, temporary tables, sequences, identity and generated columns, transactions of several.

usage: BUILD=build test/crash/sql_crash.py [CYCLES [SEED]]

A shell runs numbered transactions and says each that is committed. It is killed some time after a random one; the next
shell must find the database as after the last that was said, or the one after it, and goes on. What the tables hold after
each is known from a run in memory that nothing kills. Numbers of an identity column may leave gaps; no two rows have the
same, and the sequence is never behind them.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
LENGTH = 80  # transactions, then a new database
DIGEST = ("SELECT (SELECT count(*) || ' ' || coalesce(sum(k), 0) || ' ' || coalesce(sum(n), 0) || ' ' || coalesce(sum(length(s)), 0) || ' ' || coalesce(max(s), '') FROM t), "
          "(SELECT string_agg(table_name || '.' || column_name, ' ' ORDER BY table_name, ordinal_position) FROM information_schema.columns "
          "WHERE table_schema = 'public'), "
          "(SELECT string_agg(constraint_name, ' ' ORDER BY constraint_name) FROM information_schema.table_constraints), "
          "coalesce(obj_description('t'::regclass), '') || ' ' || coalesce(col_description('ids'::regclass, 2), ''), "
          "(SELECT count(*) || ' ' || coalesce(sum(v), 0) || ' ' || coalesce(sum(w), 0) || ' ' || (count(*) = count(DISTINCT id)) || ' ' || "
          "coalesce(max(id) <= (SELECT last_value FROM ids_id_seq), true) FROM ids), "
          "(SELECT count(*) = count(DISTINCT a) FROM taken), (SELECT sum(n) || ' ' || count(*) FROM log);")


def transaction(k, folder, rng):
    """The k-th. Every one leaves table t(k int, s text, ...) and adds its number to table log."""
    low, many = rng.randrange(4000), rng.choice([1, 3, 40, 900])
    rows = f"SELECT i, 'row ' || i || ' of {k}' FROM generate_series({low}, {low + many}) g(i)"
    big = f"SELECT i, 'r' || i FROM generate_series({10000 + k * 100000}, {10000 + k * 100000 + 70000}) g(i)"
    choices = [
        f"INSERT INTO t(k, s) {rows} ON CONFLICT (k) DO UPDATE SET s = excluded.s || '+'",
        f"INSERT INTO t(k, s) {rows} ON CONFLICT DO NOTHING",
        f"UPDATE t SET s = s || '{k}' WHERE k % 7 = {k % 7}",
        f"DELETE FROM t WHERE k BETWEEN {low} AND {low + many}",
        f"ALTER TABLE t ADD COLUMN c{k} int DEFAULT {k}",
        f"ALTER TABLE t ADD COLUMN c{k} text DEFAULT 'c' || {k}, ADD COLUMN e{k} text; ALTER TABLE t DROP COLUMN e{k}",
        f"UPDATE t SET n = n + 1",
        f"UPDATE t SET n = n + k % 5, s = s || '.' WHERE k % 3 = 0",
        f"UPDATE t SET n = k; DELETE FROM t WHERE k % 11 = 0; INSERT INTO t(k, s) {rows} ON CONFLICT DO NOTHING; UPDATE t SET n = n + {k % 3}",
        f"UPDATE t SET n = NULL WHERE k % 10 = {k % 10}",
        f"ALTER TABLE t ALTER COLUMN n TYPE {rng.choice(['bigint', 'int', 'int USING coalesce(n, k) % 1000', 'numeric(12,0)'])}",
        f"INSERT INTO t(k, s) {big} ON CONFLICT DO NOTHING; UPDATE t SET n = 1 WHERE n IS NULL; ALTER TABLE t ALTER COLUMN n TYPE int",
        f"UPDATE t SET s = 'r' || k WHERE k > 10000; DELETE FROM t WHERE k > 10000 AND k % 7 = 0",
        f"ALTER TABLE t ADD COLUMN d{k} text; UPDATE t SET d{k} = s WHERE k < 500; ALTER TABLE t DROP COLUMN d{k}",
        f"CREATE UNIQUE INDEX i{k} ON t (k)",
        f"CREATE TABLE x{k} AS SELECT * FROM t; DROP TABLE IF EXISTS x{max(0, k - 9)}",
        f"COPY t(k, s) TO '{folder}/t.csv' (FORMAT csv); TRUNCATE t; COPY t(k, s) FROM '{folder}/t.csv' (FORMAT csv)",
        f"ALTER TABLE t RENAME TO u; CREATE TABLE v{k}(a int PRIMARY KEY, CHECK (a > 0)); ALTER TABLE u RENAME TO t",
        f"INSERT INTO t(k, s) {big} ON CONFLICT DO NOTHING; DELETE FROM t WHERE k > 10000 AND k % 3 > 0",
        f"DELETE FROM t WHERE k > 10000",
        f"MERGE INTO t USING ({rows}) r(a, b) ON k = a WHEN MATCHED AND a % 3 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET s = b "
        f"WHEN NOT MATCHED THEN INSERT (k, s) VALUES (a, b)",
        f"ALTER TABLE t ADD COLUMN g{k} bigint GENERATED ALWAYS AS (k * 2) STORED; UPDATE t SET s = s || g{k} WHERE k % 9 = 0; "
        f"ALTER TABLE t DROP COLUMN g{k}",
        f"COMMENT ON TABLE t IS 'as of {k}'; COMMENT ON COLUMN ids.v IS {rng.choice(['NULL', repr(str(k))])}",
        f"CREATE TEMP TABLE p AS {rows}; CREATE TEMP SEQUENCE ps; DELETE FROM p WHERE i % 2 = 0; "
        f"INSERT INTO t(k, s) SELECT i, 'p' || (nextval('ps') > 0) FROM p ON CONFLICT DO NOTHING; DROP TABLE p; DROP SEQUENCE ps",
        f"INSERT INTO ids(v) SELECT i FROM generate_series(1, {many}) g(i); INSERT INTO taken VALUES (nextval('numbers')), (nextval('numbers'))",
        f"INSERT INTO ids(v) VALUES ({k}); INSERT INTO taken SELECT nextval('numbers') FROM generate_series(1, {many}); ROLLBACK; BEGIN; "
        f"INSERT INTO ids(v) VALUES ({k}); INSERT INTO taken SELECT nextval('numbers') FROM generate_series(1, {many})",
        f"INSERT INTO t(k, s) SELECT a, b || ' undone' FROM ({rows}) q(a, b) ON CONFLICT (k) DO UPDATE SET s = excluded.s; ROLLBACK; BEGIN; INSERT INTO ids(v) VALUES ({k})",
        f"SAVEPOINT a; UPDATE t SET s = s || ' undone'; ROLLBACK TO a; INSERT INTO ids(v) VALUES ({k})",
        f"SAVEPOINT a; INSERT INTO ids(v) VALUES ({k}), ({low}); INSERT INTO taken VALUES (nextval('numbers')); ROLLBACK TO a; "
        f"INSERT INTO ids(v) VALUES ({k}); INSERT INTO taken VALUES (nextval('numbers'))",
        f"UPDATE ids SET v = v + {k} WHERE v % 3 = {k % 3}; DELETE FROM ids WHERE v % 11 = {k % 11}",
        f"ALTER SEQUENCE ids_id_seq INCREMENT BY {rng.choice([1, 1, 3])}; INSERT INTO ids(v) VALUES ({k})",
        f"TRUNCATE ids RESTART IDENTITY; INSERT INTO ids(v) VALUES (1), (2)",
        f"COPY (SELECT i FROM generate_series(1, {many}) g(i)) TO '{folder}/v.csv'; COPY ids(v) FROM '{folder}/v.csv'",
    ]
    return f"BEGIN; {rng.choice(choices)}; INSERT INTO log VALUES ({k}); COMMIT;"


def script(folder, seed):
    rng = random.Random(seed)
    first = ("BEGIN; CREATE TABLE t(k int PRIMARY KEY, s text, n int DEFAULT 0); CREATE TABLE log(n int); INSERT INTO log VALUES (0); "
             "CREATE TABLE ids(id int GENERATED ALWAYS AS IDENTITY, v bigint, w bigint GENERATED ALWAYS AS (v * 2) STORED); "
             "CREATE SEQUENCE numbers; CREATE TABLE taken(a bigint); "
             "INSERT INTO t SELECT i, 'first ' || i FROM generate_series(1, 3000) g(i); COMMIT;")
    return [first] + [transaction(k, folder, rng) for k in range(1, LENGTH)]


def shell(database, sql, **more):
    return subprocess.run([str(BUILD / "tcudb"), "-X", "-qAt", str(database)], input=sql, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, **more)


def digests(transactions):
    done = shell(":memory:", "\n".join(t + "\n" + DIGEST for t in transactions))
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(transactions), done.stdout[-1000:]
    return lines


def run_and_kill(database, transactions, start, wait_for, delay):
    """How many transactions were said to be committed."""
    child = subprocess.Popen([str(BUILD / "tcudb"), "-X", "-qAt", str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True)
    text = "".join(f"{t}\n\\echo done {k}\n" for k, t in enumerate(transactions) if k >= start)

    def feed():
        try:
            child.stdin.write(text)
            child.stdin.close()
        except (BrokenPipeError, ValueError):
            pass
    feeder = threading.Thread(target=feed)
    feeder.start()
    said, waited = start, 0
    while waited < wait_for:
        line = child.stdout.readline()
        if not line.startswith("done "):
            assert not line.strip(), f"transaction {said}: {line}"
            break
        said, waited = int(line.split()[1]) + 1, waited + 1
    time.sleep(delay)
    child.kill()
    for line in child.stdout:
        assert line.startswith("done ") or not line.endswith("\n"), f"transaction {said}: {line}"
        if line.startswith("done ") and line.endswith("\n"):
            said = int(line.split()[1]) + 1
    child.wait()
    feeder.join()
    return said


def state(database, want, least):
    """The number of transactions that the database holds: `least` or one more."""
    if least == 0 and not (database / "manifest").exists():
        return 0
    done = shell(database, DIGEST)
    if least == 0 and 'relation "t" does not exist' in done.stdout:
        return 0
    for k in (least, least + 1):
        if 0 < k <= len(want) and done.stdout.rstrip("\n") == want[k - 1]:
            return k
    raise SystemExit(f"after transaction {least}: {database} holds\n{done.stdout}instead of\n{want[max(0, least - 1):least + 1]}")


def main():
    cycles, seed = (int(x) for x in (sys.argv[1:] + ["40", "1"][len(sys.argv) - 1:]))
    rng, done, transactions_seen, round_ = random.Random(seed), 0, 0, 0
    while done < cycles:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-sql-crash-"))
        database = folder / "db.tcu"
        transactions = script(folder, seed * 1000 + round_)
        want, at = digests(transactions), 0
        while at < LENGTH and done < cycles:
            least = run_and_kill(database, transactions, at, rng.choice([0, 0, 1, 1, 2, 4]), rng.random() * rng.choice([0.005, 0.05]))
            now = state(database, want, least)
            transactions_seen += now - at
            at, done = now, done + 1
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        round_ += 1
    print(f"sql_crash: {cycles} cycles, {transactions_seen} transactions, seed {seed}: nothing lost")


main()
