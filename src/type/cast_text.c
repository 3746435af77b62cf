/*
 * cast_text.c: casts to, from and among the text types. Texts that are only cut share the source's bytes.
 */
#include "type/type_int.h"

#include <assert.h>

KERNEL(text_to_any)
{
    const Str *a = args[0].data;
    uint32_t sa = STRIDE(args[0]);
    size_t size = phys_size((Phys)out->phys);
    EACH_ROW(i, row)
    {
        Value v;
        TRY(value_parse(a[row * sa], out->type, ctx->arena, &v, err));
        value_store(&v, (Phys)out->phys, (char *)out->data + row * size);
    }
    return TCUDB_OK;
}

static int64_t integer_at(const Vector *v, uint32_t row)
{
    uint32_t at = row * STRIDE(*v);
    switch (v->phys) {
    case PHYS_I16: return ((const int16_t *)v->data)[at];
    case PHYS_I32: return ((const int32_t *)v->data)[at];
    default: return ((const int64_t *)v->data)[at];
    }
}

/* The texts of a batch of integers lie in one block. */
static tcudb_status integers_to_text(EvalCtx *ctx, const Vector *v, const uint16_t *sel, uint32_t n, Str *to,
                                     Error *err)
{
    enum { INTEGER_TEXT = 21 }; /* sign, 19 digits, NUL */
    char *text = arena_alloc_raw(ctx->arena, (size_t)n * INTEGER_TEXT + 1, err);
    TRY_PTR(text);
    EACH_ROW(i, row)
    {
        uint32_t len = int_print(integer_at(v, row), text);
        to[row] = (Str){text, len};
        text += len;
    }
    return TCUDB_OK;
}

KERNEL(any_to_text)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    TypeId type = (TypeId)args[0].type.id;
    if (type == TYPE_INT2 || type == TYPE_INT4 || type == TYPE_INT8)
        return integers_to_text(ctx, &args[0], sel, n, to, err);
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Value v = vec_value(&args[0], row);
        buf.len = 0;
        if (v.type.id == TYPE_BOOL)
            TRY_GOTO(buf_text(&buf, v.b ? "true" : "false", err));
        else
            TRY_GOTO(value_print(&v, &buf, err));
        char *copy = arena_strndup(ctx->arena, buf.data, buf.len, err);
        if (copy == NULL) TRY_GOTO(TCUDB_NOMEM);
        to[row] = (Str){copy, (uint32_t)buf.len};
    }
done:
    buf_free(&buf);
    return status;
}

static tcudb_status fit_rows(const Vector *v, const uint16_t *sel, uint32_t n, bool cut, Vector *out, Error *err)
{
    const Str *a = v->data;
    Str *to = out->data;
    uint32_t sa = STRIDE(*v);
    bool blanks = type_keeps_blanks(v->type) && out->type.id != TYPE_BPCHAR;
    assert(type_is_text(out->type));
    EACH_ROW(i, row)
    {
        Str text = blanks ? str_without_blanks(a[row * sa]) : a[row * sa];
        TRY(text_fit(text, out->type, cut, &to[row], err));
    }
    return TCUDB_OK;
}

tcudb_status text_padded(EvalCtx *ctx, Str text, uint32_t characters, Str *out, Error *err)
{
    *out = text;
    if (utf8_length(text) >= characters) return TCUDB_OK;
    char *to = arena_alloc_raw(ctx->arena, (size_t)text.len + characters, err);
    TRY_PTR(to);
    *out = (Str){to, text_pad(text, characters, to)};
    return TCUDB_OK;
}

KERNEL(text_drop_blanks)
{
    UNARY_ROWS(Str, Str, r = str_without_blanks(x));
    return TCUDB_OK;
}

KERNEL(text_add_blanks)
{
    UNARY_ROWS(Str, Str, TRY(text_padded(ctx, x, args[0].type.length, &r, err)));
    return TCUDB_OK;
}

KERNEL(text_cut_varchar)
{
    return fit_rows(&args[0], sel, n, true, out, err);
}

KERNEL(text_fit_varchar)
{
    return fit_rows(&args[0], sel, n, false, out, err);
}

KERNEL(text_cut_bpchar)
{
    return fit_rows(&args[0], sel, n, true, out, err);
}

KERNEL(text_fit_bpchar)
{
    return fit_rows(&args[0], sel, n, false, out, err);
}

/* To varchar(n) and char(n) from other types: the text, then its length. */
static tcudb_status print_and_fit(EvalCtx *ctx, const Vector *args, const uint16_t *sel, uint32_t n, bool cut,
                                  Vector *out, Error *err)
{
    TRY(any_to_text(ctx, args, 1, sel, n, out, err));
    return fit_rows(out, sel, n, cut, out, err);
}

KERNEL(any_cut_text)
{
    return print_and_fit(ctx, args, sel, n, true, out, err);
}

KERNEL(any_fit_text)
{
    return print_and_fit(ctx, args, sel, n, false, out, err);
}
