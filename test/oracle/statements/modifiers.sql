-- What length and precision a column has that is made from an expression.
create table x1 as select 1::numeric(5,1) p, null::numeric(5,1) q, 1.5 r, 1.50::numeric(3,2) s, 2.5::numeric t, cast(3 as numeric(7,2)) u;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'x1'::regclass and attnum > 0 order by attnum;
create table x2 as select case when a > 1 then 1::numeric(5,1) else b end p, case when a > 1 then b end q, coalesce(b, 2::numeric(5,1)) r, coalesce(b, 2.5) s, case when a > 1 then b else 2::numeric(6,1) end t from (values (1, 1::numeric(5,1)), (2, 2.5::numeric(5,1))) v(a, b);
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'x2'::regclass and attnum > 0 order by attnum;
create table x3 as select 1::numeric(5,1) p, 1::numeric(5,1) q union all select 2::numeric(5,1), 3::numeric(6,1);
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'x3'::regclass and attnum > 0 order by attnum;
create table x4 as (values (1::numeric(5,1), 1.5), (2::numeric(5,1), 2.5)) ;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'x4'::regclass and attnum > 0 order by attnum;
create table x5 as select sum(p) a, max(p) b, p + 1 c, -p d, abs(p) e, p f from x1 group by p;
select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = 'x5'::regclass and attnum > 0 order by attnum;
create view v1 as select 1.5::numeric(5,2) as p;
create or replace view v1 as select 2::numeric(5,2) as p;
create or replace view v1 as select 2::numeric(6,2) as p;
select * from x1, x3 order by 7;
select 1.50::numeric(3,2), 1.5::numeric(3,2) + 1, 2.345::numeric(3,2), 1.5::numeric(30,5);
