/*
 * print_candidates.c: the candidates of a node in EXPLAIN: what each would cost and why not, what was taken, and after
 * a run what it took beside what it should have taken with the rows that there really were.
 *
 *     Candidate dense: 12.40 ms = build 4.10 + multiply 7.20 + emit 1.10, taken
 *     Candidate bits: no, it adds values, bits only count
 *     Actual: dense 13.05 ms (predicted 12.40, with the real rows 12.91), 310 GOPS
 */
#include "phys/print_int.h"

static double ms(double seconds)
{
    return seconds * 1e3;
}

static tcudb_status candidate_text(const Candidate *c, bool taken, Buf *buf, Error *err)
{
    TRY(buf_printf(buf, err, "Candidate %s: ", candidate_name(c->form)));
    if (c->why != NULL) return buf_printf(buf, err, "no, %s\n", c->why);
    TRY(buf_printf(buf, err, "%.3f ms = ", ms(price_total(c->price))));
    if (c->price.move > 0) TRY(buf_printf(buf, err, "move %.3f + ", ms(c->price.move)));
    TRY(buf_printf(buf, err, "build %.3f + multiply %.3f + emit %.3f", ms(c->price.build), ms(c->price.multiply),
                   ms(c->price.emit)));
    if (c->factor != 1) TRY(buf_printf(buf, err, ", corrected by %.2f", c->factor));
    if (c->before > 0) TRY(buf_printf(buf, err, ", took %.3f before", ms(c->before)));
    return buf_text(buf, taken ? ", taken\n" : "\n", err);
}

static tcudb_status rate_text(const PhysActual *a, Buf *buf, Error *err)
{
    if (!(a->work > 0) || !(a->work_seconds > 0)) return TCUDB_OK;
    return buf_printf(buf, err, ", %.3g %s", a->work / a->work_seconds * 1e-9, a->unit);
}

tcudb_status print_candidates_text(const PhysNode *node, bool analyze, Buf *buf, PrintIndent indent, const void *ctx,
                                   Error *err)
{
    const Candidates *list = node->plan->candidates;
    const PhysActual *a = &node->actual;
    if (list == NULL) return TCUDB_OK;
    for (uint32_t i = 0; i < list->n; i++) {
        TRY(indent(ctx, 1, err));
        TRY(candidate_text(&list->items[i], i == list->taken, buf, err));
    }
    if (!analyze || !a->done) return TCUDB_OK;
    TRY(indent(ctx, 1, err));
    TRY(buf_printf(buf, err, "Actual: %s %.3f ms", candidate_name(a->form), ms(a->seconds)));
    if (a->build > 0)
        TRY(buf_printf(buf, err, " = build %.3f + multiply and emit %.3f", ms(a->build), ms(a->multiply)));
    TRY(buf_printf(buf, err, " (predicted %.3f, with the real rows %.3f)",
                   ms(price_total(list->items[list->taken].price)), ms(a->predicted)));
    TRY(rate_text(a, buf, err));
    return buf_char(buf, '\n', err);
}

static tcudb_status candidate_json(const Candidate *c, Buf *buf, Error *err)
{
    TRY(buf_printf(buf, err, "{\"Form\": \"%s\", \"Engine\": \"%s\"", candidate_name(c->form), c->engine));
    if (c->why != NULL) return buf_printf(buf, err, ", \"Why not\": \"%s\"}", c->why);
    TRY(buf_printf(buf, err,
                   ", \"Total ms\": %.4f, \"Move ms\": %.4f, \"Build ms\": %.4f, \"Multiply ms\": %.4f, "
                   "\"Emit ms\": %.4f, \"Correction\": %.4f",
                   ms(price_total(c->price)), ms(c->price.move), ms(c->price.build), ms(c->price.multiply),
                   ms(c->price.emit), c->factor));
    if (c->before > 0) TRY(buf_printf(buf, err, ", \"Before ms\": %.4f", ms(c->before)));
    return buf_char(buf, '}', err);
}

tcudb_status print_candidates_json(const PhysNode *node, bool analyze, Buf *buf, PrintIndent indent, const void *ctx,
                                   Error *err)
{
    const Candidates *list = node->plan->candidates;
    const PhysActual *a = &node->actual;
    if (list == NULL) return TCUDB_OK;
    TRY(buf_text(buf, ",\n", err));
    TRY(indent(ctx, 1, err));
    TRY(buf_text(buf, "\"Candidates\": [", err));
    for (uint32_t i = 0; i < list->n; i++) {
        if (i > 0) TRY(buf_text(buf, ", ", err));
        TRY(candidate_json(&list->items[i], buf, err));
    }
    const Candidate *taken = &list->items[list->taken];
    TRY(buf_printf(buf, err, "], \"Taken\": \"%s\", \"Predicted ms\": %.4f", candidate_name(taken->form),
                   ms(price_total(taken->price))));
    if (!analyze || !a->done) return TCUDB_OK;
    TRY(buf_printf(buf, err, ", \"Ran\": \"%s\", \"Actual ms\": %.4f, \"Predicted With Real Rows ms\": %.4f",
                   candidate_name(a->form), ms(a->seconds), ms(a->predicted)));
    if (a->build > 0)
        TRY(buf_printf(buf, err, ", \"Actual Build ms\": %.4f, \"Actual Multiply ms\": %.4f", ms(a->build),
                       ms(a->multiply)));
    if (a->work > 0 && a->work_seconds > 0)
        TRY(buf_printf(buf, err, ", \"Rate\": %.4g, \"Rate Unit\": \"%s\"", a->work / a->work_seconds * 1e-9, a->unit));
    return TCUDB_OK;
}
