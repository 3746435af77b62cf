-- Entries of IN with columns are compared each by its own =, the others in one type.
create table k(i2 smallint, i4 int, i8 bigint, n numeric(10,3), f4 real, f8 double precision, v varchar(4), c char(4), d date, t timestamp);
insert into k values (1, 1, 1, 1.000, 0.1, 0.1, 'ab', 'ab', '2024-01-01', '2024-01-01'), (2, 7, 9007199254740993, 0.100, 0.1, 0.5, 'cd', 'cd', '2024-01-02', '2024-01-01 00:00:01'), (null, 16777217, 16777217, null, 16777216, 16777217, null, 'x', null, '2024-01-03');
select f4 in (i2, n), f4 in (f8, 3), f4 in (0.1, 3), f4 in (n, 0.1, 0.5), f4 in ('0.1', 7), i8 in (f8, 9007199254740992), i8 in (f4, i4) from k;
select i8 in (n, '7.25') from k;
select i4 in (7, n, 1.0, '1'), i4 not in (n, 7), i4 in (n, null), d in (t, '2024-01-02'), t in (d, '2024-01-03'), d in (t, date '2024-01-01', timestamp '2024-01-02') from k;
select c in (v, 'x'), v in (c, 'cd', 'e'), v in ('ab'::char(4), 'cd'::char(3)), c in ('ab  '::varchar, 'cd') from k;
select count(*) from k a join k b on a.i4 in (b.i8, b.f8, 7);
select i2 in (i4, i8), i2 in (1, 2), i4 in (select i8 from k), f4 in (select n from k) from k;
