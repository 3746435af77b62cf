/*
 * contract_int.h: the two inputs of a contraction as coded rows, shared by op_contract.c and contract_input.c.
 */
#ifndef EXEC_TCU_CONTRACT_INT_H
#define EXEC_TCU_CONTRACT_INT_H

#include "exec/tcu/codes.h"
#include "exec/tcu/direct.h"
#include "tensor/product.h"

typedef struct RunList RunList;

/* One side: groups, keys and values evaluated over its input, and then codes and integers in runs. */
typedef struct Input {
    Stage stage;
    Exec *x;
    Ev *exprs; /* groups, keys, values */
    Expr **list;
    PlanCol *cols;
    uint32_t ngroups, nkeys, nvalues;
    bool direct; /* coded while the rows arrive; else kept as Rows and coded afterwards */
    DirectTuple groups, keys;
    RunList *lists; /* direct: one a worker */
    Rows *rows;     /* not direct */
    GroupCodes coded;
    uint32_t *code_of; /* direct: the code of each group; NULL: itself */
    uint32_t ngroup_codes;
    uint64_t n;
    uint32_t nruns;
    SideRun *runs;
} Input;

/* Evaluates and codes both inputs of the node. *keys: key codes are below it. */
tcudb_status inputs_run(Exec *x, PhysNode *node, Input inputs[2], uint32_t *keys, Error *err) MUST_CHECK;
/* The group columns of n groups of a side; cols has room for its groups. */
tcudb_status input_group_columns(const Input *in, const uint32_t *groups, uint32_t n, Arena *arena, Vector *cols,
                                 Error *err) MUST_CHECK;

#endif
