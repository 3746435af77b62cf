/*
 * card_combine.c: how many combinations of values several expressions have together.
 *
 * Expressions over one table (a leaf of the plan) have at most a combination a row, however many values each has;
 * those over different leaves are taken to be independent. So (partkey, suppkey) of a million order lines has a
 * million values at most, not 200,000 x 10,000.
 *
 * A composite key, several equalities between the same two leaves: a pair of rows meets with 1 / combinations.
 *     one side is unique there (a declared key, groups)    its rows: each row of the other side finds its partner
 *     sides have fewer rows than combinations, and no      the combinations of the smaller such side: columns that meet
 *     column has fewer values than what it is compared to  together belong together
 *     only one side has so few rows                        between that and all combinations (geometric mean)
 *     else                                                 all combinations: the columns are independent
 * The second is right for foreign keys that nobody declared and for sides joined with themselves, and too many rows for
 * columns that only seem to belong together; multiplying the equalities would be a thousand times too few for the
 * former.
 *
 * Frequent keys: where both sides of a join by one column repeat values, their frequencies say how many pairs meet
 * (catalog/key_counts.c), as much more than 1 / values as they are uneven.
 */
#include "opt/card_combine.h"

#include <assert.h>
#include <math.h>

static const double SCARCE = 0.5; /* of the combinations: with fewer there, rows are what limits them */
static const double FITS = 1.2;   /* distinct counts are estimates */

/* The node below that defines the column, which gets its name there; NULL: none does. */
static const Plan *leaf_of_col(const Plan *plan, ColId *col)
{
    while (plan_find_col(plan, *col) != NULL) {
        const Plan *below = NULL;
        if (plan->kind == PLAN_PROJECT) {
            for (uint32_t i = 0; i < plan->ncols; i++) {
                const NamedExpr *e = &plan->project.exprs[i];
                if (e->col.id != *col || e->expr->kind != EXPR_COL) continue;
                *col = e->expr->col;
                below = plan->inputs[0];
                break;
            }
        } else if (plan_passes(plan) || plan->kind == PLAN_WINDOW) {
            for (uint32_t i = 0; i < plan->ninputs && below == NULL; i++)
                if (plan_find_col(plan->inputs[i], *col) != NULL) below = plan->inputs[i];
        }
        if (below == NULL) return plan;
        plan = below;
    }
    return NULL;
}

typedef struct Leaf {
    const Plan *plan, *leaf;
    ColId col;
    bool one;
} Leaf;

static bool meet_leaf(void *ctx, const Expr *e)
{
    Leaf *l = ctx;
    if (e->kind != EXPR_COL) return true;
    ColId col = e->col;
    const Plan *leaf = leaf_of_col(l->plan, &col);
    l->one &= leaf != NULL && (l->leaf == NULL || l->leaf == leaf);
    l->leaf = leaf;
    l->col = col;
    return true;
}

/* NULL: columns of several leaves, or of none. *col: of a bare column. */
static const Plan *leaf_of(const Plan *plan, const Expr *e, ColId *col)
{
    Leaf l = {.plan = plan, .one = true};
    (void)expr_walk(e, meet_leaf, &l);
    *col = e->kind == EXPR_COL ? l.col : 0;
    return l.one ? l.leaf : NULL;
}

static double base_rows(const Plan *leaf)
{
    return fmax(1, leaf->kind == PLAN_SCAN ? (double)table_rows(leaf->scan.table) : leaf->rows);
}

static void add_values(Combos *c, const Plan *leaf, double values, double kept)
{
    uint32_t i = 0;
    while (i < c->n && (leaf == NULL || c->parts[i].leaf != leaf)) i++;
    if (i == COMBOS_MAX) {
        c->others = fmax(c->others, 1) * values;
        return;
    }
    if (i == c->n) c->parts[c->n++] = (ComboPart){.leaf = leaf, .values = 1, .kept = 1};
    c->parts[i].values *= values;
    c->parts[i].kept *= kept;
    c->parts[i].n++;
}

void combos_add(Combos *c, const Opt *opt, const Plan *plan, const Expr *e)
{
    ColId col;
    const Plan *leaf = leaf_of(plan, e, &col);
    double held = card_held(opt, plan, e);
    add_values(c, leaf, held, fmin(1, held / card_distinct(opt, e, INFINITY)));
}

void combos_add_col(Combos *c, const Opt *opt, const Plan *plan, ColId col)
{
    double values = card_fact(opt, col)->distinct;
    const Plan *leaf = leaf_of_col(plan, &col);
    add_values(c, leaf, values > 0 ? values : plan->rows, 1);
}

/* Of d values that all rows have, those that n of the rows still have (Yao). */
static double still_there(double d, double all, double n)
{
    if (n >= all || d < 1) return fmax(1, d);
    return fmax(1, -expm1(all / fmin(d, all) * log1p(-n / all)) * d);
}

static double part_count(const ComboPart *part, double rows)
{
    if (part->leaf == NULL || part->leaf->rows < 0) return part->values;
    double all = fmax(1, base_rows(part->leaf) * part->kept);
    double there = part->n > 1 ? card_combined(part->values, all) : fmin(part->values, all);
    return still_there(there, all, fmin(rows, part->leaf->rows));
}

double combos_count(const Combos *c, double rows)
{
    double count = fmax(c->others, 1);
    rows = fmax(1, rows);
    bool one = c->n == 1 && c->others == 0 && c->parts[0].leaf != NULL;
    for (uint32_t i = 0; i < c->n; i++) count *= part_count(&c->parts[i], one ? rows : INFINITY);
    return one ? fmin(count, rows) : card_combined(count, rows);
}

/* ---- composite keys ------------------------------------------------------------------------------ */

static void add_to_pair(KeyPair *pair, const Opt *opt, const Expr *const args[2], const double d[2], const ColId col[2])
{
    for (uint32_t s = 0; s < 2; s++) {
        pair->values[s] *= d[s];
        pair->kept[s] *= fmin(1, d[s] / card_distinct(opt, args[s], INFINITY));
        pair->misfit[s] |= d[1 - s] > FITS * d[s];
        if (pair->n < KEY_PAIR_COLS) pair->cols[s][pair->n] = col[s];
    }
    pair->most = fmax(pair->most, fmax(d[0], d[1]));
    pair->independent *= fmax(d[0], d[1]);
    pair->n++;
}

void key_pairs_add(KeyPairs *p, const Opt *opt, const Plan *const sides[2], const Expr *const args[2])
{
    const Plan *leaf[2];
    ColId col[2];
    double d[2];
    for (uint32_t s = 0; s < 2; s++) {
        leaf[s] = leaf_of(sides[s], args[s], &col[s]);
        d[s] = fmin(card_held(opt, sides[s], args[s]), p->most[s] > 0 ? p->most[s] : INFINITY);
    }
    p->independent = fmax(1, p->independent) * fmax(d[0], d[1]);
    uint32_t i = 0;
    while (i < p->n && (p->items[i].leaf[0] != leaf[0] || p->items[i].leaf[1] != leaf[1])) i++;
    if (leaf[0] == NULL || leaf[1] == NULL || i == KEY_PAIRS_MAX) return;
    if (i == p->n)
        p->items[p->n++] = (KeyPair){.leaf = {leaf[0], leaf[1]},
                                     .side = {sides[0], sides[1]},
                                     .most = 1,
                                     .independent = 1,
                                     .values = {1, 1},
                                     .kept = {1, 1}};
    add_to_pair(&p->items[i], opt, args, d, col);
}

static bool has_col(const ColId *cols, uint32_t n, ColId col)
{
    for (uint32_t i = 0; i < n; i++)
        if (cols[i] == col) return true;
    return false;
}

static bool scan_has_key(const Plan *scan, const KeyDef *key, const ColId *cols, uint32_t n)
{
    for (uint32_t k = 0; k < key->ncols; k++) {
        bool found = false;
        for (uint32_t i = 0; i < scan->ncols && !found; i++)
            found = scan->scan.columns[i] == key->cols[k] && has_col(cols, n, scan->cols[i].id);
        if (!found) return false;
    }
    return key->ncols > 0;
}

/* The columns identify rows: a declared key, or the groups of an aggregate. */
static bool is_unique(const Plan *leaf, const ColId *cols, uint32_t n)
{
    if (n > KEY_PAIR_COLS) n = KEY_PAIR_COLS;
    if (leaf->kind == PLAN_AGGREGATE) {
        for (uint32_t i = 0; i < leaf->agg.ngroups; i++)
            if (!has_col(cols, n, leaf->agg.groups[i].col.id)) return false;
        return true;
    }
    if (leaf->kind != PLAN_SCAN) return false;
    const TableDef *def = table_def(leaf->scan.table);
    for (uint32_t k = 0; k < def->nkeys; k++)
        if (scan_has_key(leaf, &def->keys[k], cols, n)) return true;
    return false;
}

/* Combinations that a side holds, and whether its rows are what limits them; rows that the filters on the key's own
 * columns leave: only these say something of the values. */
static double side_holds(const KeyPair *p, uint32_t side, double *rows, bool *scarce)
{
    const Plan *leaf = p->leaf[side];
    *rows = leaf->kind == PLAN_SCAN ? fmax(1, base_rows(leaf) * p->kept[side]) : base_rows(leaf);
    double held = card_combined(p->values[side], *rows);
    *scarce = held < SCARCE * p->values[side];
    return held;
}

static double pair_domain(const KeyPair *p)
{
    double rows[2], held[2], unique = 0, least = INFINITY;
    bool scarce[2];
    for (uint32_t s = 0; s < 2; s++) {
        held[s] = side_holds(p, s, &rows[s], &scarce[s]);
        if (is_unique(p->leaf[s], p->cols[s], p->n)) unique = fmax(unique, rows[s]);
        if (scarce[s] && !p->misfit[s]) least = fmin(least, held[s]);
    }
    if (unique > 0) return unique;
    if (least == INFINITY) return p->independent;
    return scarce[0] && scarce[1] ? least : sqrt(least) * sqrt(p->independent);
}

static double composite_factor(const KeyPair *p)
{
    double domain = fmin(fmax(pair_domain(p), p->most), p->independent);
    assert(domain >= 1);
    return p->independent / domain;
}

/* ---- frequent keys ------------------------------------------------------------------------------- */

/* Groups of a key and other columns: as many rows of a key as there are combinations of the others. */
static bool grouped_side(const Opt *opt, const Plan *agg, ColId key, KeySide *out, ColId *col)
{
    double others = 1;
    bool found = false;
    for (uint32_t g = 0; g < agg->agg.ngroups; g++) {
        const NamedExpr *group = &agg->agg.groups[g];
        bool is_key = group->col.id == key && group->expr->kind == EXPR_COL;
        if (is_key) *col = group->expr->col;
        if (!is_key) others *= card_held(opt, agg->inputs[0], group->expr);
        found |= is_key;
    }
    const Plan *leaf = found ? leaf_of_col(agg->inputs[0], col) : NULL;
    if (leaf == NULL || leaf->kind != PLAN_SCAN || agg->agg.ngroups == 1) return false;
    out->share = fmin(1, fmax(1, agg->inputs[0]->rows) / fmax(1, (double)table_rows(leaf->scan.table)));
    out->groups = fmax(1, others);
    return true;
}

/* A side whose values repeat, all of them being there: what counting it says is true of the join. */
static bool repeats(const Opt *opt, const KeyPair *p, uint32_t side, KeySide *out)
{
    static const double ROWS = 1000, EACH = 1.5;
    const Plan *leaf = p->leaf[side];
    ColId col = p->cols[side][0];
    *out = (KeySide){.share = 1, .groups = INFINITY};
    if (p->n != 1 || p->kept[side] < 1) return false;
    if (leaf->kind == PLAN_AGGREGATE ? !grouped_side(opt, leaf, col, out, &col) : leaf->kind != PLAN_SCAN) return false;
    const ColFact *fact = card_fact(opt, col);
    if (fact->table == NULL || fact->column == ROWID_COLUMN) return false;
    double rows = (double)table_rows(fact->table);
    out->table = fact->table;
    out->col = fact->column;
    return rows >= ROWS && fact->distinct >= 1 && rows >= EACH * fact->distinct;
}

static bool counted_meeting(const Opt *opt, const KeySide sides[2], KeyMeeting *out)
{
    Error ignored; /* a plan can be made without; a cancelled statement is seen by others */
    bool known = false;
    return key_meeting(opt->env->keys, sides, opt->arena, opt->env->cancel, out, &known, &ignored) == TCUDB_OK && known;
}

/* Frequent keys meet more often than all keys do on the average. */
static double skew_factor(const Opt *opt, const KeyPair *p)
{
    static const double LEAST = 0.01;
    KeySide sides[2];
    KeyMeeting m;
    if (!repeats(opt, p, 0, &sides[0]) || !repeats(opt, p, 1, &sides[1])) return 1;
    if (!counted_meeting(opt, sides, &m) || !(m.cells[0] > 0) || !(m.cells[1] > 0)) return 1;
    return fmax(LEAST, m.pairs / (m.cells[0] * m.cells[1]) * p->independent);
}

/* What the joins below say of the key's table: filters of a third one, by an equality of other columns. */
static double carried_factor(const Opt *opt, const Plan *plan, const CardKey *key)
{
    double factor = 1;
    if (plan->kind != PLAN_JOIN && !plan_passes(plan)) return 1;
    for (uint32_t i = 0; plan->kind == PLAN_JOIN && plan->join.kind == JOIN_INNER && i < plan->join.nconds; i++) {
        const Expr *e = plan->join.conds[i];
        if (!expr_is_equality(e) || e->args[0]->kind != EXPR_COL || e->args[1]->kind != EXPR_COL) continue;
        for (uint32_t k = 0; k < 2; k++) {
            ColId to = e->args[k]->col;
            CardKey third = {.col = e->args[1 - k]->col};
            if (to == key->col || plan_find_col(key->scan, to) == NULL) continue;
            third.scan = leaf_of_col(plan->inputs[plan_find_col(plan->inputs[1], third.col) != NULL], &third.col);
            if (third.scan == NULL || third.scan->kind != PLAN_SCAN || third.scan == key->scan) continue;
            factor = card_reach_through(opt, key, &third, to);
            if (factor != 1) return factor;
        }
    }
    for (uint32_t i = 0; i < plan->ninputs && factor == 1; i++) factor = carried_factor(opt, plan->inputs[i], key);
    return factor;
}

/* Filters of one side where the other side's values are; filters on the key itself are in its values already. */
static double reach_factor(const Opt *opt, const KeyPair *p)
{
    double factor = 1;
    for (uint32_t s = 0; s < 2; s++) {
        if (p->leaf[s]->kind != PLAN_SCAN || p->cols[0][0] == 0 || p->cols[1][0] == 0) continue;
        if (p->kept[0] < 1 || p->kept[1] < 1) continue;
        CardKey key = {p->leaf[s], p->cols[s][0], card_fact(opt, p->cols[1 - s][0])};
        factor *= card_reach(opt, key.scan, key.col, key.reach) * carried_factor(opt, p->side[s], &key);
    }
    return factor;
}

static double composite_factor_of(const Opt *opt, const KeyPairs *p)
{
    double factor = 1;
    for (uint32_t i = 0; i < p->n; i++)
        factor *= p->items[i].n > 1 ? composite_factor(&p->items[i]) : reach_factor(opt, &p->items[i]);
    return factor;
}

static double skew_factor_of(const Opt *opt, const KeyPairs *p)
{
    double factor = 1;
    for (uint32_t i = 0; i < p->n; i++) factor *= p->items[i].n == 1 ? skew_factor(opt, &p->items[i]) : 1;
    return factor;
}

double key_pairs_factor(const Opt *opt, const KeyPairs *p)
{
    return composite_factor_of(opt, p) * skew_factor_of(opt, p);
}

static double key_pairs_share(const Opt *opt, const KeyPairs *p)
{
    return fmin(1, key_pairs_factor(opt, p) / fmax(1, p->independent));
}

bool card_contract_meeting(const Opt *opt, const Plan *node, const double groups[2], KeyMeeting *out)
{
    KeyPairs pairs = {.n = 0};
    KeySide sides[2];
    if (node->contract.nkeys != 1) return false;
    const Expr *args[2] = {node->contract.keys[0][0], node->contract.keys[1][0]};
    key_pairs_add(&pairs, opt, (const Plan *const *)node->inputs, args);
    if (pairs.n != 1) return false;
    for (uint32_t s = 0; s < 2; s++) {
        if (!repeats(opt, &pairs.items[0], s, &sides[s])) return false;
        sides[s].groups = groups[s];
        sides[s].share = fmin(1, node->inputs[s]->rows / (double)table_rows(sides[s].table));
    }
    return counted_meeting(opt, sides, out);
}

/* An equality whose sides are of different inputs, in the order of the inputs. */
static bool spans(const Plan *const sides[2], const Expr *e, const Expr *args[2])
{
    if (!expr_is_equality(e)) return false;
    for (uint32_t k = 0; k < 2; k++) {
        args[0] = e->args[k];
        args[1] = e->args[1 - k];
        if (expr_within(args[0], sides[0]) && expr_within(args[1], sides[1])) return true;
    }
    return false;
}

JoinShare card_join_share(const Opt *opt, const Plan *join)
{
    const Plan *const sides[2] = {join->inputs[0], join->inputs[1]};
    Expr *rest[JOIN_CONDS] = {NULL};
    uint32_t nrest = 0, n = join->join.nconds;
    KeyPairs pairs = {.n = 0};
    if (n > JOIN_CONDS)
        return (JoinShare){.keys = 1, .skew = 1, .rest = card_selectivity_all(opt, join->join.conds, n)};
    for (uint32_t i = 0; i < n; i++) {
        const Expr *args[2];
        if (spans(sides, join->join.conds[i], args))
            key_pairs_add(&pairs, opt, sides, args);
        else
            rest[nrest++] = join->join.conds[i];
    }
    JoinShare share = {.rest = card_selectivity_all(opt, rest, nrest)};
    share.keys = fmin(1, composite_factor_of(opt, &pairs) / fmax(1, pairs.independent));
    share.skew = fmin(1 / share.keys, skew_factor_of(opt, &pairs));
    return share;
}

double card_contract_share(const Opt *opt, const Plan *node)
{
    KeyPairs pairs = {.n = 0};
    for (uint32_t i = 0; i < node->contract.nkeys; i++) {
        const Expr *args[2] = {node->contract.keys[0][i], node->contract.keys[1][i]};
        key_pairs_add(&pairs, opt, (const Plan *const *)node->inputs, args);
    }
    return key_pairs_share(opt, &pairs);
}

/* Combinations of the keys that the rows of sides[1] hold. */
static double keys_held(const Opt *opt, const Plan *const sides[2], Expr *const *conds, uint32_t n)
{
    Combos c = {.n = 0};
    for (uint32_t i = 0; i < n; i++) {
        const Expr *args[2];
        if (spans(sides, conds[i], args)) combos_add(&c, opt, sides[1], args[1]);
    }
    return combos_count(&c, sides[1]->rows);
}

double card_match_share(const Opt *opt, const Plan *join, uint32_t side)
{
    const Plan *const sides[2] = {join->inputs[side], join->inputs[1 - side]};
    JoinShare share = card_join_share(opt, join);
    double held = keys_held(opt, sides, join->join.conds, join->join.nconds);
    double partners = fmax(1, sides[1]->rows / held);
    return fmin(1, share.keys * held) * -expm1(partners * log1p(-share.rest));
}
