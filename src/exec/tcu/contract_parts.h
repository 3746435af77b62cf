/*
 * contract_parts.h: the state of a contraction by parts: its run (contract_parts.c) and its cuts (contract_cuts.c).
 */
#ifndef EXEC_TCU_CONTRACT_PARTS_H
#define EXEC_TCU_CONTRACT_PARTS_H

#include "exec/tcu/contract_int.h"

enum { KEY_RANGES = 4096 }; /* that rows are counted by */

/* Codes [from, to). */
typedef struct Range {
    uint32_t from, to;
} Range;

typedef struct Part {
    Range groups[2], keys;
    uint32_t slice[2], slices[2];
} Part;

/* Where the parts are cut. */
typedef struct Cuts {
    uint32_t *groups[2], ngroups[2]; /* a side's blocks: from groups[s][i] to groups[s][i + 1] */
    uint32_t *keys, nkeys;
    uint32_t nslices[2];
} Cuts;

typedef struct ContractParts ContractParts;

/* One side's rows, as they come. */
typedef struct Feed {
    Stage stage; /* first */
    ContractParts *p;
    Input *in;
    uint32_t side;
    uint32_t base; /* value columns before they are split */
    /* a first pass: */
    pthread_mutex_t lock;
    uint64_t rows;
    size_t reading; /* bytes that running the input takes */
    double weights[PRODUCT_PLAN];
    uint32_t *group_rows;          /* by code, until the groups are numbered */
    uint64_t key_rows[KEY_RANGES]; /* of key_width keys each */
    uint64_t key_width;
    uint32_t groups;
    uint32_t *number;            /* of a code; unused ones: any */
    uint32_t *code_of, *rows_of; /* by number */
    /* a part: */
    Exec *x;
    CellTable *tables;
    RunList *lists;
} Feed;

struct ContractParts {
    Exec *x;
    PhysNode *node;
    Stage *down;
    Input inputs[2];
    Feed feeds[2];
    Cuts cuts;
    Sum *lists;
    ProductSpec spec;
    Part *part;       /* at hand */
    uint64_t *counts; /* of a block of several parts: by pair of groups */
    int128 *sums[PRODUCT_MAX];
    uint32_t parts, blocks;
    uint64_t pairs;
    const char *how;
};

/* From the survey and what memory is left. 53200: no parts will do. */
tcudb_status cuts_make(ContractParts *p, Error *err) MUST_CHECK;

#endif
