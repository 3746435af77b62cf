-- The type of NULLIF is the one that PostgreSQL's = takes its first argument as.
select nullif(1::smallint, 2), nullif(1::smallint, 2::bigint), nullif(7, 7::bigint), nullif(16777217::real, 1), nullif(0.1::real, 0.1::float8), nullif(0.1::real, 2.5), nullif(1, 1.5), nullif(1, 1.5::real);
select pg_typeof(nullif(1::smallint, 2))::text, pg_typeof(nullif(1::smallint, 2::bigint))::text, pg_typeof(nullif(7, 7::bigint))::text, pg_typeof(nullif(1::real, 1))::text, pg_typeof(nullif(1::real, 1::float8))::text, pg_typeof(nullif(1, 1.5))::text, pg_typeof(nullif(1, 1.5::real))::text, pg_typeof(nullif('a'::varchar, 'b'::text))::text;
select nullif(date '2024-01-02', timestamp '2024-01-02'), nullif(date '2024-01-02', timestamp '2024-01-02 01:00'), nullif(timestamp '2024-01-02', date '2024-01-01');
select nullif(32767::smallint, 32768) + 1::smallint;
-- Of several pairs of a row, the first that cannot be compared is reported.
select row(a, b) = row(b, a) from (values (1, 'x'::text)) v(a, b);
select (a, b) < (b, a) from (values (1, 'x'::text)) v(a, b);
select (a, b) <= (b, a) from (values (1, 'x'::text)) v(a, b);
select (1, 2, true) <> (1, 'x'::text, 2);
select (1, 2, 3) < (1, 2, 4), (1, 2, 3) >= (1, 2, 3), (1, null, 3) < (1, 2, 3), (1, null, 3) < (2, 2, 3), (1, 2) = (1, null), (1, 2) <> (2, null);
