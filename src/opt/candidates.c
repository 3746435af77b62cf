/*
 * candidates.c: prices every candidate and chooses.
 *
 * The ordinary plan is priced on a copy that has gone through what would come after: the order of its joins, and for
 * the vector form the sums below them. A contraction's sides likewise. Rows are estimates; the operator prices its
 * forms once more with the exact histograms of the keys, so a contraction's form here says what is expected.
 *
 * What ran here before is known better than by a price: of the ways that a node of this class has taken, the fastest;
 * another one is tried where its price is less than half of that, once the known one ran twice (the first run may have
 * met cold data). So runs of one query settle: every way is tried at most once in vain, and the best of them stays.
 * The way that prices prefer, if it has not run, was kept from it by a setting, and waits for nothing.
 */
#include "opt/candidates.h"
#include "opt/card_combine.h"
#include "opt/cost_contract.h"
#include "opt/node_class.h"
#include "plan/same_sides.h"

#include <math.h>

static const double TRY_GAIN = 0.5, SWITCH_GAIN = 0.8,
                    TIE = 0.97; /* a contraction that promises less than that is none */

tcudb_status candidates_new(Opt *opt, Candidates **out, Error *err)
{
    *out = ARENA_NEW(opt->arena, Candidates, err);
    return *out == NULL ? TCUDB_NOMEM : TCUDB_OK;
}

void candidates_add(Opt *opt, Candidates *list, CandidateForm form, Price price, const char *why)
{
    if (list->n == CANDIDATES_MAX) return;
    double factor = why != NULL ? 1 : corrections_factor(opt->env->corrections, form, price_total(price));
    price.move *= factor;
    price.build *= factor;
    price.multiply *= factor;
    price.emit *= factor;
    list->items[list->n++] = (Candidate){.form = form, .engine = "cpu", .price = price, .factor = factor, .why = why};
}

static CostEnv cost_env(const Opt *opt)
{
    return (CostEnv){.rates = opt->env->rates, .workers = opt->env->workers};
}

static tcudb_status settle(Opt *opt, Plan **plan, Error *err)
{
    TRY(rule_join_order(opt, plan, err));
    TRY(card_collect(opt, *plan, err));
    card_rows(opt, *plan, false);
    card_domains(opt, *plan);
    return TCUDB_OK;
}

static tcudb_status price_ordinary(Opt *opt, Candidates *list, const Plan *plan, Error *err)
{
    Plan *copy;
    CostEnv env = cost_env(opt);
    TRY(plan_copy(opt->arena, plan, &opt->env->next_col, &copy, err));
    copy->candidates = NULL;
    TRY(settle(opt, &copy, err));
    candidates_add(opt, list, CANDIDATE_PLAIN, cost_tree(&env, copy), NULL);
    bool done = false;
    TRY(eager_rewrite(opt, &copy, &done, err));
    if (done) card_domains(opt, copy);
    bool off = opt->env->settings->eager == EAGER_OFF;
    candidates_add(opt, list, CANDIDATE_VECTOR, done ? cost_tree(&env, copy) : (Price){0},
                   off    ? "tcudb.eager_aggregation is off"
                   : done ? NULL
                          : "no side has rows that could be summed before the join");
    return TCUDB_OK;
}

/* Prices on copies: what is tried there is no change of the plan. */
static tcudb_status pricing(Opt *opt, Candidates *list, const Plan *plan,
                            tcudb_status (*price)(Opt *, Candidates *, const Plan *, Error *), Error *err)
{
    bool changed = opt->changed, before = opt->pricing;
    opt->pricing = true;
    tcudb_status status = price(opt, list, plan, err);
    opt->pricing = before;
    opt->changed = changed;
    return status;
}

tcudb_status candidates_ordinary(Opt *opt, Candidates *list, const Plan *plan, Error *err)
{
    list->node = node_class(plan);
    return pricing(opt, list, plan, price_ordinary, err);
}

/* ---- contractions --------------------------------------------------------------------------------- */

static double key_count(const Opt *opt, const Plan *node, uint32_t side, double rows)
{
    Combos keys = {.n = 0};
    for (uint32_t i = 0; i < node->contract.nkeys; i++)
        combos_add(&keys, opt, node->inputs[side], node->contract.keys[side][i]);
    return combos_count(&keys, rows);
}

static double group_count(const Opt *opt, const Plan *node, uint32_t side, double rows)
{
    uint32_t first = side == 0 ? 0 : node->contract.nleft;
    uint32_t last = side == 0 ? node->contract.nleft : node->contract.ngroups;
    Combos groups = {.n = 0};
    for (uint32_t g = first; g < last; g++) combos_add(&groups, opt, node->inputs[side], node->contract.groups[g].expr);
    return combos_count(&groups, rows);
}

static uint32_t limbs_of(double low, double high)
{
    double bits = high > low ? ceil(log2(high - low + 1)) : 1;
    return bits <= 8 ? 1 : (uint32_t)ceil(bits / 8);
}

/* Limbs of a value column's cells: each the sum of so many rows. ONES: the counts. */
static uint32_t cell_limbs(const Plan *node, uint32_t side, uint32_t value, double rows_a_cell, bool *is_signed)
{
    Range range = {.min = 0, .max = 1};
    bool known = value == CONTRACT_ONES || expr_range(node->inputs[side], node->contract.values[side][value], &range);
    double low = known ? (double)range.min : -0x1p31, high = known ? (double)range.max : 0x1p31;
    double grown = rows_a_cell < 1.05 ? 1 : rows_a_cell * 2; /* the fullest cell */
    *is_signed = low < 0;
    return limbs_of(fmin(0, low) * grown, fmax(0, high) * grown);
}

static void add_product(const Plan *node, const ContractTerm *term, ProductShape *s, bool *counts)
{
    double each[2] = {s->rows[0] / s->cells[0], s->rows[1] / s->cells[1]};
    bool is_signed;
    if (term->left == CONTRACT_ONES && term->right == CONTRACT_ONES) {
        *counts = true;
        return;
    }
    s->products++;
    s->limb_pairs += (double)cell_limbs(node, 0, term->left, each[0], &is_signed) *
                     cell_limbs(node, 1, term->right, each[1], &is_signed);
}

/* Products of the outs, each once. */
static void add_products(const Plan *node, ProductShape *s, bool *counts)
{
    ContractTerm seen[32];
    uint32_t n = 0;
    for (uint32_t o = 0; o < node->contract.nouts; o++) {
        const ContractOut *out = &node->contract.outs[o];
        for (uint32_t t = 0; t < out->nterms + out->nullable; t++) {
            ContractTerm term = t < out->nterms ? out->terms[t] : out->nonnull;
            bool known = false;
            for (uint32_t k = 0; k < n; k++) known |= seen[k].left == term.left && seen[k].right == term.right;
            if (known) continue;
            if (n < 32) seen[n++] = term;
            add_product(node, &term, s, counts);
        }
    }
}

static ProductShape estimate_shape(const Opt *opt, const Plan *node)
{
    ProductShape s = {.products = 0};
    bool counts = false, is_signed;
    for (uint32_t side = 0; side < 2; side++) {
        double rows = s.rows[side] = node->inputs[side]->rows;
        double keys = key_count(opt, node, side, rows);
        s.groups[side] = group_count(opt, node, side, rows);
        s.cells[side] = card_combined(s.groups[side] * keys, rows);
        s.keys = fmax(s.keys, keys);
        s.values[side] = node->contract.nvalues[side];
    }
    s.full = product_fills(s.rows[0], s.groups[0], s.keys) && product_fills(s.rows[1], s.groups[1], s.keys);
    for (uint32_t side = 0; side < 2 && s.full; side++) s.cells[side] = s.rows[side]; /* or they would be fewer */
    s.pairs = fmax(1, s.cells[0] * s.cells[1] * card_contract_share(opt, node));
    KeyMeeting meeting;
    if (!s.full && card_contract_meeting(opt, node, s.groups, &meeting)) {
        for (uint32_t side = 0; side < 2; side++) s.cells[side] = fmax(1, meeting.cells[side]);
        s.pairs = fmax(1, meeting.pairs);
    }
    s.out = card_drawn(s.groups[0] * s.groups[1], s.pairs);
    add_products(node, &s, &counts);
    double each[2] = {s.rows[0] / s.cells[0], s.rows[1] / s.cells[1]};
    bool unique = s.rows[0] - s.cells[0] < 1 && s.rows[1] - s.cells[1] < 1;
    s.bits = !counts || unique;
    if (!s.bits)
        s.limb_pairs += (double)cell_limbs(node, 0, CONTRACT_ONES, each[0], &is_signed) *
                        cell_limbs(node, 1, CONTRACT_ONES, each[1], &is_signed);
    for (uint32_t side = 0; side < 2; side++)
        for (uint32_t v = 0; v < node->contract.nvalues[side]; v++) {
            uint32_t limbs = cell_limbs(node, side, v, each[side], &is_signed);
            s.shifted[side] += is_signed ? limbs : 0;
        }
    return s;
}

/* Every product is of a column by itself, and the sides are one. */
static tcudb_status find_symmetry(Opt *opt, const Plan *node, ProductShape *s, Error *err)
{
    TRY(plan_sides_are_same(opt->arena, node, &s->symmetric, err));
    for (uint32_t o = 0; o < node->contract.nouts; o++)
        for (uint32_t t = 0; t < node->contract.outs[o].nterms; t++)
            s->symmetric &= node->contract.outs[o].terms[t].left == node->contract.outs[o].terms[t].right;
    s->symmetric &= !node->contract.fold;
    s->full &= !s->symmetric;
    return TCUDB_OK;
}

static tcudb_status settle_sides(Opt *opt, const Plan *node, Plan **out, Error *err)
{
    TRY(plan_copy(opt->arena, node, &opt->env->next_col, out, err));
    (*out)->candidates = NULL;
    for (uint32_t side = 0; side < 2; side++) TRY(settle(opt, &(*out)->inputs[side], err));
    return card_collect(opt, *out, err);
}

/* The largest value of a side, times the rows of a cell; 1 without values. */
static double largest(const Plan *node, uint32_t side, double rows_a_cell)
{
    double most = 1;
    for (uint32_t v = 0; v < node->contract.nvalues[side]; v++) {
        Range range;
        if (!expr_range(node->inputs[side], node->contract.values[side][v], &range)) return INFINITY;
        most = fmax(most, fmax(fabs((double)range.min), fabs((double)range.max)));
    }
    return most * rows_a_cell;
}

/* Doubles in the place of the limbs, where every sum stays below 2^53. */
static void add_doubles(Opt *opt, Candidates *list, const Plan *node, const CostEnv *env, ProductShape s, bool direct,
                        double heavy)
{
    const Rates *r = opt->env->rates;
    KernelIsa isa = kernels_best_isa();
    double bound = largest(node, 0, s.rows[0] / s.cells[0]) * largest(node, 1, s.rows[1] / s.cells[1]);
    bound *= s.cells[0] / s.groups[0];
    bool counts = s.products == 0;
    s.limb_pairs = s.products * r->mac_double[isa] / r->mac[isa];
    candidates_add(opt, list, CANDIDATE_DOUBLES, cost_contract(env, node, &s, direct, heavy, 0),
                   counts            ? "it adds no values"
                   : bound >= 0x1p53 ? "sums may need more than 53 bits"
                                     : NULL);
}

static tcudb_status price_contract(Opt *opt, Candidates *list, const Plan *node, Error *err)
{
    Plan *copy;
    CostEnv env = cost_env(opt);
    TRY(settle_sides(opt, node, &copy, err));
    ProductShape s = estimate_shape(opt, copy);
    TRY(find_symmetry(opt, copy, &s, err));
    double heavy = s.keys;
    bool direct = contract_codes_directly(opt, copy, &s.keys), counts = s.products == 0;
    Price sparse = cost_contract(&env, copy, &s, direct, 0, s.pairs);
    Price dense = cost_contract(&env, copy, &s, direct, heavy, 0);
    Price split = price_total(sparse) < price_total(dense) ? sparse : dense;
    split.build += s.keys * opt->env->rates->key * 1e-9;
    const char *bits = !counts ? "it adds values, bits only count" : "equal rows meet more than once, bits count once";
    candidates_add(opt, list, CANDIDATE_SPARSE, sparse, NULL);
    candidates_add(opt, list, CANDIDATE_DENSE, dense, counts && s.bits ? "pairs that only count are bits" : NULL);
    candidates_add(opt, list, CANDIDATE_BITS, dense, counts && s.bits ? NULL : bits);
    candidates_add(opt, list, CANDIDATE_SPLIT, split, NULL);
    add_doubles(opt, list, copy, &env, s, direct, heavy);
    return TCUDB_OK;
}

tcudb_status candidates_contract(Opt *opt, Candidates *list, const Plan *contract, Error *err)
{
    return pricing(opt, list, contract, price_contract, err);
}

/* ---- choice ---------------------------------------------------------------------------------------- */

/* What the settings leave: a form of contraction, contractions at all, sums before the join. */
static bool allowed(const Settings *settings, const Candidate *c)
{
    bool contraction = c->form >= CANDIDATE_SPARSE;
    if (settings->product_form != 0) return (int64_t)c->form == CANDIDATE_SPARSE + settings->product_form - 1;
    if (settings->engine == ENGINE_TCU && settings->contraction) return contraction;
    if (settings->eager == EAGER_ON) return c->form == CANDIDATE_VECTOR;
    return true;
}

static uint32_t cheapest(const Candidates *list, const Settings *settings, bool corrected)
{
    double best = INFINITY;
    uint32_t at = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const Candidate *c = &list->items[i];
        double cost = price_total(c->price) / (corrected ? 1 : c->factor);
        bool other_kind = i > 0 && c->form >= CANDIDATE_SPARSE && list->items[at].form < CANDIDATE_SPARSE;
        if (c->why != NULL || (settings != NULL && !allowed(settings, c))) continue;
        if (cost >= best * (other_kind ? TIE : 1)) continue;
        best = cost;
        at = i;
    }
    return at;
}

static bool any_allowed(const Candidates *list, const Settings *settings)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].why == NULL && allowed(settings, &list->items[i])) return true;
    return false;
}

/* By prices alone. */
static uint32_t cheapest_of_all(const Candidates *list, const Settings *limits)
{
    uint32_t plain = cheapest(list, limits, false), corrected = cheapest(list, limits, true);
    double gain = price_total(list->items[corrected].price) / price_total(list->items[plain].price);
    return gain < SWITCH_GAIN ? corrected : plain;
}

/* The cheapest candidate of each way; UINT32_MAX: none. */
static void cheapest_of_ways(const Candidates *list, const Settings *limits, uint32_t of[NODE_WAYS])
{
    for (uint32_t w = 0; w < NODE_WAYS; w++) of[w] = UINT32_MAX;
    for (uint32_t i = 0; i < list->n; i++) {
        const Candidate *c = &list->items[i];
        uint32_t *best = &of[correction_way(c->form)];
        if (c->why != NULL || (limits != NULL && !allowed(limits, c))) continue;
        if (*best == UINT32_MAX || price_total(c->price) < price_total(list->items[*best].price)) *best = i;
    }
}

static double price_or_inf(const Candidates *list, uint32_t i)
{
    return i == UINT32_MAX ? INFINITY : price_total(list->items[i].price);
}

/* What the cheapest candidate of a way takes, from earlier runs of the way; INFINITY: none of these. */
static double known_seconds(Candidates *list, const NodeRuns *runs, NodeWay way, uint32_t i)
{
    if (i == UINT32_MAX || runs->runs[way] == 0) return INFINITY;
    Candidate *c = &list->items[i];
    c->before = price_total(c->price) / c->factor * runs->ratio[way];
    return c->before;
}

/* By what ran before, where something did that may run now; at: by prices. */
static uint32_t fastest_known(const Opt *opt, Candidates *list, const Settings *limits, uint32_t at)
{
    uint32_t of[NODE_WAYS], unknown = UINT32_MAX;
    double seconds[NODE_WAYS];
    NodeRuns runs;
    if (!corrections_node_look(opt->env->corrections, list->node, &runs)) return at;
    NodeWay best = runs.last;
    cheapest_of_ways(list, limits, of);
    for (uint32_t w = 0; w < NODE_WAYS; w++) seconds[w] = known_seconds(list, &runs, (NodeWay)w, of[w]);
    for (uint32_t w = 0; w < NODE_WAYS; w++) {
        if (seconds[w] < seconds[best] * (best == runs.last ? SWITCH_GAIN : 1)) best = (NodeWay)w;
        if (runs.runs[w] == 0 && price_or_inf(list, of[w]) < price_or_inf(list, unknown)) unknown = of[w];
    }
    if (seconds[best] == INFINITY) return at;
    NodeWay preferred = correction_way(list->items[at].form);
    if (runs.runs[preferred] == 0 && price_total(list->items[at].price) < SWITCH_GAIN * seconds[best]) return at;
    return runs.runs[best] >= 2 && price_or_inf(list, unknown) < TRY_GAIN * seconds[best] ? unknown : of[best];
}

/* A form that cannot run is no reason to leave its family: another contraction, or any candidate. */
void candidates_choose(const Opt *opt, Candidates *list)
{
    Settings settings = *opt->env->settings;
    if (!any_allowed(list, &settings) && settings.product_form != 0) {
        settings.product_form = 0;
        settings.engine = ENGINE_TCU;
    }
    const Settings *limits = any_allowed(list, &settings) ? &settings : NULL;
    list->taken = fastest_known(opt, list, limits, cheapest_of_all(list, limits));
}

static tcudb_status price_tree(Opt *opt, Plan *plan, double *seconds, Error *err)
{
    CostEnv env = cost_env(opt);
    TRY(card_collect(opt, plan, err));
    card_rows(opt, plan, false);
    card_domains(opt, plan);
    *seconds = price_total(cost_tree(&env, plan));
    return TCUDB_OK;
}

tcudb_status candidates_prefer(Opt *opt, Plan *ordinary, Plan *other, bool *prefer, Error *err)
{
    const Settings *settings = opt->env->settings;
    double seconds;
    *prefer = settings->engine == ENGINE_TCU || settings->product_form != 0;
    if (*prefer) return TCUDB_OK;
    Candidates *list;
    TRY(candidates_new(opt, &list, err));
    TRY(candidates_ordinary(opt, list, ordinary, err));
    candidates_choose(opt, list);
    TRY(price_tree(opt, other, &seconds, err));
    *prefer = seconds < price_total(list->items[list->taken].price);
    if (!*prefer && ordinary->candidates == NULL) ordinary->candidates = list;
    return TCUDB_OK;
}
