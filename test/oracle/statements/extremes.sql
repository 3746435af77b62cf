-- Arguments at the ends of their types, and what follows from them.
select trunc(1.5, -2147483648), round(1.5, -2147483648), trunc('NaN'::numeric, -2147483648), trunc(-5, -40), trunc(123.45, -39), round(123.45, -39);
select right('abc', -2147483647), left('abc', -2147483648), left('abc', 2147483647);
select substr('abc', -2147483648, 2147483647), substr('abc', 2147483647, 2147483647), overlay('abc' placing 'x' from 2147483647 for 1), lpad('a', -2147483648), split_part('a', ',', 2147483647), repeat('a', -2147483648);
select overlay('abc' placing 'x' from 2147483647 for 2147483647);
select 1e-10 ^ 2.5, 1e-10 ^ -0.5, 2.0 ^ 0.5, 10.0 ^ 2.5, 10.0 ^ -3.5, 1.1 ^ 100.5, 0.9 ^ 50.25, 123.456 ^ 3.7, 1.0001 ^ 0.5, 5.5 ^ -0.3, 1e5 ^ 1.5;
select to_date('日本語', 'abc');
select to_date('日2020', 'aYYYY'), to_date('2020年03月05日', 'YYYY年MM月DD日');
select to_char(date '2020-03-05', 'YYYY年MM月DD日'), to_char(5, '9日');
-- The least intervals; floats that are small or large as decimals; what is no date.
select interval '-9223372036854775808 microseconds';
select interval '-2147483648 months -2147483648 days -9223372036854775808 us';
select interval '-2147483648 months ago';
select interval '-2147483649 months';
select '5e-324'::float8::numeric(10,2), '-3e-30'::real::numeric(38,38);
select '1.5e40'::float8::numeric(10,2);
select '3.4e38'::real::numeric(38,0);
select 'NaN'::float8::numeric, 'inf'::real::numeric;
select 'inf'::real::numeric(3,1);
select 123456.789::real::numeric(20,5), 123456789.123456789::float8::numeric(30,12);
select make_date(-44, 13, 1);
select make_timestamp(-1, 1, 32, 23, 59, 60);
select date 'inf';
select timestamp '-inf';
select timestamp '-infinity', date 'infinity', 'Infinity'::timestamp;
