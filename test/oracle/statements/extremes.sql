-- Arguments at the ends of their types, and what follows from them.
select trunc(1.5, -2147483648), round(1.5, -2147483648), trunc('NaN'::numeric, -2147483648), trunc(-5, -40), trunc(123.45, -39), round(123.45, -39);
select right('abc', -2147483648), right('abc', -2147483647), left('abc', -2147483648), left('abc', 2147483647);
select substr('abc', -2147483648, 2147483647), substr('abc', 2147483647, 2147483647), overlay('abc' placing 'x' from 2147483647 for 1), lpad('a', -2147483648), split_part('a', ',', 2147483647), repeat('a', -2147483648);
select overlay('abc' placing 'x' from 2147483647 for 2147483647);
select 1e-10 ^ 2.5, 1e-10 ^ -0.5, 2.0 ^ 0.5, 10.0 ^ 2.5, 10.0 ^ -3.5, 1.1 ^ 100.5, 0.9 ^ 50.25, 123.456 ^ 3.7, 1.0001 ^ 0.5, 5.5 ^ -0.3, 1e5 ^ 1.5;
select to_date('日本語', 'abc');
select to_date('日2020', 'aYYYY'), to_date('2020年03月05日', 'YYYY年MM月DD日');
select to_char(date '2020-03-05', 'YYYY年MM月DD日'), to_char(5, '9日');
