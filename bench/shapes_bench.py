#!/usr/bin/env python3
"""Varied analytic query shapes, tcudb against DuckDB in the same run and on the same threads: what no published benchmark
asks for, to find where the engine falls behind. Worst ratios first.

usage: bench/shapes_bench.py [PATTERN]    (BENCH_THREADS, BENCH_RUNS default 3, BENCH_COPIES default 50)

The tables are bench/tpch_data.py's, and two of addresses and digests that never repeat. A shape is one SELECT that both engines take, a pair where their dialects differ, or
steps of which the one that begins with `time:` is timed; statements that write run in a transaction that is rolled back.
Answers are compared as bags, numbers to 9 digits (DuckDB's sums of doubles depend on its threads).
"""
import json
import math
import os
import pathlib
import sys
import tempfile

from engines import BUILD, ENGINES, THREADS
from tpch_data import COPIES, DATA, equal, load, run_engine

RUNS = int(os.environ.get("BENCH_RUNS", "3"))


def both(ours, theirs):
    return {"tcudb": ours, "duckdb": theirs}


def write(statement, check):
    return ["BEGIN", "time:" + statement, check, "ROLLBACK"]


BIG_IN = ", ".join(str(i * 37) for i in range(5000))
TEXT_IN = ", ".join(f"'Customer#{i * 7:09}'" for i in range(300))
SHAPES = {
    # groups
    "group by int, few": "SELECT l_linenumber, count(*), sum(l_quantity) FROM lineitem GROUP BY 1",
    "group by 2 ints": "SELECT count(*), sum(s) FROM (SELECT l_suppkey, l_linenumber, sum(l_quantity) s FROM lineitem GROUP BY 1, 2) x",
    "group by 3 ints": "SELECT count(*), max(s) FROM (SELECT l_partkey, l_suppkey, l_linenumber, sum(l_quantity) s FROM lineitem GROUP BY 1, 2, 3) x",
    "group by int, many": "SELECT count(*), max(s) FROM (SELECT l_orderkey, sum(l_quantity) s, min(l_shipdate) FROM lineitem GROUP BY 1) x",
    "group by char, few": "SELECT l_returnflag, l_linestatus, count(*), avg(l_discount) FROM lineitem GROUP BY 1, 2",
    "group by text": "SELECT count(*), max(n) FROM (SELECT o_clerk, count(*) n, max(o_totalprice) FROM orders GROUP BY 1) x",
    "group by text, many": "SELECT count(*), max(n) FROM (SELECT l_comment, count(*) n FROM lineitem GROUP BY 1) x",
    "group by int and text": "SELECT count(*), max(s) FROM (SELECT l_shipmode, l_suppkey, sum(l_extendedprice) s FROM lineitem GROUP BY 1, 2) x",
    "group by expression": "SELECT l_orderkey % 1000, count(*), sum(l_tax) FROM lineitem GROUP BY 1",
    "group by date": "SELECT l_shipdate, count(*), sum(l_extendedprice * (1 - l_discount)) FROM lineitem GROUP BY 1",
    "group by year": "SELECT extract(year FROM l_shipdate), count(*), sum(l_quantity) FROM lineitem GROUP BY 1",
    "group by month": "SELECT count(*), max(n) FROM (SELECT date_trunc('month', o_orderdate) m, count(*) n FROM orders GROUP BY 1) x",
    "group by computed text": "SELECT count(*), max(n) FROM (SELECT substring(l_comment FROM 1 FOR 4) k, count(*) n FROM lineitem GROUP BY 1) x",
    "group by numeric": "SELECT l_discount, l_tax, count(*), sum(l_quantity) FROM lineitem GROUP BY 1, 2",
    "group by numeric, many": "SELECT count(*), max(n) FROM (SELECT l_extendedprice, count(*) n FROM lineitem GROUP BY 1) x",
    "many aggregates": "SELECT l_shipmode, count(*), sum(l_quantity), avg(l_quantity), min(l_shipdate), max(l_shipdate), sum(l_tax), avg(l_extendedprice), min(l_comment) FROM lineitem GROUP BY 1",
    "statistics": "SELECT l_shipmode, stddev(l_quantity), var_pop(l_discount) FROM lineitem GROUP BY 1",
    "statistics of doubles": "SELECT l_shipmode, stddev(l_quantity::float8), corr(l_quantity::float8, l_extendedprice::float8) FROM lineitem GROUP BY 1",
    "filtered aggregates": "SELECT count(*) FILTER (WHERE l_tax > 0.04), sum(l_quantity) FILTER (WHERE l_shipmode = 'AIR'), avg(l_discount) FILTER (WHERE l_linenumber = 3) FROM lineitem",
    "having": "SELECT count(*) FROM (SELECT l_partkey FROM lineitem GROUP BY 1 HAVING sum(l_quantity) > 800) x",
    "rollup": "SELECT l_shipmode, l_returnflag, count(*), sum(l_quantity) FROM lineitem GROUP BY ROLLUP (1, 2)",
    "cube": "SELECT l_linenumber, l_returnflag, l_linestatus, count(*) FROM lineitem GROUP BY CUBE (1, 2, 3)",
    "min of text": "SELECT l_suppkey % 10, min(l_comment), max(l_comment) FROM lineitem GROUP BY 1",
    "string_agg": "SELECT count(*), sum(length(s)) FROM (SELECT o_custkey, string_agg(o_clerk, ',' ORDER BY o_orderkey) s FROM orders GROUP BY 1) x",
    "bool_and": "SELECT l_suppkey % 100, bool_and(l_tax > 0.01)::int, bool_or(l_tax > 0.07)::int FROM lineitem GROUP BY 1",
    # distinct
    "count distinct": "SELECT count(DISTINCT l_partkey), count(DISTINCT l_suppkey) FROM lineitem",
    "count distinct of text": "SELECT count(DISTINCT l_comment) FROM lineitem",
    "count distinct by group": "SELECT l_shipmode, count(DISTINCT l_orderkey) FROM lineitem GROUP BY 1",
    "distinct rows": "SELECT count(*) FROM (SELECT DISTINCT l_partkey, l_suppkey FROM lineitem) x",
    "distinct on": "SELECT count(*), sum(o_totalprice) FROM (SELECT DISTINCT ON (o_custkey) o_custkey, o_totalprice FROM orders ORDER BY o_custkey, o_orderdate DESC, o_orderkey) x",
    # order
    "top n by int": "SELECT l_orderkey, l_linenumber FROM lineitem ORDER BY l_orderkey DESC, l_linenumber LIMIT 10",
    "top n by numeric": "SELECT l_extendedprice, l_orderkey, l_linenumber FROM lineitem ORDER BY 1 DESC, 2, 3 LIMIT 20",
    "top n by text": "SELECT o_comment, o_orderkey FROM orders ORDER BY 1, 2 LIMIT 10",
    "top n by text, large": "SELECT l_comment, l_orderkey, l_linenumber FROM lineitem ORDER BY 1 DESC, 2, 3 LIMIT 10",
    "top n by several": "SELECT l_shipmode, l_shipdate, l_orderkey, l_linenumber FROM lineitem ORDER BY 1, 2 DESC, 3, 4 LIMIT 50",
    "top n by expression": "SELECT l_orderkey, l_linenumber, l_extendedprice * (1 - l_discount) r FROM lineitem ORDER BY r DESC, 1, 2 LIMIT 10",
    "top n by computed text": "SELECT upper(o_comment) u, o_orderkey FROM orders ORDER BY 1, 2 LIMIT 10",
    "top 10,000": "SELECT count(*), sum(l_orderkey) FROM (SELECT l_orderkey FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 10000) x",
    "sort of all": "SELECT l_orderkey, l_extendedprice FROM lineitem ORDER BY l_extendedprice, l_orderkey, l_linenumber OFFSET 2990000 LIMIT 5",
    "sort by text": "SELECT o_clerk, o_orderkey FROM orders ORDER BY o_clerk, o_orderkey OFFSET 700000 LIMIT 5",
    "sort by long text": "SELECT o_comment, o_orderkey FROM orders ORDER BY o_comment, o_orderkey OFFSET 700000 LIMIT 5",
    # windows
    "row_number": "SELECT max(r), sum(r) FROM (SELECT row_number() OVER (PARTITION BY l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber) r FROM lineitem) x",
    "row_number, tiny partitions": "SELECT sum(r) FROM (SELECT row_number() OVER (PARTITION BY l_orderkey ORDER BY l_linenumber) r FROM lineitem) x",
    "first of each group": "SELECT count(*), sum(p) FROM (SELECT l_extendedprice p, row_number() OVER (PARTITION BY l_orderkey ORDER BY l_extendedprice DESC, l_linenumber) r FROM lineitem) x WHERE r = 1",
    "rank": "SELECT max(r), sum(d) FROM (SELECT rank() OVER (PARTITION BY l_shipmode ORDER BY l_shipdate) r, dense_rank() OVER (PARTITION BY l_shipmode ORDER BY l_shipdate) d FROM lineitem) x",
    "running sum": "SELECT max(s) FROM (SELECT sum(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) s FROM orders) x",
    "moving average": "SELECT max(a) FROM (SELECT avg(o_totalprice) OVER (ORDER BY o_orderdate, o_orderkey ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) a FROM orders) x",
    "moving minimum": "SELECT sum(a) FROM (SELECT min(o_totalprice) OVER (ORDER BY o_orderdate, o_orderkey ROWS BETWEEN 100 PRECEDING AND 100 FOLLOWING) a FROM orders) x",
    "lag": "SELECT sum(d) FROM (SELECT o_totalprice - lag(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) d FROM orders) x",
    "share of the total": "SELECT max(s) FROM (SELECT l_quantity / sum(l_quantity) OVER (PARTITION BY l_orderkey) s FROM lineitem) x",
    "ntile": "SELECT t, count(*), sum(o_totalprice) FROM (SELECT o_totalprice, ntile(10) OVER (ORDER BY o_totalprice, o_orderkey) t FROM orders) x GROUP BY 1",
    "first_value": "SELECT count(DISTINCT f) FROM (SELECT first_value(o_clerk) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) f FROM orders) x",
    "range frame": "SELECT max(s) FROM (SELECT sum(o_totalprice) OVER (ORDER BY o_orderdate RANGE BETWEEN INTERVAL '30 days' PRECEDING AND CURRENT ROW) s FROM orders) x",
    "median": "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY l_extendedprice::float8) FROM lineitem",
    "percentile by group": "SELECT l_shipmode, percentile_cont(0.9) WITHIN GROUP (ORDER BY l_extendedprice::float8), percentile_disc(0.1) WITHIN GROUP (ORDER BY l_shipdate) FROM lineitem GROUP BY 1",
    "mode": "SELECT l_shipmode, mode() WITHIN GROUP (ORDER BY l_linenumber) FROM lineitem GROUP BY 1",
    # texts that never repeat
    "unique texts: like prefix": "SELECT count(*) FROM account WHERE email LIKE 'user99%'",
    "unique texts: like inside": "SELECT count(*) FROM account WHERE email LIKE '%999%'",
    "unique texts: ilike": "SELECT count(*) FROM account WHERE email ILIKE '%USER99%'",
    "unique texts: one": "SELECT id FROM account WHERE email = 'user5555@example.com'",
    "unique texts: one of three": "SELECT count(*) FROM account WHERE email IN ('user1@example.com', 'user77@example.com', 'x')",
    "unique texts: range": "SELECT count(*) FROM account WHERE email > 'user5' AND email < 'user6'",
    "unique texts: upper": "SELECT count(*) FROM account WHERE upper(email) = 'USER7@EXAMPLE.COM'",
    "unique texts: lengths": "SELECT max(length(email)), sum(length(digest)) FROM account",
    "unique texts: count distinct": "SELECT count(DISTINCT email), count(DISTINCT upper(email)) FROM account",
    "unique texts: group by start": "SELECT substr(email, 1, 6), count(*) FROM account GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3",
    "unique texts: join": "SELECT count(*), sum(account.id) FROM account JOIN visitor USING (email)",
    "unique texts: join, computed": "SELECT count(*) FROM account JOIN visitor ON upper(account.digest) = upper(visitor.digest)",
    "unique texts: anti join": "SELECT count(*) FROM account a WHERE NOT EXISTS (SELECT 1 FROM visitor v WHERE v.email = a.email)",
    "unique texts: union": "SELECT count(*) FROM (SELECT email FROM account UNION SELECT email FROM visitor) x",
    "unique texts: order": "SELECT digest FROM account ORDER BY digest OFFSET 999990",
    "unique texts: top n": "SELECT digest FROM account ORDER BY digest DESC LIMIT 5",
    "unique texts: extremes": "SELECT min(email), max(email), min(digest) FROM account",
    "unique texts: create": write("CREATE TABLE made AS SELECT upper(email) e FROM account", "SELECT count(*), min(e) FROM made"),
    "unique texts: insert": write("INSERT INTO visitor SELECT id, email, digest FROM account", "SELECT count(*) FROM visitor"),
    # text
    "like prefix": "SELECT count(*) FROM lineitem WHERE l_comment LIKE 'care%'",
    "like inside": "SELECT count(*) FROM lineitem WHERE l_comment LIKE '%special%'",
    "like two parts": "SELECT count(*) FROM orders WHERE o_comment NOT LIKE '%special%requests%'",
    "like, computed": "SELECT count(*) FROM orders WHERE upper(o_comment) LIKE '%SPECIAL%'",
    "ilike": "SELECT count(*) FROM orders WHERE o_comment ILIKE '%SPECIAL%'",
    "regular expression": "SELECT count(*) FROM orders WHERE o_comment ~ 'spec[a-z]+ req'" ,
    "regexp_replace": "SELECT sum(length(regexp_replace(o_comment, '[aeiou]', '', 'g'))) FROM orders WHERE o_orderkey % 10 = 0",
    "substring and length": "SELECT sum(length(substring(l_comment FROM 3 FOR 10))), sum(position('e' IN l_comment)) FROM lineitem",
    "upper, replace, concat": "SELECT sum(length(upper(o_clerk) || '-' || replace(o_comment, 'the', 'a'))) FROM orders",
    "trim and pad": "SELECT sum(length(lpad(trim(both 'c' FROM c_name), 30, '*'))), max(reverse(c_address)) FROM customer",
    "concat of numbers": "SELECT max(length(l_orderkey || '/' || l_linenumber)), count(*) FROM lineitem",
    "split_part": "SELECT split_part(o_clerk, '#', 2) c, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 5",
    "md5": "SELECT min(md5(o_comment)) FROM orders",
    "text comparison": "SELECT count(*) FROM lineitem WHERE l_comment > 'f' AND l_comment < 'q'",
    "text equality of columns": "SELECT count(*) FROM lineitem WHERE l_shipmode <> l_shipinstruct AND l_comment = l_comment",
    # expressions
    "case": "SELECT sum(CASE WHEN l_shipmode = 'AIR' THEN l_extendedprice WHEN l_shipmode = 'RAIL' THEN l_tax ELSE 0 END) FROM lineitem",
    "case of mixed scales": "SELECT sum(CASE WHEN l_linenumber > 3 THEN l_extendedprice * l_discount WHEN l_tax > 0.02 THEN l_extendedprice * 1.5 ELSE 1 END) FROM lineitem",
    "coalesce, nullif": "SELECT sum(coalesce(nullif(l_linenumber, 1), 7)), count(nullif(l_returnflag, 'N')) FROM lineitem",
    "greatest, least": "SELECT sum(greatest(l_quantity, l_linenumber)), sum(least(l_tax, l_discount)) FROM lineitem",
    "casts": "SELECT sum(l_quantity::int), sum(l_extendedprice::float8), sum(l_partkey::bigint * l_suppkey), max(l_orderkey::text) FROM lineitem",
    "text to number": "SELECT sum(substring(o_clerk FROM 7)::int) FROM orders",
    "round and abs": "SELECT sum(round(l_extendedprice * l_tax, 1)), sum(abs(l_quantity - 25)), sum(ceil(l_tax * 10)) FROM lineitem",
    "division of numerics": "SELECT sum((l_extendedprice / l_quantity)::float8) FROM lineitem",
    "arithmetic of doubles": "SELECT sum(sqrt(l_extendedprice::float8) * ln(l_quantity::float8 + 1) + exp(l_tax::float8)) FROM lineitem",
    "integer arithmetic": "SELECT sum((l_orderkey * 3 + l_partkey) % 97), sum(l_suppkey * l_linenumber) FROM lineitem",
    "conjunction": "SELECT count(*) FROM lineitem WHERE l_quantity > 10 AND l_discount < 0.08 AND l_tax > 0.01 AND l_shipdate > DATE '1993-01-01' AND l_linenumber < 6",
    "disjunction": "SELECT count(*) FROM lineitem WHERE l_quantity = 10 OR l_discount = 0.08 OR l_shipmode = 'AIR' OR l_partkey = 5000",
    "between columns": "SELECT count(*) FROM lineitem WHERE l_receiptdate BETWEEN l_shipdate AND l_commitdate",
    "big in": f"SELECT count(*) FROM lineitem WHERE l_orderkey IN ({BIG_IN})",
    "big not in": f"SELECT count(*) FROM lineitem WHERE l_partkey NOT IN ({BIG_IN})",
    "in of texts": f"SELECT count(*) FROM customer WHERE c_name IN ({TEXT_IN})",
    "date arithmetic": "SELECT sum(l_receiptdate - l_shipdate), count(*) FROM lineitem WHERE l_shipdate + 30 > l_commitdate",
    "date parts": "SELECT sum(extract(month FROM l_shipdate) + extract(day FROM l_commitdate) + extract(dow FROM l_receiptdate)) FROM lineitem",
    "date to text": both("SELECT count(DISTINCT to_char(o_orderdate, 'YYYY-MM')) FROM orders", "SELECT count(DISTINCT strftime(o_orderdate, '%Y-%m')) FROM orders"),
    "interval": "SELECT count(*) FROM orders WHERE o_orderdate + INTERVAL '1 month' < TIMESTAMP '1995-06-01'",
    "plain scan": "SELECT sum(l_orderkey), sum(l_partkey), max(l_comment) FROM lineitem",
    # joins
    "join, dense key": "SELECT sum(l_quantity * o_shippriority), count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey WHERE o_orderdate < DATE '1997-01-01'",
    "join with payload": "SELECT max(o_clerk), min(o_comment), max(l_comment), count(*) FROM lineitem JOIN orders ON l_orderkey = o_orderkey",
    "join by two keys": "SELECT count(*), sum(ps_supplycost) FROM lineitem JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey",
    "join by text": "SELECT count(*), max(n) FROM (SELECT a.c_name, count(*) n FROM customer a JOIN customer b ON a.c_name = b.c_name GROUP BY 1) x",
    "join by expression": "SELECT count(*) FROM orders JOIN customer ON o_custkey + 1 = c_custkey * 2",
    "left join": "SELECT count(*), count(o_orderkey), max(o_totalprice) FROM customer LEFT JOIN orders ON c_custkey = o_custkey",
    "left join, filtered": "SELECT count(*), count(l_orderkey) FROM orders LEFT JOIN lineitem ON o_orderkey = l_orderkey AND l_quantity > 45",
    "full join": "SELECT count(*), count(a.o_orderkey), count(b.l_orderkey) FROM orders a FULL JOIN lineitem b ON a.o_orderkey = b.l_orderkey + 5",
    "semi join": "SELECT count(*) FROM orders WHERE EXISTS (SELECT 1 FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)",
    "anti join": "SELECT count(*) FROM customer WHERE NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)",
    "not in subquery": "SELECT count(*) FROM customer WHERE c_custkey NOT IN (SELECT o_custkey FROM orders WHERE o_totalprice > 100000)",
    "self join": "SELECT count(*) FROM lineitem a JOIN lineitem b ON a.l_orderkey = b.l_orderkey AND a.l_linenumber = b.l_linenumber + 1",
    "non-equi join": "SELECT count(*) FROM supplier a JOIN supplier b ON a.s_acctbal < b.s_acctbal AND a.s_nationkey = b.s_nationkey",
    "band join": "SELECT count(*) FROM (SELECT * FROM orders WHERE o_orderkey % 100 = 0) a JOIN (SELECT * FROM customer WHERE c_custkey % 50 = 0) b ON a.o_totalprice BETWEEN b.c_acctbal AND b.c_acctbal + 100",
    "cross join": "SELECT count(*), sum(a.s_suppkey - b.s_suppkey) FROM supplier a, supplier b",
    "five tables": "SELECT n_name, count(*), sum(l_extendedprice) FROM lineitem, orders, customer, nation, region WHERE l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name <> 'ASIA' GROUP BY 1",
    "join then group by text": "SELECT count(*), max(s) FROM (SELECT p_type, sum(l_quantity) s FROM lineitem JOIN part ON l_partkey = p_partkey GROUP BY 1) x",
    "join of aggregates": "SELECT count(*), sum(a.s) FROM (SELECT l_orderkey k, sum(l_tax) s FROM lineitem GROUP BY 1) a JOIN (SELECT o_orderkey k, max(o_totalprice) m FROM orders GROUP BY 1) b ON a.k = b.k WHERE b.m > 1000",
    # subqueries, sets
    "correlated sum": "SELECT count(*) FROM part WHERE p_retailprice > (SELECT avg(l_extendedprice) / 40 FROM lineitem WHERE l_partkey = p_partkey)",
    "scalar subquery": "SELECT count(*) FROM lineitem WHERE l_quantity > (SELECT avg(l_quantity) FROM lineitem)",
    "lateral": "SELECT count(*), sum(t) FROM customer, LATERAL (SELECT max(o_totalprice) t FROM orders WHERE o_custkey = c_custkey) x",
    "union": "SELECT count(*) FROM (SELECT l_partkey FROM lineitem UNION SELECT ps_partkey FROM partsupp) x",
    "union all": "SELECT count(*), sum(k) FROM (SELECT l_partkey k FROM lineitem UNION ALL SELECT o_custkey FROM orders) x",
    "intersect": "SELECT count(*) FROM (SELECT l_orderkey FROM lineitem INTERSECT SELECT o_orderkey FROM orders) x",
    "except": "SELECT count(*) FROM (SELECT c_custkey FROM customer EXCEPT SELECT o_custkey FROM orders) x",
    "common table, used twice": "WITH r AS (SELECT l_suppkey k, sum(l_extendedprice) s FROM lineitem GROUP BY 1) SELECT count(*) FROM r WHERE s > (SELECT avg(s) FROM r)",
    "recursion": "WITH RECURSIVE r(n, s) AS (SELECT 1, 0::bigint UNION ALL SELECT n + 1, s + n FROM r WHERE n < 5000) SELECT max(s), count(*) FROM r",
    "reachability": "WITH RECURSIVE e AS (SELECT l_partkey a, l_suppkey b FROM lineitem WHERE l_orderkey < 60000), r(v) AS (SELECT 1 UNION SELECT b FROM r JOIN e ON a = v) SELECT count(*), sum(v) FROM r",
    "generate_series": both("SELECT count(*), sum(g) FROM generate_series(1, 10000000) g WHERE g % 3 = 1", "SELECT count(*), sum(g) FROM range(1, 10000001) t(g) WHERE g % 3 = 1"),
    "values": "SELECT count(*), sum(l_quantity) FROM lineitem JOIN (VALUES ('AIR', 1), ('RAIL', 2), ('SHIP', 3)) v(m, w) ON trim(l_shipmode) = m",
    # writing, files
    "create table as": write("CREATE TABLE made AS SELECT l_orderkey, l_partkey, l_extendedprice, l_shipdate, l_shipmode FROM lineitem", "SELECT count(*), sum(l_partkey) FROM made"),
    "create table as, texts": write("CREATE TABLE made AS SELECT o_orderkey, o_clerk || '!' c, o_comment FROM orders", "SELECT count(*), max(c) FROM made"),
    "insert select": write("INSERT INTO orders_copy SELECT * FROM orders", "SELECT count(*), sum(o_custkey) FROM orders_copy"),
    "insert select, sorted": write("INSERT INTO orders_copy SELECT * FROM orders ORDER BY o_totalprice", "SELECT count(*), sum(o_custkey) FROM orders_copy"),
    "update": write("UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_linenumber = 3", "SELECT sum(l_quantity) FROM lineitem"),
    "update of all": write("UPDATE orders SET o_shippriority = o_shippriority + 1", "SELECT sum(o_shippriority) FROM orders"),
    "update from": write("UPDATE orders SET o_totalprice = o_totalprice + c_acctbal FROM customer WHERE o_custkey = c_custkey AND c_nationkey = 3", "SELECT sum(o_totalprice) FROM orders"),
    "delete": write("DELETE FROM lineitem WHERE l_partkey % 7 = 0", "SELECT count(*) FROM lineitem"),
    "delete using": write("DELETE FROM lineitem USING orders WHERE l_orderkey = o_orderkey AND o_orderstatus = 'P'", "SELECT count(*) FROM lineitem"),
    "add column": write("ALTER TABLE lineitem ADD COLUMN extra integer DEFAULT 7", "SELECT sum(extra) FROM lineitem"),
    "drop column": write("ALTER TABLE lineitem DROP COLUMN l_comment", "SELECT count(*) FROM lineitem"),
    "rename column": write("ALTER TABLE lineitem RENAME COLUMN l_comment TO note", "SELECT max(note) FROM lineitem"),
    "change of type": write("ALTER TABLE orders ALTER COLUMN o_custkey TYPE bigint", "SELECT sum(o_custkey) FROM orders"),
    "create unique index": write("CREATE UNIQUE INDEX made ON orders (o_orderkey)", "SELECT count(*) FROM orders"),
    "insert into keyed table": ["BEGIN", "CREATE TABLE keyed (k integer PRIMARY KEY, v integer)", "time:INSERT INTO keyed SELECT o_orderkey, o_custkey FROM orders", "SELECT count(*), sum(v) FROM keyed", "ROLLBACK"],
    "on conflict": ["BEGIN", "CREATE TABLE keyed (k integer PRIMARY KEY, v integer)", "INSERT INTO keyed SELECT o_custkey, 1 FROM orders GROUP BY 1", "time:INSERT INTO keyed SELECT c_custkey, 2 FROM customer ON CONFLICT (k) DO UPDATE SET v = keyed.v + excluded.v", "SELECT count(*), sum(v) FROM keyed", "ROLLBACK"],
    "copy to": ["time:COPY lineitem TO '@out.csv' (FORMAT csv)", "SELECT count(*) FROM lineitem"],
    "copy to, sorted": ["time:COPY (SELECT o_orderkey, o_clerk FROM orders ORDER BY o_totalprice, o_orderkey) TO '@out.csv' (FORMAT csv)", "SELECT count(*) FROM orders"],
    "copy from": ["BEGIN", "COPY orders TO '@orders.csv' (FORMAT csv, HEADER)", "time:COPY orders_copy FROM '@orders.csv' (FORMAT csv, HEADER)", "SELECT count(*), sum(o_custkey) FROM orders_copy", "ROLLBACK"],
    "query of a csv file": ["COPY orders TO '@orders.csv' (FORMAT csv, HEADER)", "time:SELECT o_orderpriority, count(*), sum(o_totalprice) FROM '@orders.csv' GROUP BY 1"],
    "one row by key": "SELECT o_custkey, o_totalprice FROM orders WHERE o_orderkey = 1234567",
}


def run_shape(db, engine, shape, folder):
    """Seconds of the timed step, and the last rows that a step returned."""
    if isinstance(shape, dict):
        shape = shape[engine]
    steps = ["time:" + shape] if isinstance(shape, str) else shape
    seconds, rows = 0, None
    for step in steps:
        answer = db.run(step.removeprefix("time:").replace("@", f"{folder}/"))
        if step.startswith("time:"):
            seconds = db.seconds
        if "SELECT" in step.removeprefix("time:")[:6] or "WITH" in step[:9]:
            rows = answer
    return seconds, rows


def measure(db, engine, shape, folder):
    best, rows = math.inf, None
    try:
        for _ in range(RUNS):
            seconds, rows = run_shape(db, engine, shape, folder)
            best = min(best, seconds)
    except Exception as error:  # the other shapes go on; DuckDB's errors have many classes
        try:
            db.run("ROLLBACK")
        except Exception:  # no transaction was open
            pass
        return {"error": str(error).splitlines()[0][:100]}
    return {"seconds": best, "rows": rows}


def more_tables(db):
    db.run("CREATE TABLE orders_copy AS SELECT * FROM orders WHERE o_orderkey < 0")
    for table, rows, step in (("account", 1000000, 1), ("visitor", 500000, 3)):
        db.run(f"CREATE TABLE {table} AS SELECT CAST(i AS integer) AS id, 'user' || i * {step} || '@example.com' AS email, "
               f"md5(CAST(i * {step} AS text)) AS digest FROM generate_series(1, {rows}) g(i)")


def work(engine, pattern=""):
    db, out = ENGINES[engine](), {}
    with tempfile.TemporaryDirectory(prefix="tcudb-bench-") as name:
        folder = pathlib.Path(name)
        load(db, folder)
        more_tables(db)
        for shape in SHAPES:
            if pattern in shape:
                out[shape] = measure(db, engine, SHAPES[shape], folder)
    json.dump(out, sys.stdout)


def line(name, mine, other):
    if "error" in mine or "error" in other:
        return 0, f"{name:30}  tcudb: {mine.get('error', 'done')}; DuckDB: {other.get('error', 'done')}", False
    ratio = other["seconds"] / mine["seconds"]
    differs = not equal(mine["rows"], other["rows"], digits=1e-9)
    return ratio, (f"{name:30}{mine['seconds'] * 1e3:10.1f}{other['seconds'] * 1e3:10.1f}{ratio:10.2f}x"
                   + (f"  DIFFERENT: {str(mine['rows'])[:100]} {str(other['rows'])[:100]}" if differs else "")), differs


def report(ours, theirs):
    lines = sorted(line(name, ours[name], theirs[name]) for name in ours)
    for _, text, _ in lines:
        print(text)
    ratios = [ratio for ratio, _, _ in lines if ratio > 0]
    if ratios:
        print(f"{len(ratios)} shapes: slower than DuckDB in {sum(r < 1 for r in ratios)}; geometric mean of the ratios "
              f"{math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}x")
    different = sum(differs for _, _, differs in lines)
    print("answers: " + (f"DIFFERENT in {different}" if different else "equal everywhere"))
    return 1 if different else 0


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ENGINES:
        return work(*sys.argv[1:])
    if not DATA.exists():
        print("shapes: the sample data is not beside the checkout")
        return 77
    import peer
    interpreter = peer.python(BUILD)
    pattern = sys.argv[1:2]
    ours = run_engine(__file__, "tcudb", sys.executable, *pattern)
    if not interpreter:
        for name, mine in ours.items():
            print(f"{name:30}{mine.get('seconds', math.nan) * 1e3:10.1f}  {mine.get('error', '')}")
        return 0
    theirs = run_engine(__file__, "duckdb", interpreter, *pattern)
    print(f"Query shapes, TPC-H's tables, {COPIES} copies of scale 0.01; {THREADS} threads, best of {RUNS} runs, load average "
          f"{os.getloadavg()[0]:.1f}; milliseconds\n{'':30}{'tcudb':>10}{'DuckDB':>10}    DuckDB / tcudb")
    return report(ours, theirs)


sys.exit(main())
