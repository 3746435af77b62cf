/*
 * query.c: bound plan -> optimised -> physical -> rows.
 *
 * Every execution optimises anew with the parameters' values known, as PostgreSQL does for the first runs
 * of a prepared statement; planning takes well under a millisecond.
 */
#include "session/session_int.h"
#include "opt/opt.h"

#include <assert.h>

bool stmt_returns_rows(const Stmt *stmt)
{
    if (stmt->kind != STMT_QUERY || stmt->plan == NULL) return false;
    return stmt->plan->ncols > 0 || strcmp(stmt->tag, "SELECT") == 0;
}

/* The instance's pool, or one of the session's own after SET tcudb.threads. */
static tcudb_status find_pool(Session *session, Pool **out, Error *err)
{
    int64_t want = session->settings.threads;
    *out = session->instance->pool;
    if (want == 0 || want == pool_workers(session->instance->pool)) return TCUDB_OK;
    if (session->pool == NULL || pool_workers(session->pool) != want) {
        if (session->pool != NULL) pool_free(session->pool);
        session->pool = NULL;
        TRY(pool_new((uint32_t)want, &session->pool, err));
    }
    *out = session->pool;
    return TCUDB_OK;
}

tcudb_status session_set_up(Run *run, Error *err)
{
    Session *session = run->session;
    Instance *instance = session->instance;
    if (instance->rates_warning[0] != '\0' && !atomic_exchange(&instance->warned, true))
        session_notify(session, "WARNING", "01000", "%s", instance->rates_warning);
    TRY(session_check_engine(session, err));
    return find_pool(session, &run->pool, err);
}

static Corrections *corrections_of(const Session *session)
{
    return session->settings.corrections ? session->instance->corrections : NULL;
}

static OptEnv opt_env(const Run *run, const Stmt *stmt)
{
    return (OptEnv){
        .arena = run->arena,
        .settings = &run->session->settings,
        .rates = &run->session->instance->rates,
        .corrections = corrections_of(run->session),
        .keys = run->session->instance->keys,
        .params = run->params,
        .nparams = run->nparams,
        .now = run->session->now,
        .next_col = stmt->next_col,
        .workers = pool_workers(run->pool),
        .cancel = &run->session->watch.cancel,
    };
}

static ExecEnv exec_env(Run *run)
{
    Session *session = run->session;
    return (ExecEnv){
        .txn = session->txn,
        .pool = run->pool,
        .mem = db_mem(session->instance->db),
        .settings = &session->settings,
        .rates = &session->instance->rates,
        .corrections = corrections_of(session),
        .params = run->params,
        .nparams = run->nparams,
        .now = session->now,
        .cancel = &session->watch.cancel,
        .progress = &run->progress,
        .shape = run->shape,
        .sequences = run->sequences,
    };
}

static tcudb_status make_plan(Run *run, const Stmt *stmt, Plan *plan, OptTrace trace, void *ctx, PhysPlan **out,
                              Error *err)
{
    OptEnv opt = opt_env(run, stmt);
    TRY(opt_run_traced(&opt, &plan, trace, ctx, err));
    ExecEnv exec = exec_env(run);
    TRY(phys_plan(run->arena, &exec, plan, out, err));
    return watch_check(&run->session->watch, err);
}

tcudb_status session_exec(Run *run, const PhysPlan *phys, ExecSink batch, void *ctx, Error *err)
{
    ExecEnv env = exec_env(run);
    tcudb_status status = exec_run(&env, phys, batch, ctx, &run->report, err);
    session_explain_engine(run->session, &run->report);
    Session *session = run->session;
    if (status == TCUDB_OK && session->measure != NULL)
        session->measure(session->measure_ctx, phys, run->report.seconds);
    return status;
}

/* ---- subqueries of LIMIT ------------------------------------------------------------------------ */

static tcudb_status keep_count(void *ctx, const Batch *batch, Error *err)
{
    (void)err;
    if (batch->n > 0) *(Value *)ctx = vec_value(&batch->cols[0], batch_row(batch, 0));
    return TCUDB_OK;
}

/* Runs those that are not known yet; an inner one comes before the one that has it. */
static tcudb_status find_counts(Run *run, const Stmt *stmt, Error *err)
{
    if (stmt->ncounts == 0) return TCUDB_OK;
    uint32_t first = stmt->counts[0].param->param, own = run->nparams < first ? run->nparams : first;
    Value *params = ARENA_ARRAY(run->arena, Value, first + stmt->ncounts, err);
    TRY_PTR(params);
    if (own > 0) memcpy(params, run->params, own * sizeof *params);
    run->params = params;
    for (uint32_t i = 0; i < stmt->ncounts; i++) {
        StmtCount *count = &stmt->counts[i];
        PhysPlan *phys = NULL;
        run->nparams = first + i;
        if (!count->known) {
            TRY(make_plan(run, stmt, count->plan, NULL, NULL, &phys, err));
            TRY(session_exec(run, phys, keep_count, &count->value, err));
            count->known = true;
        }
        params[first + i] = count->value;
    }
    run->nparams = first + stmt->ncounts;
    return TCUDB_OK;
}

tcudb_status session_plan_only(Run *run, const Stmt *stmt, Plan *plan, OptTrace trace, void *ctx, PhysPlan **out,
                               Error *err)
{
    TRY(session_set_up(run, err));
    return make_plan(run, stmt, plan, trace, ctx, out, err);
}

tcudb_status session_plan(Run *run, const Stmt *stmt, Plan *plan, OptTrace trace, void *ctx, PhysPlan **out, Error *err)
{
    TRY(session_set_up(run, err));
    TRY(find_counts(run, stmt, err));
    return make_plan(run, stmt, plan, trace, ctx, out, err);
}

typedef struct PlanRun {
    const Stmt *stmt;
    Plan *plan;
    ExecSink batch;
    void *ctx;
} PlanRun;

static tcudb_status plan_and_exec(Run *run, void *ctx, Error *err)
{
    const PlanRun *p = ctx;
    PhysPlan *phys = NULL;
    TRY(session_plan(run, p->stmt, p->plan, NULL, NULL, &phys, err));
    return session_exec(run, phys, p->batch, p->ctx, err);
}

tcudb_status session_run_plan_into(Run *run, const Stmt *stmt, Plan *plan, ExecSink batch, void *ctx, Error *err)
{
    PlanRun p = {stmt, plan, batch, ctx};
    return session_with_sequences(run, stmt, plan_and_exec, &p, err);
}

tcudb_status session_drop_batch(void *ctx, const Batch *batch, Error *err)
{
    (void)ctx;
    (void)batch;
    (void)err;
    return TCUDB_OK;
}

tcudb_status session_run_plan(Run *run, const Stmt *stmt, Plan *plan, Error *err)
{
    ExecSink batch = run->sink->batch;
    if (batch == NULL) return session_run_plan_into(run, stmt, plan, session_drop_batch, NULL, err);
    return session_run_plan_into(run, stmt, plan, batch, run->sink->ctx, err);
}

tcudb_status session_columns(const SessionSink *sink, const PlanCol *cols, uint32_t ncols, Error *err)
{
    return sink->columns == NULL ? TCUDB_OK : sink->columns(sink->ctx, cols, ncols, err);
}
