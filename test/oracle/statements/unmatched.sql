-- Outer joins of which only rows without a match are kept.
create table l(k int, m int, x text);
create table r(k int, m int not null, y text);
insert into l select i % 7, i % 3, 'l' || i from generate_series(1, 20) i;
insert into l values (null, 1, 'n');
insert into r select i % 5, i % 2, 'r' || i from generate_series(1, 6) i;
insert into r values (null, 1, 'n');
select l.k, l.x, r.y from l left join r on l.k = r.k where r.k is null order by 2;
select l.k, l.x, r.* from l left join r on l.k = r.k and l.m = r.m where r.m is null order by 2;
select l.k, l.x from l left join r on l.k = r.k where r.y is null order by 2;
select l.k, l.x from l left join r on l.k = r.k or l.m = r.m where r.k is null order by 2;
select l.k, count(*), count(r.y), max(r.m) from l left join r on l.k = r.k and l.m > 0 where r.m is null and (r.y is null or l.k > 2) group by l.k order by 1;
select r.*, l.x from l right join r on l.k = r.k where l.k is null order by 1, 2, 3;
select l.x, coalesce(r.k, -1), r.k is null from l left join r on l.k = r.k and r.y > 'r3' where r.k is null order by 1;
select count(*) from l left join r on l.k = r.k join r s on l.m = s.m where r.k is null;
select count(*), min(q.y) from (select l.m, r.y from l left join r on l.k = r.k where r.m is null) q join r on q.m = r.m;
select l.x from l left join r on l.k = r.k where r.k is null and r.y = 'r1';
select l.x from l left join r on coalesce(l.k, 0) = coalesce(r.k, 0) where r.k is null order by 1;
select l.x from l left join (select k, max(m) mm from r group by k) s on l.k = s.k where s.mm is null order by 1;
-- The right side's filters are on rows of the part to which the left side refers.
create table day(d int, y int, w int);
create table sale(d int, n int);
insert into day select i, i / 365, i / 7 from generate_series(1, 8000) i;
insert into sale select 3000 + i % 700, i from generate_series(1, 3000) i;
select y, count(*), sum(n) from sale join day on sale.d = day.d where y = 9 group by y;
select count(*), sum(n) from sale, day a, day b where sale.d = a.d and a.w = b.w and b.y between 8 and 9 and b.d % 7 = 0;
select count(*) from sale where d in (select d from day where y = 30);
-- A string after IS [NOT] DISTINCT FROM in a join's condition is a value, no file.
select a.x, b.y from (values ('p'), ('q')) a(x) left join (values ('q'), ('r')) b(y) on a.x is not distinct from 'q' and b.y is distinct from 'r' order by 1, 2;
select a.x, b.y from (values ('p'), (null)) a(x) join (values ('q')) b(y) on (a.x is distinct from 'p') join (values (1)) c(z) on b.y is not distinct from 'q' and a.x is distinct from 'p.csv' order by 1;
