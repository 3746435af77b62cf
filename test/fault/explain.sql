create table t as select i as k, i % 7 as g, 'text ' || i % 5 as s, i / 2.0 as n from generate_series(1, 3000) x(i);
create table u (k int primary key, v text default 'x' || 'y', check (k > 0));
create view w as select g, sum(n) as n from t group by g;
create index on t (g);
explain select g, count(*), sum(n) from t where s like 'text%' and k between 3 and 900 group by g having count(*) > 1 order by 2 limit 3;
explain (stages) select a.s, b.g, sum(a.k * b.k) from t a join t b on a.g = b.g group by 1, 2;
explain (analyze, format json) select a.g, b.g, count(*) from t a join t b on a.k = b.k group by 1, 2;
explain select *, row_number() over (partition by g order by n), (select max(v) from u where u.k = t.k) from t union all select 1, 2, 'x', 3, 4, 'y' order by 1;
explain with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r, generate_series(1, 3), lateral (select r.n + 1) q;
explain (verbose) insert into u select k, s from t on conflict (k) do update set v = excluded.v returning *;
explain update t set n = n + 1 from u where u.k = t.k;
explain delete from t where k in (values (1), (2));
explain select * from (select distinct on (g) * from t order by g, k) q full join w using (g) where q.k is distinct from 4;
explain select percentile_cont(0.5) within group (order by n), count(*) filter (where g > 2) from t group by grouping sets ((g), (g, s), ());
\d
\d t
\d+ u
\di
\dv
\df
.schema
.tables
.indexes
.settings
.dump
describe t;
summarize t;
show all;
show rates;
show tcudb.engine;
set tcudb.memory_limit = '100MB';
prepare p(int) as select * from t where k = $1;
execute p(5);
explain execute p(5);
deallocate p;
select * from information_schema.columns order by 3, 4;
copy (select * from t where k < 5) to stdout (format csv, header);
drop table t;
call matrices(n => 8);
call micro(n => 5, k => 2);
