/*
 * gen.c: runs generated tables as table functions and as loads.
 *
 * A task is a fixed range of units, a batch as many whole units as fit into BATCH_ROWS rows. Only the wanted
 * columns are made. A load gives each task an Appender whose order is the task's number: the table is the
 * same for any number of threads.
 */
#include "files/gen.h"

#include <assert.h>
#include <math.h>

enum { MAX_LINES = 16 };

/* ---- batches ------------------------------------------------------------------------------ */

tcudb_status gen_dict(const GenRows *rows, Type type, const Str *values, uint32_t nvalues, Vector *out,
                      uint32_t **codes, Error *err)
{
    *codes = arena_alloc_raw(rows->arena, rows->n * sizeof **codes, err);
    TRY_PTR(*codes);
    *out = (Vector){
        .type = type, .phys = PHYS_STR, .form = VEC_DICT, .data = *codes, .values = values, .nvalues = nvalues};
    return TCUDB_OK;
}

tcudb_status gen_texts(const GenRows *rows, uint32_t size, char **texts, Error *err)
{
    *texts = arena_alloc_raw(rows->arena, (size_t)rows->n * size, err);
    TRY_PTR(*texts);
    return TCUDB_OK;
}

/* Takes units from *unit on until the batch is full or end is reached. */
static void take_units(GenRows *rows, uint64_t *unit, uint64_t end)
{
    const GenTable *table = rows->gen->table;
    rows->n = 0;
    for (; *unit < end; (*unit)++) {
        uint32_t lines = table->lines == NULL ? 1 : table->lines(rows->gen, *unit);
        assert(lines >= 1 && lines <= MAX_LINES);
        if (rows->n + lines > BATCH_ROWS) return;
        for (uint32_t l = 0; l < lines; l++, rows->n++) {
            rows->unit[rows->n] = *unit;
            rows->line[rows->n] = l;
        }
    }
}

static tcudb_status make_column(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const GenTable *table = rows->gen->table;
    TRY(vec_new(rows->arena, table->cols[col].type, rows->n, out, err));
    TRY(table->fill(rows, col, out, err));
    return TCUDB_OK;
}

/* The next batch of the units [*unit, end); out->rows 0: none left. */
static tcudb_status make_batch(const Gen *gen, uint64_t *unit, uint64_t end, const uint32_t *columns, uint32_t ncols,
                               Arena *arena, Batch *out, Error *err)
{
    *out = (Batch){.ncols = ncols};
    GenRows *rows = arena_alloc_raw(arena, sizeof *rows, err);
    TRY_PTR(rows);
    rows->gen = gen;
    rows->arena = arena;
    take_units(rows, unit, end);
    out->rows = out->n = rows->n;
    out->cols = ARENA_ARRAY(arena, Vector, ncols, err);
    TRY_PTR(out->cols);
    for (uint32_t c = 0; c < ncols && rows->n > 0; c++)
        TRY(make_column(rows, columns == NULL ? c : columns[c], &out->cols[c], err));
    return TCUDB_OK;
}

static uint64_t task_count(const Gen *gen)
{
    return (gen->units + gen->table->task_units - 1) / gen->table->task_units;
}

static uint64_t task_end(const Gen *gen, uint64_t task)
{
    uint64_t end = (task + 1) * gen->table->task_units;
    return end < gen->units ? end : gen->units;
}

/* ---- as a table function ------------------------------------------------------------------ */

struct TableFuncScan {
    const Gen *gen;
    Mem *mem;
    uint32_t ncols;
    uint32_t columns[];
};

tcudb_status gen_bind(Arena *arena, const Gen *gen, TableFuncBound *out, Error *err)
{
    const GenTable *table = gen->table;
    Gen *state = ARENA_NEW(arena, Gen, err);
    TRY_PTR(state);
    *state = *gen;
    *out = (TableFuncBound){.state = state, .ncols = table->ncols, .rows = (double)gen->units * table->unit_rows};
    out->names = ARENA_ARRAY(arena, const char *, table->ncols, err);
    TRY_PTR(out->names);
    out->types = ARENA_ARRAY(arena, Type, table->ncols, err);
    TRY_PTR(out->types);
    for (uint32_t c = 0; c < table->ncols; c++) {
        out->names[c] = table->cols[c].name;
        out->types[c] = table->cols[c].type;
    }
    return TCUDB_OK;
}

static size_t scan_size(uint32_t ncols)
{
    return sizeof(TableFuncScan) + ncols * sizeof(uint32_t);
}

tcudb_status gen_open(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols, const atomic_bool *cancel,
                      Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err)
{
    (void)cancel;
    TableFuncScan *scan = mem_alloc_zero(mem, scan_size(ncols), err);
    TRY_PTR(scan);
    scan->gen = bound->state;
    scan->mem = mem;
    scan->ncols = ncols;
    for (uint32_t c = 0; c < ncols; c++) scan->columns[c] = columns[c];
    *tasks = task_count(scan->gen);
    *out = scan;
    return TCUDB_OK;
}

tcudb_status gen_next(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                      Error *err)
{
    uint64_t *unit = *cursor;
    if (unit == NULL) {
        unit = mem_alloc(scan->mem, sizeof *unit, err);
        TRY_PTR(unit);
        *unit = task * scan->gen->table->task_units;
        *cursor = unit;
    }
    TRY(make_batch(scan->gen, unit, task_end(scan->gen, task), scan->columns, scan->ncols, arena, out, err));
    *done = out->rows == 0;
    return TCUDB_OK;
}

void gen_end_task(TableFuncScan *scan, void *cursor)
{
    mem_free(scan->mem, cursor, sizeof(uint64_t));
}

void gen_close(TableFuncScan *scan)
{
    mem_free(scan->mem, scan, scan_size(scan->ncols));
}

/* ---- as a load ---------------------------------------------------------------------------- */

typedef struct GenLoad {
    const ProcEnv *env;
    const Gen *gen;
    Str name;
    uint64_t tasks;
    _Atomic uint64_t rows;
    _Atomic uint64_t units_done;
} GenLoad;

static tcudb_status create_table(const ProcEnv *env, const GenTable *table, Error *err)
{
    Arena arena;
    arena_init(&arena, env->mem);
    ColumnDef *cols = ARENA_ARRAY(&arena, ColumnDef, table->ncols, err);
    tcudb_status status = cols == NULL ? TCUDB_NOMEM : TCUDB_OK;
    for (uint32_t c = 0; status == TCUDB_OK && c < table->ncols; c++)
        cols[c] = (ColumnDef){.name = str_of(table->cols[c].name), .type = table->cols[c].type, .not_null = true};
    const TableDef def = {.name = str_of(table->name), .ncols = table->ncols, .cols = cols};
    if (status == TCUDB_OK) status = txn_create_table(env->txn, &def, err);
    arena_free(&arena);
    return status;
}

static tcudb_status load_units(GenLoad *load, uint64_t task, Appender *appender, Arena *arena, Error *err)
{
    const Gen *gen = load->gen;
    const ProcEnv *env = load->env;
    uint64_t unit = task * gen->table->task_units;
    for (;;) {
        Batch batch;
        TRY(cancel_poll(env->cancel, err));
        arena_reset(arena);
        uint64_t before = unit;
        TRY(make_batch(gen, &unit, task_end(gen, task), NULL, gen->table->ncols, arena, &batch, err));
        if (batch.rows == 0) return TCUDB_OK;
        TRY(appender_add(appender, &batch, err));
        atomic_fetch_add(&load->rows, batch.rows);
        atomic_fetch_add(&load->units_done, unit - before);
    }
}

static tcudb_status load_task(void *ctx, uint32_t worker, uint64_t task, Error *err)
{
    GenLoad *load = ctx;
    Appender *appender;
    TRY(appender_new(load->env->txn, load->name, &appender, err));
    Arena arena;
    arena_init(&arena, load->env->mem);
    tcudb_status status = load_units(load, task, appender, &arena, err);
    arena_free(&arena);
    if (status == TCUDB_OK)
        status = appender_finish(appender, task, err);
    else
        appender_abort(appender);
    if (worker == 0 && load->env->progress != NULL)
        load->env->progress(load->env->progress_ctx, atomic_load(&load->units_done), load->gen->units);
    return status;
}

tcudb_status gen_load(const ProcEnv *env, const Gen *gen, uint64_t *rows, Error *err)
{
    TRY(create_table(env, gen->table, err));
    GenLoad load = {.env = env, .gen = gen, .name = str_of(gen->table->name), .tasks = task_count(gen)};
    Appender *guard; /* open to the end: see run_in_order in copy_from.c */
    TRY(appender_new(env->txn, load.name, &guard, err));
    tcudb_status status = pool_run(env->pool, load.tasks, load_task, &load, env->cancel, err);
    if (status != TCUDB_OK) {
        appender_abort(guard);
        return status;
    }
    TRY(appender_finish(guard, UINT64_MAX, err));
    *rows += atomic_load(&load.rows);
    return TCUDB_OK;
}

/* ---- arguments ---------------------------------------------------------------------------- */

static bool decimal_number(const Value *v, double *out)
{
    Phys phys = type_phys(v->type);
    Num num = {.scale = v->type.scale};
    if (phys == PHYS_I64)
        num.value = v->i64;
    else if (phys == PHYS_I128)
        num.value = v->i128;
    else
        num = v->num;
    *out = (double)num.value / pow(10, num.scale);
    return num.kind == NUM_FINITE;
}

static bool arg_number(const Value *v, double *out)
{
    if (v->null) return false;
    switch (v->type.id) {
    case TYPE_INT2: *out = v->i16; return true;
    case TYPE_INT4: *out = v->i32; return true;
    case TYPE_INT8: *out = (double)v->i64; return true;
    case TYPE_FLOAT4: *out = (double)v->f32; return true;
    case TYPE_FLOAT8: *out = v->f64; return true;
    case TYPE_NUMERIC: return decimal_number(v, out);
    default: return false;
    }
}

static tcudb_status arg_fault(const TableFuncArg *arg, const char *sqlstate, const char *what, const char *problem,
                              const char *usage, Error *err)
{
    tcudb_status status = error_at(err, sqlstate, arg->position, "%s: %s", what, problem);
    error_hint(err, "Usage: %s", usage);
    return status;
}

static tcudb_status take_arg(const TableFuncArg *arg, const char *what, const char *usage, GenArg *known, Error *err)
{
    double value;
    if (!arg_number(&arg->value, &value))
        return arg_fault(arg, SQLSTATE_INVALID_PARAMETER_VALUE, what, "the argument must be a number", usage, err);
    if (!(value >= known->min && value <= known->max) || (known->whole && value != floor(value))) {
        tcudb_status status =
            error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, arg->position, "%s: %s must be %s from %g to %g", what,
                     known->name, known->whole ? "an integer" : "a number", known->min, known->max);
        error_hint(err, "Usage: %s", usage);
        return status;
    }
    known->value = value;
    return TCUDB_OK;
}

tcudb_status gen_args(const TableFuncArg *args, uint32_t nargs, const char *what, const char *usage, GenArg *known,
                      uint32_t nknown, Error *err)
{
    for (uint32_t i = 0; i < nargs; i++) {
        uint32_t k = i;
        if (args[i].name.len > 0)
            for (k = 0; k < nknown && !str_equal(args[i].name, str_of(known[k].name)); k++) continue;
        if (k >= nknown)
            return arg_fault(&args[i], SQLSTATE_UNDEFINED_FUNCTION, what,
                             args[i].name.len > 0 ? "there is no argument of this name" : "too many arguments", usage,
                             err);
        TRY(take_arg(&args[i], what, usage, &known[k], err));
    }
    return TCUDB_OK;
}
