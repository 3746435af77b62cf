/*
 * phys.h: physical plans: which operator runs each node of a logical plan, and what it did.
 *
 * A physical node mirrors a logical one (same inputs, same output columns) and names the operator chosen
 * for it. Operators are values of type Op, listed in op.def; phys/ knows nothing else about them. The
 * counters are written during execution (atomics: by any worker) and read by the printers afterwards.
 */
#ifndef PHYS_PHYS_H
#define PHYS_PHYS_H

#include "base/settings.h"
#include "plan/plan.h"
#include "tensor/product.h"

#include <stdatomic.h>

typedef struct ExecEnv ExecEnv;
typedef struct PhysNode PhysNode;
typedef struct PhysPlan PhysPlan;
typedef struct Stage Stage;
typedef struct Exec Exec;

enum { PHYS_NOTE = 256 };

typedef struct Op {
    const char *name; /* EXPLAIN's: "Hash Join" */
    const char *engine;
    /* Whether the operator can run the node; if not, why; if so, how it will, where that is worth a word. */
    bool (*can_run)(const ExecEnv *env, const Plan *plan, char why[PHYS_NOTE]);
    /* Seconds of one core, from the estimates of the node and its inputs. */
    double (*cost)(const Plan *plan);
    /* Runs everything below the node and pushes its output into `down`, in parallel. */
    tcudb_status (*run)(Exec *x, PhysNode *node, Stage *down, Error *err);
} Op;

/* What an operator did. Nanoseconds are summed over workers. */
typedef struct OpStats {
    _Atomic uint64_t rows; /* put out */
    _Atomic uint64_t batches;
    _Atomic uint64_t bytes;    /* kept: hash tables, sorted rows; a scan: encoded bytes looked at */
    _Atomic uint64_t phase_ns; /* in loops that the operator itself started */
    _Atomic uint64_t down_ns;  /* of that and of its pushes: spent by those above it */
    _Atomic uint64_t loops;
    _Atomic uint64_t wall_ns; /* from the start of its run to the end, on the clock */
} OpStats;

/* What a contraction found out while it ran. */
typedef struct PhysProduct {
    ProductReport report;
    bool direct;          /* rows coded from exact bounds */
    double build_seconds; /* until the operands stood, inputs included */
} PhysProduct;

/* What a node with candidates took, all below it included and all above it not. */
typedef struct PhysActual {
    bool done;
    CandidateForm form;
    double predicted; /* of what ran, with the rows that there really were */
    double seconds;
    double build, multiply;    /* of a contraction */
    double work, work_seconds; /* pairs or operations; 0: no rate */
    const char *unit;
} PhysActual;

struct PhysNode {
    const Op *op;
    const Plan *plan;
    uint32_t ninputs;
    PhysNode **inputs;
    OpStats stats;
    char why[PHYS_NOTE];  /* why not the other operators */
    char note[PHYS_NOTE]; /* how it will run, or ran: "dense array of 2556", "bitmap" */
    PhysProduct product;
    PhysActual actual;
    atomic_flag noting; /* somebody writes `note` or `product` or `product` */
};

/* What is known of a column in all rows of the statement; from exact facts of segments. */
typedef struct ColInfo {
    const Table *table; /* text: values come from the dictionary of this table's column */
    uint32_t column;
    bool dict;
    bool nulls;      /* every value is NULL: nothing contradicts what is known of other rows */
    bool has_bounds; /* integers, dates, decimals up to 18 digits: min <= value <= max, NULLs aside */
    int64_t min, max;
} ColInfo;

struct PhysPlan {
    PhysNode *root;
    Cte **ctes; /* those it scans, in order of evaluation */
    PhysNode **cte_nodes;
    uint32_t nctes;
    ColInfo *info; /* by ColId */
    ColId ninfo;
    bool *cte_free;      /* by CTE: depends on outer columns or on the round of a recursion around it */
    char why[PHYS_NOTE]; /* why this engine */
    bool fast;           /* some sums are not exact: tcudb.precision = fast */
    bool writes;         /* INSERT, DELETE, UPDATE: rows counted, none returned */
};

/* Fills all[0..n-1] for the columns that the plan defines; its CTEs first. */
void phys_collect_info(ColInfo *all, ColId n, const Plan *plan);
/* What the columns' facts imply for an expression. */
ColInfo phys_expr_info(const ColInfo *all, ColId n, const Expr *e);

/* EXPLAIN's tree; after a run with analyze: rows, batches, time and bytes of each operator too. */
tcudb_status phys_print(const PhysPlan *phys, bool analyze, Buf *buf, Error *err) MUST_CHECK;
tcudb_status phys_print_json(const PhysPlan *phys, bool analyze, Buf *buf, Error *err) MUST_CHECK;

/* Milliseconds that the operator itself used, over all workers. */
double phys_own_ms(const PhysNode *node);

#endif
