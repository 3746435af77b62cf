-- Equalities of inner joins that connect through each other are one class of equal columns; what comes after them is not.
create table r(k int, m int, n int);
create table s(k int, m int, n int);
create table u(k int, m int);
insert into r select i % 7, i % 5, i from generate_series(1, 60) i;
insert into s select i % 7, i % 5, i from generate_series(1, 60) i;
insert into u select i % 9, i % 4 from generate_series(1, 30) i;
select count(*), sum(r.n) from r, s, u where r.k = s.k and s.m = u.m and r.m = s.m and r.n = s.n;
select count(*), sum(r.n) from r, s, u where r.k = u.k and s.k = u.m and u.k = u.m and r.n = s.n;
select count(*), sum(r.n) from r, s, u where r.m = s.m and r.k = u.k and s.k = u.k and r.n = s.n and r.k = s.k;
select count(*), sum(s.n) from s, u, r where s.k = r.k and u.k = r.m and s.k = u.k and s.n = r.n and r.m = u.m;
select count(*), sum(s.n) from s, u, r where s.k = r.k and u.k = r.m and u.m = r.n and s.k = u.k and s.n = r.n and u.k = u.m;
select count(*), min(a.n), max(d.n) from r a, r b, s c, s d where a.k = b.k and c.k = d.k and b.k = c.k and a.n = d.n and b.m = c.m and b.n = c.n and a.m = b.m;
select count(*), min(a.n), max(d.n) from r a, r b, s c, s d where a.k = b.k and a.n = d.n and c.m = d.m and c.k = d.k and b.m = c.m and b.k = c.k and b.n = c.n;
select count(*), sum(a.n) from r a, s b, u c, u d where d.k = a.k and b.k = c.k and a.k = b.k and a.n = b.n;
select count(*), sum(a.n) from r a, s b, u c, u d, s e where d.k = a.k and b.k = c.k and e.m = d.m and a.k = b.k and a.n = b.n and a.m = b.m;
select a.n, count(*) from r a, s b, u c, u d where d.m = a.m and b.m = c.m and a.m = b.m and a.k = b.k and a.n = b.n group by a.n order by 1;
-- A text after IS DISTINCT FROM in a join's condition is no file.
create table de(a int, b text);
insert into de values (1, 'x'), (2, 'y'), (3, null);
select p.a, q.a from de p join de q on p.b is not distinct from 'x' and q.b is distinct from ('x') order by 1, 2;
