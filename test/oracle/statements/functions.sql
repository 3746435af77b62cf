-- Functions that are answered while binding.
create table t(a int, b text);
insert into t values (1,'x'),(null,'y'),(3,null);
select num_nulls(a, b), num_nonnulls(a, b, 5), num_nulls(null), num_nulls('x') from t;
select pg_typeof(a), pg_typeof(b), pg_typeof(1.5), pg_typeof('x'), pg_typeof(a + 1::bigint), pg_typeof(count(*)) from t group by a, b;
select current_schema();
select version(1);
select num_nulls();
select pg_typeof(1, 2);
select no_such_function(1);
