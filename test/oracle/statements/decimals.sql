-- Sums of decimals whose types need more than 18 digits while their values need fewer, exactly as many, or more.
CREATE TABLE d (id int, p numeric(15,2), q numeric(15,2), w numeric(18,0), s numeric(10,8), k int);
INSERT INTO d SELECT i, i * 1.25, (i % 11) / 100.0, i, i / 100000.0, i % 3 FROM generate_series(1, 1000) g(i);
SELECT k, sum(p * (1 - q)), sum(p * (1 - q) * (1 + q)), avg(p * q), count(*) FROM d GROUP BY k ORDER BY k;
SELECT sum(CASE WHEN k = 1 THEN p * (1 - q) ELSE 0 END), sum(CASE WHEN k = 2 THEN p * q END), avg(coalesce(p * q, 1)) FROM d;
SELECT sum(-(p * q)), sum(p * q - p * 2), sum(p * 3 + k), sum(w * s), sum(distinct p * q) FROM d;
SELECT stddev(p * q), variance(p * q), var_pop(p * (1 - q)) FROM d WHERE id < 50;
-- one below, at and above 10^18, in a single product
CREATE TABLE e (a numeric(15,0), b numeric(15,0));
INSERT INTO e VALUES (999999999, 999999999), (-999999999, 999999999), (999999999, 1);
SELECT sum(a * b), avg(a * b), min(a * b), max(a * b) FROM e;
INSERT INTO e VALUES (1000000000, 1000000000);
SELECT sum(a * b), avg(a * b) FROM e;
INSERT INTO e VALUES (-999999999999999, 999999999999999), (NULL, 1);
SELECT sum(a * b), avg(a * b), sum(a * b * 100), sum(CASE WHEN a > 0 THEN a * b ELSE 0 END) FROM e;
-- groups by an array as large as the input, few groups with and without NULLs, negative values
CREATE TABLE f (k int, g smallint, v bigint, n int, r int);
INSERT INTO f SELECT i / 2 - 700, i % 5, (i * 7919) % 1000 - 500, CASE WHEN i % 7 <> 0 THEN i - 1500 END, i FROM generate_series(1, 3000) t(i);
SELECT k, sum(v), count(*), avg(n), min(n), max(r) FROM f GROUP BY k ORDER BY k;
SELECT g, sum(v), avg(v), sum(n), avg(n), count(n), count(*), sum(r), sum(g), sum(v * 4611686018427387), avg(v * 4611686018427387) FROM f GROUP BY g ORDER BY g;
SELECT g, sum(v) FROM f WHERE r % 3 = 0 GROUP BY g ORDER BY g;
SELECT g, count(*) FILTER (WHERE v > 0), sum(v) FILTER (WHERE n > 10) FROM f GROUP BY g ORDER BY g;
-- rows in the order of averages and of wide sums
SELECT k, avg(v) AS a FROM f GROUP BY k ORDER BY a DESC, k LIMIT 20;
SELECT k % 50 AS m, avg(n) AS a FROM f GROUP BY 1 ORDER BY a NULLS FIRST, m;
SELECT k % 20 AS m, sum(v * 4611686018427387)::numeric * 4611686018427387 AS a FROM f GROUP BY 1 ORDER BY a, m;
SELECT x FROM (VALUES (1.5), (1.60000000000000000000000000000001), (-1.5), (-1.49999999999999999999999999999999), (1e20), (-1e20), ('NaN'::numeric), (0), (0.0000001), ('Infinity'), ('-Infinity'), (NULL)) t(x) ORDER BY x DESC;
SELECT x FROM (VALUES (1.5), (1.60000000000000000000000000000001), (-1.5), (-1.49999999999999999999999999999999), (1e20), (-1e20), ('NaN'::numeric), (0), (0.0000001), ('Infinity'), ('-Infinity'), (NULL)) t(x) ORDER BY x LIMIT 7;
