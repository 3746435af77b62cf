#!/usr/bin/env python3
"""How long after tcudb_interrupt a statement ends, for every kind of statement that can take long.

usage: bench/interrupt_bench.py [PATTERN]    (BUILD, BENCH_ROWS default 2,000,000, BENCH_POINTS default 12)

Each statement runs twice whole; then it is interrupted at evenly spaced moments of that time, and again in a transaction
that is rolled back. Printed: its whole time, how many of the interrupts came before its end, the longest wait.
"""
import os
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test/oracle"))
from engine import Database  # noqa: E402

ROWS = int(os.environ.get("BENCH_ROWS", "2000000"))
POINTS = int(os.environ.get("BENCH_POINTS", "12"))
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="tcudb-interrupt-"))

SETUP = [
    f"CREATE TABLE t AS SELECT i AS a, i % 1000 AS b, 'text ' || i % 5000 AS c, (i::bigint * 7919 % {ROWS})::int AS d, "
    f"i / 3.0 AS e FROM generate_series(1, {ROWS}) g(i)",
    "CREATE TABLE s AS SELECT a AS k, c AS v FROM t WHERE a % 3 = 0",
    "CREATE TABLE copy_of_t AS SELECT * FROM t LIMIT 0",
    f"COPY t TO '{FOLDER}/t.csv'",
    "CREATE TABLE big AS SELECT a + n * 2000000 AS a, d + n * 2000000 AS d, c FROM t, generate_series(0, 4) g(n)",
    "CREATE TABLE wide (" + ", ".join(f"c{i} int" for i in range(1600)) + ")",
    "CREATE TABLE keyed (k int PRIMARY KEY, v bigint)",
    "INSERT INTO keyed SELECT d, 0 FROM t WHERE d % 2 = 0 AND d > 0",
    "CREATE TABLE huge AS SELECT repeat('ab cd,', 17000000) AS x",
    f"COPY huge TO '{FOLDER}/huge.txt'",
    f"COPY huge TO '{FOLDER}/huge.csv' (FORMAT csv)",
    "CREATE TABLE huge_copy (x text)",
]
JOINED = ", ".join(f"s s{i}" for i in range(60))
CHAIN = " AND ".join(f"s{i}.k = s{i + 1}.k" for i in range(59))
STATEMENTS = {
    "update": "UPDATE t SET b = b + 1, c = c || 'x'",
    "delete": "DELETE FROM t WHERE a % 2 = 0",
    "insert select": "INSERT INTO copy_of_t SELECT * FROM t",
    "insert select order by": "INSERT INTO copy_of_t SELECT * FROM t ORDER BY d",
    "create table as": "CREATE TABLE made AS SELECT a, c, d FROM t",
    "copy from": f"COPY copy_of_t FROM '{FOLDER}/t.csv'",
    "copy to": f"COPY t TO '{FOLDER}/out.csv'",
    "copy to, sorted": f"COPY (SELECT * FROM t ORDER BY d) TO '{FOLDER}/out.csv'",
    "read_csv": f"SELECT count(*), sum(column1) FROM read_csv('{FOLDER}/t.csv', delim => E'\\t', header => false)",
    "result of 2 M rows": "SELECT * FROM t",
    "sort": "SELECT a FROM t ORDER BY d, c OFFSET 1999990",
    "sort by text": "SELECT a FROM t ORDER BY c, d OFFSET 1999990",
    "join": "SELECT count(*), sum(s.k) FROM t JOIN s ON t.d = s.k",
    "join by text": "SELECT count(*) FROM t JOIN s ON t.c = s.v WHERE t.a < 20000",
    "non-equi join": "SELECT count(*) FROM t JOIN s ON t.d < s.k WHERE t.a < 2000",
    "aggregate, 2 M groups": "SELECT count(*) FROM (SELECT d, sum(a), min(c) FROM t GROUP BY d) x",
    "aggregate by text": "SELECT count(*) FROM (SELECT c || d AS g, count(*) FROM t GROUP BY 1) x",
    "count distinct": "SELECT count(DISTINCT d), count(DISTINCT c), count(DISTINCT e) FROM t",
    "string_agg": "SELECT length(string_agg(c, ',')) FROM t",
    "distinct": "SELECT count(*) FROM (SELECT DISTINCT c, d FROM t) x",
    "union": "SELECT count(*) FROM (SELECT a, c FROM t UNION SELECT k, v FROM s) x",
    "except": "SELECT count(*) FROM (SELECT a, c FROM t EXCEPT ALL SELECT k, v FROM s) x",
    "window": "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY b ORDER BY d) r FROM t) x",
    "window, one partition": "SELECT max(r) FROM (SELECT sum(a) OVER (ORDER BY d ROWS 100 PRECEDING) r FROM t) x",
    "window, min of a frame": "SELECT max(r) FROM (SELECT min(d) OVER (ORDER BY a ROWS 5000 PRECEDING) r FROM t WHERE a < 200000) x",
    "window, rank": "SELECT max(r) FROM (SELECT rank() OVER (ORDER BY b) r, ntile(7) OVER (ORDER BY c) n FROM t) x",
    "contraction": "SELECT x.b, y.b, count(*) FROM t x JOIN t y ON x.c = y.c GROUP BY 1, 2",
    "contraction of sums": "SELECT x.b, sum(x.a::bigint * y.d) FROM t x JOIN t y ON x.c = y.c GROUP BY 1",
    "recursion": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 300000) SELECT count(*) FROM r",
    "correlated": "SELECT count(*) FROM t WHERE a < 3000 AND d > (SELECT avg(k) FROM s WHERE k % 7 <> t.b)",
    "in subquery": "SELECT count(*) FROM t WHERE c || d IN (SELECT v || k FROM s)",
    "regexp": "SELECT count(*) FROM t WHERE regexp_replace(c, '([0-9])', '<\\1>', 'g') LIKE '%<7>%'",
    "md5": "SELECT max(md5(c || a)) FROM t",
    "generate_series": "SELECT count(*) FROM generate_series(1, 50000000) g WHERE g % 7 = 3",
    "call ssb": "CALL ssb(scale => 0.2)",
    "parse: values": "INSERT INTO s VALUES " + ", ".join(f"({i}, 'v{i}')" for i in range(200000)),
    "parse: in list": "SELECT count(*) FROM t WHERE a IN (" + ", ".join(str(i * 3) for i in range(400000)) + ")",
    "parse: long text": "SELECT length('" + "x" * 40000000 + "')",
    "optimise: 1,100 joins": "SELECT 1 FROM " + " JOIN ".join(
        f"s s{i}" + (f" ON s{i}.k = s{i - 1}.k" if i else "") for i in range(1100)) + " LIMIT 0",
    "optimise: 60 relations": f"SELECT count(*) FROM {JOINED} WHERE {CHAIN} AND s0.k < 0",
    "optimise: 60, clique": f"SELECT count(*) FROM {JOINED} WHERE s0.k < 0 AND " + " AND ".join(
        f"s{i}.k = s{j}.k" for i in range(24) for j in range(i)),
    "optimise: 2,000 conjuncts": "SELECT count(*) FROM t WHERE " + " AND ".join(f"a + {i} <> d * {i}" for i in range(2000)),
    "optimise: 1,600 columns": "SELECT " + ", ".join(f"a + {i}" for i in range(1600)) + " FROM t LIMIT 1",
    "optimise: 1,000 unions": " UNION ALL ".join(f"SELECT {i}" for i in range(1000)),
    "parse: deep case": "SELECT " + "CASE WHEN a = 1 THEN 2 ELSE " * 390 + "3" + " END" * 390 + " FROM t LIMIT 1",
    "parse: wide case": "SELECT sum(CASE a " + " ".join(f"WHEN {i} THEN {i * 2}" for i in range(20000)) + " END) FROM t WHERE a < 2000",
    "parse: in list of texts": "SELECT count(*) FROM t WHERE c || a IN (" + ", ".join(f"'text {i}'" for i in range(200000)) + ")",
    "optimise: 1,600 columns, join": "SELECT " + ", ".join(f"x.a + y.b + {i}" for i in range(1600)) + " FROM t x JOIN t y USING (a) LIMIT 1",
    "insert into 1,600 columns": "INSERT INTO wide SELECT " + ", ".join(f"a + {i}" for i in range(1600)) + " FROM t WHERE a <= 20000",
    "create unique index": "CREATE UNIQUE INDEX ON t (d, a)",
    "alter: add column": "ALTER TABLE t ADD COLUMN more int DEFAULT 7",
    "alter: type": "ALTER TABLE t ALTER COLUMN d TYPE bigint",
    "alter: check": "ALTER TABLE t ADD CHECK (length(md5(c || a)) > 3)",
    "sort of 10 M": "SELECT a FROM big ORDER BY d DESC, a OFFSET 9999990",
    "sort of 10 M by text": "SELECT a FROM big ORDER BY c, a DESC OFFSET 9999990",
    "window of 10 M": "SELECT max(r) FROM (SELECT row_number() OVER (PARTITION BY d % 1000 ORDER BY a DESC) r FROM big) x",
    "range frame": "SELECT max(r) FROM (SELECT sum(a) OVER (ORDER BY d RANGE BETWEEN 50 PRECEDING AND 50 FOLLOWING) r FROM t) x",
    "percentiles of 10 M": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d), mode() WITHIN GROUP (ORDER BY a), percentile_disc(0.3) WITHIN GROUP (ORDER BY c) FROM big",
    "group by of 10 M": "SELECT count(*) FROM (SELECT a, d, count(*) FROM big GROUP BY 1, 2) x",
    "join of 10 M": "SELECT count(*) FROM big x JOIN big y ON x.a = y.d",
    "array of texts": "SELECT length(string_agg(c, ',' ORDER BY d)) FROM t",
    "recursion over a join": "WITH RECURSIVE r(n, i) AS (SELECT 1, 1 UNION ALL SELECT s.k, i + 1 FROM r JOIN s ON s.k = r.n + 2 WHERE i < 3000) SELECT count(*) FROM r",
    "on conflict": "INSERT INTO keyed SELECT d, a FROM t WHERE d > 0 ON CONFLICT (k) DO UPDATE SET v = keyed.v + excluded.v",
    "insert into keyed": "INSERT INTO keyed SELECT d + 10000000, a FROM t WHERE d > 0",
    "delete using": "DELETE FROM t USING s WHERE t.a = s.k",
    "update from": "UPDATE t SET b = length(s.v) FROM s WHERE t.a = s.k",
    "parse: 40 MB in $$": "SELECT length($$" + "x" * 40000000 + "$$)",
    "parse: 40 MB of comment": "SELECT 1 /* " + "x" * 40000000 + " */",
    "parse: 40 MB of blanks": "SELECT 1" + " " * 40000000,
    "parse: 40 MB of doubled quotes": "SELECT length('" + "it''s " * 6500000 + "')",
    "parse: 40 MB of umlauts": "SELECT length('" + "ä" * 20000000 + "')",
    "view of a long text": "CREATE VIEW w AS SELECT '" + "x" * 40000000 + "' AS x",
    "default of a long text": "CREATE TABLE w (x text DEFAULT '" + "x" * 40000000 + "')",
    "values of long texts": "INSERT INTO huge_copy VALUES " + ", ".join("('" + "x" * 1000000 + "')" for _ in range(40)),
    "100 MB: copy to": f"COPY huge TO '{FOLDER}/out.csv'",
    "100 MB: copy from": f"COPY huge_copy FROM '{FOLDER}/huge.txt'",
    "100 MB: copy from csv": f"COPY huge_copy FROM '{FOLDER}/huge.csv' (FORMAT csv)",
    "100 MB: read_csv": f"SELECT count(*) FROM read_csv('{FOLDER}/huge.csv', header => false)",
    "100 MB: insert select": "INSERT INTO huge_copy SELECT x FROM huge",
    "100 MB: select": "SELECT x FROM huge",
    **{f"100 MB: {call[:20]}": f"SELECT {call} FROM huge" for call in (
        "length(x)", "length(repeat(x, 4))", "length(replace(x, 'b', 'xyz'))", "length(upper(x))", "length(initcap(x))",
        "length(reverse(x))", "md5(x)", "position('zz' IN x)", "split_part(x, 'c', 14000000)", "split_part(x, 'c', -2)",
        "x LIKE '%a%c%zz'", "x ILIKE '%zz%'", "x ~ 'zz'", "x ~ '(a|b)*zz'", "length(regexp_replace(x, '[bc]', 'xx', 'g'))",
        "regexp_count(x, 'b c')", "length(translate(x, 'abc', 'xyz'))", "length(lpad(x, 200000000, 'xy'))",
        "length(btrim(x, 'abcd ,'))", "length(x || x)", "length(substr(x, 5000000))", "length(left(x, -1))",
        "length(right(x, 5000000))", "length(overlay(x PLACING 'xx' FROM 5000000))", "length(quote_literal(x))",
        "length(format('%s %L', x, x))", "x < x || 'a'", "count(DISTINCT x)", "length(string_agg(x, ','))", "x::int",
        "x::varchar(10)", "length(concat_ws(',', x, x))", "starts_with(x, x)", "max(x)", "octet_length(x::char(50000000))",
        "ascii(x)", "x::date", "x::numeric", "x SIMILAR TO '%zz'")},
    "100 MB: order by": "SELECT length(x) FROM (SELECT x || n AS x FROM huge, generate_series(1, 3) g(n) ORDER BY 1) y",
    "100 MB: group by": "SELECT length(x) FROM (SELECT x, count(*) FROM huge, generate_series(1, 3) g(n) GROUP BY 1) y",
    "100 MB: join": "SELECT count(*) FROM huge a JOIN huge b USING (x)",
    "100 MB: split to table": "SELECT count(*) FROM huge, unnest(string_to_array(x, 'c')) u",
    "100 MB: regexp to table": "SELECT count(*) FROM huge, regexp_split_to_table(x, 'c') u",
    "regexp, backtracking": "SELECT count(*) FROM t WHERE a < 1000 AND repeat('a', 28) || c ~ '^(a+)+$'",
    "like, backtracking": "SELECT count(*) FROM t WHERE a < 100 AND repeat('ab', 5000) LIKE '%" + "a%" * 40 + "z'",
    "numeric powers": "SELECT sum(length(((a * 7)::numeric ^ 3)::text)) FROM t",
    "rollup": "SELECT count(*) FROM (SELECT b, c, d % 100, count(*) FROM t GROUP BY ROLLUP (1, 2, 3)) x",
    "result, sorted": "SELECT * FROM t ORDER BY c, d",
    "summaries": "SELECT b, stddev(a), avg(e), max(c), count(DISTINCT d) FROM t GROUP BY b",
    "series of numerics": "SELECT count(*) FROM generate_series(1::numeric, 3000000) g",
    "series of timestamps": "SELECT count(*) FROM generate_series('2000-01-01'::timestamp, '2040-01-01', '1 minute') g",
    "matrices": "CALL matrices(n => 1024)",
    "drop of 10 M": "DROP TABLE big",
    "explain 1,100 joins": "EXPLAIN SELECT 1 FROM " + " JOIN ".join(
        f"s s{i}" + (f" ON s{i}.k = s{i - 1}.k" if i else "") for i in range(1100)),
}
SETTINGS = {"contraction": "SET tcudb.engine = tcu", "contraction of sums": "SET tcudb.engine = tcu"}


def run(conn, sql, after=None):
    """Seconds until the end, seconds from the interrupt to the end, the error."""
    at = [0.0]
    sql = sql.encode()  # not part of the statement

    def interrupt():
        at[0] = time.perf_counter()
        conn.lib.tcudb_interrupt(conn.conn)

    timer = threading.Timer(after, interrupt) if after is not None else None
    started = time.perf_counter()
    if timer:
        timer.start()
    error = conn.execute(sql)
    ended = time.perf_counter()
    if timer:
        timer.cancel()
        timer.join()
    return ended - started, ended - at[0] if 0 < at[0] < ended else None, error


def measure(conn, name, sql):
    setting = SETTINGS.get(name, "RESET tcudb.engine")
    for statement in (setting, "BEGIN"):
        assert conn.execute(statement) == "", statement
    whole, _, error = run(conn, sql)
    conn.execute("ROLLBACK")
    conn.execute("BEGIN")
    whole = min(whole, run(conn, sql)[0])  # what it takes once its memory is there
    conn.execute("ROLLBACK")
    waits, stopped = [], 0
    for point in range(POINTS):
        conn.execute("BEGIN")
        _, wait, failed = run(conn, sql, whole * (point + 0.5) / POINTS)
        conn.execute("ROLLBACK")
        if wait is not None:
            stopped += failed == "57014"
            waits.append(wait)
    worst = f"{max(waits) * 1000:9.1f}" if waits else "        -"
    print(f"{name:28}{whole * 1000:11.0f} ms{stopped:6} of {len(waits):3}{worst} ms {error}", flush=True)


def main():
    database = Database(os.environ.get("BUILD", "build"), str(FOLDER / "db.tcu"))
    conn = database.connect()
    for statement in SETUP:
        error = conn.execute(statement)
        assert error == "", (statement, error)
    print(f"{'statement':28}{'whole':>14}{'stopped':>13}{'longest wait':>14}")
    for name, sql in STATEMENTS.items():
        if len(sys.argv) < 2 or sys.argv[1] in name:
            measure(conn, name, sql)
    conn.close()
    database.close()


main()
