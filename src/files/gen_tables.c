/*
 * gen_tables.c: the small generated databases: matrices, micro, baskets, songs, graph.
 *
 * micro is the TCUDB paper's microbenchmark (section 5.2): a(id, val), b(id, val) with ids below k. matrices are
 * two dense n x n matrices as (i, j, v) triples with small integers. baskets are market baskets of a fixed
 * size whose items follow a skewed distribution (item number = items * u^3 for a uniform u, so that the
 * first tenth makes nearly half of all purchases), the many-to-many join that explodes. songs are two music shops'
 * catalogues a and b for entity matching: the same artists on both sides, and few prices, so that blocking by price
 * pairs nearly everything with everything. graph is a directed graph
 * with such skew on both ends (edges may repeat) for PageRank-like queries.
 */
#include "files/gen.h"

#include <stdio.h>

#define COUNT(a) ((uint32_t)(sizeof(a) / sizeof((a)[0])))
#define INT4                                                                                                           \
    {                                                                                                                  \
        .id = TYPE_INT4                                                                                                \
    }

enum { VALUES = 1025, MATRIX_MAX = 99 };

#define FILL_INT(value)                                                                                                \
    do {                                                                                                               \
        int32_t *ints = out->data;                                                                                     \
        for (uint32_t i = 0; i < rows->n; i++) ints[i] = (int32_t)(value);                                             \
        return TCUDB_OK;                                                                                               \
    } while (0)
#define UNIT rows->unit[i]

/* 0..n-1, small numbers more often: the density falls with number^(-2/3). */
static uint64_t skewed(uint64_t hash, uint64_t n)
{
    double u = (double)(hash >> 11) * 0x1p-53;
    uint64_t k = (uint64_t)((double)n * u * u * u);
    return k < n ? k : n - 1;
}

/* ---- micro: params[0] = k, params[1] = salt of the table ---------------------------------- */

static const GenColumn micro_columns[] = {{"id", INT4}, {"val", INT4}};

static tcudb_status micro_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    (void)err;
    uint64_t salt = (uint64_t)g->params[1] + col, n = col == 0 ? (uint64_t)g->params[0] : VALUES;
    FILL_INT(gen_below(gen_hash(g->seed, salt, UNIT), n));
}

#define GEN_TABLE(variable, table_name, columns, filler)                                                               \
    static const GenTable variable = {                                                                                 \
        .name = table_name,                                                                                            \
        .ncols = COUNT(columns),                                                                                       \
        .cols = columns,                                                                                               \
        .unit_rows = 1,                                                                                                \
        .task_units = SEGMENT_ROWS,                                                                                    \
        .fill = filler,                                                                                                \
    };
GEN_TABLE(micro_a, "a", micro_columns, micro_fill)
GEN_TABLE(micro_b, "b", micro_columns, micro_fill)

static tcudb_status load_pair(const ProcEnv *env, const GenTable *a, const GenTable *b, Gen gen, uint64_t *rows,
                              Error *err)
{
    *rows = 0;
    gen.table = a;
    gen.params[1] = 0;
    TRY(gen_load(env, &gen, rows, err));
    gen.table = b;
    gen.params[1] = 16;
    return gen_load(env, &gen, rows, err);
}

#define MICRO_USAGE "CALL micro(n => 4096, k => 32, seed => 1): makes a(id, val), b(id, val) of n rows, ids below k"

static tcudb_status micro_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows, Error *err)
{
    GenArg known[] = {{"n", 4096, 1, 1e9, true}, {"k", 32, 1, 1e9, true}, {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, "procedure micro", MICRO_USAGE, known, COUNT(known), err));
    Gen gen = {.seed = (uint64_t)known[2].value, .units = (uint64_t)known[0].value};
    gen.params[0] = (int64_t)known[1].value;
    return load_pair(env, &micro_a, &micro_b, gen, rows, err);
}

const Proc micro_proc = {.name = "micro", .usage = MICRO_USAGE, .run = micro_run};

/* ---- matrices: params[0] = n -------------------------------------------------------------- */

static const GenColumn matrix_columns[] = {{"i", INT4}, {"j", INT4}, {"v", INT4}};

static tcudb_status matrix_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    const uint64_t n = (uint64_t)g->params[0];
    (void)err;
    switch (col) {
    case 0: FILL_INT(UNIT / n);
    case 1: FILL_INT(UNIT % n);
    default:
        FILL_INT((int64_t)gen_below(gen_hash(g->seed, (uint64_t)g->params[1], UNIT), 2 * MATRIX_MAX + 1) - MATRIX_MAX);
    }
}

GEN_TABLE(matrix_a, "a", matrix_columns, matrix_fill)
GEN_TABLE(matrix_b, "b", matrix_columns, matrix_fill)

#define MATRICES_USAGE "CALL matrices(n => 512, seed => 1): makes dense matrices a(i, j, v), b(i, j, v), |v| < 100"

static tcudb_status matrices_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows,
                                 Error *err)
{
    GenArg known[] = {{"n", 512, 1, 30000, true}, {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, "procedure matrices", MATRICES_USAGE, known, COUNT(known), err));
    uint64_t n = (uint64_t)known[0].value;
    Gen gen = {.seed = (uint64_t)known[1].value, .units = n * n};
    gen.params[0] = (int64_t)n;
    return load_pair(env, &matrix_a, &matrix_b, gen, rows, err);
}

const Proc matrices_proc = {.name = "matrices", .usage = MATRICES_USAGE, .run = matrices_run};

/* ---- baskets: params[0] = items, params[1] = lines of a basket ---------------------------- */

static const GenColumn basket_columns[] = {{"basket", INT4}, {"item", INT4}};

static tcudb_status basket_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    (void)err;
    if (col == 0) FILL_INT(UNIT / (uint64_t)g->params[1]);
    FILL_INT(skewed(gen_hash(g->seed, 0, UNIT), (uint64_t)g->params[0]));
}

GEN_TABLE(basket_table, "baskets", basket_columns, basket_fill)

#define BASKETS_USAGE                                                                                                  \
    "CALL baskets(items => 2000, lines => 1000000, size => 50, seed => 1): makes baskets(basket, item), size lines "   \
    "each"

static tcudb_status baskets_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows,
                                Error *err)
{
    GenArg known[] = {{"items", 2000, 1, 1e9, true},
                      {"lines", 1000000, 1, 1e10, true},
                      {"size", 50, 1, 1e9, true},
                      {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, "procedure baskets", BASKETS_USAGE, known, COUNT(known), err));
    Gen gen = {.table = &basket_table, .seed = (uint64_t)known[3].value, .units = (uint64_t)known[1].value};
    gen.params[0] = (int64_t)known[0].value;
    gen.params[1] = (int64_t)known[2].value;
    *rows = 0;
    return gen_load(env, &gen, rows, err);
}

const Proc baskets_proc = {.name = "baskets", .usage = BASKETS_USAGE, .run = baskets_run};

/* ---- songs: params[0] = artists, params[1] = salt of the shop ----------------------------- */

enum { ARTIST_LEN = 16, LONGEST_SONG = 600, SHORTEST_SONG = 90 };

static const GenColumn song_columns[] = {
    {"id", INT4}, {"artist", {.id = TYPE_TEXT}}, {"price", INT4}, {"seconds", INT4}};

static tcudb_status artist_fill(const GenRows *rows, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    char *at = NULL;
    Str *texts = out->data;
    TRY(gen_texts(rows, ARTIST_LEN, &at, err));
    for (uint32_t i = 0; i < rows->n; i++, at += ARTIST_LEN) {
        uint64_t artist = skewed(gen_hash(g->seed, (uint64_t)g->params[1] + 1, UNIT), (uint64_t)g->params[0]);
        texts[i] = (Str){at, (uint32_t)snprintf(at, ARTIST_LEN, "Artist#%07u", (unsigned)artist)};
    }
    return TCUDB_OK;
}

static tcudb_status song_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    static const int32_t cents[] = {69, 99, 129, 149}; /* what shops ask */
    const Gen *g = rows->gen;
    if (col == 1) return artist_fill(rows, out, err);
    uint64_t salt = (uint64_t)g->params[1] + col;
    switch (col) {
    case 0: FILL_INT(UNIT);
    case 2: FILL_INT(cents[gen_below(gen_hash(g->seed, salt, UNIT), COUNT(cents))]);
    default: FILL_INT(SHORTEST_SONG + gen_below(gen_hash(g->seed, salt, UNIT), LONGEST_SONG - SHORTEST_SONG));
    }
}

GEN_TABLE(song_a, "a", song_columns, song_fill)
GEN_TABLE(song_b, "b", song_columns, song_fill)

#define SONGS_USAGE                                                                                                    \
    "CALL songs(n => 10000, artists => 500, seed => 1): makes two shops' catalogues a, b(id, artist, price, seconds)"

static tcudb_status songs_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows, Error *err)
{
    GenArg known[] = {{"n", 10000, 1, 1e9, true}, {"artists", 500, 1, 9999999, true}, {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, "procedure songs", SONGS_USAGE, known, COUNT(known), err));
    Gen gen = {.seed = (uint64_t)known[2].value, .units = (uint64_t)known[0].value};
    gen.params[0] = (int64_t)known[1].value;
    return load_pair(env, &song_a, &song_b, gen, rows, err);
}

const Proc songs_proc = {.name = "songs", .usage = SONGS_USAGE, .run = songs_run};

/* ---- graph: params[0] = nodes ------------------------------------------------------------- */

static const GenColumn node_columns[] = {{"id", INT4}};
static const GenColumn edge_columns[] = {{"src", INT4}, {"dst", INT4}};

static tcudb_status node_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    (void)col;
    (void)err;
    FILL_INT(UNIT);
}

/* Numbers are spread by a multiplication, so that the busy sources are not the busy targets. */
static tcudb_status edge_fill(const GenRows *rows, uint32_t col, Vector *out, Error *err)
{
    const Gen *g = rows->gen;
    const uint64_t n = (uint64_t)g->params[0], step = col == 0 ? 1 : n / 2 + 1;
    (void)err;
    FILL_INT((skewed(gen_hash(g->seed, col, UNIT), n) + step) % n);
}

GEN_TABLE(node_table, "node", node_columns, node_fill)
GEN_TABLE(edge_table, "edge", edge_columns, edge_fill)

#define GRAPH_USAGE "CALL graph(nodes => 10000, edges => 100000, seed => 1): makes node(id), edge(src, dst)"

static tcudb_status graph_run(const ProcEnv *env, const TableFuncArg *args, uint32_t nargs, uint64_t *rows, Error *err)
{
    GenArg known[] = {{"nodes", 10000, 1, 1e9, true}, {"edges", 100000, 1, 1e10, true}, {"seed", 1, 0, 1e15, true}};
    TRY(gen_args(args, nargs, "procedure graph", GRAPH_USAGE, known, COUNT(known), err));
    Gen gen = {.table = &node_table, .seed = (uint64_t)known[2].value, .units = (uint64_t)known[0].value};
    gen.params[0] = (int64_t)known[0].value;
    *rows = 0;
    TRY(gen_load(env, &gen, rows, err));
    gen.table = &edge_table;
    gen.units = (uint64_t)known[1].value;
    return gen_load(env, &gen, rows, err);
}

const Proc graph_proc = {.name = "graph", .usage = GRAPH_USAGE, .run = graph_run};
