/*
 * func_array.c: arrays of texts, of one dimension, each as its text {a,"b c",NULL}: what makes them of a text, and what
 * takes them apart.
 *
 * There is no array type. bind/array.c hands what one function makes straight to one that takes it apart, so that
 * nobody sees such a text but in EXPLAIN. A text is read from its start for each question: the cost is its length, as
 * that of making it was.
 */
#include "type/type_int.h"

#include <assert.h>
#include <ctype.h>

#define STR_AT(k)  (((const Str *)args[k].data)[row * STRIDE(args[k])])
#define INT4_AT(k) (((const int32_t *)args[k].data)[row * STRIDE(args[k])])

/* ---- making */

static bool needs_quotes(Str s)
{
    if (s.len == 0 || (s.len == 4 && strncasecmp(s.ptr, "null", 4) == 0)) return true;
    for (uint32_t i = 0; i < s.len; i++)
        if (strchr("\"\\{},", s.ptr[i]) != NULL || isspace((unsigned char)s.ptr[i])) return true;
    return false;
}

static char *put_item(char *to, Str s)
{
    static const char null[] = {'N', 'U', 'L', 'L'};
    if (s.ptr == NULL) return (char *)memcpy(to, null, sizeof null) + sizeof null;
    bool quotes = needs_quotes(s);
    if (!quotes) return (char *)memcpy(to, s.ptr, s.len) + s.len;
    *to++ = '"';
    for (uint32_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '"' || s.ptr[i] == '\\') *to++ = '\\';
        *to++ = s.ptr[i];
    }
    *to++ = '"';
    return to;
}

tcudb_status array_text(EvalCtx *ctx, const TextList *list, Str *out, Error *err)
{
    enum { MAX_BYTES = 0x3fffffff };
    uint64_t most = 2;
    for (const TextChunk *chunk = list->first; chunk != NULL; chunk = chunk->next) {
        TRY(cancel_poll(ctx->cancel, err));
        for (uint32_t i = 0; i < chunk->n; i++) most += 2 * (uint64_t)chunk->texts[i].len + 5;
    }
    if (most > MAX_BYTES) return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "requested length too large");
    char *text = arena_alloc_raw(ctx->arena, most, err), *at = text;
    TRY_PTR(text);
    *at++ = '{';
    for (const TextChunk *chunk = list->first; chunk != NULL; chunk = chunk->next) {
        TRY(cancel_poll(ctx->cancel, err));
        for (uint32_t i = 0; i < chunk->n; i++) {
            if (at > text + 1) *at++ = ',';
            at = put_item(at, chunk->texts[i]);
        }
    }
    *at++ = '}';
    assert((uint64_t)(at - text) <= most);
    *out = (Str){text, (uint32_t)(at - text)};
    return TCUDB_OK;
}

static const Str *not_null(const Vector *v, uint32_t row, Str *text)
{
    Value value = vec_value(v, row);
    *text = value.str;
    return value.null ? NULL : text;
}

/* string_to_array(s, delimiter [, null]). */
KERNEL(text_to_array)
{
    Str *to = out->data;
    EACH_ROW(i, row)
    {
        Str text[3];
        TextList pieces = {0};
        const Str *s = not_null(&args[0], row, &text[0]), *delimiter = not_null(&args[1], row, &text[1]);
        const Str *null = nargs > 2 ? not_null(&args[2], row, &text[2]) : NULL;
        if (s == NULL) {
            TRY(set_null(ctx, out, sel, n, row, err));
            continue;
        }
        TRY(text_split(ctx, *s, delimiter, null, &pieces, err));
        TRY(array_text(ctx, &pieces, &to[row], err));
    }
    return TCUDB_OK;
}

/* ---- taking apart */

typedef struct Walk {
    Str rest;
    Str item; /* as it is spelled, without the quotes around it */
    bool null, escapes;
    uint32_t steps;
} Walk;

static Walk walk_of(Str array)
{
    assert(array.len >= 2 && array.ptr[0] == '{');
    return (Walk){.rest = {array.ptr + 1, array.len - 2}};
}

/* false: there is no further one. */
static bool next_item(Walk *w)
{
    const char *at = w->rest.ptr, *end = at + w->rest.len;
    if (at == end) return false;
    bool quoted = *at == '"';
    const char *from = quoted ? ++at : at;
    w->escapes = false;
    for (; at < end && *at != (quoted ? '"' : ','); at++) {
        if (*at != '\\') continue;
        w->escapes = true;
        at++;
    }
    assert(at <= end);
    w->item = (Str){from, (uint32_t)(at - from)};
    w->null = !quoted && str_equal(w->item, STR_LIT("NULL"));
    if (quoted) at++;
    if (at < end) at++; /* the comma */
    w->rest = (Str){at, (uint32_t)(end - at)};
    return true;
}

/* The item's characters; those of one with escapes are put into the buffer. */
static tcudb_status item_text(const Walk *w, Buf *buf, Str *out, Error *err)
{
    *out = w->item;
    if (!w->escapes) return TCUDB_OK;
    buf->len = 0;
    for (uint32_t i = 0; i < w->item.len; i++) {
        if (w->item.ptr[i] == '\\') i++;
        TRY(buf_char(buf, w->item.ptr[i], err));
    }
    *out = (Str){buf->data, (uint32_t)buf->len};
    return TCUDB_OK;
}

/* The nth; *found false: there is none. */
static tcudb_status nth_item(const EvalCtx *ctx, Walk *w, int32_t n, bool *found, Error *err)
{
    *found = n > 0;
    while (*found && n-- > 0) {
        TRY(text_poll(ctx, &w->steps, err));
        *found = next_item(w);
    }
    return TCUDB_OK;
}

KERNEL(array_element)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Walk w = walk_of(STR_AT(0));
        bool found;
        TRY_GOTO(nth_item(ctx, &w, INT4_AT(1), &found, err));
        if (!found || w.null) {
            TRY_GOTO(set_null(ctx, out, sel, n, row, err));
            continue;
        }
        TRY_GOTO(item_text(&w, &buf, &to[row], err));
        if (w.escapes) TRY_GOTO(text_keep(ctx, &buf, &to[row], err));
    }
done:
    buf_free(&buf);
    return status;
}

static tcudb_status count_items(const EvalCtx *ctx, Str array, int32_t *out, Error *err)
{
    Walk w = walk_of(array);
    for (*out = 0; next_item(&w); ++*out) TRY(text_poll(ctx, &w.steps, err));
    return TCUDB_OK;
}

KERNEL(array_cardinality)
{
    UNARY_ROWS(Str, int32_t, TRY(count_items(ctx, x, &r, err)));
    return TCUDB_OK;
}

/* An empty array has no dimension. */
KERNEL(array_length)
{
    int32_t *to = out->data;
    EACH_ROW(i, row)
    {
        TRY(count_items(ctx, STR_AT(0), &to[row], err));
        if (to[row] == 0 || INT4_AT(1) != 1) TRY(set_null(ctx, out, sel, n, row, err));
    }
    return TCUDB_OK;
}

KERNEL(array_lower)
{
    int32_t *to = out->data;
    EACH_ROW(i, row)
    {
        to[row] = 1;
        if (STR_AT(0).len == 2 || INT4_AT(1) != 1) TRY(set_null(ctx, out, sel, n, row, err));
    }
    return TCUDB_OK;
}

/* Where the text (NULL: a NULL) stands; 0: nowhere. *nulls: whether there are NULLs before. */
static tcudb_status find_item(const EvalCtx *ctx, Str array, const Str *text, Buf *buf, int32_t *out, bool *nulls,
                              Error *err)
{
    Walk w = walk_of(array);
    *nulls = false;
    for (int32_t at = 1; next_item(&w); at++) {
        Str item;
        TRY(text_poll(ctx, &w.steps, err));
        TRY(item_text(&w, buf, &item, err));
        *nulls |= w.null;
        *out = at;
        if (text == NULL ? w.null : !w.null && str_equal(item, *text)) return TCUDB_OK;
    }
    *out = 0;
    return TCUDB_OK;
}

/* text = ANY (array): not NULL where the array is empty, whatever the text. */
KERNEL(array_any)
{
    uint8_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Str text[2];
        const Str *x = not_null(&args[0], row, &text[0]), *array = not_null(&args[1], row, &text[1]);
        int32_t at = 0;
        bool unknown = array == NULL || (x == NULL && array->len > 2);
        if (!unknown) TRY_GOTO(find_item(ctx, *array, x, &buf, &at, &unknown, err));
        to[row] = at > 0;
        if (at == 0 && unknown) TRY_GOTO(set_null(ctx, out, sel, n, row, err));
    }
done:
    buf_free(&buf);
    return status;
}

/* array_position(array, text). */
KERNEL(array_position)
{
    int32_t *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf buf;
    buf_init(&buf, NULL);
    EACH_ROW(i, row)
    {
        Str array, text;
        bool nulls;
        to[row] = 0;
        if (not_null(&args[0], row, &array) != NULL)
            TRY_GOTO(find_item(ctx, array, not_null(&args[1], row, &text), &buf, &to[row], &nulls, err));
        if (to[row] == 0) TRY_GOTO(set_null(ctx, out, sel, n, row, err));
    }
done:
    buf_free(&buf);
    return status;
}

static tcudb_status join_items(const EvalCtx *ctx, Str array, Str delimiter, const Str *null, Buf *item, Buf *out,
                               Error *err)
{
    Walk w = walk_of(array);
    out->len = 0;
    for (bool any = false; next_item(&w);) {
        Str text;
        TRY(text_poll(ctx, &w.steps, err));
        if (w.null && null == NULL) continue;
        TRY(item_text(&w, item, &text, err));
        if (any) TRY(buf_str(out, delimiter, err));
        TRY(buf_str(out, w.null ? *null : text, err));
        any = true;
    }
    return TCUDB_OK;
}

/* array_to_string(array, delimiter [, null]). */
KERNEL(array_to_text)
{
    Str *to = out->data;
    tcudb_status status = TCUDB_OK;
    Buf item, joined;
    buf_init(&item, NULL);
    buf_init(&joined, NULL);
    EACH_ROW(i, row)
    {
        Str text[3];
        const Str *array = not_null(&args[0], row, &text[0]), *delimiter = not_null(&args[1], row, &text[1]);
        const Str *null = nargs > 2 ? not_null(&args[2], row, &text[2]) : NULL;
        if (array == NULL || delimiter == NULL) {
            TRY_GOTO(set_null(ctx, out, sel, n, row, err));
            continue;
        }
        TRY_GOTO(join_items(ctx, *array, *delimiter, null, &item, &joined, err));
        TRY_GOTO(text_keep(ctx, &joined, &to[row], err));
    }
done:
    buf_free(&item);
    buf_free(&joined);
    return status;
}

/* ---- arrays that are written out */

/* The last argument says which of those before it; NULL where there is none. */
KERNEL(any_element)
{
    const size_t size = phys_size((Phys)out->phys);
    assert(nargs >= 2);
    EACH_ROW(i, row)
    {
        Value nth = vec_value(&args[nargs - 1], row);
        bool inside = !nth.null && nth.i32 >= 1 && (uint32_t)nth.i32 < nargs;
        const Vector *from = inside ? &args[nth.i32 - 1] : NULL;
        if (!inside || vec_value(from, row).null) {
            TRY(set_null(ctx, out, sel, n, row, err));
            continue;
        }
        memcpy((char *)out->data + row * size, (const char *)from->data + row * STRIDE(*from) * size, size);
    }
    return TCUDB_OK;
}
