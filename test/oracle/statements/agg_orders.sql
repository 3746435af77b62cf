-- Aggregates that want their rows in different orders, in one query.
create table t(g int, a text, b int, c int);
insert into t select i % 3, chr(97 + i % 7), i, (i * 37) % 11 from generate_series(1, 40) i;
select string_agg(a, ',' order by b), string_agg(a, ',' order by b desc), string_agg(a, '' order by c, b) from t;
select g, string_agg(a, ',' order by b), string_agg(distinct a, ',' order by a desc), string_agg(distinct a, '-'), sum(b), count(distinct c) from t group by g order by g;
select g, string_agg(a, ',' order by b) filter (where b > 20), string_agg(a, '' order by c desc, b), max(a), count(*) from t group by g having count(*) > 2 order by g;
select string_agg(a, ',' order by b), string_agg(a, ',' order by c, b) from t where false;
select g, string_agg(a, ',' order by b), string_agg(b::text, ',' order by c, b) from t where false group by g;
select g, c, string_agg(a, ',' order by b), string_agg(a, ',' order by b desc) from t group by rollup (g, c) order by g, c;
select percentile_cont(0.5) within group (order by b), percentile_cont(0.5) within group (order by c), mode() within group (order by a), string_agg(a, '' order by b), string_agg(a, '' order by c, b) from t;
