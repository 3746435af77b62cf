/*
 * card_combine.h: combinations of values of several expressions, and joins by several equalities.
 */
#ifndef OPT_CARD_COMBINE_H
#define OPT_CARD_COMBINE_H

#include "opt/opt_int.h"

enum { COMBOS_MAX = 16, KEY_PAIRS_MAX = 8, KEY_PAIR_COLS = 8, JOIN_CONDS = 64 };

typedef struct ComboPart {
    const Plan *leaf; /* NULL: of no one leaf */
    uint32_t n;       /* expressions over it */
    double values;    /* product of the distinct values of the expressions over it */
    double kept;      /* share of the values that filters on these columns leave */
} ComboPart;

/* Zero-initialized: of no expressions. */
typedef struct Combos {
    ComboPart parts[COMBOS_MAX];
    uint32_t n;
    double others;
} Combos;

/* An expression over the plan's rows, its distinct values after the filters of scans on its columns. */
void combos_add(Combos *c, const Opt *opt, const Plan *plan, const Expr *e);
void combos_add_col(Combos *c, const Opt *opt, const Plan *plan, ColId col);
/* Combinations that so many rows of the plan have. */
double combos_count(const Combos *c, double rows);

/* Equalities between the same two leaves. */
typedef struct KeyPair {
    const Plan *leaf[2], *side[2]; /* a leaf is somewhere below its side of the join */
    ColId cols[2][KEY_PAIR_COLS];  /* in the leaves; 0: an expression */
    uint32_t n;
    double kept[2];     /* share of the values that filters on these columns leave */
    bool misfit[2];     /* a column of the side has fewer values than what it is compared to */
    double values[2];   /* product of the distinct values of either side */
    double independent; /* product of the larger ones of each equality */
    double most;        /* the largest */
} KeyPair;

/* Zero-initialized: of no equalities. */
typedef struct KeyPairs {
    KeyPair items[KEY_PAIRS_MAX];
    uint32_t n;
    double independent; /* of all equalities added */
    double most[2];     /* distinct values of a side's arguments are no more than that; 0: no limit */
} KeyPairs;

void key_pairs_add(KeyPairs *p, const Opt *opt, const Plan *const sides[2], const Expr *const args[2]);
/* How many times as many rows meet than if the equalities were independent and all values as frequent. */
double key_pairs_factor(const Opt *opt, const KeyPairs *p);

/* Share of the pairs of rows of a join's inputs that fulfil its conditions, as a product. */
typedef struct JoinShare {
    double keys; /* the equalities, all values being as frequent */
    double skew; /* and as they are */
    double rest;
} JoinShare;

JoinShare card_join_share(const Opt *opt, const Plan *join);
/* Of a contraction by one key, the cells of either side in so many groups, and their pairs; false: not known. */
bool card_contract_meeting(const Opt *opt, const Plan *node, const double groups[2], KeyMeeting *out);
/* The same of the keys of a contraction. */
double card_contract_share(const Opt *opt, const Plan *node);
/* Share of the rows of a side of a join that have a partner. */
double card_match_share(const Opt *opt, const Plan *join, uint32_t side);

#endif
