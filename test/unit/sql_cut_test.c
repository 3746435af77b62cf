/* sql/cut.c: a text parsed without its long literals gives the tree, positions and errors of the whole text. What
 * the scanner makes of the whole text is told by the same text with an E'' behind it, which is never cut. */
#include "sql/ast.h"
#include "sql/sql_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

enum { LONG_PART = 70000 };

typedef struct Parsed {
    Arena arena;
    Error err;
    Ast *asts;
    uint32_t n;
    tcudb_status status;
} Parsed;

/* @ is a long word, ~ are many blanks. */
static char *lengthen(const char *pattern, const char *behind)
{
    char *text = malloc((strlen(pattern) + 1) * LONG_PART + strlen(behind) + 1), *at = text;
    assert_non_null(text);
    for (const char *p = pattern; *p != '\0'; p++) {
        int n = *p == '@' || *p == '~' ? LONG_PART : 1;
        memset(at, *p == '@' ? 'x' : *p == '~' ? ' ' : *p, (size_t)n);
        at += n;
    }
    strcpy(at, behind);
    return text;
}

static void parse(Parsed *p, const char *text)
{
    *p = (Parsed){0};
    arena_init(&p->arena, NULL);
    p->status = sql_parse(&p->arena, str_of(text), NULL, &p->asts, &p->n, &p->err);
}

typedef struct Pair {
    const Ast *cut, *whole;
} Pair;

static void same_message(const Pair *pair, const ProtobufCMessage *cut, const ProtobufCMessage *whole);

static void same_value(const Pair *pair, const ProtobufCFieldDescriptor *field, const void *cut, const void *whole)
{
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        same_message(pair, *(ProtobufCMessage *const *)cut, *(ProtobufCMessage *const *)whole);
    } else if (field->type == PROTOBUF_C_TYPE_STRING) {
        const char *one = *(const char *const *)cut, *other = *(const char *const *)whole;
        assert_int_equal(strlen(one), strlen(other));
        assert_memory_equal(one, other, strlen(one)); /* not printed: they are long */
    } else if (strstr(field->name, "location") != NULL) {
        int one = sql_position(pair->cut, *(const int32_t *)cut);
        assert_int_equal(one, sql_position(pair->whole, *(const int32_t *)whole));
    } else {
        assert_memory_equal(cut, whole, field->type == PROTOBUF_C_TYPE_DOUBLE ? 8 : 4);
    }
}

static void same_field(const Pair *pair, const ProtobufCFieldDescriptor *field, const char *cut, const char *whole)
{
    size_t n, other;
    if (field->label != PROTOBUF_C_LABEL_REPEATED) {
        same_value(pair, field, cut + field->offset, whole + field->offset);
        return;
    }
    memcpy(&n, cut + field->quantifier_offset, sizeof n);
    memcpy(&other, whole + field->quantifier_offset, sizeof other);
    assert_int_equal(n, other);
    const char *const *list = (const char *const *)(const void *)(cut + field->offset);
    const char *const *others = (const char *const *)(const void *)(whole + field->offset);
    size_t size = field->type == PROTOBUF_C_TYPE_MESSAGE || field->type == PROTOBUF_C_TYPE_STRING ? 8 : 4;
    for (size_t i = 0; i < n; i++) same_value(pair, field, *list + i * size, *others + i * size);
}

static void same_message(const Pair *pair, const ProtobufCMessage *cut, const ProtobufCMessage *whole)
{
    assert_int_equal(cut == NULL, whole == NULL);
    if (cut == NULL) return;
    assert_ptr_equal(cut->descriptor, whole->descriptor);
    for (unsigned i = 0; i < cut->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &cut->descriptor->fields[i];
        if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            uint32_t one, other;
            memcpy(&one, (const char *)cut + field->quantifier_offset, sizeof one);
            memcpy(&other, (const char *)whole + field->quantifier_offset, sizeof other);
            assert_int_equal(one, other);
            if (one != field->id) continue;
        }
        same_field(pair, field, (const char *)cut, (const char *)whole);
    }
}

static void same_statements(const Parsed *cut, const Parsed *whole)
{
    assert_int_equal(cut->n + 1, whole->n); /* SELECT E'' */
    for (uint32_t i = 0; i < cut->n; i++) {
        Pair pair = {&cut->asts[i], &whole->asts[i]};
        assert_int_equal(pair.cut->offset, pair.whole->offset);
        assert_int_equal(pair.cut->text.len, pair.whole->text.len);
        assert_memory_equal(pair.cut->text.ptr, pair.whole->text.ptr, pair.cut->text.len);
        same_message(&pair, pair.cut->node, pair.whole->node);
    }
}

static void compare(const char *pattern, bool shorter)
{
    char *text = lengthen(pattern, ""), *other = lengthen(pattern, "\n; select e''");
    Parsed cut, whole;
    parse(&cut, text);
    parse(&whole, other);
    if (cut.status != whole.status || cut.err.position != whole.err.position)
        print_message("%s: %.60s %d\n", pattern, cut.err.message, cut.err.position);
    assert_int_equal(cut.status, whole.status);
    assert_int_equal(cut.err.position, whole.err.position);
    assert_string_equal(cut.err.sqlstate, whole.err.sqlstate);
    assert_string_equal(cut.err.message, whole.err.message);
    if (cut.status == TCUDB_OK) {
        same_statements(&cut, &whole);
        assert_int_equal(cut.asts[0].source->parsed_len < LONG_PART, shorter);
    }
    arena_free(&cut.arena);
    arena_free(&whole.arena);
    free(text);
    free(other);
}

static void cut_texts_parse_as_whole_ones(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "select '@'",
        "select 'a''@''b', 1, '@'''",
        "select '@'\n'b', 1",
        "select 'b' -- c\n'@' as x, 1",
        "select $$@$$, $q$@ $$ $q$, 2 as x",
        "select $1, $a$@$b$a$, $é$@$é$",
        "select a$b$, '@', a$$ from t",
        "select 1 /* @ */, 2 -- @\n, 3",
        "select 1 /* a /* @ */ b */, 2 /**/ /*/ @*/",
        "select 1~, 2",
        "select 1 ~\n~ from t",
        "~select 1~;~select 2~",
        "select '@', b'01@', x'@', n'@'",
        "select \"a'b\", '@', \"c\"\"'d\" from t",
        "select '@' from 'a.csv' x, 'b.parquet' where nope = 1 and '@' = 'y'",
        "select '@'; select 2; select 1 as \"é\", '@', z",
        "select 'ä@', 1 from t where a = 'é' or b",
        "insert into t values ('@', 1), ('@', 2)",
        "select a --@\n-b, 1 */*@*/ 2, 1 - -1, 5 / 3",
        "select date '@', cast('@' as text)::varchar(3)",
        "create view v as select '@' as a",
        "select '\1@', '\2'",
        "select rope'@'",
        "select 'it''s' /* ' */, \"/*\", '@', '-- no', '/* no' -- '\n",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) compare(patterns[i], true);
}

static void cut_texts_fail_as_whole_ones(void **state)
{
    (void)state;
    static const char *const patterns[] = {
        "select '@",
        "select 1, $$@",
        "select /* @",
        "select '@' 'b'",
        "select '@' + + from t",
        "select (1, '@' as)",
        "select 1 from t where '@' '@'",
        "select 1; select '@' x y z",
        "select é, '@' x y z",
        "select 1e'@'",
        "select 1 /* @ */ */ 2 x y z",
        "select \"a '@' b",
        "select $1$@$1$",
    };
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) compare(patterns[i], false);
}

/* Nothing can stand for the literal where a text has all control characters, or where E'' could make them. */
static void some_texts_stay_whole(void **state)
{
    (void)state;
    compare("select '@', e'\\001'", false);
    compare("select '@', u&'\\0001'", false);
    compare("select '@', u&\"\\0001\"", false);
    char all[64] = "select '@";
    size_t n = strlen(all);
    for (char c = 1; c < ' '; c++) all[n++] = c;
    strcpy(all + n, "'");
    compare(all, false);
}

static void a_cut_can_be_interrupted(void **state)
{
    (void)state;
    static const char *const patterns[] = {"select '@'", "select '''''@''", "select 1 /* @ */", "select $$@$$"};
    const atomic_bool cancel = true;
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        Parsed p = {0};
        char *text = lengthen(patterns[i], "");
        arena_init(&p.arena, NULL);
        assert_int_equal(sql_parse(&p.arena, str_of(text), &cancel, &p.asts, &p.n, &p.err), TCUDB_INTERRUPTED);
        assert_string_equal(p.err.sqlstate, "57014");
        arena_free(&p.arena);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_texts_parse_as_whole_ones),
        cmocka_unit_test(cut_texts_fail_as_whole_ones),
        cmocka_unit_test(some_texts_stay_whole),
        cmocka_unit_test(a_cut_can_be_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
