-- Recursion: aggregates are allowed above the query level that reads the recursive table, not in it.
create table e(src int, dst int);
insert into e values (1,2),(2,3),(3,1),(1,3);
with recursive r(s,x,w) as (select 0, 1, 1.0::float8 union all select s+1, dst, sum(w) from r join e on r.x = e.src where s < 3 group by s, dst) select * from r;
with recursive r(s,x,w) as (select 0, 1, 1.0::float8 union all select s+1, dst, w from (select s, dst, sum(w) as w from r join e on r.x = e.src where s < 3 group by s, dst) q) select * from r;
with recursive r(s,x,w) as (select 0, 1, 1.0::float8 union all select s+1, dst, w from (select s, dst, sum(w) as w from (select s, dst, w from r join e on r.x = e.src where s < 3) i group by s, dst) q) select * from r order by 1,2;
with recursive r(s,x) as (select 0, 1 union all select s+1, dst from r join e on r.x = e.src where s < 3 group by s, dst) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select distinct s+1, dst from r join e on r.x = e.src where s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, row_number() over () from r join e on r.x = e.src where s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, (select count(*)::int from e where e.src = r.x) from r where s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, x from r where s < 3 having true) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select 1, 2 from r having count(*) > 5) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select * from (select s+1, dst from r join e on r.x = e.src where s < 3 union all select 9, 9 where false) q) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all (select s+1, dst from r join e on r.x = e.src where s < 3 union all select 9, 9 where false)) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, n.src from (select distinct src from e) n left join r on r.x = n.src where s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, n.src from r left join e n on r.x = n.dst where s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, x from (select s, x from r where s < 3 order by x limit 1) q) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, x from r where s < 3 and x in (select src from e)) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s+1, x from r where s < 3 and x in (select x from r)) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select q.s+1, q.x from r join r q on true where q.s < 3) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all select s + 1, t from (select s, sum(x) over (partition by s)::int as t from (select * from r where s < 3) z) q) select * from r order by 1, 2;
with recursive r(s,x) as (with q as (select 1 as one) select 0, one from q union all select s+1, x from r where s < 2) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all (with q as (select s+1 as s, x from r where s < 2) select * from q)) select * from r order by 1, 2;
with recursive r(s,x) as (select 0, 1 union all (with q as (select s+1 as s, x from r where s < 2) select q.s, sum(q.x)::int from q group by q.s)) select * from r order by 1, 2;
-- steps whose joins keep their tables from round to round
create table edge as select i % 500 as a, (i * 31 + 7) % 500 as b, i as w, 'n' || i % 500 as t from generate_series(1, 900) i;
create table label as select i as k, 'n' || i as name, case when i % 5 = 0 then null else i end as opt from generate_series(0, 499) i;
with recursive r(v) as (select 1 union select b from r join edge on a = v) select count(*), sum(v) from r;
with recursive r(v, d) as (select 1, 0 union all select b, d + 1 from r join edge on a = v where d < 6) select d, count(*), sum(v) from r group by d;
with recursive r(v, d) as (select 1, 0 union all select e.b, d + 1 from r join edge e on e.a = v join label l on l.k = e.b where d < 5) select d, count(*), sum(v) from r group by d;
with recursive r(v, d) as (select 1, 0 union all select l.opt, d + 1 from r left join label l on l.k = v + 3 where d < 9) select * from r;
with recursive r(v, d) as (select 1, 0 union all select b, d + 1 from r join edge on a = v where d < 4 and exists (select 1 from label where k = b and opt is not null)) select d, count(*), sum(v) from r group by d;
with recursive r(v, d) as (select 1, 0 union all select b, d + 1 from r join edge on a = v where d < 4 and b not in (select k from label where opt is null)) select d, count(*), sum(v) from r group by d;
with recursive e as (select a, b from edge where w < 700), r(v) as (select 3 union select b from e join r on a = v), s(v) as (select v from r where v < 20 union select e.b from s join e on e.a = s.v) select (select count(*) from r), (select count(*) from s);
with recursive r(t, d) as (select 'n1', 0 union all select l.name, d + 1 from r join edge e on e.t = r.t join label l on l.k = e.b where d < 4) select d, count(*), min(t) from r group by d;
select k, (with recursive r(v) as (select k union select b from r join edge on a = v and b < k) select count(*) from r) as n from label where k < 40;
with recursive r(v, d) as (select 1, 0 union all select l.k, d + 1 from r full join label l on l.k = v where d < 3) select count(*) from r;
with recursive r(v, d) as (select 1, 0 union all select l.k, d + 1 from r right join label l on l.k = v where d < 3) select count(*) from r;
-- A query inside the step that is read twice: its rows are others in every round.
with recursive tab(id, link) as (values (1, 17), (2, 17), (3, 17), (4, 17), (6, 17), (5, 17)), iter(id, kind, link) as (select 0, 'base', 17 union all (with remaining(id, kind, link, least) as (select tab.id, 'true'::text, iter.link, min(tab.id) over () from tab join iter using (link) where tab.id > iter.id), first as (select id, kind, link from remaining where id = least), effect as (select tab.id, 'new'::text, tab.link from first e join tab on e.id = tab.id where e.kind = 'false') select * from first union all select * from effect)) select * from iter;
with recursive iter(n, m) as (select 0, 0 union (with one as (select n + 1 as n, m from iter where n < 5), two as (select n, m + 1 as m from one where n > 2) select * from one union select * from two)) select * from iter order by 1, 2;
with recursive iter(n) as (select 1 union all (with one as materialized (select n + 1 as n from iter where n < 4) select a.n from one a join one b on a.n = b.n)) select * from iter;
-- WITH inside the recursive term: its rows are of one round.
with recursive r(n) as (select 1 union all (with x as (select n + 1 as n from r where n < 5) select a.n from x a, x b)) select * from r order by 1;
with recursive r(n) as (select 1 union all (with x as materialized (select n + 1 as n from r where n < 5), y as materialized (select n from x where n < 4) select a.n from x a left join y b on a.n = b.n)) select * from r order by 1;
with recursive r(n) as (select 1 union all (with x as materialized (select n + 1 as n from r where n < 5) select a.n from generate_series(1, 9) c(n) join x a on a.n = c.n join x b on b.n = c.n)) select * from r order by 1;
with recursive r(n) as (select 1 union (with x as materialized (select n % 7 as m, count(*) as k from r group by 1) select x.m * 3 + (select max(y.k) from x y where y.m <= x.m) from x)) select * from r order by 1;
with recursive c(k) as materialized (select g from generate_series(1, 4) g), r(n) as (select 1 union all (with x as materialized (select n + 1 as n from r where n < 5) select a.n from x a join c on c.k = a.n join x b using (n))) select r.n, c.k from r left join c on c.k = r.n order by 1, 2;
-- A recursion in the step of a recursion, which reads the outer one's round.
with recursive o(n) as (select 1 union all (with recursive i(m) as (select n from o where n < 30 union all select m + 10 from i where m < 40) select max(m) from i having max(m) < 400)) select * from o order by 1 limit 9;
with recursive o(n, s) as (select 1, 0::bigint union all select o.n + 1, (with recursive i(m) as (select o.n union all select m + 1 from i where m < 8) select sum(m) from i) from o where o.n < 6) select * from o order by 1;
with recursive i(m) as (select 1 union all select m + 1 from i where m < 4), o(n) as (select 0 union all select o.n + i.m from o join i on o.n % 4 + 1 = i.m where o.n < 20) select * from o order by 1;
select t.a, (with recursive r(n) as (select t.a union all (with x as materialized (select n + 1 as n from r where n < t.a + 3) select a.n from x a join x b using (n))) select sum(n) from r) from (values (1), (10)) t(a) order by 1;
-- Tables of joins that serve all rounds, and those that do not.
with recursive e(a, b) as (values (1, 2), (2, 3), (3, 4), (4, 1), (2, 5)), r(n, d) as (select 1, 0 union all select e.b, r.d + 1 from r join e on e.a = r.n where r.d < 6) select n, d, count(*) from r group by 1, 2 order by 1, 2;
with recursive e(a, b) as (values (1, 2), (2, 3), (3, 4), (2, 5)), r(n, t) as (select 1, 'x' union all select f.b, r.t || '-' || f.b from (select e.a, e.b from e where e.b < 9) f right join r on f.a = r.n where r.n is not null) select * from r order by 1, 2 limit 12;
with recursive r(n, t) as (select 1, 'one' union all select r.n + 1, s.t from r left join (values (2, 'two'), (4, 'four')) s(k, t) on s.k = r.n + 1 and length(s.t) + r.n < 9 where r.n < 6) select * from r order by 1;
with recursive r(n) as (select 1 union all select n + 1 from r where n < 8 and not exists (select from (values (3), (5)) s(k) where s.k = r.n and r.n > 4)) select * from r order by 1;
with recursive x(n) as (with y as (select 1 from x) select 0 union select * from y) select * from x;
with recursive outermost(x) as (with innermost as (select 2 from outermost) select * from innermost union select * from outermost) select * from outermost;
create table changed(a int);
with recursive t as (insert into changed select * from t) values (false);
with recursive x(n) as (with y as (select * from x) delete from changed returning a) select * from x;
