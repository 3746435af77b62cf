-- Rows compared, tested for NULL, and spans of time.
create table r(a int, b int, s date, e date, t timestamp);
insert into r values (1,2,'2020-01-01','2020-02-01','2020-01-15 12:00'),(1,null,'2020-02-01','2020-01-01','2020-02-01'),(null,null,'2020-01-10',null,'2020-03-01'),(null,3,null,'2020-01-20',null),(4,4,null,null,'2020-01-10'),(5,6,'2020-01-31','2020-01-31','2020-01-31');
select a, b, (a, b) is null, (a, b) is not null, not (a, b) is null, row(a) is null, (a, b, 1) is null from r order by e, a;
select (1, 2) is null, (null, null) is null, (1, null) is null, (1, null) is not null, (1, 2) is not null;
select (1, null) is distinct from (1, null), (1, 2) is distinct from (1, 3), (1, null) is not distinct from (1, null), (null, 1) is distinct from (2, 1);
select a, b, (a, b) is distinct from (1, null), (a, b) is not distinct from (b, a), (a, b) is distinct from (a, b) from r order by e, a;
select (1, 2) is distinct from (1, 2, 3);
select (1, 2) in ((1, 2), (3, 4)), (1, null) in ((1, 2)), (1, 2) not in ((1, null)), (2, 2) not in ((1, null));
select x.a, y.a from r x join r y on (x.a, x.b) is not distinct from (y.a, y.b) order by 1, 2, x.s;
select (timestamp '2020-01-01', interval '1 day') overlaps (timestamp '2020-01-02', interval '1 day'), (date '2020-01-01', date '2020-01-05') overlaps (date '2020-01-04', date '2020-01-10'), (date '2020-01-05', date '2020-01-01') overlaps (date '2020-01-04', interval '3 days');
select x.s, x.e, y.s, y.e, (x.s, x.e) overlaps (y.s, y.e) from r x, r y order by 1, 2, 3, 4;
select x.s, y.t, (x.s, x.e) overlaps (y.t, interval '10 days'), (x.s, x.e) overlaps (y.t, null::interval) from r x, r y order by 1, 2, x.e;
select (date '2020-01-01', null) overlaps (date '2020-01-01', date '2020-01-02');
select * from r where (s, e) overlaps (date '2020-01-15', interval '1 month') order by s;
