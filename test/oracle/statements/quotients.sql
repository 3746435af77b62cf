-- Quotients of numerics: their digits, and their nearest doubles.
create table q(id int, a numeric(15,2), b numeric(15,2), c numeric(18,6), w numeric(30,4), n numeric);
insert into q select v, (v * v % 9973 - 4000) * 1.25, (v % 97 + 1) * 0.05, (v * 7919 % 1000003) * 0.000001, v * 12345678901.5, v * 0.001 from generate_series(1, 400) v;
insert into q values (1001, 0, 1, 0, 0, 0), (1002, null, 1, 1, 1, 1), (1003, 1, null, null, null, null), (1004, 9999999999999.99, 0.01, 999999999999.999999, 1, 1), (1005, -9999999999999.99, 9999999999999.99, 0.000001, 7, 3), (1006, 0.01, 9999999999999.99, 0.000003, 99999999999999999999999999.9999, 'NaN');
select id, a / b, a / c, b / a from q where a <> 0 and c <> 0 order by id;
select id, a / w, c / b, b / c, a / n from q where w <> 0 and c <> 0 and n <> 0 order by id;
select id, (a / b)::float8, (b / a)::float8, (c / b)::float8, (b / c)::float8 from q where a <> 0 and c <> 0 order by id;
select id, (a / w)::float8, (w / a)::float8, (a / n)::float8, (a / b)::float4 from q where a <> 0 and w <> 0 and n <> 0 order by id;
select id, (a / 3)::float8, (1 / b)::float8, (a / 0.07)::float8, (a / 1000000.0)::float8, (a::int8 / b)::float8 from q where id > 1000 or id < 60 order by id;
select count(*), sum(x - y) from (select ((v * 1.01)::numeric(12,2) / w)::float8 x, ((v * 1.01)::numeric(12,2) / w)::text::float8 y from generate_series(-300, 300) v, generate_series(1, 50) w) z;
select count(*) from (select (v::numeric(12,4) / w::numeric(12,1))::float8 x, (v::numeric(12,4) / w::numeric(12,1))::text::float8 y from generate_series(1, 1000) v, generate_series(1, 200, 3) w) z where x is distinct from y;
select count(*) from (select ((v * 0.0001)::numeric(12,4) / (w * 1000)::numeric(12,1))::float8 x, ((v * 0.0001)::numeric(12,4) / (w * 1000)::numeric(12,1))::text::float8 y from generate_series(1, 1000) v, generate_series(1, 200, 3) w) z where x is distinct from y;
select (a / (b - b))::float8 from q where id = 1;
select (a / 0)::float8 from q where id = 1001;
select (a / 0)::float8 from q where id = 1002;
select case when b = 0.05 then 0 else (a / (b - 0.05))::float8 end from q order by id limit 5;
select avg(a / b), sum(a / b), max(a / b), min(a / b), max(b / c), sum((a / b)::float8) is null from q where c <> 0 and id < 1000;
select min(a), max(w), min(w), max(n), min(n), max(n / 3), min(a / b) from q where id < 1000;
