/*
 * contract_int.h: the inputs of a contraction as coded rows and its output as columns, shared by op_contract.c,
 * contract_input.c and contract_output.c.
 */
#ifndef EXEC_TCU_CONTRACT_INT_H
#define EXEC_TCU_CONTRACT_INT_H

#include "exec/tcu/codes.h"
#include "exec/tcu/direct.h"
#include "tensor/product.h"

enum { RUN_ROWS_MAX = 4096 }; /* rows that may be asked room for at once */

typedef struct Run Run;
struct Run {
    Run *next;
    uint64_t n, cap;
    uint32_t *group, *key;
    uint32_t *count; /* NULL: each row stands for itself */
    int64_t *values[PRODUCT_MAX];
};

/* The runs of one thread, oldest first. */
typedef struct RunList {
    Run *first, *last;
    double weight; /* of its values: sum of the absolute values */
    char pad[40];  /* a cache line each */
} RunList;

/* A value column of float8, whose values stand in the runs as their bits until floats_split. */
typedef struct FloatColumn {
    bool used;                /* the column is one */
    bool special;             /* some value is NaN or infinite */
    bool any;                 /* some value is finite and not 0; then: */
    int low, high, least;     /* the lowest and the highest bit of all, the lowest highest bit */
    uint32_t limbs, width;    /* limb 0 is in the column's place, the others from column `first` on */
    uint32_t first, specials; /* specials: three columns that count NaN, Infinity, -Infinity; 0: none */
} FloatColumn;

/* One side: groups, keys and values evaluated over its input, and then codes and integers in runs. */
typedef struct Input {
    Stage stage;
    Exec *x;
    Ev *exprs; /* groups, keys, values */
    Expr **list;
    PlanCol *cols;
    uint32_t ngroups, nkeys, nvalues;
    uint32_t ncompared; /* keys of comparisons; in the runs they follow the values, as integers of their order */
    uint32_t ncols;     /* of all kinds */
    bool direct;        /* coded while the rows arrive; else kept as Rows and coded afterwards */
    DirectTuple groups, keys;
    RunList *lists;        /* direct: one a worker */
    _Atomic uint8_t *used; /* direct: of each group code, whether a row has it */
    Rows *rows;            /* not direct */
    int64_t **ranks;       /* of compared keys that are no 64-bit integers, by dictionary code or row; NULL: they are */
    GroupCodes coded;
    uint32_t *code_of; /* direct: the code of each group; NULL: itself */
    uint32_t ngroup_codes;
    uint64_t n;
    uint32_t nruns;
    SideRun *runs;
    double weight;              /* no column's absolute values, nor the rows' number, is more in sum */
    uint32_t high[PRODUCT_MAX]; /* wide values: the column of the high half; 0: not wide */
    FloatColumn floats[PRODUCT_MAX];
} Input;

/* runs.c: a run with room for this many more rows (at most RUN_ROWS_MAX). */
tcudb_status runs_room(Exec *x, RunList *list, uint32_t nvalues, uint32_t rows, Run **out, Error *err) MUST_CHECK;
void runs_free(Exec *x, RunList *list);
/* Makes the lists' runs those of the input. */
tcudb_status runs_gather(Input *in, const RunList *lists, uint32_t nlists, uint32_t nvalues, Error *err) MUST_CHECK;
/* Replaces every group, or key, of the input's rows by number[it]. On all workers. */
tcudb_status runs_renumber(const Input *in, bool keys, const uint32_t *number, Error *err) MUST_CHECK;

/* Rows [from, to) of a run: what a task takes of them. */
typedef struct RunPiece {
    const SideRun *run;
    uint64_t from, to;
} RunPiece;
tcudb_status runs_pieces(Exec *x, const SideRun *runs, uint32_t nruns, RunPiece **out, uint64_t *n,
                         Error *err) MUST_CHECK;

/* ranges.c: turns the comparisons of coded inputs into equal keys, new ones for both. *how: for EXPLAIN. addable: the
 * values are integers; else rows may be repeated only. */
tcudb_status ranges_apply(Exec *x, const ContractRange *range, Input inputs[2], bool addable, uint32_t *keys,
                          const char **how, Error *err) MUST_CHECK;

/* Evaluates and codes both inputs of the node. *keys: key codes are below it. *same: the right side is the left one. */
tcudb_status inputs_run(Exec *x, PhysNode *node, Input inputs[2], uint32_t *keys, bool *same, Error *err) MUST_CHECK;
/* Its steps, for rows that come again (contract_parts.c): evaluators of both sides, and whether direct codes do. */
tcudb_status inputs_prepare(Exec *x, PhysNode *node, Input inputs[2], bool *direct, Error *err) MUST_CHECK;
/* The evaluated columns of a batch's rows that have a key, their codes, and which rows they are (room for all). */
typedef struct CodedRows {
    Vector *cols;
    uint32_t n;
    uint32_t *group, *key;
    const uint16_t *rows; /* NULL: the first n */
} CodedRows;
tcudb_status input_code_rows(const Input *in, Worker *w, const Batch *batch, uint16_t *keyed, CodedRows *out,
                             Error *err) MUST_CHECK;
/* Values of the rows as integers (of float8 the bits), and what their absolute values add up to; compared keys. */
double input_widen(const Vector *v, const uint16_t *rows, uint32_t n, int64_t *out);
void input_order(const Vector *v, const uint16_t *rows, uint32_t n, int64_t *out);
/* Of sides that are the same: the one that was run as the other. */
tcudb_status side_share(Exec *x, const Input *from, Input *to, Error *err) MUST_CHECK;
/* The i-th group column of a side, a row a group code. Text points into what lives as long as the input. */
tcudb_status input_group_column(const Input *in, uint32_t i, Arena *arena, Vector *out, Error *err) MUST_CHECK;

/* ranks.c: whether the input's compared keys need ranks; makes them for both inputs, whose rows are kept. */
bool ranks_needed(const Input *in);
tcudb_status ranks_make(Exec *x, Input inputs[2], Error *err) MUST_CHECK;

/* wide.c: splits the columns whose sums may leave 64 bits. columns: that the runs have, values first. */
tcudb_status wide_split(Exec *x, Input *in, uint32_t columns, Error *err) MUST_CHECK;

/* floats.c: the facts of the float8 columns; whether limbs of them do, and their columns' numbers; the limbs. */
tcudb_status floats_scan(Exec *x, Input *in, Error *err) MUST_CHECK;
bool floats_plan(const Plan *plan, Input inputs[2]);
tcudb_status floats_split(Exec *x, Input *in, Error *err) MUST_CHECK;
/* Of one value, by its bits: notes it in the facts; a limb of it; 1 if it is NaN, Infinity, -Infinity (kind 0, 1, 2).
 */
void float_note(FloatColumn *f, int64_t bits);
void float_merge(FloatColumn *into, const FloatColumn *f);
int64_t float_limb(const FloatColumn *f, int64_t bits, uint32_t limb);
int64_t float_kind(int64_t bits, uint32_t kind);
/* The columns that limbs and kinds will add to the planned input, whose weight they raise. */
uint32_t floats_more(Input *in);
/* A finite double from its bits: mantissa x 2^exponent. */
void float_parts(int64_t bits, int64_t *mantissa, int *exponent);

/* contract_terms.c: a sum is the sum of factor x product x 2^shift over its parts; if it is nullable it is NULL where
 * the parts of nonnull add up to 0. Of float8: x 2^exponent, and special where a product of `specials` is not 0. */
typedef struct SumPart {
    uint32_t product; /* index, or ONES: the counts */
    uint32_t shift;   /* 0, 32 or 64; any of float8 */
    int64_t factor;
} SumPart;

typedef struct Sum {
    const ContractOut *out;
    const SumPart *parts, *nonnull;
    uint32_t nparts, nnonnull;
    bool is_float;
    bool ready; /* of float8: the only part is the sum itself, as doubles (exact.c) */
    int exponent;
    uint32_t words;       /* of 64 bits that the shifted parts need */
    uint32_t specials[3]; /* products that count NaN, Infinity, -Infinity */
    bool has_specials;
} Sum;
/* Fills the spec's products and exact_counts; one Sum an out of the plan. limbs: of float8 columns; else their sums
 * are made by exact.c, as if they were products behind the others. *fits false: too many products of limbs. */
tcudb_status terms_list(Exec *x, const Plan *plan, const Input inputs[2], bool limbs, ProductSpec *spec, Sum **out,
                        bool *fits, Error *err) MUST_CHECK;

/* contract_output.c: the columns of the plan, made from rows of products. */
typedef struct Output Output;
tcudb_status output_new(Exec *x, const Plan *plan, const Input inputs[2], const Sum *sums, Output **out,
                        Error *err) MUST_CHECK;
/* Whether the rows' groups of that side are wanted. */
bool output_reads_groups(const Output *o, uint32_t side);
/* The sums' bounds that a product can test (those of sums that are one product), for the spec; of HAVING, and of a sort
 * that wants the first rows only. */
void output_bounds(const Output *o, const Exec *x, ProductSpec *spec);
/* By right code: 1 where the counted column of a folded contraction is NULL; NULL: nowhere. */
tcudb_status output_uncounted(Exec *x, const Plan *plan, const Input *right, const uint8_t **out,
                              Error *err) MUST_CHECK;
/* tested: the product has tested them. */
void output_set_tested(Output *o, bool tested);
tcudb_status output_push(const Output *o, Stage *down, Worker *w, const ProductRows *rows, Error *err) MUST_CHECK;

/* contract_parts.c: the whole contraction where tcudb.memory_limit has no room for its inputs' rows: the inputs are run
 * again for each part of the keys or groups. *done: it was. */
tcudb_status parts_run(Exec *x, PhysNode *node, Stage *down, bool *done, Error *err) MUST_CHECK;
/* Bytes of so many coded rows of the inputs. */
double parts_input_bytes(const Plan *plan, double left, double right);

/* cell_table.c: rows of equal group and key added up as they come, of one thread. */
typedef struct CellTable {
    Exec *x;
    uint32_t nvalues;
    Run **runs; /* CELL_RUN cells each */
    uint32_t nruns, room;
    uint64_t n;      /* cells */
    uint32_t *slots; /* cell + 1; 0: free */
    uint64_t cap;    /* a power of two */
} CellTable;
enum { CELL_RUN = 1024, CELL_SLOTS = 1 << 11 }; /* of a run; at first */
/* Sums that leave 64 bits, and counts that leave 32, go on in another cell. */
tcudb_status cells_add(CellTable *t, const CodedRows *rows, int64_t *const *values, Error *err) MUST_CHECK;

/* exact.c: multiplies row by row, for float8 columns that do not go in limbs; pushes what a product run would. */
tcudb_status exact_run(Exec *x, PhysNode *node, const ProductSpec *spec, const Input inputs[2], const Sum *sums,
                       const Output *output, Stage *down, Error *err) MUST_CHECK;

#endif
