#!/usr/bin/env python3
"""How long after tcudb_interrupt a statement ends, for every kind of statement that can take long.

usage: bench/interrupt_bench.py [PATTERN]...    (BUILD, BENCH_ROWS default 2,000,000, BENCH_POINTS default 12)

Each statement runs twice whole; then it is interrupted at evenly spaced moments of that time, and again in a transaction
that is rolled back. Printed: its whole time, how many of the interrupts came before its end, the longest wait, and the
processor time that the program used in it: on a machine that does other work too, that is what the program is to blame
for. PATTERN: only the statements whose names contain one of them.
"""
import os
import pathlib
import shutil
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
    "CREATE TABLE rough AS SELECT a, a * 123456789012345678.1234567891 AS n, 'a' || md5(a::text) AS m FROM t "
    "WHERE a <= 1000000",
    f"COPY (SELECT a, a, a, a, c, c, c, c, d, d, d, d, e, e, e, e FROM t WHERE a <= 500000) TO '{FOLDER}/wide.csv' (FORMAT csv)",
    f"COPY (SELECT a, c FROM t WHERE a <= 500000) TO '{FOLDER}/part1.csv' (FORMAT csv, HEADER)",
    f"COPY (SELECT a, c FROM t WHERE a > 500000) TO '{FOLDER}/part2.csv' (FORMAT csv, HEADER)",
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
STATEMENTS |= {
    "merge": "MERGE INTO keyed USING t ON keyed.k = t.d WHEN MATCHED THEN UPDATE SET v = t.a WHEN NOT MATCHED AND t.d > 0 THEN INSERT VALUES (t.d, t.a)",
    "truncate": "TRUNCATE t, big, keyed",
    "delete all of 10 M": "DELETE FROM big",
    "update of 10 M": "UPDATE big SET d = d + 1",
    "update returning": "UPDATE t SET b = b + 1 RETURNING a, c",
    "insert returning": "INSERT INTO copy_of_t SELECT * FROM t RETURNING a, c",
    "create table like 10 M": "CREATE TABLE made AS SELECT * FROM big",
    "explain analyze": "EXPLAIN ANALYZE SELECT a, count(*), max(c) FROM big GROUP BY a ORDER BY 2 DESC, 1",
    "distinct of 10 M": "SELECT count(*) FROM (SELECT DISTINCT c, d % 100000 FROM big) x",
    "distinct on": "SELECT count(*) FROM (SELECT DISTINCT ON (c) c, d FROM big ORDER BY c, d) x",
    "union of 20 M": "SELECT count(*) FROM (SELECT a, c FROM big UNION SELECT d, c FROM big) x",
    "intersect": "SELECT count(*) FROM (SELECT a FROM big INTERSECT SELECT d FROM big) x",
    "grouping sets": "SELECT count(*) FROM (SELECT a % 1000, c, d % 7, count(*) FROM big GROUP BY GROUPING SETS ((1, 2), (2, 3), (1))) x",
    "cross join": "SELECT count(*) FROM t x, t y WHERE x.a < 50000 AND y.a < 50000 AND (x.a + y.d) % 1000003 = 5",
    "lateral series": "SELECT sum(g) FROM t, generate_series(1, b) g WHERE a < 100000",
    "lateral limit": "SELECT sum(x.k) FROM t, LATERAL (SELECT k FROM s WHERE s.k > t.a ORDER BY k LIMIT 1) x WHERE a < 300",
    "not in": "SELECT count(*) FROM t WHERE d NOT IN (SELECT k FROM s)",
    "not exists, non-equi": "SELECT count(*) FROM t WHERE a < 5000 AND NOT EXISTS (SELECT 1 FROM s WHERE s.k < t.d AND s.k > t.a)",
    "correlated count": "SELECT sum((SELECT count(*) FROM s WHERE s.k < t.d)) FROM t WHERE a < 2000",
    "lag of 10 M": "SELECT max(x) FROM (SELECT a - lag(a) OVER (ORDER BY d) AS x FROM big) y",
    "window over texts": "SELECT max(x) FROM (SELECT max(m) OVER (ORDER BY a ROWS 50 PRECEDING) AS x FROM rough) y",
    "count distinct window": "SELECT max(x) FROM (SELECT dense_rank() OVER (PARTITION BY c ORDER BY d) AS x FROM big) y",
    "percentiles by group": "SELECT count(*) FROM (SELECT c, percentile_cont(0.5) WITHIN GROUP (ORDER BY d) FROM big GROUP BY c) x",
    "string_agg of 10 M": "SELECT length(string_agg(c, ',' ORDER BY a)) FROM big",
    "string_agg by group": "SELECT sum(length(x)) FROM (SELECT string_agg(m, ',' ORDER BY m) AS x FROM rough GROUP BY a % 10) y",
    "numeric of 38 digits": "SELECT sum(n), avg(n), max(n * 3), min(n / 7) FROM rough",
    "numeric sort": "SELECT n FROM rough ORDER BY n DESC OFFSET 999990",
    "numeric group by": "SELECT count(*) FROM (SELECT n, count(*) FROM rough GROUP BY n) x",
    "distinct texts": "SELECT count(DISTINCT m), count(DISTINCT reverse(m)) FROM rough",
    "sort of distinct texts": "SELECT m FROM rough ORDER BY reverse(m) OFFSET 999990",
    "join of distinct texts": "SELECT count(*) FROM rough x JOIN rough y ON x.m = y.m",
    "like": "SELECT count(*) FROM rough WHERE m LIKE '%a%b%c%' OR m ILIKE '%FFF%'",
    "regexp match": "SELECT count(*) FROM rough WHERE m ~ '([0-9][a-f]){4}$'",
    "casts to text": "SELECT sum(length(a::text || n::text || (e::text))) FROM t JOIN rough USING (a)",
    "to_char": "SELECT max(to_char(a, 'FM999,999,999') || to_char('2000-01-01'::date + a % 10000, 'DD Mon YYYY')) FROM t",
    "contraction, sparse": "SELECT x.a, y.d, count(*) FROM t x JOIN t y ON x.d = y.a GROUP BY 1, 2",
    "contraction, non-equi": "SELECT x.b, y.b, count(*) FROM t x JOIN t y ON x.a < y.d WHERE x.a < 60000 AND y.a < 60000 GROUP BY 1, 2",
    "contraction, sums of big": "SELECT x.c, sum(x.a::bigint * y.a) FROM big x JOIN big y ON x.d % 5000 = y.d % 5000 GROUP BY 1",
    "contraction, doubles": "SELECT x.b, y.b, sum(x.e * y.e) FROM t x JOIN t y ON x.c = y.c GROUP BY 1, 2",
    "contraction, many groups": "SELECT count(*) FROM (SELECT x.d % 20000 AS i, y.d % 20000 AS j, count(*) FROM t x JOIN t y ON x.c = y.c GROUP BY 1, 2) q",
    "copy wide from": f"CREATE TABLE made (" + ", ".join(f"c{i} text" for i in range(16)) + f"); COPY made FROM '{FOLDER}/wide.csv' (FORMAT csv)",
    "copy wide to": f"COPY (SELECT a, a, a, a, c, c, c, c, d, d, d, d, e, e, e, e FROM t) TO '{FOLDER}/out.csv' (FORMAT csv)",
    "copy, 1,600 columns to": f"COPY (SELECT {', '.join(f'a + {i}' for i in range(1600))} FROM t WHERE a <= 5000) TO '{FOLDER}/out.csv'",
    "read_csv of a pattern": f"SELECT count(*), max(c), sum(a) FROM read_csv('{FOLDER}/part*.csv', filename => true)",
    "read_csv into a table": f"CREATE TABLE made AS SELECT * FROM '{FOLDER}/part2.csv'",
    "read_csv, a bad value": f"SELECT sum(c) FROM read_csv('{FOLDER}/part2.csv', types => 'c bigint', ignore_errors => true)",
    "100 MB: read_csv whole": f"SELECT max(length(column1)) FROM read_csv('{FOLDER}/huge.csv', header => false, max_line_size => 200000000)",
    "100 MB: read_csv, no quote": f"SELECT count(*) FROM read_csv('{FOLDER}/huge.csv', quote => '', max_line_size => 200000000)",
    "100 MB: read_csv, one column": f"SELECT count(*) FROM read_csv('{FOLDER}/huge.csv', quote => '', delim => ';', max_line_size => 200000000)",
    "100 MB: string_to_table": "SELECT count(*) FROM huge, string_to_table(x, ',') u",
    "100 MB: update": "UPDATE huge SET x = x || 'y'",
    "100 MB: regexp_matches": "SELECT count(*) FROM huge, regexp_matches(x, 'b c', 'g') m",
    "add primary key": "ALTER TABLE big ADD PRIMARY KEY (a)",
    "set not null": "ALTER TABLE big ALTER COLUMN d SET NOT NULL",
    "drop column": "ALTER TABLE big DROP COLUMN d",
    "add column, random": "ALTER TABLE t ADD COLUMN more float8 DEFAULT random()",
    "analyze": "ANALYZE",
    "information_schema": "SELECT count(*) FROM information_schema.columns a, information_schema.columns b WHERE a.column_name = b.column_name OR a.data_type = 'text'",
    "nested views": "CREATE VIEW v1 AS SELECT a, b, c FROM t; CREATE VIEW v2 AS SELECT x.a, y.b, x.c FROM v1 x JOIN v1 y USING (a); SELECT count(*), max(c) FROM v2",
    "with, three times": "WITH x AS MATERIALIZED (SELECT d, count(*) AS n FROM big GROUP BY d) SELECT count(*) FROM x a JOIN x b USING (d) JOIN x c USING (d)",
    "recursion by union": "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT (n * 7 + 3) % 1000003 FROM r) SELECT count(*) FROM r",
}
# What runs in the transaction before the statement is timed, and what undoes it, in one of its own, where it was kept.
BEFORE = {
    "commit of 2 M rows": (["CREATE TABLE kept AS SELECT * FROM t"], "DROP TABLE IF EXISTS kept"),
    "commit of 10 M rows": (["CREATE TABLE kept AS SELECT * FROM big"], "DROP TABLE IF EXISTS kept"),
    "commit of 1 M texts": (["CREATE TABLE kept AS SELECT m, reverse(m) AS r FROM rough"], "DROP TABLE IF EXISTS kept"),
    "commit of 100 MB": (["CREATE TABLE kept AS SELECT x FROM huge"], "DROP TABLE IF EXISTS kept"),
    "rollback of 10 M rows": (["CREATE TABLE kept AS SELECT * FROM big"], None),
    "rollback of an update": (["UPDATE big SET d = d + 1"], None),
    "rollback to savepoint": (["SAVEPOINT p", "CREATE TABLE kept AS SELECT * FROM big", "DELETE FROM big WHERE a % 3 = 1"], None),
}
STATEMENTS |= {name: "COMMIT" if name.startswith("commit") else "ROLLBACK TO p" if "savepoint" in name else "ROLLBACK"
               for name in BEFORE}
SETTINGS = {"contraction": "SET tcudb.engine = tcu", "contraction of sums": "SET tcudb.engine = tcu"}


def run(conn, sql, after=None):
    """Seconds until the end, seconds and processor seconds from the interrupt to the end, the error."""
    at, cpu = [0.0], [0.0]
    sql = sql.encode()  # not part of the statement

    def interrupt():
        at[0], cpu[0] = time.perf_counter(), time.process_time()
        conn.lib.tcudb_interrupt(conn.conn)

    timer = threading.Timer(after, interrupt) if after is not None else None
    started = time.perf_counter()
    if timer:
        timer.start()
    error = conn.execute(sql)
    ended, busy = time.perf_counter(), time.process_time()
    if timer:
        timer.cancel()
        timer.join()
    return ended - started, (ended - at[0], busy - cpu[0]) if 0 < at[0] < ended else None, error


def attempt(conn, name, after=None):
    """One run in a transaction that leaves everything as it was."""
    before, undo = BEFORE.get(name, ([], None))
    for statement in ["BEGIN", *before]:
        assert conn.execute(statement) == "", statement
    measured = run(conn, STATEMENTS[name], after)
    conn.execute("ROLLBACK")
    assert undo is None or conn.execute(undo) == "", undo
    return measured


def measure(conn, name):
    setting = SETTINGS.get(name, "RESET tcudb.engine")
    assert conn.execute(setting) == "", setting
    whole, _, error = attempt(conn, name)
    whole = min(whole, attempt(conn, name)[0])  # what it takes once its memory is there
    waits, stopped = [], 0
    for point in range(POINTS):
        _, wait, failed = attempt(conn, name, whole * (point + 0.5) / POINTS)
        if wait is not None:
            stopped += failed == "57014"
            waits.append(wait)
    longest = [f"{max(wait[i] for wait in waits) * 1000:9.1f}" if waits else "        -" for i in (0, 1)]
    print(f"{name:28}{whole * 1000:11.0f} ms{stopped:6} of {len(waits):3}{longest[0]} ms{longest[1]} ms {error}", flush=True)


def main():
    database = Database(os.environ.get("BUILD", "build"), str(FOLDER / "db.tcu"))
    conn = database.connect()
    for statement in SETUP:
        error = conn.execute(statement)
        assert error == "", (statement, error)
    print(f"{'statement':28}{'whole':>14}{'stopped':>13}{'longest wait':>14}{'processor':>12}")
    for name in STATEMENTS:
        if len(sys.argv) < 2 or any(pattern in name for pattern in sys.argv[1:]):
            measure(conn, name)
    conn.close()
    database.close()
    shutil.rmtree(FOLDER)


main()
