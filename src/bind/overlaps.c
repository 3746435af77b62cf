/*
 * overlaps.c: (s1, e1) OVERLAPS (s2, e2): whether two spans of time have a moment in common.
 *
 * Composed of comparisons. An interval for an end is added to its start; of two ends the earlier one is the start; a
 * span includes its start and not its end, unless they are one moment. An end that is NULL leaves a span with one known
 * end, and the answer is NULL where it would decide:
 *
 *     CASE WHEN s1 > s2 THEN later(s1, e2) WHEN s1 < s2 THEN later(s2, e1) WHEN s1 = s2 THEN both ends known END
 *     later(s, e) = CASE WHEN s < e THEN true WHEN both ends known THEN false END
 */
#include "bind/bind_int.h"

typedef struct Spans {
    Binder *b;
    int position;
    Expr *start[2], *end[2];
    Expr *known; /* no end is NULL */
} Spans;

static tcudb_status call(const Spans *s, FuncKind kind, const char *name, Expr *left, Expr *right, Expr **out,
                         Error *err)
{
    Expr *args[2] = {left, right};
    return bind_call(s->b, kind, name, args, 2, s->position, s->position, out, err);
}

static tcudb_status ends_of(Spans *s, Expr **args, Error *err)
{
    for (int i = 0; i < 2; i++) {
        Expr **end = &args[2 * i + 1];
        if ((*end)->type.id == TYPE_INTERVAL) TRY(call(s, FUNC_OPERATOR, "+", args[2 * i], *end, end, err));
    }
    Type type = {0};
    return bind_unify(s->b, args, 4, "OVERLAPS", s->position, &type, err);
}

/* The earlier end, or the only one; the later one, NULL unless both are there. */
static tcudb_status order_ends(Spans *s, Expr **args, Error *err)
{
    Expr *known[2];
    for (int i = 0; i < 2; i++) {
        Expr *a = args[2 * i], *e = args[2 * i + 1], *parts[5] = {NULL, e, NULL, a, NULL};
        TRY(call(s, FUNC_FUNCTION, "least", a, e, &s->start[i], err));
        TRY(call(s, FUNC_OPERATOR, "<=", a, e, &parts[0], err));
        TRY(call(s, FUNC_OPERATOR, ">", a, e, &parts[2], err));
        TRY(bind_null(s->b, a->type, s->position, &parts[4], err));
        s->end[i] = expr_node(s->b->arena, EXPR_CASE, a->type, parts, 5, s->position, err);
        TRY_PTR(s->end[i]);
        TRY(bind_call(s->b, FUNC_OPERATOR, "is null", &s->end[i], 1, s->position, s->position, &known[i], err));
        TRY(bind_not(s->b, known[i], s->position, &known[i], err));
    }
    return bind_and_or(s->b, EXPR_AND, known[0], known[1], &s->known, err);
}

static tcudb_status case_of(const Spans *s, Expr **parts, uint32_t n, Expr **out, Error *err)
{
    TRY(bind_null(s->b, TYPE(TYPE_BOOL), s->position, &parts[n - 1], err));
    *out = expr_node(s->b->arena, EXPR_CASE, TYPE(TYPE_BOOL), parts, n, s->position, err);
    TRY_PTR(*out);
    return TCUDB_OK;
}

static tcudb_status later(const Spans *s, Expr *start, Expr *end, Expr **out, Error *err)
{
    Expr *parts[5] = {NULL, NULL, s->known, NULL, NULL};
    TRY(call(s, FUNC_OPERATOR, "<", start, end, &parts[0], err));
    TRY(bind_bool_const(s->b, true, s->position, &parts[1], err));
    TRY(bind_bool_const(s->b, false, s->position, &parts[3], err));
    return case_of(s, parts, 5, out, err);
}

tcudb_status bind_overlaps(Binder *b, Expr **args, int position, Expr **out, Error *err)
{
    Spans s = {.b = b, .position = position};
    Expr *parts[7], *both[3];
    TRY(ends_of(&s, args, err));
    TRY(order_ends(&s, args, err));
    TRY(call(&s, FUNC_OPERATOR, ">", s.start[0], s.start[1], &parts[0], err));
    TRY(later(&s, s.start[0], s.end[1], &parts[1], err));
    TRY(call(&s, FUNC_OPERATOR, "<", s.start[0], s.start[1], &parts[2], err));
    TRY(later(&s, s.start[1], s.end[0], &parts[3], err));
    TRY(call(&s, FUNC_OPERATOR, "=", s.start[0], s.start[1], &parts[4], err));
    both[0] = s.known;
    TRY(bind_bool_const(b, true, position, &both[1], err));
    TRY(case_of(&s, both, 3, &parts[5], err));
    return case_of(&s, parts, 7, out, err);
}
