/*
 * explain.c: EXPLAIN [(ANALYZE, STAGES, FORMAT TEXT|JSON, VERBOSE, COSTS, TIMING, SUMMARY, BUFFERS)].
 *
 * STAGES prints every stage of the query's path: the bound plan, the plan after each rule that changed it,
 * the physical plan. ANALYZE runs the statement and throws its rows away. Both say which engine runs it.
 */
#include "session/rows.h"
#include "session/session_int.h"

#include <assert.h>
#include <strings.h>
#include <time.h>

typedef struct Explain {
    bool analyze;
    bool stages;
    bool json;
    bool summary;
    Buf out;
    Buf stage; /* scratch */
    double planning;
} Explain;

static double now_ms(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return 1e3 * (double)at.tv_sec + 1e-6 * (double)at.tv_nsec;
}

static tcudb_status option_bool(const StmtOption *option, bool *out, Error *err)
{
    const Value *value = &option->value;
    static const char *const on[] = {"on", "true", "1"};
    static const char *const off[] = {"off", "false", "0"};
    *out = true;
    if (value->null) return TCUDB_OK;
    switch (value->type.id) {
    case TYPE_BOOL: *out = value->b; return TCUDB_OK;
    case TYPE_INT4: *out = value->i32 != 0; return TCUDB_OK;
    case TYPE_INT8: *out = value->i64 != 0; return TCUDB_OK;
    default: break;
    }
    for (size_t i = 0; i < 3 && type_is_text(value->type); i++) {
        if (str_equal(value->str, str_of(on[i]))) return TCUDB_OK;
        if (str_equal(value->str, str_of(off[i]))) return *out = false, TCUDB_OK;
    }
    return error_at(err, SQLSTATE_SYNTAX_ERROR, 0, STR_FMT " requires a Boolean value", STR_ARG(option->name));
}

static tcudb_status option_format(const StmtOption *option, bool *json, Error *err)
{
    Str text = type_is_text(option->value.type) && !option->value.null ? option->value.str : (Str){0};
    *json = text.len == 4 && strncasecmp(text.ptr, "json", 4) == 0;
    if (*json || (text.len == 4 && strncasecmp(text.ptr, "text", 4) == 0)) return TCUDB_OK;
    static const char *const known[] = {"xml", "yaml"};
    for (size_t i = 0; i < 2; i++)
        if (text.len == strlen(known[i]) && strncasecmp(text.ptr, known[i], text.len) == 0)
            return error_unsupported(err, option->position, "EXPLAIN (FORMAT " STR_FMT ")", STR_ARG(text));
    return error_at(err, SQLSTATE_INVALID_PARAMETER_VALUE, option->position,
                    "unrecognized value for EXPLAIN option \"format\": \"" STR_FMT "\"", STR_ARG(text));
}

static tcudb_status read_options(const Stmt *stmt, Explain *explain, Error *err)
{
    static const char *const accepted[] = {"verbose", "costs", "timing", "buffers", "wal", "settings"};
    for (uint32_t i = 0; i < stmt->noptions; i++) {
        const StmtOption *option = &stmt->options[i];
        bool ignored = false;
        bool known = true;
        if (str_equal(option->name, STR_LIT("analyze")))
            TRY(option_bool(option, &explain->analyze, err));
        else if (str_equal(option->name, STR_LIT("stages")))
            TRY(option_bool(option, &explain->stages, err));
        else if (str_equal(option->name, STR_LIT("summary")))
            TRY(option_bool(option, &explain->summary, err));
        else if (str_equal(option->name, STR_LIT("format")))
            TRY(option_format(option, &explain->json, err));
        else
            known = false;
        for (size_t k = 0; !known && k < sizeof accepted / sizeof accepted[0]; k++) {
            if (!str_equal(option->name, str_of(accepted[k]))) continue;
            TRY(option_bool(option, &ignored, err));
            known = true;
        }
        if (!known)
            return error_at(err, SQLSTATE_SYNTAX_ERROR, option->position, "unrecognized EXPLAIN option \"" STR_FMT "\"",
                            STR_ARG(option->name));
    }
    return TCUDB_OK;
}

/* A titled, indented section of EXPLAIN (STAGES). */
static tcudb_status section(Explain *explain, const char *title, const char *name, Error *err)
{
    TRY(buf_printf(&explain->out, err, "%s%s:\n", title, name));
    const char *at = explain->stage.data;
    const char *end = at + explain->stage.len;
    while (at < end) {
        const char *eol = memchr(at, '\n', (size_t)(end - at));
        size_t n = eol == NULL ? (size_t)(end - at) : (size_t)(eol - at);
        TRY(buf_text(&explain->out, "  ", err));
        TRY(buf_append(&explain->out, at, n, err));
        TRY(buf_char(&explain->out, '\n', err));
        at += n + 1;
    }
    explain->stage.len = 0;
    return TCUDB_OK;
}

static tcudb_status trace_rule(void *ctx, const char *rule, const Plan *plan, Error *err)
{
    Explain *explain = ctx;
    TRY(plan_print(plan, &explain->stage, err));
    return section(explain, "After rule ", rule, err);
}

static tcudb_status print_text(Run *run, Explain *explain, const PhysPlan *phys, Error *err)
{
    Buf *out = &explain->out;
    if (explain->stages) {
        TRY(phys_print(phys, explain->analyze, &explain->stage, err));
        TRY(section(explain, "Physical plan", "", err));
    } else {
        TRY(phys_print(phys, explain->analyze, out, err));
        if (out->len > 0 && out->data[out->len - 1] != '\n') TRY(buf_char(out, '\n', err));
    }
    TRY(buf_printf(out, err, "Engine: %s", run->report.engine));
    if (run->report.why[0] != '\0') TRY(buf_printf(out, err, " (%s)", run->report.why));
    if (!run->report.exact) TRY(buf_text(out, ", fast (FP16 inputs): not exact", err));
    TRY(buf_char(out, '\n', err));
    if (explain->analyze || explain->summary) TRY(buf_printf(out, err, "Planning Time: %.3f ms\n", explain->planning));
    if (!explain->analyze) return TCUDB_OK;
    TRY(buf_printf(out, err, "Execution Time: %.3f ms\n", 1e3 * run->report.seconds));
    return buf_printf(out, err, "Peak Memory: %zu kB\n", (run->report.peak_bytes + 1023) / 1024);
}

static tcudb_status print_json_text(Buf *out, const char *text, Error *err)
{
    TRY(buf_char(out, '"', err));
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\') TRY(buf_char(out, '\\', err));
        if ((unsigned char)*text < ' ')
            TRY(buf_printf(out, err, "\\u%04x", *text));
        else
            TRY(buf_char(out, *text, err));
    }
    return buf_char(out, '"', err);
}

static tcudb_status print_json(Run *run, Explain *explain, const PhysPlan *phys, Error *err)
{
    Buf *out = &explain->out;
    TRY(buf_text(out, "[{\"Plan\": ", err));
    TRY(phys_print_json(phys, explain->analyze, out, err));
    TRY(buf_printf(out, err, ", \"Engine\": \"%s\", \"Why\": ", run->report.engine));
    TRY(print_json_text(out, run->report.why, err));
    TRY(buf_printf(out, err, ", \"Exact\": %s", run->report.exact ? "true" : "false"));
    TRY(buf_printf(out, err, ", \"Planning Time\": %.3f", explain->planning));
    if (explain->analyze)
        TRY(buf_printf(out, err, ", \"Execution Time\": %.3f, \"Peak Memory\": %zu", 1e3 * run->report.seconds,
                       (run->report.peak_bytes + 1023) / 1024));
    return buf_text(out, "}]", err);
}

static tcudb_status exec_plan(Run *run, void *ctx, Error *err)
{
    return session_exec(run, ctx, session_drop_batch, NULL, err);
}

static tcudb_status explain_plan(Run *run, const Stmt *inner, Plan *plan, Explain *explain, Error *err)
{
    double start = now_ms();
    PhysPlan *phys = NULL;
    bool trace = explain->stages && !explain->json;
    if (trace) {
        TRY(plan_print(plan, &explain->stage, err));
        TRY(section(explain, "Bound plan", "", err));
    }
    const OptTrace tracer = trace ? trace_rule : NULL;
    if (explain->analyze)
        TRY(session_plan(run, inner, plan, tracer, explain, &phys, err));
    else
        TRY(session_plan_only(run, inner, plan, tracer, explain, &phys, err));
    explain->planning = now_ms() - start;
    if (explain->analyze) {
        References *references;
        TRY(session_references_begin(run, inner, &references, err));
        start = now_ms();
        tcudb_status status =
            session_with_sequences(run, inner->asks_sequences ? inner : run->stmt, exec_plan, phys, err);
        if (status != TCUDB_OK) session_references_free(references);
        TRY(status);
        run->report.seconds = 1e-3 * (now_ms() - start);
        TRY(session_references_end(references, err));
    } else {
        run->report.exact = !phys->fast;
        session_explain_engine(run->session, &run->report);
    }
    return explain->json ? print_json(run, explain, phys, err) : print_text(run, explain, phys, err);
}

/* MERGE, a data-modifying WITH: the plans that run before the statement's own, one after the other. */
static tcudb_status explain_steps(Run *run, const Stmt *inner, Explain *explain, Error *err)
{
    if (explain->analyze || explain->json)
        return error_unsupported(err, 0, "EXPLAIN (%s) of %s", explain->analyze ? "ANALYZE" : "FORMAT JSON",
                                 inner->merge ? "MERGE" : "a data-modifying WITH");
    for (uint32_t i = 0; i < inner->nsteps; i++) {
        TRY(buf_printf(&explain->out, err, "Step %u:\n", i + 1));
        TRY(explain_plan(run, inner, inner->steps[i].plan, explain, err));
    }
    if (inner->plan == NULL) return TCUDB_OK;
    TRY(buf_printf(&explain->out, err, "Step %u:\n", inner->nsteps + 1));
    return explain_plan(run, inner, inner->plan, explain, err);
}

/* The subqueries of LIMIT and OFFSET, which stand for parameters of the plan and do not run. */
static tcudb_status explain_counts(Run *run, const Stmt *inner, Explain *explain, Error *err)
{
    if (explain->analyze || explain->json) return TCUDB_OK;
    for (uint32_t i = 0; i < inner->ncounts; i++) {
        TRY(buf_printf(&explain->out, err, "Subquery $%u:\n", inner->counts[i].param->param + 1));
        TRY(explain_plan(run, inner, inner->counts[i].plan, explain, err));
    }
    return TCUDB_OK;
}

static tcudb_status explain_inner(Run *run, Explain *explain, Error *err)
{
    const Stmt *inner = run->stmt->inner;
    assert(inner != NULL);
    TRY(read_options(run->stmt, explain, err));
    if (inner->kind == STMT_EXECUTE) TRY(session_bind_execute(run, inner, &inner, err));
    if (inner->nsteps > 0) return explain_steps(run, inner, explain, err);
    if (inner->plan == NULL) return error_unsupported(err, 0, "EXPLAIN %s", inner->tag);
    if (inner->kind == STMT_CREATE_TABLE && explain->analyze)
        return error_unsupported(err, 0, "EXPLAIN ANALYZE of CREATE TABLE AS");
    TRY(explain_plan(run, inner, inner->plan, explain, err));
    return explain_counts(run, inner, explain, err);
}

tcudb_status session_explain(Run *run, Error *err)
{
    Explain explain = {0};
    Rows rows;
    buf_init(&explain.out, run->arena->mem);
    buf_init(&explain.stage, run->arena->mem);
    rows_init(&rows, run->arena);
    rows_column(&rows, "QUERY PLAN", TYPE_TEXT);
    tcudb_status status;
    TRY_GOTO(explain_inner(run, &explain, err));
    TRY_GOTO(rows_lines(&rows, (Str){explain.out.data, (uint32_t)explain.out.len}, err));
    run->report.rows = 0;
    TRY_GOTO(rows_send(&rows, run->sink, err));
done:
    buf_free(&explain.out);
    buf_free(&explain.stage);
    return status;
}
