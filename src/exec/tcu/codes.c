/*
 * codes.c: how values become matrix indices.
 *
 * A column's domain is used directly where it is small: dictionary codes of text, integers within their range
 * of values. Everything else is interned: a hash table gives values numbers in order of appearance. A
 * second text dictionary is mapped onto the first once, value by value. Tuples are combined column by column
 * as mixed-radix numbers while the product of the domains stays small, and interned beyond. Directly coded
 * columns cost two parallel passes; interning one serial pass with a probe a row.
 */
#include "exec/tcu/codes.h"

#include <assert.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { CODE_ROWS = 65536, DIRECT_MIN = 1 << 16, DIRECT_PER_ROW = 8 };

/* ---- interning ------------------------------------------------------------------------------ */

/* Byte strings -> 0, 1, 2, ... in order of first appearance. */
typedef struct Intern {
    Exec *x;
    Str *keys;       /* by number; borrowed or in the arena */
    uint32_t *slots; /* number + 1; 0: free */
    uint64_t cap;    /* slots: a power of two */
    uint32_t n;
} Intern;

static tcudb_status intern_new(Exec *x, uint64_t most, Intern *in, Error *err)
{
    *in = (Intern){.x = x, .cap = 1024};
    while (in->cap < most * 2) in->cap *= 2;
    in->slots = exec_alloc_zero(x, sizeof *in->slots * in->cap, err);
    TRY_PTR(in->slots);
    in->keys = exec_alloc(x, sizeof *in->keys * (most + 1), err);
    TRY_PTR(in->keys);
    return TCUDB_OK;
}

static void intern_free(Intern *in)
{
    exec_free(in->x, in->slots);
    exec_free(in->x, in->keys);
}

/* key must stay where it is as long as the table. */
static uint32_t intern(Intern *in, Str key)
{
    uint64_t at = XXH3_64bits(key.ptr, key.len) & (in->cap - 1);
    for (; in->slots[at] != 0; at = (at + 1) & (in->cap - 1))
        if (str_equal(in->keys[in->slots[at] - 1], key)) return in->slots[at] - 1;
    in->keys[in->n] = key;
    in->slots[at] = ++in->n;
    return in->n - 1;
}

/* ---- one column ----------------------------------------------------------------------------- */

/* One column of one or two sides on its way to codes. */
typedef struct Column {
    Exec *x;
    const Rows *rows[2];
    const RowsCol *cols[2];
    uint32_t sides;
    bool group; /* NULL gets the last code; else CODE_NONE */
    uint32_t *codes[2];
    uint64_t domain;
    int64_t min, max; /* integers: of all sides */
    bool any;
    pthread_mutex_t *lock;
    const uint32_t *map; /* second dictionary -> codes */
} Column;

static bool is_null(const RowsCol *col, uint64_t row)
{
    return col->valid != NULL && !bit_get(col->valid, row);
}

static int64_t int_at(const RowsCol *col, uint64_t row)
{
    switch (col->phys) {
    case PHYS_BOOL: return ((const uint8_t *)col->data)[row];
    case PHYS_I16: return ((const int16_t *)col->data)[row];
    case PHYS_I32: return ((const int32_t *)col->data)[row];
    default: return ((const int64_t *)col->data)[row];
    }
}

/* Which side a task belongs to, and its rows. */
static uint32_t task_rows(const Rows *const rows[2], uint32_t sides, uint64_t task, uint64_t *from, uint64_t *to)
{
    uint64_t first = (rows[0]->n + CODE_ROWS - 1) / CODE_ROWS;
    uint32_t side = sides == 2 && task >= first;
    if (side == 1) task -= first;
    *from = task * CODE_ROWS;
    *to = *from + CODE_ROWS < rows[side]->n ? *from + CODE_ROWS : rows[side]->n;
    return side;
}

static uint64_t task_count(const Rows *const rows[2], uint32_t sides)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < sides; s++) n += (rows[s]->n + CODE_ROWS - 1) / CODE_ROWS;
    return n;
}

static tcudb_status find_range(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Column *c = ctx;
    uint64_t from, to;
    const RowsCol *col = c->cols[task_rows(c->rows, c->sides, task, &from, &to)];
    int64_t min = INT64_MAX, max = INT64_MIN;
    for (uint64_t row = from; row < to; row++) {
        if (is_null(col, row)) continue;
        int64_t v = int_at(col, row);
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    if (min > max) return TCUDB_OK;
    pthread_mutex_lock(c->lock);
    c->min = c->any && c->min < min ? c->min : min;
    c->max = c->any && c->max > max ? c->max : max;
    c->any = true;
    pthread_mutex_unlock(c->lock);
    return TCUDB_OK;
}

static uint32_t null_code(const Column *c)
{
    return c->group ? (uint32_t)c->domain - 1 : CODE_NONE;
}

static tcudb_status code_ints(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Column *c = ctx;
    uint64_t from, to;
    uint32_t side = task_rows(c->rows, c->sides, task, &from, &to);
    for (uint64_t row = from; row < to; row++)
        c->codes[side][row] = is_null(c->cols[side], row)
                                  ? null_code(c)
                                  : (uint32_t)((uint64_t)int_at(c->cols[side], row) - (uint64_t)c->min);
    return TCUDB_OK;
}

static tcudb_status code_dict(void *ctx, Worker *w, uint64_t task, Error *err)
{
    (void)w, (void)err;
    Column *c = ctx;
    uint64_t from, to;
    uint32_t side = task_rows(c->rows, c->sides, task, &from, &to);
    const uint32_t *codes = c->cols[side]->data;
    const uint32_t *map = side == 1 ? c->map : NULL;
    for (uint64_t row = from; row < to; row++)
        c->codes[side][row] = is_null(c->cols[side], row) ? null_code(c) : map == NULL ? codes[row] : map[codes[row]];
    return TCUDB_OK;
}

/* The bytes by which values are equal. Numbers of one value and several scales, -0 and NaN are made one. */
typedef union Scratch {
    int64_t i;
    double d;
    struct {
        int128 value;
        int64_t scale, kind;
    } num;
} Scratch;

static void normalise_num(Num n, Scratch *s)
{
    while (n.kind == NUM_FINITE && n.scale > 0 && n.value % 10 == 0) {
        n.value /= 10;
        n.scale--;
    }
    if (n.value == 0 || n.kind != NUM_FINITE) n.scale = 0;
    memset(s, 0, sizeof *s);
    s->num.value = n.kind == NUM_FINITE ? n.value : 0;
    s->num.scale = n.scale;
    s->num.kind = n.kind;
}

static double normal_double(double d)
{
    if (d != d) return __builtin_nan("");
    return d == 0 ? 0 : d;
}

static Str key_bytes(const RowsCol *col, uint64_t row, Scratch *s)
{
    if (col->dict) return col->view.values[((const uint32_t *)col->data)[row]];
    switch (col->phys) {
    case PHYS_STR: return ((const Str *)col->data)[row];
    case PHYS_F32: s->d = normal_double(((const float *)col->data)[row]); return (Str){(const char *)s, sizeof s->d};
    case PHYS_F64: s->d = normal_double(((const double *)col->data)[row]); return (Str){(const char *)s, sizeof s->d};
    case PHYS_NUM: normalise_num(((const Num *)col->data)[row], s); return (Str){(const char *)s, sizeof *s};
    case PHYS_I128:
        memcpy(&s->num.value, (const int128 *)col->data + row, sizeof(int128));
        return (Str){(const char *)s, sizeof(int128)};
    case PHYS_INTERVAL: return (Str){(const char *)col->data + row * sizeof(Interval), sizeof(Interval)};
    default: s->i = int_at(col, row); return (Str){(const char *)s, sizeof s->i};
    }
}

/* Keys made in the scratch are kept in an array of their own. */
static tcudb_status code_interned(Column *c, Error *err)
{
    Intern in;
    uint64_t most = c->rows[0]->n + (c->sides == 2 ? c->rows[1]->n : 0);
    bool borrowed = c->cols[0]->phys == PHYS_STR;
    TRY(intern_new(c->x, most, &in, err));
    Scratch *kept = borrowed ? NULL : exec_alloc(c->x, sizeof(Scratch) * (most + 1), err);
    if (!borrowed && kept == NULL) return TCUDB_NOMEM;
    for (uint32_t side = 0; side < c->sides; side++) {
        for (uint64_t row = 0; row < c->rows[side]->n; row++) {
            if (row % CODE_ROWS == 0) TRY(exec_check_cancel(c->x, err));
            if (is_null(c->cols[side], row)) {
                c->codes[side][row] = CODE_NONE;
                continue;
            }
            Scratch own;
            c->codes[side][row] = intern(&in, key_bytes(c->cols[side], row, borrowed ? &own : &kept[in.n]));
        }
    }
    c->domain = (uint64_t)in.n + c->group;
    for (uint32_t side = 0; c->group && side < c->sides; side++)
        for (uint64_t row = 0; row < c->rows[side]->n; row++)
            if (c->codes[side][row] == CODE_NONE) c->codes[side][row] = null_code(c);
    intern_free(&in);
    exec_free(c->x, kept);
    return TCUDB_OK;
}

/* Codes of the second dictionary in terms of the first; new values follow. */
static tcudb_status map_dicts(Column *c, uint32_t **out, Error *err)
{
    const DictView *a = &c->cols[0]->view, *b = &c->cols[1]->view;
    Intern in;
    uint32_t *map = exec_alloc(c->x, sizeof *map * ((size_t)b->count + 1), err);
    TRY_PTR(map);
    TRY(intern_new(c->x, (uint64_t)a->count + b->count, &in, err));
    for (uint32_t i = 0; i < a->count; i++) intern(&in, a->values[i]);
    assert(in.n == a->count); /* a dictionary's values are distinct */
    for (uint32_t i = 0; i < b->count; i++) map[i] = intern(&in, b->values[i]);
    c->domain = (uint64_t)in.n + c->group;
    intern_free(&in);
    *out = map;
    return TCUDB_OK;
}

static tcudb_status code_text(Column *c, Error *err)
{
    uint32_t *map = NULL;
    c->domain = (uint64_t)c->cols[0]->view.count + c->group;
    if (c->sides == 2 && c->cols[0]->view.id != c->cols[1]->view.id) TRY(map_dicts(c, &map, err));
    if (c->sides == 2 && map == NULL && c->cols[1]->view.count > c->cols[0]->view.count)
        c->domain = (uint64_t)c->cols[1]->view.count + c->group;
    c->map = map;
    tcudb_status status = exec_parallel(c->x, NULL, task_count(c->rows, c->sides), code_dict, c, err);
    exec_free(c->x, map);
    return status;
}

static tcudb_status code_column(Column *c, Error *err)
{
    bool dict = c->cols[0]->dict && (c->sides == 1 || c->cols[1]->dict);
    if (dict) return code_text(c, err);
    if (c->cols[0]->phys > PHYS_I64) return code_interned(c, err);
    TRY(exec_parallel(c->x, NULL, task_count(c->rows, c->sides), find_range, c, err));
    uint64_t rows = c->rows[0]->n + (c->sides == 2 ? c->rows[1]->n : 0), limit = DIRECT_MIN + DIRECT_PER_ROW * rows;
    uint64_t span = c->any ? (uint64_t)c->max - (uint64_t)c->min : 0;
    if (span >= limit || span >= UINT32_MAX - 2) return code_interned(c, err);
    c->domain = span + 1 + c->group;
    return exec_parallel(c->x, NULL, task_count(c->rows, c->sides), code_ints, c, err);
}

/* ---- tuples --------------------------------------------------------------------------------- */

static tcudb_status intern_pairs(Column *c, uint32_t *const into[2], uint64_t radix, uint64_t *domain, Error *err)
{
    Intern in;
    uint64_t most = c->rows[0]->n + (c->sides == 2 ? c->rows[1]->n : 0);
    TRY(intern_new(c->x, most, &in, err));
    uint64_t *kept = exec_alloc(c->x, sizeof *kept * (most + 1), err);
    TRY_PTR(kept);
    for (uint32_t side = 0; side < c->sides; side++) {
        assert(into[side] != NULL && c->codes[side] != NULL);
        for (uint64_t row = 0; row < c->rows[side]->n; row++) {
            uint32_t a = into[side][row], b = c->codes[side][row];
            if (row % CODE_ROWS == 0) TRY(exec_check_cancel(c->x, err));
            if (a == CODE_NONE || b == CODE_NONE) {
                into[side][row] = CODE_NONE;
                continue;
            }
            kept[in.n] = a * radix + b;
            into[side][row] = intern(&in, (Str){(const char *)&kept[in.n], sizeof *kept});
        }
    }
    *domain = in.n;
    intern_free(&in);
    exec_free(c->x, kept);
    return TCUDB_OK;
}

/* into = into x domain of c + code of c. */
static tcudb_status combine(Column *c, uint32_t *const into[2], uint64_t *domain, Error *err)
{
    uint64_t rows = c->rows[0]->n + (c->sides == 2 ? c->rows[1]->n : 0);
    if (*domain * c->domain > DIRECT_MIN + DIRECT_PER_ROW * rows) return intern_pairs(c, into, c->domain, domain, err);
    for (uint32_t side = 0; side < c->sides; side++) {
        assert(into[side] != NULL && c->codes[side] != NULL);
        for (uint64_t row = 0; row < c->rows[side]->n; row++) {
            uint32_t a = into[side][row], b = c->codes[side][row];
            bool none = a == CODE_NONE || b == CODE_NONE;
            into[side][row] = none ? CODE_NONE : (uint32_t)(a * c->domain + b);
        }
    }
    *domain *= c->domain;
    return TCUDB_OK;
}

static tcudb_status new_codes(Exec *x, const Rows *rows, uint32_t **out, Error *err)
{
    *out = exec_alloc_zero(x, sizeof **out * (rows->n + 1), err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

static tcudb_status code_tuples(Exec *x, const Rows *const sides[2], const uint32_t *const cols[2], uint32_t nsides,
                                uint32_t ncols, bool group, uint32_t *codes[2], uint64_t *domain, Error *err)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    Column c = {.x = x, .sides = nsides, .group = group, .lock = &lock};
    codes[0] = codes[1] = NULL;
    for (uint32_t s = 0; s < nsides; s++) TRY(new_codes(x, sides[s], &codes[s], err));
    *domain = 1;
    for (uint32_t i = 0; i < ncols; i++) {
        c.any = false;
        for (uint32_t s = 0; s < nsides; s++) {
            c.rows[s] = sides[s];
            c.cols[s] = &sides[s]->cols[cols[s][i]];
            c.codes[s] = codes[s];
            if (i > 0) TRY(new_codes(x, sides[s], &c.codes[s], err));
        }
        TRY(code_column(&c, err));
        if (i == 0) {
            *domain = c.domain;
            continue;
        }
        TRY(combine(&c, codes, domain, err));
        for (uint32_t s = 0; s < nsides; s++) exec_free(x, c.codes[s]);
    }
    return TCUDB_OK;
}

tcudb_status codes_keys(Exec *x, const Rows *const sides[2], const uint32_t *const cols[2], uint32_t ncols,
                        KeyCodes *out, Error *err)
{
    uint64_t domain;
    TRY(code_tuples(x, sides, cols, 2, ncols, false, out->codes, &domain, err));
    assert(domain < UINT32_MAX);
    out->count = (uint32_t)domain;
    return TCUDB_OK;
}

/* Renumbers the codes in use, ascending. */
tcudb_status codes_groups(Exec *x, const Rows *rows, const uint32_t *cols, uint32_t ncols, GroupCodes *out, Error *err)
{
    uint64_t domain;
    const Rows *sides[2] = {rows, NULL};
    const uint32_t *columns[2] = {cols, NULL};
    uint32_t *codes[2] = {NULL, NULL};
    TRY(code_tuples(x, sides, columns, 1, ncols, true, codes, &domain, err));
    assert(domain < UINT32_MAX);
    uint32_t *first = exec_alloc(x, sizeof *first * domain, err);
    TRY_PTR(first);
    memset(first, 0xff, sizeof *first * domain);
    for (uint64_t row = rows->n; row-- > 0;) first[codes[0][row]] = (uint32_t)row;
    out->codes = codes[0];
    out->count = 0;
    out->rows = exec_alloc(x, sizeof *out->rows * (domain + 1), err);
    TRY_PTR(out->rows);
    for (uint64_t code = 0; code < domain; code++) {
        if (first[code] == ROWS_NONE) continue;
        out->rows[out->count] = first[code];
        first[code] = out->count++;
    }
    for (uint64_t row = 0; row < rows->n; row++) out->codes[row] = first[out->codes[row]];
    exec_free(x, first);
    return TCUDB_OK;
}
