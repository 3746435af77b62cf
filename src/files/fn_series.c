/*
 * fn_series.c: generate_series(start, stop [, step]) over integer, bigint, numeric and timestamp.
 *
 * Every series but one is linear: value(i) = start + i * step for i in 0..count-1, with start and step as
 * integers (numerics at a common scale, timestamps in microseconds), so count follows from the bounds by
 * one division and tasks of TASK_ROWS rows are independent. A timestamp step with months is not linear
 * (Jan 31 + 1 month = Feb 29, + 1 month = Mar 29, as PostgreSQL counts): one task that adds step by step.
 * As in PostgreSQL a series ends at the type's limits, except timestamps, which report 22008 there.
 */
#include "type/func.h"
#include "plan/table_func.h"

#include <assert.h>
#include <stdio.h>

enum { TASK_ROWS = 64 * BATCH_ROWS };

#define MICROS_PER_DAY INT64_C(86400000000)
#define TIMESTAMP_MIN  (INT64_C(-211813488000000000)) /* 4714-11-24 BC */
#define TIMESTAMP_END  (INT64_C(9223371331200000000)) /* 294277-01-01 */

typedef struct Series {
    Type type;
    bool empty;
    bool months;   /* step by step */
    bool overflow; /* timestamps: the stop lies beyond the last timestamp */
    int128 start;
    int128 step;
    int128 stop; /* months only */
    uint64_t count;
    int32_t start_scale; /* numeric: the first value keeps its own scale, as PostgreSQL shows it */
    int32_t scale;
    Interval interval;
} Series;

/* ---- bind --------------------------------------------------------------------------------- */

static tcudb_status no_such_function(const TableFuncArg *args, uint32_t nargs, Error *err)
{
    char list[160] = "";
    size_t at = 0;
    for (uint32_t i = 0; i < nargs && at < sizeof list - 40; i++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i > 0 ? ", " : "",
                               type_base_name(args[i].value.type));
    tcudb_status status =
        error_at(err, SQLSTATE_UNDEFINED_FUNCTION, 0, "function generate_series(%s) does not exist", list);
    error_hint(err,
               "No function matches the given name and argument types. You might need to add explicit type casts.");
    return status;
}

/* Which of the four overloads; TYPE_NONE: none fits. Unknown literals follow the others. */
static TypeId series_type(const TableFuncArg *args, uint32_t nargs)
{
    TypeId best = TYPE_UNKNOWN;
    for (uint32_t i = 0; i < nargs && i < 2; i++) {
        TypeId id = args[i].value.type.id;
        if (id == TYPE_DATE) id = TYPE_TIMESTAMP;
        if (id == TYPE_INT2) id = TYPE_INT4;
        if (id == TYPE_UNKNOWN) continue;
        if (id != TYPE_INT4 && id != TYPE_INT8 && id != TYPE_NUMERIC && id != TYPE_TIMESTAMP) return TYPE_NONE;
        if (best == TYPE_UNKNOWN) best = id;
        if ((best == TYPE_TIMESTAMP) != (id == TYPE_TIMESTAMP)) return TYPE_NONE;
        if (id > best) best = id; /* INT4 < INT8 < NUMERIC by id */
    }
    if (nargs < 3) return best == TYPE_TIMESTAMP ? TYPE_NONE : best;
    TypeId step = args[2].value.type.id;
    if (best == TYPE_TIMESTAMP) return step == TYPE_INTERVAL || step == TYPE_UNKNOWN ? best : TYPE_NONE;
    if (step == TYPE_INTERVAL) return best == TYPE_UNKNOWN ? TYPE_TIMESTAMP : TYPE_NONE;
    if (step == TYPE_INT8 || step == TYPE_NUMERIC) return step > best || best == TYPE_UNKNOWN ? step : best;
    if (step == TYPE_INT2 || step == TYPE_INT4) return best == TYPE_UNKNOWN ? TYPE_INT4 : best;
    return step == TYPE_UNKNOWN ? best : TYPE_NONE;
}

static int128 linear_count(int128 start, int128 stop, int128 step)
{
    if (step > 0) return start > stop ? 0 : (stop - start) / step + 1;
    return start < stop ? 0 : (start - stop) / -step + 1;
}

static tcudb_status zero_step(Error *err)
{
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "step size cannot equal zero");
}

static tcudb_status set_count(Series *s, int128 count, Error *err)
{
    if (count > INT64_MAX)
        return error_set(err, SQLSTATE_PROGRAM_LIMIT_EXCEEDED, "generate_series of more than 2^63 rows");
    s->count = (uint64_t)count;
    return TCUDB_OK;
}

static tcudb_status bind_integer(Series *s, const Value *v, Error *err)
{
    bool wide = s->type.id == TYPE_INT8;
    s->start = wide ? v[0].i64 : v[0].i32;
    s->step = wide ? v[2].i64 : v[2].i32;
    if (s->step == 0) return zero_step(err);
    return set_count(s, linear_count(s->start, wide ? v[1].i64 : v[1].i32, s->step), err);
}

static tcudb_status check_num(const Num *num, const char *what, Error *err)
{
    if (num->kind == NUM_FINITE) return TCUDB_OK;
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "%s cannot be %s", what,
                     num->kind == NUM_NAN ? "NaN" : "infinity");
}

/* *value = num at a larger scale; an error beyond 38 digits. */
static tcudb_status rescale(const Num *num, int32_t scale, int128 *value, Error *err)
{
    *value = num->value;
    for (int32_t s = num->scale; s < scale; s++)
        if (__builtin_mul_overflow(*value, (int128)10, value))
            return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format");
    return TCUDB_OK;
}

static tcudb_status bind_numeric(Series *s, const Value *v, Error *err)
{
    TRY(check_num(&v[0].num, "start value", err));
    TRY(check_num(&v[1].num, "stop value", err));
    TRY(check_num(&v[2].num, "step size", err));
    if (v[2].num.value == 0) return zero_step(err);
    s->start_scale = v[0].num.scale;
    s->scale = v[0].num.scale > v[2].num.scale ? v[0].num.scale : v[2].num.scale;
    int32_t common = s->scale > v[1].num.scale ? s->scale : v[1].num.scale;
    int128 start, stop, step;
    TRY(rescale(&v[0].num, common, &start, err));
    TRY(rescale(&v[1].num, common, &stop, err));
    TRY(rescale(&v[2].num, common, &step, err));
    TRY(set_count(s, linear_count(start, stop, step), err));
    TRY(rescale(&v[0].num, s->scale, &s->start, err));
    return rescale(&v[2].num, s->scale, &s->step, err);
}

static tcudb_status bind_timestamp(Series *s, const Value *v, Error *err)
{
    const Interval *step = &v[2].interval;
    int128 days = (int128)step->months * 30 + step->days; /* the sign, as PostgreSQL compares intervals */
    int128 sign = days * MICROS_PER_DAY + step->micros;
    if (sign == 0) return zero_step(err);
    s->start = v[0].i64;
    if (v[0].i64 == INT64_MAX || v[0].i64 == INT64_MIN)
        return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    s->stop = v[1].i64;
    s->step = sign;
    s->interval = *step;
    s->months = step->months != 0;
    if (s->months) {
        s->count = 1;
        return TCUDB_OK;
    }
    int128 stop = s->stop;
    if (stop >= TIMESTAMP_END) stop = TIMESTAMP_END - 1;
    if (stop < TIMESTAMP_MIN) stop = TIMESTAMP_MIN;
    s->overflow = stop != s->stop && (s->step > 0) == (s->stop > 0);
    return set_count(s, linear_count(s->start, stop, s->step), err);
}

static tcudb_status series_values(const TableFuncArg *args, uint32_t nargs, Type type, Arena *arena, Value v[3],
                                  bool *null, Error *err)
{
    v[2] = (Value){.type = TYPE(TYPE_INT4), .i32 = 1};
    for (uint32_t i = 0; i < nargs; i++) v[i] = args[i].value;
    for (uint32_t i = 0; i < 3; i++) {
        Type to = type.id == TYPE_TIMESTAMP && i == 2 ? TYPE(TYPE_INTERVAL) : type;
        if (v[i].null) {
            *null = true;
            continue;
        }
        Value cast;
        if (v[i].type.id == TYPE_UNKNOWN)
            TRY(value_parse(v[i].str, to, arena, &cast, err));
        else
            TRY(value_cast(&v[i], to, CAST_EXPLICIT, arena, &cast, err));
        v[i] = cast;
    }
    return TCUDB_OK;
}

static tcudb_status series_bind(const EvalCtx *ctx, const TableFuncArg *args, uint32_t nargs, TableFuncBound *out,
                                Error *err)
{
    Arena *arena = ctx->arena;
    if (nargs < 2 || nargs > 3) return no_such_function(args, nargs, err);
    for (uint32_t i = 0; i < nargs; i++)
        if (args[i].name.len > 0) return no_such_function(args, nargs, err);
    Series *s = ARENA_NEW(arena, Series, err);
    TRY_PTR(s);
    TypeId id = series_type(args, nargs);
    if (id == TYPE_NONE) return no_such_function(args, nargs, err);
    if (id == TYPE_UNKNOWN) {
        tcudb_status status = error_set(err, SQLSTATE_AMBIGUOUS_FUNCTION, "function generate_series(%s) is not unique",
                                        nargs == 2 ? "unknown, unknown" : "unknown, unknown, unknown");
        error_hint(err, "Could not choose a best candidate function. You might need to add explicit type casts.");
        return status;
    }
    s->type = TYPE(id);
    Value v[3];
    TRY(series_values(args, nargs, s->type, arena, v, &s->empty, err));
    if (!s->empty) {
        if (id == TYPE_TIMESTAMP)
            TRY(bind_timestamp(s, v, err));
        else if (id == TYPE_NUMERIC)
            TRY(bind_numeric(s, v, err));
        else
            TRY(bind_integer(s, v, err));
    }
    *out = (TableFuncBound){.state = s, .ncols = 1, .rows = s->months ? -1 : (double)s->count};
    out->names = ARENA_ARRAY(arena, const char *, 1, err);
    TRY_PTR(out->names);
    out->types = ARENA_ARRAY(arena, Type, 1, err);
    TRY_PTR(out->types);
    out->names[0] = "generate_series";
    out->types[0] = s->type;
    return TCUDB_OK;
}

/* ---- rows --------------------------------------------------------------------------------- */

struct TableFuncScan {
    const Series *series;
    Mem *mem;
    uint32_t ncols;  /* 0 (count(*)) or 1 */
    const Func *add; /* months only */
};

/* Of one task: rows made so far, or the current timestamp of a series with months. */
typedef struct SeriesCursor {
    uint64_t done;
    int64_t now;
    bool ended;
} SeriesCursor;

static tcudb_status series_open(const TableFuncBound *bound, const uint32_t *columns, uint32_t ncols,
                                const atomic_bool *cancel, Mem *mem, TableFuncScan **out, uint64_t *tasks, Error *err)
{
    (void)columns;
    (void)cancel;
    const Series *s = bound->state;
    TableFuncScan *scan = mem_alloc_zero(mem, sizeof *scan, err);
    TRY_PTR(scan);
    *scan = (TableFuncScan){.series = s, .mem = mem, .ncols = ncols};
    if (s->months) {
        FuncCall call;
        const Type types[2] = {TYPE(TYPE_TIMESTAMP), TYPE(TYPE_INTERVAL)};
        tcudb_status status = func_resolve(FUNC_OPERATOR, STR_LIT("+"), types, 2, 0, &call, err);
        if (status != TCUDB_OK) {
            mem_free(mem, scan, sizeof *scan);
            return status;
        }
        scan->add = call.func;
    }
    *tasks = s->empty ? 0 : s->months ? 1 : (s->count + TASK_ROWS - 1) / TASK_ROWS;
    if (s->overflow && *tasks == 0) *tasks = 1;
    *out = scan;
    return TCUDB_OK;
}

static void fill_i32(int32_t *restrict out, int64_t start, int64_t step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = (int32_t)(start + step * (int64_t)i);
}

static void fill_i64(int64_t *restrict out, uint64_t start, uint64_t step, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) out[i] = (int64_t)(start + step * i);
}

static void fill_num(const Series *s, Num *out, uint64_t first, uint32_t n)
{
    int128 value = s->start + s->step * (int128)first;
    for (uint32_t i = 0; i < n; i++, value += s->step) out[i] = (Num){.value = value, .scale = s->scale};
    if (first == 0) {
        int128 unit = 1;
        for (int32_t k = s->start_scale; k < s->scale; k++) unit *= 10;
        out[0] = (Num){.value = s->start / unit, .scale = s->start_scale};
    }
}

static tcudb_status linear_batch(const Series *s, uint64_t first, uint32_t n, Arena *arena, Batch *out, Error *err)
{
    if (out->ncols == 0) return TCUDB_OK;
    TRY(vec_new(arena, s->type, n, &out->cols[0], err));
    void *data = out->cols[0].data;
    int128 start = s->start + s->step * (int128)first;
    if (s->type.id == TYPE_INT4)
        fill_i32(data, (int64_t)start, (int64_t)s->step, n);
    else if (s->type.id == TYPE_NUMERIC)
        fill_num(s, data, first, n);
    else
        fill_i64(data, (uint64_t)start, (uint64_t)s->step, n);
    return TCUDB_OK;
}

static tcudb_status add_interval(const TableFuncScan *scan, Arena *arena, int64_t *now, Error *err)
{
    Value a = {.type = TYPE(TYPE_TIMESTAMP), .i64 = *now};
    Value b = {.type = TYPE(TYPE_INTERVAL), .interval = scan->series->interval};
    Vector args[2], sum;
    TRY(vec_new(arena, a.type, 1, &args[0], err));
    TRY(vec_const(arena, &b, &args[1], err));
    TRY(vec_new(arena, a.type, 1, &sum, err));
    *(int64_t *)args[0].data = a.i64;
    EvalCtx ctx = {.arena = arena};
    TRY(scan->add->eval(&ctx, args, 2, NULL, 1, &sum, err));
    *now = *(int64_t *)sum.data;
    return TCUDB_OK;
}

static tcudb_status months_batch(TableFuncScan *scan, SeriesCursor *cursor, Arena *arena, Batch *out, Error *err)
{
    const Series *s = scan->series;
    Vector v;
    TRY(vec_new(arena, s->type, BATCH_ROWS, &v, err));
    int64_t *values = v.data;
    uint32_t n = 0;
    for (; n < BATCH_ROWS; n++) {
        cursor->ended = s->step > 0 ? cursor->now > s->stop : cursor->now < s->stop;
        if (cursor->ended) break;
        values[n] = cursor->now;
        tcudb_status status = add_interval(scan, arena, &cursor->now, err);
        if (status == TCUDB_ERROR && n > 0) { /* after the rows before it, maybe never: again with the next batch */
            error_clear(err);
            break;
        }
        TRY(status);
    }
    out->rows = out->n = n;
    if (out->ncols > 0) out->cols[0] = v;
    return TCUDB_OK;
}

static tcudb_status series_cursor(TableFuncScan *scan, void **cursor, SeriesCursor **out, Error *err)
{
    if (*cursor == NULL) {
        SeriesCursor *c = mem_alloc_zero(scan->mem, sizeof *c, err);
        TRY_PTR(c);
        c->now = (int64_t)scan->series->start;
        *cursor = c;
    }
    *out = *cursor;
    return TCUDB_OK;
}

static tcudb_status series_next(TableFuncScan *scan, uint64_t task, void **cursor, Arena *arena, Batch *out, bool *done,
                                Error *err)
{
    const Series *s = scan->series;
    SeriesCursor *c;
    TRY(series_cursor(scan, cursor, &c, err));
    *out = (Batch){.ncols = scan->ncols};
    out->cols = ARENA_ARRAY(arena, Vector, scan->ncols, err);
    TRY_PTR(out->cols);
    *done = false;
    if (s->months) {
        if (!c->ended) TRY(months_batch(scan, c, arena, out, err));
        *done = out->rows == 0;
        return TCUDB_OK;
    }
    uint64_t first = task * TASK_ROWS + c->done;
    uint64_t end = (task + 1) * TASK_ROWS < s->count ? (task + 1) * TASK_ROWS : s->count;
    if (first >= end) {
        if (s->overflow && end == s->count)
            return error_set(err, SQLSTATE_DATETIME_FIELD_OVERFLOW, "timestamp out of range");
        *done = true;
        return TCUDB_OK;
    }
    out->rows = out->n = end - first < BATCH_ROWS ? (uint32_t)(end - first) : BATCH_ROWS;
    c->done += out->rows;
    assert(c->done <= TASK_ROWS);
    return linear_batch(s, first, out->rows, arena, out, err);
}

static void series_end_task(TableFuncScan *scan, void *cursor)
{
    mem_free(scan->mem, cursor, sizeof(SeriesCursor));
}

static void series_close(TableFuncScan *scan)
{
    mem_free(scan->mem, scan, sizeof *scan);
}

const TableFunc series_table_func = {
    .name = "generate_series",
    .usage = "generate_series(start, stop [, step]): integer, bigint, numeric or timestamp with an interval",
    .dynamic = true,
    .bind = series_bind,
    .open = series_open,
    .next = series_next,
    .end_task = series_end_task,
    .close = series_close,
};
