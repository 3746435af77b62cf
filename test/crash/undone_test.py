"""What was undone leaves nothing behind: statements that fail, ROLLBACK, ROLLBACK TO, between commits to the same and to other
tables, in two processes that take turns and close and open the database at random. After each step the other process, or
one that opens the database then, sees what a run in memory says.

usage: BUILD=build test/crash/undone_test.py [ROUNDS [SEED]]
"""
import pathlib
import random
import sys
import tempfile

from shell import Shell

STEPS = 40
SETUP = ("CREATE TABLE t(k int PRIMARY KEY, s text, v varchar(40)); CREATE TABLE u(a int, s text CHECK (s <> 'bad')); "
         "CREATE TABLE n(id int GENERATED ALWAYS AS IDENTITY, s text);")
DIGEST = ("SELECT (SELECT count(*) || ' ' || coalesce(sum(k), 0) || ' ' || coalesce(string_agg(DISTINCT s, ',' ORDER BY s), '') || "
          "coalesce(min(v), '') FROM t), (SELECT count(*) || coalesce(string_agg(DISTINCT s, ',' ORDER BY s), '') FROM u), "
          "(SELECT count(*) || ' ' || count(DISTINCT id) || coalesce(string_agg(DISTINCT s, ',' ORDER BY s), '') FROM n), "
          "(SELECT string_agg(table_name, ' ' ORDER BY table_name) FROM information_schema.tables WHERE table_schema = 'public');")


def change(rng, k):
    """One that works, on a table or another."""
    low, many = rng.randrange(60), rng.choice([1, 1, 3, 30])
    texts = f"'s{rng.choice([k, k % 7])}' || i % {rng.choice([1, 3, 11])}"
    rows = f"SELECT i, {texts}, 'v{k}' FROM generate_series({low}, {low + many}) g(i)"
    big = rng.choice([300, 5000, 5000, 80000])
    inserts = [
        f"INSERT INTO t {rows} ON CONFLICT (k) DO UPDATE SET s = excluded.s",
        f"INSERT INTO u SELECT i, {texts} FROM generate_series(1, {many}) g(i)",
        f"INSERT INTO n(s) SELECT {texts} FROM generate_series(1, {many}) g(i)",
    ]
    return rng.choice(inserts if rng.random() < 0.6 else [
        f"UPDATE t SET s = s || 'x', v = 'w{k}' WHERE k % 5 = {k % 5} AND length(s) < 9",
        f"UPDATE u SET s = 'u{k}' WHERE a % 3 = 0", f"DELETE FROM t WHERE k % 4 = {k % 4}", f"DELETE FROM u WHERE a > {many}",
        f"CREATE TABLE x{k} AS SELECT * FROM t", f"DROP TABLE IF EXISTS x{rng.randrange(k + 1)}", "TRUNCATE n",
        f"ALTER TABLE u ADD COLUMN c{k} text DEFAULT 'c{k}'; ALTER TABLE u DROP COLUMN c{k}",
        f"INSERT INTO u SELECT i, 'big' || i FROM generate_series(1, {big}) g(i); DELETE FROM u WHERE a > 9",
        "ALTER TABLE t ALTER COLUMN v TYPE text; ALTER TABLE t ALTER COLUMN v TYPE varchar(40)",
    ])


def undone(rng, k, folder):
    """Statements that leave nothing."""
    inner, many = change(rng, k), rng.choice([1, 5, 2000, 70000])
    return rng.choice([
        f"BEGIN; {inner}; {change(rng, k)}; ROLLBACK",
        f"BEGIN; {inner}; SELECT 1 / 0; COMMIT",
        f"BEGIN; SAVEPOINT a; {inner}; ROLLBACK TO a; COMMIT",
        f"BEGIN; CREATE TABLE y{k}(s text); SAVEPOINT a; INSERT INTO y{k} SELECT 'y' || i FROM generate_series(1, {many}) g(i); "
        f"ROLLBACK TO a; INSERT INTO y{k} VALUES ('kept'); DROP TABLE y{k}; COMMIT",
        f"INSERT INTO u SELECT i, CASE WHEN i = {many} THEN 'bad' ELSE 'f{k} ' || i END FROM generate_series(1, {many}) g(i)",
        f"INSERT INTO t SELECT i % {many}, 'f{k} ' || i, 'f' FROM generate_series(0, {many}) g(i)",
        f"UPDATE u SET s = CASE WHEN a > 0 THEN 'bad' ELSE 'g{k}' END; UPDATE t SET s = 'g{k}' || k, k = 1 WHERE k >= 0 AND (SELECT count(*) FROM t) > 1",
        f"COPY (SELECT i, CASE WHEN i = {many} THEN 'bad' ELSE 'h{k} ' || i END FROM generate_series(1, {many}) g(i)) TO '{folder}/f.csv' (FORMAT csv); "
        f"COPY u FROM '{folder}/f.csv' (FORMAT csv)",
        f"CREATE TABLE z{k} AS SELECT 'z' || i AS s, 1 / (i - {many}) FROM generate_series(1, {many}) g(i)",
        f"ALTER TABLE t ADD COLUMN b{k} text DEFAULT 'b{k}', ADD CHECK (k < 0 AND k > 0 OR 1 / (SELECT 0) > 0)",
    ])


def steps(rng, folder):
    for k in range(STEPS):
        kind = rng.random()
        if kind < 0.4:
            yield undone(rng, k, folder) + ";"
        elif kind < 0.5:
            yield f"BEGIN; {change(rng, k)}; SAVEPOINT a; {change(rng, k)}; ROLLBACK TO a; {change(rng, k)}; COMMIT;"
        else:
            yield change(rng, k) + ";"


def round_of(seed):
    """None, or what differs."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        database, memory = pathlib.Path(folder) / "db.tcu", Shell(":memory:", errors=False)
        shells = [Shell(database, errors=False), Shell(database, errors=False)]
        for shell in (memory, shells[0]):
            shell.run(SETUP)
        done, found = [], None
        for sql in steps(rng, folder):
            at = rng.randrange(2)
            done.append(f"-- {at}\n{sql}")
            want = [memory.run(sql), memory.run(DIGEST)]
            got = [shells[at].run(sql)]
            if rng.random() < 0.3:
                shells[1 - at].end()
                shells[1 - at] = Shell(database, errors=False)
            got.append(shells[rng.choice([1 - at, 1 - at, at])].run(DIGEST))
            if got != want:
                found = "\n".join([f"seed {seed}"] + done[-6:] + [f"{got}"[:600], "instead of", f"{want}"[:600]])
                break
            if rng.random() < 0.2:
                shells[at].end()
                shells[at] = Shell(database, errors=False)
        for shell in [memory] + shells:
            shell.end()
        return found


def main():
    rounds, first = (int(x) for x in (sys.argv[1:] + ["6", "1"][len(sys.argv) - 1:]))
    found = [text for seed in range(first, first + rounds) if (text := round_of(seed))]
    print("\n".join(found[:3]))
    print(f"undone: {rounds} rounds of {STEPS} steps, {len(found)} with a difference")
    sys.exit(1 if found else 0)


main()
