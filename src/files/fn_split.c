/*
 * fn_split.c: string_to_table(text, delimiter [, null]), regexp_split_to_table(text, pattern [, flags]) and
 * regexp_matches(text, pattern [, flags]), whose rows are arrays, as their text.
 *
 * The pieces are found while binding, at run time once a row where the arguments are columns, by type/text_list.c and
 * type/func_regex.c; the one task yields them in order.
 */
#include "plan/table_func.h"
#include "type/func.h"

#include <assert.h>
#include <stdio.h>

static tcudb_status no_such_function(const char *name, const TableFuncArg *args, uint32_t nargs, Error *err)
{
    char list[160] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < nargs && at < sizeof list - 40; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 0 ? ", " : "",
                               type_base_name(args[i].value.type));
    error_at(err, SQLSTATE_UNDEFINED_FUNCTION, 0, "function %s(%s) does not exist", name, list);
    error_hint(err,
               "No function matches the given name and argument types. You might need to add explicit type casts.");
    return TCUDB_ERROR;
}

static bool is_text(const TableFuncArg *arg)
{
    TypeId id = arg->value.type.id;
    return arg->name.len == 0 && (id == TYPE_TEXT || id == TYPE_VARCHAR || id == TYPE_BPCHAR || id == TYPE_UNKNOWN);
}

static tcudb_status check_args(const char *name, const TableFuncArg *args, uint32_t nargs, Error *err)
{
    bool fits = nargs == 2 || nargs == 3;
    for (uint32_t i = 0; i < nargs; i++) fits = fits && is_text(&args[i]);
    return fits ? TCUDB_OK : no_such_function(name, args, nargs, err);
}

static tcudb_status bound_of(Arena *arena, const char *name, TextList *pieces, TableFuncBound *out, Error *err)
{
    *out = (TableFuncBound){.state = pieces, .ncols = 1, .rows = pieces->n > 0 ? (double)pieces->n : 10};
    out->names = ARENA_ARRAY(arena, const char *, 1, err);
    TRY_PTR(out->names);
    out->types = ARENA_ARRAY(arena, Type, 1, err);
    TRY_PTR(out->types);
    out->names[0] = name;
    out->types[0] = TYPE(TYPE_TEXT);
    return TCUDB_OK;
}

static tcudb_status string_bind(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out,
                                Error *err)
{
    TRY(check_args("string_to_table", args, nargs, err));
    TextList *p = ARENA_NEW(ctx->arena, TextList, err);
    TRY_PTR(p);
    const Str *delimiter = args[1].value.null ? NULL : &args[1].value.str;
    const Str *null = nargs == 3 && !args[2].value.null ? &args[2].value.str : NULL;
    if (!args[0].value.null) TRY(text_split(ctx, args[0].value.str, delimiter, null, p, err));
    return bound_of(ctx->arena, "string_to_table", p, out, err);
}

typedef tcudb_status RegexRows(EvalCtx *ctx, Str s, Str pattern, Str flags, const char *function, TextList *out,
                               Error *err);

static tcudb_status regexp_rows(const EvalCtx *ctx, const char *name, RegexRows *rows, const TableFuncArg *args,
                                uint32_t nargs, TableFuncBound *out, Error *err)
{
    TRY(check_args(name, args, nargs, err));
    EvalCtx own = *ctx;
    TextList *p = ARENA_NEW(ctx->arena, TextList, err);
    TRY_PTR(p);
    bool null = false;
    for (uint32_t i = 0; i < nargs; i++) null |= args[i].value.null;
    Str flags = nargs == 3 && !null ? args[2].value.str : (Str){"", 0};
    if (!null) TRY(rows(&own, args[0].value.str, args[1].value.str, flags, name, p, err));
    return bound_of(ctx->arena, name, p, out, err);
}

static tcudb_status regexp_bind(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out,
                                Error *err)
{
    return regexp_rows(ctx, "regexp_split_to_table", text_regex_split, args, nargs, out, err);
}

static tcudb_status matches_bind(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out,
                                 Error *err)
{
    return regexp_rows(ctx, "regexp_matches", text_regex_matches, args, nargs, out, err);
}

/* ---- rows */

struct TableFuncScan {
    const TextList *pieces;
    Mem *mem;
    uint32_t ncols; /* 0 (count(*)) or 1 */
    uint64_t done;
    const TextChunk *chunk; /* where the next pieces are */
    uint32_t at;
};

static tcudb_status split_open(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols,
                               const atomic_bool *cancel, Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err)
{
    (void)columns;
    (void)cancel;
    TableFuncScan *scan = mem_alloc_zero(mem, sizeof *scan, err);
    TRY_PTR(scan);
    *scan = (TableFuncScan){.pieces = bound->state, .mem = mem, .ncols = ncols};
    scan->chunk = scan->pieces->first;
    *tasks = scan->pieces->n > 0;
    *out = scan;
    return TCUDB_OK;
}

static Str next_piece(TableFuncScan *scan)
{
    if (scan->at == scan->chunk->n) {
        scan->chunk = scan->chunk->next;
        scan->at = 0;
    }
    return scan->chunk->texts[scan->at++];
}

static tcudb_status fill(TableFuncScan *scan, uint32_t n, Arena *arena, Vector *v, Error *err)
{
    TRY(vec_new(arena, TYPE(TYPE_TEXT), n, v, err));
    Str *texts = v->data;
    for (uint32_t i = 0; i < n; i++) {
        texts[i] = next_piece(scan);
        if (texts[i].ptr != NULL) continue;
        TRY(vec_need_valid(arena, v, n, err));
        bit_clear(v->valid, i);
        texts[i] = (Str){"", 0};
    }
    return TCUDB_OK;
}

static tcudb_status split_next(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                               Error *err)
{
    const TextList *p = scan->pieces;
    (void)task, (void)cursor;
    assert(scan->done <= p->n);
    *out = (Batch){.ncols = scan->ncols};
    out->cols = ARENA_ARRAY(arena, Vector, scan->ncols, err);
    TRY_PTR(out->cols);
    *done = scan->done == p->n;
    if (*done) return TCUDB_OK;
    out->rows = out->n = p->n - scan->done < BATCH_ROWS ? (uint32_t)(p->n - scan->done) : BATCH_ROWS;
    if (scan->ncols > 0) TRY(fill(scan, out->rows, arena, &out->cols[0], err));
    scan->done += out->rows;
    return TCUDB_OK;
}

static void split_end_task(TableFuncScan *scan, void *cursor)
{
    (void)scan, (void)cursor;
}

static void split_close(TableFuncScan *scan)
{
    mem_free(scan->mem, scan, sizeof *scan);
}

const TableFunc string_to_table_func = {
    .name = "string_to_table",
    .usage = "string_to_table(text, delimiter [, null]): the pieces of a text",
    .dynamic = true,
    .bind = string_bind,
    .open = split_open,
    .next = split_next,
    .end_task = split_end_task,
    .close = split_close,
};

const TableFunc regexp_split_func = {
    .name = "regexp_split_to_table",
    .usage = "regexp_split_to_table(text, pattern [, flags]): the texts between the matches of a regular expression",
    .dynamic = true,
    .bind = regexp_bind,
    .open = split_open,
    .next = split_next,
    .end_task = split_end_task,
    .close = split_close,
};

const TableFunc regexp_matches_func = {
    .name = "regexp_matches",
    .usage =
        "regexp_matches(text, pattern [, flags]): the groups of each match; (regexp_matches(...))[1] in a select list",
    .dynamic = true,
    .bind = matches_bind,
    .open = split_open,
    .next = split_next,
    .end_task = split_end_task,
    .close = split_close,
};
