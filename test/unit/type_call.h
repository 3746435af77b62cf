/* Calls functions and casts on text values, as SQL would on literals with a type: for the type_*_test programs. */
#ifndef TEST_TYPE_CALL_H
#define TEST_TYPE_CALL_H

#include "type/func.h"

#include <stdio.h>

enum { CALL_TEXT = 2048 };

typedef struct Caller {
    Arena arena;
    EvalCtx ctx;
    Error err;
    char out[CALL_TEXT]; /* the result as text, "NULL", or "ERROR: message" */
    Type type;
} Caller;

static inline void caller_init(Caller *c)
{
    memset(c, 0, sizeof *c);
    arena_init(&c->arena, NULL);
    c->ctx = (EvalCtx){.arena = &c->arena, .random = {1, 2}};
}

/* "12.50::numeric(4,2)", "abc::text", "5::int4", "abc" (unknown), "NULL::text". The type name is pg_type's. */
static inline tcudb_status caller_value(Caller *c, const char *spec, Value *out)
{
    const char *colon = NULL;
    for (const char *p = strstr(spec, "::"); p != NULL; p = strstr(p + 2, "::")) colon = p + 1;
    Type type = TYPE(TYPE_UNKNOWN);
    Str text = str_of(spec);
    if (colon != NULL) {
        char name[32] = "";
        int64_t mods[2];
        int precision = 0, scale = 0;
        int got = sscanf(colon + 1, "%31[a-z0-9](%d,%d)", name, &precision, &scale);
        mods[0] = precision;
        mods[1] = scale;
        TRY(type_from_name(str_of(name), mods, got < 2 ? 0 : (uint32_t)got - 1, 0, &type, &c->err));
        text.len = (uint32_t)(colon - 1 - spec);
    }
    if (str_equal(text, STR_LIT("NULL"))) {
        *out = (Value){.type = type, .null = true};
        return TCUDB_OK;
    }
    return value_parse(text, type, &c->arena, out, &c->err);
}

static inline tcudb_status caller_run(Caller *c, const FuncCall *call, const Value *args, uint32_t nargs, Value *out)
{
    Vector vectors[8], result;
    bool null = false;
    for (uint32_t a = 0; a < nargs; a++) {
        Value cast;
        TRY(value_cast(&args[a], call->args[a], CAST_IMPLICIT, &c->arena, &cast, &c->err));
        null |= cast.null;
        TRY(vec_const(&c->arena, &cast, &vectors[a], &c->err));
        vectors[a].form = VEC_FLAT;
    }
    *out = (Value){.type = call->result, .null = true};
    if (null && (call->func->flags & FUNC_STRICT)) return TCUDB_OK;
    TRY(vec_new(&c->arena, call->result, 1, &result, &c->err));
    TRY(call->func->eval(&c->ctx, vectors, nargs, NULL, 1, &result, &c->err));
    *out = vec_value(&result, 0);
    return TCUDB_OK;
}

static inline tcudb_status caller_show(Caller *c, const Value *v)
{
    Buf buf;
    if (v->null) {
        snprintf(c->out, sizeof c->out, "NULL");
        return TCUDB_OK;
    }
    buf_init(&buf, NULL);
    tcudb_status status = value_print(v, &buf, &c->err);
    if (status == TCUDB_OK) snprintf(c->out, sizeof c->out, "%.*s", (int)buf.len, buf.len == 0 ? "" : buf.data);
    buf_free(&buf);
    return status;
}

static inline tcudb_status caller_try(Caller *c, const char *name, const char *const *specs, uint32_t nargs)
{
    Value args[8], result;
    Type types[8];
    FuncCall call;
    for (uint32_t a = 0; a < nargs; a++) {
        TRY(caller_value(c, specs[a], &args[a]));
        types[a] = args[a].type;
    }
    bool word = (name[0] >= 'a' && name[0] <= 'z');
    TRY(func_resolve(word ? FUNC_FUNCTION : FUNC_OPERATOR, str_of(name), types, nargs, 0, &call, &c->err));
    c->type = call.result;
    TRY(caller_run(c, &call, args, nargs, &result));
    return caller_show(c, &result);
}

/* The text of name(specs...). */
static inline const char *caller_call(Caller *c, const char *name, const char *const *specs, uint32_t nargs)
{
    error_clear(&c->err);
    if (caller_try(c, name, specs, nargs) != TCUDB_OK) snprintf(c->out, sizeof c->out, "ERROR: %s", c->err.message);
    arena_reset(&c->arena);
    return c->out;
}

static inline tcudb_status caller_try_cast(Caller *c, const char *spec, const char *to)
{
    Value value, type_of, result;
    char null[64];
    snprintf(null, sizeof null, "NULL::%s", to);
    TRY(caller_value(c, spec, &value));
    TRY(caller_value(c, null, &type_of));
    TRY(value_cast(&value, type_of.type, CAST_EXPLICIT, &c->arena, &result, &c->err));
    return caller_show(c, &result);
}

/* The text of CAST(spec AS to). */
static inline const char *caller_cast(Caller *c, const char *spec, const char *to)
{
    error_clear(&c->err);
    if (caller_try_cast(c, spec, to) != TCUDB_OK) snprintf(c->out, sizeof c->out, "ERROR: %s", c->err.message);
    arena_reset(&c->arena);
    return c->out;
}

#endif
