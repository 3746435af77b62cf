-- ORDER BY over enough rows for several buckets: keys packed into words, ties, NULLs, long texts, limits.
CREATE TABLE s (id int, a int, b smallint, c bigint, d date, t text, u text, f double precision, n numeric, k boolean);
INSERT INTO s SELECT i, (i * 7919) % 1000, i % 5 - 2, (i::bigint * 4611686018427387) % 1000003 - 500000, date '2000-01-01' + (i * 31) % 900, 'common prefix ' || (i * 104729) % 5000, CASE WHEN i % 6 = 0 THEN NULL ELSE repeat('x', i % 4) || (i * 7) % 50 END, CASE i % 7 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN -0.0 WHEN 4 THEN 0.0 ELSE (i - 20000) / 7.0 END, CASE i % 9 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' ELSE (i * 37 % 1000) / 8.0 END, CASE WHEN i % 3 = 0 THEN NULL ELSE i % 2 = 0 END FROM generate_series(1, 60000) g(i);
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY a, b, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY a DESC, b, c DESC, d, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY c, id DESC) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY d DESC, k NULLS FIRST, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY t COLLATE "C", id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY t COLLATE "C" DESC, f DESC NULLS LAST, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY u COLLATE "C" NULLS FIRST, n DESC, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY f, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY f DESC, n, a, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY n NULLS FIRST, f, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY k, b DESC, c, a, d, id) r FROM s) q;
SELECT count(*), sum(r * id) FROM (SELECT id, row_number() OVER (ORDER BY t || u COLLATE "C", id) r FROM s) q;
SELECT count(*), sum(x) FROM (SELECT sum(a) OVER (PARTITION BY b, d ORDER BY c, id) x FROM s) q;
SELECT id FROM s ORDER BY c DESC, id LIMIT 10;
SELECT id, n FROM s ORDER BY n DESC NULLS LAST, id LIMIT 10 OFFSET 6000;
SELECT id FROM s ORDER BY t COLLATE "C", id LIMIT 10 OFFSET 30000;
SELECT id, f FROM s ORDER BY f NULLS FIRST, id LIMIT 12;
SELECT id, f FROM s ORDER BY f DESC NULLS LAST, id LIMIT 12 OFFSET 8560;
SELECT a, c FROM s ORDER BY a NULLS FIRST, c LIMIT 5;
SELECT id, u FROM s WHERE u IS NOT NULL ORDER BY u COLLATE "C" DESC, id LIMIT 5;
-- unused window calls
SELECT id FROM (SELECT id, rank() OVER (ORDER BY a) r FROM s) q WHERE id < 4 ORDER BY id;
SELECT id, r FROM (SELECT id, rank() OVER (ORDER BY a, c) r, lag(t) OVER (ORDER BY id) l, sum(a) OVER (PARTITION BY b) x FROM s) q WHERE id < 5 ORDER BY id;
