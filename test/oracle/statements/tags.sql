-- Transactions' tags, and counting matches.
select regexp_count('abcabc', 'b'), regexp_count('aaa', ''), regexp_count('aaa', 'a', 2), regexp_count('', 'x*'), regexp_count('', ''), regexp_count('abc', 'x*');
select regexp_substr('abcabc', 'b.', 1, 2), regexp_substr('abc', 'b', 1, 2), regexp_substr('aXbX', '(.)X', 1, 2, '', 1), regexp_instr('abcabc', 'c', 1, 2), regexp_instr('abcabc', 'c', 1, 2, 1), regexp_instr('aaa', '', 1, 4), regexp_instr('aaa', '', 1, 5);
select regexp_substr('héllo wörld', 'ö.', 1, 1), regexp_instr('héllo wörld', 'w');
begin;
savepoint s;
release s;
savepoint t;
rollback to t;
commit;
start transaction;
rollback;
