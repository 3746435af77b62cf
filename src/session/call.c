/*
 * call.c: CALL name(option => value, ...): a procedure of files/proc.def.
 */
#include "session/session_int.h"
#include "files/proc.h"

#include <assert.h>
#include <stdio.h>

static void count_progress(void *ctx, uint64_t done, uint64_t total)
{
    Progress *progress = ctx;
    atomic_store_explicit(&progress->done, done, memory_order_relaxed);
    atomic_store_explicit(&progress->total, total, memory_order_relaxed);
}

static tcudb_status make_args(Run *run, TableFuncArg **out, uint32_t *n, Error *err)
{
    const Stmt *stmt = run->stmt;
    *n = stmt->nargs + stmt->noptions;
    TableFuncArg *args = ARENA_ARRAY(run->arena, TableFuncArg, *n, err);
    TRY_PTR(args);
    for (uint32_t i = 0; i < stmt->nargs; i++) args[i].value = stmt->args[i];
    for (uint32_t i = 0; i < stmt->noptions; i++) {
        const StmtOption *option = &stmt->options[i];
        args[stmt->nargs + i] = (TableFuncArg){option->name, option->value, option->position};
    }
    *out = args;
    return TCUDB_OK;
}

static tcudb_status no_procedure(Str name, Error *err)
{
    error_set(err, SQLSTATE_UNDEFINED_FUNCTION, "procedure " STR_FMT " does not exist", STR_ARG(name));
    const Proc *proc = NULL;
    char known[256] = "";
    for (uint32_t i = 0; (proc = files_proc_at(i)) != NULL; i++) {
        size_t n = strlen(known);
        snprintf(known + n, sizeof known - n, "%s%s", i == 0 ? "" : ", ", proc->name);
    }
    error_hint(err, "The procedures are: %s.", known);
    return TCUDB_ERROR;
}

tcudb_status session_call(Run *run, Error *err)
{
    TableFuncArg *args = NULL;
    uint32_t nargs = 0;
    if (str_equal(run->stmt->name, STR_LIT("tcudb_calibrate"))) {
        TRY(session_set_up(run, err));
        return session_calibrate(run, err);
    }
    const Proc *proc = files_find_proc(run->stmt->name);
    if (proc == NULL) return no_procedure(run->stmt->name, err);
    TRY(session_set_up(run, err));
    TRY(make_args(run, &args, &nargs, err));
    ProcEnv env = {
        .txn = run->session->txn,
        .pool = run->pool,
        .mem = db_mem(run->session->instance->db),
        .cancel = &run->session->watch.cancel,
        .progress = count_progress,
        .progress_ctx = &run->progress,
    };
    assert(proc->run != NULL);
    return proc->run(&env, args, nargs, &run->report.rows, err);
}
