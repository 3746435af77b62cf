-- What every scan of a CTE asks of a column sinks into it; unions of unions.
create table o(y int, m int, k int, n numeric(7,2), v varchar(9));
insert into o select 2000 + i % 5, 1 + i % 12, i % 9, i * 1.25, 'v' || i % 4 from generate_series(1, 400) i;
insert into o values (null, 1, 2, 3, 'x'), (2001, null, null, null, null);
with t as (select y, k, sum(n) s, count(*) c from o group by y, k) select a.k, a.s, b.s, a.c from t a, t b where a.k = b.k and a.y = 2001 and b.y = 2002 and a.s > 0 order by 1;
with t as (select y, k, sum(n) s from o group by y, k) select a.k, a.s, b.s from t a left join t b on a.k = b.k and b.y = 2002 where a.y = 2001 order by 1;
with t as (select y, k, sum(n) s from o group by y, k) select * from t where y = 2001 union all select * from t where y is null order by 1, 2;
with t as (select y, k, sum(n) s from o group by y, k) select * from t where y = 2001 and s > 100 union all select * from t where s > 500 order by 1, 2;
with t as (select 'a' as kind, y, m, sum(n) s from o group by y, m union all select 'b', y, m, max(n) from o where k > 3 group by y, m) select p.m, p.s, q.s, r.s from t p join t q on p.m = q.m join t r on r.m = q.m where p.kind = 'a' and p.y = 2000 and q.kind = 'b' and q.y = 2001 and r.kind = 'a' and r.y = 2003 order by 1, 2, 3, 4;
with t as (select y, m, rank() over (partition by y order by n) r from o) select a.y, a.m, b.r from t a, t b where a.y = 2001 and b.y = 2002 and a.r = b.r and a.r < 5 and b.m < 9 order by 1, 2, 3;
with t as (select y, m, n from o order by n desc limit 20) select a.n, b.n from t a, t b where a.y = 2001 and b.y = 2002 and a.m < b.m order by 1, 2;
with t as (select y, k, count(*) c from o group by y, k), u as (select y, sum(c) c from t where k < 5 group by y) select a.y, a.c, b.c from u a, u b, t where a.y = 2001 and b.y = 2003 and t.y = 2002 and t.k = 1 order by 1;
with t as materialized (select y, k from o) select count(*) from t a, t b where a.y = 2001 and b.y between 2003 and 2004 and a.k = b.k;
with recursive t(i, y) as (select 1, 2001 union all select i + 1, y + 1 from t where i < 6) select * from t a, t b where a.y = 2003 and b.y = 2005;
with t as (select y, k from o) select y, (select count(*) from t b where b.y = 2002 and b.k = a.k) from t a where a.y = 2001 and a.k < 2 order by 1, 2;
select y, k from o where y = 2001 union select y, k from o where y = 2002 union select y + 1, k from o where y = 2001 union all select 1, 1 order by 1, 2;
select v, n from o where k = 1 union (select v, n * 1.00 from o where k = 1 union select v, n from o where k = 2) except select v, n from o where k = 3 order by 1, 2;
-- A subquery that runs once for each row asks only for the CTEs that it needs, not for the one that it is in.
create table cw(a int, b int);
insert into cw select i, i % 3 from generate_series(1, 9) i;
set tcudb.optimizer = off;
with w as (select a from cw where a > (select count(*) from cw d where d.b < cw.b and d.a <> cw.a)), x as (select a from w where a > 2) select a from x union all select a from w order by 1;
with w as (select a from cw), x as (select a from w where a > 2), y as (select a from cw where exists (select 1 from x where x.a = cw.b + 2)) select a from y union all select a from x union all select a from w order by 1;
reset tcudb.optimizer;
-- Columns that only the CTE's plan has, made after all of the statement's.
create table ci(a int, b int, c int);
insert into ci select i % 4, i % 5, i % 7 from generate_series(1, 30) i;
with w as (select s.*, count(o2) over (partition by o1) as w from (select count(*) filter (where a <> b and 5 < c) as o0, count(*) as o1, sum(distinct nullif(c, b)) as o2 from ci where c between 5 and 7) s) select o0, o1, o2 from w where o2 is not null union all select o0, o1, o2 from w where o2 in (7, 11);
with w as (select a, count(distinct b) n, count(distinct c) m, sum(distinct c) s from ci group by rollup (a)) select * from w where n > 1 union all select * from w where n > 2 order by 1, 2, 3, 4;
-- Conditions of every scan do not reach what changes when rows are left out: numbers of rows, limits, sequences.
create sequence cs;
with t as (select nextval('cs') n, y from o) select count(n) from t where y = 2001 union all select count(n) from t where y = 2002;
select nextval('cs');
with t as (select y, k, row_number() over (order by y, k, m, n) r from o) select * from t where y = 2001 and r < 85 union all select * from t where y = 2002 and r > 240 order by 1, 2, 3;
with t as (select y, k from o order by y nulls first, k, m, n limit 100) select count(*), sum(k) from t where y = 2001 union all select count(*), sum(k) from t where y = 2000;
with t as (select distinct on (k) k, y from o order by k, y, m, n) select * from t where y = 2000 union all select * from t where y = 2001 order by 1, 2;
with d as (delete from o where k = 8 returning y, k) select count(*) from d where y = 2001 union all select count(*) from d where y = 2002;
select count(*) from o where k = 8;
with t as (select y, sum(n) s from o group by grouping sets ((y), ())) select * from t where y is null union all select * from t where y is null and s > 1 order by 1, 2;
with t as (select y, count(*) c from o group by y having count(*) > 3), u as (select y from t where c > 5 union select y from t where c < 80) select count(*) from u where y > 2001;
with t as (select y from o except select 2001) select * from t where y = 2001 union all select * from t where y = 2002;
