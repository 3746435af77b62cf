"""The patterns of patterns_test.py: tables, and (name, query, form) for each. doc/optimizer.md has the table for readers.

a, b: 2,000 rows of 40 keys, so that their join has 100,000, over about 60 groups a side; NULLs in every column;
rows come twice. c: 1,000 rows over the same keys. m: a dense matrix. node, edge: a graph for PageRank.
"""

COLUMNS = ("k int, l int, g int, t text, kt text, d date, x int, v int, s smallint, big bigint, p numeric(8,2), q numeric(12,4), "
           "f float8, r real, b boolean")


def null(every, value):
    return f"CASE WHEN i % {every} <> 0 THEN {value} END"


def rows(seed, n):
    """Twice each of n rows."""
    h, e = f"(i * {seed} % 7919)", f"(i * {seed + 4} % 5003)"
    return (f"SELECT {null(97, h + ' % 40')}, {null(101, h + ' % 3')}, {null(89, e + ' % 60')}, {null(83, chr(39) + 'w' + chr(39) + ' || ' + e + ' % 50')}, "
            f"{null(79, chr(39) + 'k' + chr(39) + ' || ' + h + ' % 40')}, {null(73, 'DATE ' + chr(39) + '2020-01-01' + chr(39) + ' + ' + e + ' % 45')}, "
            f"{null(71, e + ' % 12')}, {null(67, h + ' % 201 - 100')}, CAST({null(61, h + ' % 19 - 9')} AS smallint), "
            f"CAST({null(59, h + ' * 100003 % 9999991')} AS bigint), CAST({null(53, e + ' % 2001 / 100.0 - 10')} AS numeric(8,2)), "
            f"CAST({null(47, h + ' % 3001 / 10000.0')} AS numeric(12,4)), CAST({null(43, h + ' % 401 / 4.0')} AS float8), "
            f"CAST({null(41, e + ' % 64 / 4.0')} AS real), {null(37, h + ' % 2 = 0')} "
            f"FROM (SELECT i FROM generate_series(1, {n}) AS u(i) UNION ALL SELECT i FROM generate_series(1, {n}) AS w(i)) AS both_of")


SETUP = [
    f"CREATE TABLE a ({COLUMNS})", f"INSERT INTO a {rows(31, 1000)}",
    f"CREATE TABLE b ({COLUMNS})", f"INSERT INTO b {rows(57, 1000)}",
    f"CREATE TABLE c ({COLUMNS})", f"INSERT INTO c {rows(11, 500)}",
    "CREATE TABLE m (i int, j int, v int)",
    "INSERT INTO m SELECT i / 64, i % 64, i * 7919 % 255 - 127 FROM generate_series(0, 4095) AS u(i)",
    "CREATE TABLE node (id int)", "INSERT INTO node SELECT i FROM generate_series(0, 1023) AS u(i)",
    "CREATE TABLE edge (src int, dst int)",
    "INSERT INTO edge SELECT i * 7919 % 1024, i * 104729 % 1021 FROM generate_series(1, 4100) AS u(i)",
    "CREATE TABLE outdegree (id int, degree int)",
    "INSERT INTO outdegree SELECT src, CAST(count(*) AS int) FROM edge GROUP BY src",
    "CREATE TABLE pagerank (id int, rank float8)", "INSERT INTO pagerank SELECT id, 1.0 / 1024 FROM node",
    "CREATE TABLE line (basket int, item int)",
    "INSERT INTO line SELECT i / 12, i * 7919 % 211 FROM generate_series(0, 5999) AS u(i)",
    "CREATE VIEW pairs AS SELECT a.g AS ag, b.g AS bg, count(*) AS n, sum(a.v * b.v) AS s FROM a JOIN b ON a.k = b.k GROUP BY a.g, b.g",
    "CREATE VIEW joined AS SELECT a.k, a.g AS ag, a.v AS av, b.g AS bg, b.v AS bv FROM a JOIN b ON a.k = b.k",
]

JOIN = "FROM a JOIN b ON a.k = b.k"
BOTH = f"{JOIN} GROUP BY a.g, b.g"


def both(name, aggregates, form="contraction"):
    return name, f"SELECT a.g, b.g AS h, {aggregates} {BOTH}", form


def few(name, aggregates, form="contraction"):
    """Few groups a side, so that finer groups are few as well."""
    return name, f"SELECT a.l, b.l AS h, {aggregates} {JOIN} GROUP BY a.l, b.l", form


PATTERNS = [
    # ---- section 3.1, 3.2: joins whose rows are the answer; the middle projected out
    ("Q1", f"SELECT a.v, b.v AS w {JOIN}", "No contraction: every row of the join is wanted"),
    ("Q1 counted", f"SELECT a.v, b.v AS w, count(*) AS n {JOIN} GROUP BY a.v, b.v", "contraction"),
    ("Q1 distinct", f"SELECT DISTINCT a.g, b.g AS h {JOIN}", "contraction"),
    ("Q1 distinct as a group", f"SELECT a.g, b.g AS h {JOIN} GROUP BY a.g, b.g", "contraction"),
    ("Q1 natural", "SELECT DISTINCT x.item, y.item AS other FROM line x JOIN line y USING (basket)", "contraction"),
    ("Q2", "SELECT a.v, b.v AS w, c.v AS u FROM a, b, c WHERE a.k = b.k AND b.l = c.l AND a.x = 1 AND c.x = 2 AND b.x = 3",
     "No contraction: every row of the join is wanted"),
    ("Q2 middle projected out", "SELECT a.g, c.g AS h, count(*) AS n FROM a, b, b c WHERE a.k = b.k AND b.x = c.x AND a.x = 3 GROUP BY a.g, c.g", "contraction"),
    ("Q2 middle projected out, distinct", "SELECT DISTINCT a.g, c.g AS h FROM a, b, b c WHERE a.k = b.k AND b.x = c.x AND a.x = 3", "vector"),
    ("Q2 four in a chain", "SELECT a.x, e.x AS y, count(*) AS n FROM c a, c b, c, c e WHERE a.k = b.k AND b.s = c.s AND c.k = e.k AND a.x < 2 AND e.x < 2 GROUP BY a.x, e.x", "contractions"),
    ("Q2 star", "SELECT b.x, c.x AS y, sum(a.v) AS s FROM a, b, c WHERE a.k = b.k AND a.l = c.l AND a.s = 1 GROUP BY b.x, c.x", "vector"),
    ("Q2 sum over the middle", "SELECT a.g, c.g AS h, sum(b.v) AS s, sum(a.v * b.s * c.s) AS t FROM a, b, b c WHERE a.k = b.k AND b.x = c.x AND b.s > 2 AND a.x < 3 GROUP BY a.g, c.g", "contraction"),
    # ---- section 3.3: grouped and ungrouped aggregates
    ("Q3", f"SELECT sum(a.v) AS s, b.v {JOIN} GROUP BY b.v", "vector"),
    ("Q3 count", f"SELECT count(*) AS n, count(a.v) AS c, b.g {JOIN} GROUP BY b.g", "contraction"),
    ("Q3 avg", f"SELECT avg(a.v) AS m, b.g {JOIN} GROUP BY b.g", "contraction"),
    ("Q3 over both", both("", "sum(a.v) AS s, count(*) AS n, avg(b.p) AS m")[1], "contraction"),
    ("Q4", f"SELECT sum(a.v * b.v) AS s {JOIN}", "vector"),
    ("Q4 with avg, count", f"SELECT sum(a.v * b.v) AS s, count(*) AS n, avg(a.v) AS m {JOIN}", "vector"),
    ("Q4 polynomial", f"SELECT sum(a.p * (1 - b.q)) AS s {JOIN}", "vector"),
    ("Q4 deviation", f"SELECT var_samp(a.v) AS s, stddev(b.p) AS t {JOIN}", "contraction"),
    ("Q3 deviation", f"SELECT b.g, var_pop(a.v) AS s, stddev_samp(a.p) AS t {JOIN} GROUP BY b.g", "contraction"),
    ("Q3 float", f"SELECT b.g, sum(a.f) AS s, avg(a.f) AS m {JOIN} GROUP BY b.g", "contraction"),
] + [
    # ---- section 3.4: the other comparisons
    (f"Q5 {op} counted", f"SELECT count(*) AS n FROM c a, c b WHERE a.v {op} b.v", "contraction") for op in ("<", ">", "<=", ">=", "<>")
] + [
    (f"Q5 {op} grouped", f"SELECT a.g, b.g AS h, sum(a.v * b.s) AS s FROM c a, c b WHERE a.v {op} b.v GROUP BY a.g, b.g", "contraction")
    for op in ("<", ">", "<=", ">=", "<>")
] + [
    (f"Q5 {op} of dates in a key", f"SELECT a.g, b.x, count(*) AS n FROM a, b WHERE a.k = b.k AND a.d {op} b.d GROUP BY a.g, b.x", "contraction")
    for op in ("<", ">", "<=", ">=", "<>")
] + [
    (f"Q5 {op} of text", f"SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.t {op} b.t GROUP BY a.x, b.x", "contraction")
    for op in ("<", ">", "<=", ">=", "<>")
] + [
    ("Q5", "SELECT a.v, b.v AS w FROM c a, c b WHERE a.v < b.v AND a.x = 1 AND b.x = 2", "No contraction: every row of the join is wanted"),
    ("Q5 band", "SELECT a.x, count(*) AS n FROM c a, c b WHERE b.v BETWEEN a.v - 3 AND a.v + 3 GROUP BY a.x", "contraction"),
    ("Q5 of decimals", "SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.p < b.p GROUP BY a.x, b.x", "contraction"),
    ("Q5 of float", "SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.f < b.f GROUP BY a.x, b.x", "contraction"),
    ("Q5 of int and bigint", "SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.v < b.big GROUP BY a.x, b.x", "contraction"),
    ("Q5 of decimals of two scales", "SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.p < b.q GROUP BY a.x, b.x", "contraction"),
    ("Q5 of int and decimal", "SELECT a.x, b.x AS y, count(*) AS n FROM c a, c b WHERE a.s < b.q GROUP BY a.x, b.x", "contraction"),
    ("Q5 distinct", "SELECT DISTINCT a.x, b.x AS y FROM c a, c b WHERE a.v < b.v", "contraction"),
    ("matrix product", "SELECT a.j, b.i, sum(a.v * b.v) AS res FROM m a, m b WHERE a.i = b.j GROUP BY a.j, b.i", "contraction"),
    ("matrix product, three", "SELECT a.i, c.j, sum(a.v * b.v * c.v) AS res FROM m a, m b, m c WHERE a.j = b.i AND b.j = c.i GROUP BY a.i, c.j", "contractions"),
    # ---- ORDER BY
    ("ordered by the groups", "SELECT a.j, b.i, sum(a.v * b.v) AS res FROM m a, m b WHERE a.i = b.j GROUP BY a.j, b.i ORDER BY a.j, b.i", "contraction"),
    ("ordered by the groups, descending", f"SELECT a.g, b.g AS h, count(*) AS n {BOTH} ORDER BY a.g DESC NULLS LAST, b.g DESC", "contraction"),
    ("ordered by the right groups first", f"SELECT a.g, b.g AS h, count(*) AS n {BOTH} ORDER BY b.g, a.g", "contraction"),
    ("ordered by text groups", f"SELECT a.t, b.t AS u, count(*) AS n {JOIN} GROUP BY a.t, b.t ORDER BY a.t, b.t", "contraction"),
    ("ordered by a sum", f"SELECT a.g, b.g AS h, count(*) AS n {BOTH} ORDER BY n DESC, 1, 2 LIMIT 20", "contraction"),
    # ---- section 5.4: entity matching, PageRank
    ("entity matching, counted", "SELECT a.t, b.t AS u, count(*) AS n FROM a, b WHERE a.s = b.s GROUP BY a.t, b.t", "contraction"),
    ("entity matching", "SELECT a.t, a.x, b.t AS u, b.x AS y FROM a, b WHERE a.kt = b.kt AND a.x = 3 AND b.x = 4", "No contraction: every row of the join is wanted"),
    ("PageRank Q1", "SELECT node.id, count(edge.src) AS n FROM node, edge WHERE node.id = edge.src GROUP BY node.id", "Candidate"),
    ("PageRank Q2", "SELECT node.id, (1 - 0.85) / 1024 AS rank FROM node, outdegree WHERE node.id = outdegree.id", "Join"),
    ("PageRank Q3", "SELECT sum(0.85 * pagerank.rank / outdegree.degree) + (1 - 0.85) / 1024 AS s FROM pagerank, outdegree WHERE pagerank.id = outdegree.id",
     "No contraction: "),
    ("PageRank by edges", "SELECT e.dst, sum(0.85 * p.rank / o.degree) + 0.15 / 1024 AS s FROM pagerank p, outdegree o, edge e "
     "WHERE p.id = o.id AND e.src = p.id GROUP BY e.dst", "No contraction: "),
    ("two steps", "SELECT x.src, y.dst, count(*) AS n FROM edge x JOIN edge y ON x.dst = y.src GROUP BY x.src, y.dst", "contraction"),
    ("baskets", "SELECT x.item, y.item AS other, count(*) AS n FROM line x JOIN line y USING (basket) GROUP BY 1, 2", "contraction"),
    ("baskets, pairs once", "SELECT x.item, y.item AS other, count(*) AS n FROM line x JOIN line y USING (basket) WHERE x.item < y.item GROUP BY 1, 2", "contraction"),
    ("common neighbours", "SELECT x.src, y.src AS other, count(*) AS n FROM edge x JOIN edge y ON x.dst = y.dst GROUP BY 1, 2 HAVING count(*) > 1", "contraction"),
    # ---- inside larger queries
    ("in a subquery", f"SELECT max(n), count(*) AS c FROM (SELECT a.g, b.g AS h, count(*) AS n {BOTH}) AS q WHERE n > 3", "contraction"),
    ("in a CTE", f"WITH q AS (SELECT a.g, b.g AS h, sum(a.v) AS n {BOTH}) SELECT h, sum(n) AS s FROM q GROUP BY h ORDER BY h", "contraction"),
    ("in a CTE used twice", f"WITH q AS (SELECT a.g, b.g AS h, count(*) AS n {BOTH}) SELECT p.g, sum(p.n * q.n) AS s FROM q p JOIN q ON p.h = q.g GROUP BY p.g", "contraction"),
    ("in a view", "SELECT * FROM pairs WHERE ag > 5 AND n > 2", "contraction"),
    ("over a view", "SELECT ag, bg, sum(av * bv) AS s FROM joined GROUP BY ag, bg", "contraction"),
    ("in IN", f"SELECT count(*) AS c FROM c WHERE (c.g, c.x) IN (SELECT a.g, b.x {JOIN} GROUP BY a.g, b.x HAVING count(*) > 2)", "contraction"),
    ("in a scalar subquery", f"SELECT c.k, (SELECT count(*) FROM c a, b WHERE a.v < b.v) AS n FROM c", "contraction"),
    ("in a union", f"SELECT a.g, b.g AS h, count(*) AS n {BOTH} UNION ALL SELECT 1, 2, 3", "contraction"),
    ("joined to a table", f"SELECT q.g, c.v, q.n FROM (SELECT a.g, b.g AS h, count(*) AS n {BOTH}) q JOIN c ON c.g = q.h", "contraction"),
    ("HAVING", f"SELECT a.g, b.g AS h, sum(a.p) AS s {BOTH} HAVING count(*) > 40 AND sum(a.v * b.v) < 0", "contraction"),
    ("HAVING of an expression", f"SELECT a.g, b.g AS h {BOTH} HAVING sum(a.v) > 2 * count(*)", "contraction"),
    ("expressions over the aggregates", both("", "sum(a.v) * 100.0 / nullif(count(*), 0) + avg(b.p) AS e, coalesce(sum(b.v), 0) AS z")[1], "contraction"),
    ("an aggregate in ORDER BY only", f"SELECT a.g, b.g AS h {BOTH} ORDER BY sum(a.v * b.s), 1, 2", "contraction"),
    ("window over the aggregates", f"SELECT a.g, b.g AS h, count(*) AS n, rank() OVER (PARTITION BY a.g ORDER BY count(*) DESC) AS r, sum(count(*)) OVER () AS s {BOTH}", "contraction"),
    ("ROLLUP", f"SELECT a.x, b.x AS y, sum(a.v) AS s, count(*) AS n {JOIN} GROUP BY ROLLUP (a.x, b.x)", "contraction"),
    ("CUBE", f"SELECT a.x, b.x AS y, sum(a.v * b.s) AS s, grouping(a.x, b.x) AS q, avg(b.p) AS m, stddev(a.v) AS d {JOIN} GROUP BY CUBE (a.x, b.x)", "contraction"),
    ("GROUPING SETS", f"SELECT a.x, b.x AS y, b.s, count(*) AS n, max(a.v) AS m, count(b.v) FILTER (WHERE a.b) AS c {JOIN} GROUP BY GROUPING SETS ((a.x, b.x), (a.x, b.s), ())", "plain"),
    ("ROLLUP of no rows", f"SELECT a.x, b.x AS y, sum(a.v) AS s, count(*) AS n {JOIN} WHERE a.x > 99 GROUP BY ROLLUP (a.x, b.x)", "grouping sets"),
    ("percent of total", f"SELECT a.x, b.x AS y, round(100.0 * count(*) / sum(count(*)) OVER (), 6) AS share {JOIN} GROUP BY a.x, b.x", "contraction"),
    ("outer join beside", f"SELECT a.g, b.g AS h, count(*) AS n, count(c.v) AS c {JOIN} LEFT JOIN c ON c.k = b.v GROUP BY a.g, b.g", "contraction"),
    ("NOT IN beside", f"SELECT a.g, b.g AS h, count(*) AS n {JOIN} WHERE a.x NOT IN (SELECT x FROM c WHERE x > 9) AND EXISTS (SELECT 1 FROM c WHERE c.x = b.x) GROUP BY a.g, b.g", "contraction"),
    ("EXISTS under OR beside", f"SELECT a.g, b.g AS h, count(*) AS n {JOIN} WHERE (EXISTS (SELECT 1 FROM c WHERE c.v = a.v) OR a.x < 3) AND (b.x IN (SELECT x FROM c WHERE s > 3) OR b.b) GROUP BY a.g, b.g", "contraction"),
    ("EXISTS over both sides", f"SELECT a.g, b.g AS h, count(*) AS n {JOIN} WHERE EXISTS (SELECT 1 FROM c WHERE c.v = a.v) OR b.x < 3 GROUP BY a.g, b.g", "No contraction: a condition above the join uses a subquery"),
    ("inside INSERT ... SELECT's query", f"SELECT * FROM (SELECT a.g, b.g AS h, sum(a.v * b.v) AS s {BOTH}) AS q WHERE s IS NOT NULL ORDER BY 1, 2 LIMIT 50", "contraction"),
    # ---- keys and groups
    ("composite key", "SELECT a.g, b.g AS h, count(*) AS n FROM a JOIN b ON a.k = b.k AND a.l = b.l GROUP BY a.g, b.g", "contraction"),
    ("composite key of text and date", "SELECT a.x, b.x AS y, count(*) AS n FROM a JOIN b ON a.kt = b.kt AND a.l = b.l GROUP BY a.x, b.x", "contraction"),
    ("text key", "SELECT a.g, b.g AS h, sum(a.v) AS s FROM a JOIN b ON a.kt = b.kt GROUP BY a.g, b.g", "contraction"),
    ("date key", "SELECT a.x, b.s, count(*) AS n FROM a JOIN b ON a.d = b.d GROUP BY a.x, b.s", "contraction"),
    ("decimal key", "SELECT a.x, b.x AS y, count(*) AS n FROM a JOIN b ON a.p = b.p GROUP BY a.x, b.x", "plain"),
    ("boolean key", "SELECT a.x, b.x AS y, count(*) AS n FROM a JOIN b ON a.b = b.b GROUP BY a.x, b.x", "vector"),
    ("float key", "SELECT a.x, b.x AS y, count(*) AS n FROM a JOIN b ON a.f = b.f GROUP BY a.x, b.x", "Candidate"),
    ("key of two integer types", "SELECT a.g, b.g AS h, count(*) AS n FROM a JOIN b ON a.s = b.x GROUP BY a.g, b.g", "contraction"),
    ("key of int and decimal", "SELECT a.x, b.s, count(*) AS n FROM a JOIN b ON a.k = b.p * 100 GROUP BY a.x, b.s", "Candidate plain"),
    ("key expression", "SELECT a.g, b.g AS h, count(*) AS n FROM a JOIN b ON a.k + 1 = b.k GROUP BY a.g, b.g", "contraction"),
    ("text and date groups", f"SELECT a.t, b.d, count(*) AS n, sum(b.v) AS s {JOIN} GROUP BY a.t, b.d", "contraction"),
    ("three groups", f"SELECT a.x, a.b, b.s, count(*) AS n {JOIN} GROUP BY a.x, a.b, b.s", "contraction"),
    ("group is the key", f"SELECT a.k, b.g, count(*) AS n {JOIN} GROUP BY a.k, b.g", "contraction"),
    ("group expression of a side", f"SELECT a.g % 7 AS r, upper(b.t) AS u, count(*) AS n {JOIN} GROUP BY a.g % 7, upper(b.t)", "contraction"),
    ("group expression of both sides", f"SELECT a.x + b.x AS e, count(*) AS n {JOIN} GROUP BY a.x + b.x", "contraction"),
    ("self join", "SELECT p.g, q.g AS h, sum(p.v * q.v) AS s FROM a p JOIN a q ON p.k = q.k GROUP BY p.g, q.g", "contraction"),
    ("no key", "SELECT a.x, b.x AS y, count(*) AS n FROM a, b GROUP BY a.x, b.x", "vector"),
    # ---- arguments
    both("FILTER", "count(*) FILTER (WHERE a.x > 4) AS n, sum(b.v) FILTER (WHERE b.b AND a.x < 7) AS s"),
    both("CASE pivot", "sum(CASE WHEN a.x = 1 THEN b.v ELSE 0 END) AS s1, sum(CASE WHEN a.x = 2 THEN b.v END) AS s2, count(CASE WHEN a.b THEN 1 END) AS c"),
    both("CASE pivot of many branches", "sum(CASE WHEN a.x = 1 THEN b.s WHEN a.x = 2 THEN -b.s ELSE 0 END) AS s"),
    both("CASE pivot with an other value", "sum(CASE WHEN a.x = 1 THEN b.s ELSE 1 END) AS s"),
    both("CASE over mixed scales", "sum(CASE WHEN a.x = 1 THEN b.p ELSE 0 END) AS s, sum(CASE WHEN a.x > 2 THEN b.v ELSE b.p END) AS t"),
    both("CASE over mixed scales of both sides", "sum(CASE WHEN a.x = 1 THEN b.p ELSE a.v END) AS s"),
    few("CASE over a comparison of both sides", "sum(CASE WHEN a.x < b.x THEN a.x ELSE b.x END) AS s"),
    both("CASE of NULL factors", "sum(CASE WHEN a.x = 1 THEN a.v * b.v ELSE 0 END) AS s"),
    both("CASE over a condition of both sides", "sum(CASE WHEN a.x = 1 OR b.x = 2 THEN b.v ELSE 0 END) AS s"),
    both("FILTER over an OR of both sides", "count(*) FILTER (WHERE a.b OR b.x > 3) AS s, sum(a.v) FILTER (WHERE (a.x < 3 OR b.x > 4) AND b.b) AS t, avg(b.p) FILTER (WHERE NOT (a.b AND b.b)) AS m"),
    few("FILTER over a comparison of both sides", "count(*) FILTER (WHERE a.x < b.x) AS n, sum(a.x) FILTER (WHERE a.x = b.x) AS t, avg(b.v) AS m"),
    both("FILTER over a comparison of both sides, many groups", "sum(a.v) FILTER (WHERE a.x < b.x) AS t", "No contraction: a condition spans both sides"),
    both("discount", "sum(a.p * (1 - b.q)) AS s, sum(a.p * (1 - b.q) * (1 + a.q)) AS t"),
    both("polynomial", "sum((a.s + b.s) * (a.x - b.x)) AS s, sum(2 * a.s * b.s - 3) AS t, avg((a.s + b.s)) AS m"),
    both("square of a difference", "sum((a.s - b.s) * (a.s - b.s)) AS s"),
    both("negation, casts", "sum(-a.v * b.v::bigint) AS s, sum(a.v::numeric(10,2) * b.p) AS t"),
    both("difference of aggregates", "sum(a.v) - sum(b.v) AS s"),
    both("division by a constant", "sum(a.p * b.q) / 2 AS s, sum(a.v) / 7 AS t"),
    both("absolute value of a side", "sum(abs(a.v)) AS s, sum(greatest(a.x, 3)) AS t"),
    few("integer quotient of sides", "sum(a.s / (b.x + 1)) AS s, avg(a.s / (b.x + 1)) AS m, count(a.s / (b.x + 1)) AS c"),
    few("remainder over both sides", "sum((a.x + b.x) % 3) AS s, sum(a.v) AS t"),
    both("deviations", "var_pop(a.v) AS v, stddev(b.p) AS s, var_samp(a.s * b.s) AS w"),
    both("sums of float8", "sum(a.f) AS s, avg(b.f) AS m, sum(a.f * b.f) AS t"),
    both("averages of real", "avg(a.r) AS s"),
    both("sums of real", "sum(a.r) AS s, avg(b.r) AS m", "No contraction: a sum of real is rounded after every row"),
    both("deviations of float8", "stddev(a.f) AS s, var_pop(b.f) AS t", "No contraction: a deviation of floating point"),
    both("deviations of real", "stddev(a.r) AS s", "No contraction: a deviation of floating point"),
    few("COUNT(DISTINCT)", "count(DISTINCT a.x) AS n, count(*) AS c"),
    ("COUNT(DISTINCT) of the other side", f"SELECT a.g, count(DISTINCT b.g) AS n, count(*) AS c {JOIN} GROUP BY a.g", "contraction"),
    ("SUM(DISTINCT)", f"SELECT a.g, sum(DISTINCT b.x) AS n {JOIN} GROUP BY a.g", "contraction"),
    ("COUNT(DISTINCT) ungrouped", f"SELECT count(DISTINCT b.g) AS n {JOIN}", "Candidate"),
    ("COUNT(DISTINCT) of both", f"SELECT count(DISTINCT a.x * 100 + b.x) AS n {JOIN}", "contraction"),
    both("BOOL_OR of a side", "bool_or(a.b) AS o, every(b.b) AS e", "vector"),
    both("BOOL_OR of a comparison of sides", "bool_or(a.v > b.v) AS o, every(a.d < b.d) AS e, bool_or(a.t < b.t) AS t", "vector"),
    few("BOOL_OR of an equality of sides", "bool_or(a.x = b.x) AS o"),
    # ---- extremes
    ("MIN of the other side", f"SELECT b.g, min(a.v) AS m, max(a.d) AS d {JOIN} GROUP BY b.g", "vector"),
    ("MIN ungrouped", f"SELECT min(a.v) AS m, max(b.p) AS d {JOIN}", "vector"),
    ("MAX of a sum, ungrouped", f"SELECT max(a.v + b.v) AS m {JOIN}", "vector"),
    ("MAX of a sum", f"SELECT b.g, max(a.v + b.v) AS m {JOIN} GROUP BY b.g", "vector"),
    ("MIN of a difference", f"SELECT b.g, min(a.v - b.p) AS m {JOIN} GROUP BY b.g", "vector"),
    ("MAX of a product", f"SELECT b.g, max(a.x * b.v) AS m {JOIN} GROUP BY b.g", "vector"),
    few("MIN and MAX of few values", "min(a.x) AS m, max(b.s) AS n, count(*) AS c", "vector"),
    few("MIN and MAX beside sums of products", "min(a.b::int) AS m, max(b.b::int) AS n, sum(a.v * b.v) AS s, var_pop(a.v) AS v", "Aggregate"),
    both("MIN and MAX of many values", "min(a.v) AS m, max(b.v) AS n", "vector"),
    ("MIN beside sums", f"SELECT b.g, min(a.v) AS m, sum(a.v) AS s {JOIN} GROUP BY b.g", "vector"),
    # ---- existence
    ("EXISTS over a join-project", "SELECT count(*) AS n FROM c WHERE EXISTS (SELECT 1 FROM a, b WHERE a.k = b.k AND a.g = c.g AND b.x = c.x)", "contraction"),
    ("NOT EXISTS over a join-project", "SELECT count(*) AS n FROM c WHERE NOT EXISTS (SELECT 1 FROM a, b WHERE a.k = b.k AND a.g = c.g AND b.x = c.x)", "contraction"),
    ("IN a join-project", "SELECT count(*) AS n FROM c WHERE (c.g, c.x) IN (SELECT a.g, b.x FROM a, b WHERE a.k = b.k)", "contraction"),
    ("EXISTS of one side", "SELECT count(*) AS n FROM c WHERE EXISTS (SELECT 1 FROM a, b WHERE a.k = b.k AND a.g = c.g)", "Hash Join (Semi)"),
    ("DISTINCT of one side", f"SELECT DISTINCT a.g {JOIN}", "Hash Join (Semi)"),
    ("UNION of join-projects", f"SELECT a.g, b.g AS h {JOIN} UNION SELECT a.x, b.x {JOIN}", "contractions"),
    ("EXCEPT of a join-project", f"SELECT g, x FROM c EXCEPT SELECT a.g, b.x {JOIN}", "contraction"),
]
