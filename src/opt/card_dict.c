/*
 * card_dict.c: the selectivity of a condition on one text column, from the column's dictionary.
 *
 * The dictionary holds every value that occurs. The condition is evaluated on up to SAMPLE of them, evenly
 * spaced; the share that passes is the estimate (values are taken to be equally frequent), so LIKE, ranges and
 * IN on text are as good as equality. Answers are remembered by expression: expressions do not change.
 * Cost: one evaluation of SAMPLE values, some 20 to 100 us, once a condition.
 */
#include "expr/eval.h"
#include "opt/opt_int.h"

#include <assert.h>

enum { SAMPLE = 1024, REMEMBERED = 64 };

typedef struct ShareCache {
    const Expr *exprs[REMEMBERED];
    double shares[REMEMBERED];
    uint32_t n;
} ShareCache;

static bool remembered(const ShareCache *cache, const Expr *e, double *share)
{
    for (uint32_t i = 0; cache != NULL && i < cache->n; i++) {
        if (cache->exprs[i] != e) continue;
        *share = cache->shares[i];
        return true;
    }
    return false;
}

static void remember(Opt *opt, const Expr *e, double share)
{
    if (opt->shares == NULL) opt->shares = ARENA_NEW(opt->arena, ShareCache, NULL);
    ShareCache *cache = opt->shares;
    if (cache == NULL || cache->n == REMEMBERED) return;
    cache->exprs[cache->n] = e;
    cache->shares[cache->n++] = share;
}

typedef struct OnlyCol {
    const Expr *col;
    bool several;
} OnlyCol;

static bool find_col(void *ctx, const Expr *e)
{
    OnlyCol *only = ctx;
    if (e->kind == EXPR_PARAM) only->several = true;
    if (e->kind != EXPR_COL) return !only->several;
    if (only->col != NULL && only->col->col != e->col) only->several = true;
    only->col = e;
    return !only->several;
}

/* The column's values as a batch of one column. */
static tcudb_status sample(Arena *arena, Type type, const DictView *dict, Batch *out, Error *err)
{
    uint32_t n = dict->count < SAMPLE ? dict->count : SAMPLE;
    Vector *v = ARENA_NEW(arena, Vector, err);
    TRY_PTR(v);
    TRY(vec_new(arena, type, n, v, err));
    for (uint32_t i = 0; i < n; i++) ((Str *)v->data)[i] = dict->values[(uint64_t)i * dict->count / n];
    *out = (Batch){.rows = n, .n = n, .ncols = 1, .cols = v};
    return TCUDB_OK;
}

static tcudb_status evaluate(Arena *arena, const Expr *e, const Expr *col, const DictView *dict, double *share,
                             Error *err)
{
    Batch batch;
    Evaluator *evaluator;
    EvalState *state;
    EvalCtx ctx = {.arena = arena};
    uint16_t *sel = ARENA_ARRAY(arena, uint16_t, BATCH_ROWS, err);
    uint32_t n;
    TRY_PTR(sel);
    TRY(sample(arena, col->type, dict, &batch, err));
    TRY(eval_compile(arena, e, &col->col, 1, NULL, 0, &evaluator, err));
    TRY(eval_state_new(arena, evaluator, &state, err));
    TRY(eval_filter(evaluator, state, &ctx, &batch, sel, &n, err));
    assert(n <= batch.n && batch.n > 0);
    *share = (n > 0 ? n : 0.5) / batch.n; /* a sample may miss what is there */
    return TCUDB_OK;
}

bool card_dict_share(const Opt *const_opt, const Expr *e, double *share)
{
    Opt *opt = (Opt *)(uintptr_t)const_opt; /* only its cache and its arena change */
    if (remembered(opt->shares, e, share)) return *share >= 0;
    OnlyCol only = {0};
    (void)expr_walk(e, find_col, &only);
    const ColFact *fact = only.col == NULL || only.several ? NULL : card_fact(opt, only.col->col);
    bool text = fact != NULL && fact->table != NULL && type_is_text(only.col->type);
    if (!text || expr_volatile(e)) return false;
    DictView dict;
    Arena scratch;
    arena_init(&scratch, opt->arena->mem);
    tcudb_status status = table_dict(fact->table, fact->column, opt->env->cancel, &dict, NULL);
    *share = -1;
    if (status == TCUDB_OK && dict.count > 0) status = evaluate(&scratch, e, only.col, &dict, share, NULL);
    arena_free(&scratch);
    if (status != TCUDB_OK)
        *share = -1; /* only an estimate: a failure shows when a row fails */
    else if (*share >= 0)
        *share *= 1 - fact->null_share;
    remember(opt, e, *share);
    return *share >= 0;
}
