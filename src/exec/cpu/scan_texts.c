/*
 * scan_texts.c: conditions that a text column equals a constant, or one of several.
 *
 * Texts are unique in a column's dictionary, so the constants are looked up there once and rows are tested by code: a
 * bitmap over the codes from the least to the greatest, which also leaves out segments. Columns of char(n) compare
 * without their trailing blanks and are left to the expression. Cost: one look-up a constant.
 */
#include "exec/cpu/scan_int.h"

typedef struct Texts {
    uint32_t col; /* of the scan's output */
    uint32_t n;
    Str *at;
} Texts;

static bool is_text(Type type)
{
    return type.id == TYPE_TEXT || type.id == TYPE_VARCHAR;
}

bool scan_text_column(const Scan *s, const Layout *layout, const Expr *e, uint32_t *col)
{
    int32_t at = e->kind == EXPR_COL && is_text(e->type) ? layout_find(layout, e->col) : -1;
    if (at < 0 || s->plan->scan.columns[at] == ROWID_COLUMN) return false;
    *col = (uint32_t)at;
    return true;
}

static const Value *text_value(const Scan *s, const Expr *e)
{
    const Value *value = e->kind == EXPR_CONST ? &e->value : NULL;
    if (e->kind == EXPR_PARAM && e->param < s->x->env->nparams) value = &s->x->env->params[e->param];
    return value != NULL && is_text(value->type) ? value : NULL;
}

bool scan_text_const(const Scan *s, const Expr *e, Str *out)
{
    const Value *value = text_value(s, e);
    if (value == NULL || value->null) return false;
    *out = value->str;
    return true;
}

/* Adds a constant; a NULL in a list equals nothing. */
static bool add_text(const Scan *s, const Expr *e, Texts *texts)
{
    const Value *value = text_value(s, e);
    if (value == NULL) return false;
    if (!value->null) texts->at[texts->n++] = value->str;
    return true;
}

static bool match(const Scan *s, const Layout *layout, const Expr *e, Texts *texts)
{
    if (e->kind == EXPR_IN) {
        bool all = scan_text_column(s, layout, e->args[0], &texts->col);
        for (uint32_t i = 1; i < e->nargs && all; i++) all = add_text(s, e->args[i], texts);
        return all;
    }
    if (e->kind != EXPR_FUNC || e->nargs != 2 || e->func->compare != CMP_EQ) return false;
    for (int side = 0; side < 2; side++)
        if (scan_text_column(s, layout, e->args[side], &texts->col)) return add_text(s, e->args[1 - side], texts);
    return false;
}

static tcudb_status find_codes(const Scan *s, const Texts *texts, uint32_t *codes, uint32_t *n, Error *err)
{
    uint32_t column = s->plan->scan.columns[texts->col];
    *n = 0;
    for (uint32_t i = 0; i < texts->n; i++) {
        bool found;
        TRY(table_dict_find(s->plan->scan.table, column, texts->at[i], texts->n > 4, s->x->env->cancel, &found,
                            &codes[*n], err));
        *n += found;
    }
    return TCUDB_OK;
}

static tcudb_status make_bits(Scan *s, uint64_t dict_id, const uint32_t *codes, uint32_t n, const SemiBits **out,
                              Error *err)
{
    SemiBits *bits = ARENA_NEW(&s->x->arena, SemiBits, err);
    TRY_PTR(bits);
    *bits = (SemiBits){.filled = true, .codes = true, .dict_id = dict_id, .count = n};
    *out = bits;
    if (n == 0) return TCUDB_OK;
    uint32_t least = codes[0], most = codes[0];
    for (uint32_t i = 1; i < n; i++) {
        least = codes[i] < least ? codes[i] : least;
        most = codes[i] > most ? codes[i] : most;
    }
    bits->min = least;
    bits->bits = (uint64_t)most - least + 1;
    bits->words = arena_alloc(&s->x->arena, (bit_words((uint32_t)bits->bits) + 1) * sizeof(uint64_t), err);
    TRY_PTR(bits->words);
    for (uint32_t i = 0; i < n; i++) bit_set(bits->words, codes[i] - least);
    return TCUDB_OK;
}

tcudb_status scan_texts(Scan *s, const Layout *layout, Expr *e, bool *taken, Error *err)
{
    Texts texts = {.at = ARENA_ARRAY(&s->x->arena, Str, (size_t)e->nargs + 1, err)};
    TRY_PTR(texts.at);
    *taken = match(s, layout, e, &texts);
    if (!*taken) return TCUDB_OK;
    DictView view;
    TRY(table_dict(s->plan->scan.table, s->plan->scan.columns[texts.col], s->x->env->cancel, &view, err));
    uint32_t n, *codes = ARENA_ARRAY(&s->x->arena, uint32_t, (size_t)texts.n + 1, err);
    TRY_PTR(codes);
    TRY(find_codes(s, &texts, codes, &n, err));
    ScanPred *pred;
    TRY(scan_new_pred(s, PRED_CODES, texts.col, &pred, err));
    TRY(make_bits(s, view.id, codes, n, &pred->semi, err));
    pred->lo = pred->semi->min;
    pred->hi = pred->semi->min + (int64_t)pred->semi->bits - 1;
    return ev_new(s->x, e, layout, &pred->ev, err);
}
