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
-- fast ways of division, rounding, casts and GREATEST agree with the slow ones at their edges
create table dd (a numeric(15, 2), b numeric(18, 4), c numeric(30, 6), i int, s smallint, l bigint);
insert into dd values (0, 0.0001, 0, 1, 1, 1), (-0.01, 99999999999999.9999, -0.000001, -7, -7, -7), (9999999999999.99, -99999999999999.9999, 999999999999999999999999.999999, 2147483647, 32767, 9223372036854775807), (-9999999999999.99, 0.5, -999999999999999999999999.999999, -2147483648, -32768, -9223372036854775808), (0.5, 2.5, 0.5, 3, 3, 3), (-0.5, -2.5, -0.5, 4, 4, 4), (1234.56, 0.0007, 9223372036854775807.5, 5, 5, 5), (null, null, null, null, null, null);
insert into dd select (i * 7919 % 100000) / 100.0, (i * 104729 % 99999 - 50000) / 1000.0 + 0.0005, i * 1000003.123456, i, i % 100, i * 1000000007::bigint from generate_series(1, 300) i;
select a / nullif(b, 0), b / nullif(a, 0), a / nullif(i, 0), i / nullif(a, 0), c / nullif(b, 0), b / nullif(c, 0) from dd;
select (a / nullif(b, 0))::float8, (c / nullif(a, 0))::float8, c::float8, b::float8, (a * b)::float8, (a / 3)::float8 from dd;
select floor(a), ceil(a), round(a), trunc(a), floor(b), ceil(b), round(b), trunc(b), floor(c), ceil(c), round(c), trunc(c) from dd;
select floor(a * b), ceil(a * b), round(a * b), trunc(a * b), round(a * b, 3), round(c, 2), round(a, -2), trunc(c, 1), trunc(b, -1), round(b, 9) from dd;
select a::int from dd where abs(a) < 2147483647;
select b::smallint, b::int, b::bigint from dd where abs(b) < 32767;
select a::int from dd;
select b::smallint from dd;
select c::bigint from dd where i = 1;
select c::bigint from dd;
select greatest(a, i), least(a, i), greatest(a, b), least(b, c), greatest(i, s), least(l, i), greatest(a, null), least(null::int, null), greatest(a, b, c), least(i, s, 7) from dd;
select sum(greatest(a, i)), sum(least(a, b)), max(greatest(i, 0)) from dd;
select i::numeric(20, 2), s::numeric(18, 13), i::numeric(18, 8), l::numeric(25, 3) from dd where i between 1 and 300;
select s::numeric(8, 4) from dd;
select i::text, s::text, l::text, (-i)::bigint::text, length(l::text), i || '/' || s, max(i::text) over () from dd;
select '9007199254740993.0'::numeric::float8, '0.100000000000000005551115123126'::numeric(38, 30)::float8, '4503599627370497.5'::numeric::float8, '9007199254740992.99999999'::numeric::float8, '36028797018963969.5'::numeric::float8, '1e37'::numeric::float8, '12345678901234567890.12345678901'::numeric::float8;
