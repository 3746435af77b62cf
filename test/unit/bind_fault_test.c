/* Every allocation of parsing and binding can fail: the arena has room for r bytes, for growing r, until the
 * statement goes through. (Those inside libpg_query: sql_memory_test.c.) */
#include "bind_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { STEP = 104, PARSER_BYTES = 16 << 20 };

/* An arena with exactly `room` bytes left: it can take no other block, as the next one would be larger than all that
 * its Mem grants. The parser has memory. */
static void tight_arena(Arena *arena, Mem *mem, size_t room)
{
    Error err;
    mem_init(mem, 0);
    arena_init(arena, mem);
    assert_non_null(arena_alloc_raw(arena, 16, &err));
    while ((size_t)(arena->end - arena->at) < room) {
        assert_non_null(arena_alloc_raw(arena, (size_t)(arena->end - arena->at), &err));
        assert_non_null(arena_alloc_raw(arena, 16, &err));
    }
    size_t spare = (size_t)(arena->end - arena->at) - room;
    if (spare >= 16) assert_non_null(arena_alloc_raw(arena, spare & ~(size_t)15, &err));
    arena->next_size = 2 * PARSER_BYTES;
    atomic_store(&mem->limit, atomic_load(&mem->used) + PARSER_BYTES);
}

static tcudb_status try_with(Harness *h, const char *sql, size_t room)
{
    Mem mem;
    Arena arena;
    Stmt *stmt;
    Ast *asts;
    uint32_t n;
    Settings settings;
    settings_init(&settings);
    BindEnv env = {.txn = h->txn, .settings = &settings, .find_table_func = files_find_table_func};
    tight_arena(&arena, &mem, room);
    error_clear(&h->err);
    tcudb_status status = sql_parse(&arena, str_of(sql), NULL, &asts, &n, &h->err);
    if (status == TCUDB_OK) status = bind_statement(&arena, &env, asts, &stmt, &h->err);
    arena_free(&arena);
    return status;
}

static void no_allocation_is_taken_for_granted(void **state)
{
    (void)state;
    static const char *const queries[] = {
        "select a, sum(x) filter (where y like 'a%') from t join u using (a) where b in (1, 2, 3) group by a "
        "having count(*) > 1 order by 2 desc, a limit 3",
        "with w as (select a from t), r as (select * from w union select x from u) select * from r, w where exists "
        "(select 1 from u where u.a = r.a) and w.a not in (select x from u where y = 'z')",
        "with recursive r(n) as (select 1 union all select n + 1 from r where n < 5) select * from r",
        "select distinct on (a) case when a > 1 then 'x' else y end, coalesce(a, x), d + interval '1' day, "
        "extract(year from d), $1 + a from t natural join u order by a",
        "insert into u (a, x, y) values (1, (select 2), 'x'), (default, 3, null)",
        "update u set (x, y) = (select a, c from t where t.a = u.a) where x between 1 and $1",
        "delete from u using t where t.a = u.a",
        "create table x (a int primary key default 1 + 2, b varchar(10) not null)",
        "create view y as select p, q from v",
        "create table z as select a, n * 1.5 as m from t",
        "copy (select * from generate_series(1, 10)) to '/tmp/x' (format csv, force_quote (a, b))",
        "explain (analyze, format json) select 1 from t left join lateral (select x from u where u.a = t.a) s on true",
    };
    Harness h;
    harness_open(&h);
    assert_int_equal(harness_define(&h, "create table t(a int, b bigint, c text, d date, n numeric(12,2))"), TCUDB_OK);
    assert_int_equal(harness_define(&h, "create table u(a int, x int, y varchar(10))"), TCUDB_OK);
    assert_int_equal(harness_define(&h, "create view v(p, q) as select a, sum(b) from t group by a"), TCUDB_OK);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        uint32_t failures = 0;
        for (size_t room = 0;; room += STEP) {
            tcudb_status status = try_with(&h, queries[i], room);
            if (status == TCUDB_OK) break;
            failures++;
            if (status != TCUDB_NOMEM) print_message("%s: %s\n", queries[i], h.err.message);
            assert_int_equal(status, TCUDB_NOMEM);
            assert_string_equal(h.err.sqlstate, "53200");
            assert_true(failures < 20000);
        }
        assert_true(failures > 10);
    }
    harness_close(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_allocation_is_taken_for_granted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
