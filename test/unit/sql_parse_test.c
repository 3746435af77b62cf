/* sql/: splitting, positions, FROM 'file', depth, incomplete input, and text made from trees. */
#include "sql/ast.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct Parsed {
    Mem mem;
    Arena arena;
    Error err;
    Ast *asts;
    uint32_t n;
    tcudb_status status;
} Parsed;

static void parse(Parsed *p, const char *sql)
{
    *p = (Parsed){0};
    mem_init(&p->mem, 0);
    arena_init(&p->arena, &p->mem);
    p->status = sql_parse(&p->arena, str_of(sql), NULL, &p->asts, &p->n, &p->err);
}

static void assert_text(Str text, const char *expected)
{
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.ptr, expected, text.len);
}

static void statements_are_split(void **state)
{
    (void)state;
    Parsed p;
    parse(&p, " select 1;\n-- note; here\nselect 'a;b' ; ;select 3");
    assert_int_equal(p.status, TCUDB_OK);
    assert_int_equal(p.n, 3);
    assert_text(p.asts[0].text, "select 1");
    assert_text(p.asts[1].text, "-- note; here\nselect 'a;b'");
    assert_text(p.asts[2].text, "select 3");
    assert_int_equal(p.asts[2].offset, 41);
    arena_free(&p.arena);
    static const char *const empty[] = {"", "  ", ";", "-- only a comment", "/* a */ ; ;"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        parse(&p, empty[i]);
        assert_int_equal(p.status, TCUDB_OK);
        assert_int_equal(p.n, 0);
        arena_free(&p.arena);
    }
}

static void errors_have_sqlstate_and_character(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *sqlstate, *message;
        int position;
    } cases[] = {
        {"selec 1", "42601", "syntax error at or near \"selec\"", 1},
        {"select 1 +", "42601", "syntax error at end of input", 11},
        {"select 'abc", "42601", "unterminated quoted string at or near \"'abc\"", 8},
        {"select 'äöü', from t", "42601", "syntax error at or near \"from\"", 15},
        {"select 'äöü' x y z", "42601", "syntax error at or near \"y\"", 16},
        {"select count(*) from 'a.csv' x where and", "42601", "syntax error at or near \"and\"", 38},
        {"select 'ä' from 'ä.csv' x join 'b.csv' y oops", "42601", "syntax error at or near \"oops\"", 42},
        {"select \xff", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff", 0},
        {"select '\xe4\xf6'", "22021", "invalid byte sequence for encoding \"UTF8\": 0xe4 0xf6 0x27", 0},
        {"select 1 limit 1, 2", "42601", "LIMIT #,# syntax is not supported", 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Parsed p;
        parse(&p, cases[i].sql);
        assert_int_equal(p.status, TCUDB_ERROR);
        assert_string_equal(p.err.message, cases[i].message);
        assert_string_equal(p.err.sqlstate, cases[i].sqlstate);
        assert_int_equal(p.err.position, cases[i].position);
        arena_free(&p.arena);
    }
}

/* The function's name that stands in for the string; "" if the FROM entry is no function. */
static const char *from_function(const Ast *ast)
{
    const PgQuery__SelectStmt *select = ((const Node *)ast->node)->select_stmt;
    if (select->n_from_clause != 1 || !NODE_IS(select->from_clause[0], RANGE_FUNCTION)) return "";
    const Node *list = select->from_clause[0]->range_function->functions[0];
    const PgQuery__FuncCall *call = list->list->items[0]->func_call;
    return sql_last_name(call->funcname, call->n_funcname);
}

static void files_stand_for_tables(void **state)
{
    (void)state;
    static const struct {
        const char *sql, *function;
    } cases[] = {
        {"select * from 'a.csv'", "read_csv"},
        {"select * from 'a.tbl' t(a, b) where a = 'from'", "read_csv"},
        {"SELECT * FROM 'dir/a.PARQUET' t", "read_parquet"},
        {"select extract(day from 'x') from 'a.csv'", "read_csv"},
        {"select * from ((select 1 from 'x.csv')) t", ""},
        {"select * from (values (1, 'a', 'b'), (2, 'c', 'd')) v", ""},
        {"select a is distinct from 'b' from t", ""},
        {"select substring('abc' from '1'), trim(from 'x'), trim(both 'x' from 'xax') from t", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Parsed p;
        parse(&p, cases[i].sql);
        assert_int_equal(p.status, TCUDB_OK);
        assert_string_equal(from_function(&p.asts[0]), cases[i].function);
        assert_text(p.asts[0].text, cases[i].sql);
        arena_free(&p.arena);
    }
    Parsed p;
    parse(&p, "copy t from 'a.csv'; delete from t where a in (select b from 'x.csv', ('y.csv' join 'z.csv' on true))");
    assert_int_equal(p.status, TCUDB_OK);
    assert_int_equal(p.n, 2);
    arena_free(&p.arena);
}

static void locations_map_back(void **state)
{
    (void)state;
    Parsed p;
    parse(&p, "select 'ä' from 'é.csv' x, t where nope = 1");
    assert_int_equal(p.status, TCUDB_OK);
    const PgQuery__SelectStmt *select = ((const Node *)p.asts[0].node)->select_stmt;
    assert_int_equal(sql_position(&p.asts[0], sql_location(select->where_clause)), 36);
    assert_int_equal(sql_position(&p.asts[0], select->from_clause[1]->range_var->location), 28);
    assert_int_equal(sql_position(&p.asts[0], -1), 0);
    arena_free(&p.arena);
}

static char *repeat(const char *first, const char *piece, int n, const char *middle, const char *closing)
{
    size_t size = strlen(first) + strlen(middle) + (strlen(piece) + strlen(closing)) * (size_t)n + 1;
    char *text = malloc(size), *at = text;
    assert_non_null(text);
    at += sprintf(at, "%s", first);
    for (int i = 0; i < n; i++) at += sprintf(at, "%s", piece);
    at += sprintf(at, "%s", middle);
    for (int i = 0; i < n; i++) at += sprintf(at, "%s", closing);
    return text;
}

static void depth_is_limited(void **state)
{
    (void)state;
    static const struct {
        const char *first, *piece, *middle, *closing;
        int n;
        bool deep;
    } cases[] = {
        {"select ", "(", "1", ")", 1000, false},
        {"select ", "(", "1", ")", 100000, true},
        {"select 1", "+1", "", "", 1000, false},
        {"select 1", "+1", "", "", 50000, true},
        {"select ", "not ", "true", "", 50000, true},
        {"select ", "case when true then ", "1", " end", 50000, true},
        {"select 1", " union select 1", "", "", 50000, true},
        {"select * from ", "(select * from ", "t", ") x", 50000, true},
        {"select a", "[1]", "", "", 3000, false},
        {"select 1 where true", " and true", "", "", 50000, false},
        {"select 1 where 1 in (1", ", 1", ")", "", 50000, false},
        {"select 1", ", 1 + 2", "", "", 1600, false},
        {"select 1", " from t) ) )", "", "", 2000, false}, /* unbalanced: the parser's affair */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *sql = repeat(cases[i].first, cases[i].piece, cases[i].n, cases[i].middle, cases[i].closing);
        Parsed p;
        parse(&p, sql);
        bool deep = p.status == TCUDB_ERROR && strcmp(p.err.sqlstate, "54001") == 0;
        if (deep != cases[i].deep) print_message("%s%s...: %s\n", cases[i].first, cases[i].piece, p.err.message);
        assert_int_equal(deep, cases[i].deep);
        arena_free(&p.arena);
        free(sql);
    }
}

static void incomplete_input_is_seen(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        bool incomplete;
    } cases[] = {
        {"", false},
        {"  \n", false},
        {"-- note", false},
        {"select 1", true},
        {"select 1;", false},
        {"select 'a;", true},
        {"select \"a;", true},
        {"/* open ;", true},
        {"select (1;", true},
        {"select $$a;", true},
        {"select 1; -- x", false},
        {"select 1; select", true},
        {"select 'x';", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (sql_incomplete(str_of(cases[i].sql)) != cases[i].incomplete) print_message("%s\n", cases[i].sql);
        assert_int_equal(sql_incomplete(str_of(cases[i].sql)), cases[i].incomplete);
    }
}

static void expressions_become_text(void **state)
{
    (void)state;
    Parsed p;
    Str text;
    parse(&p, "select 1 + 2 * 3, 'it''s', now(), null, -1, cast('1' as numeric(3,1)) from 'a.csv'");
    static const char *const texts[] = {"1 + (2 * 3)", "'it''s'", "now()", "NULL", "-1", "'1'::numeric(3, 1)"};
    const PgQuery__SelectStmt *select = ((const Node *)p.asts[0].node)->select_stmt;
    for (size_t i = 0; i < select->n_target_list; i++) {
        const Node *value = select->target_list[i]->res_target->val;
        assert_int_equal(sql_expression_text(&p.arena, value, NULL, &text, &p.err), TCUDB_OK);
        if (text.len != strlen(texts[i])) print_message(STR_FMT "\n", STR_ARG(text));
        assert_text(text, texts[i]);
    }
    int offset;
    arena_free(&p.arena);
    parse(&p, "select 1; create view v(a) as select 1 as b from 'x.csv' t ; select 2");
    assert_int_equal(sql_after_as(&p.arena, &p.asts[1], NULL, &offset, &p.err), TCUDB_OK);
    assert_text(sql_text_from(&p.asts[1], offset), "select 1 as b from 'x.csv' t");
    arena_free(&p.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statements_are_split),    cmocka_unit_test(errors_have_sqlstate_and_character),
        cmocka_unit_test(files_stand_for_tables),  cmocka_unit_test(locations_map_back),
        cmocka_unit_test(depth_is_limited),        cmocka_unit_test(incomplete_input_is_seen),
        cmocka_unit_test(expressions_become_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
