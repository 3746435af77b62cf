/*
 * sequence.c: CREATE, ALTER SEQUENCE, and the numbers that a statement takes from sequences.
 *
 *     before a plan runs: each sequence that it uses is read -> numbers are given under a lock, to any worker
 *     after it ran: those that moved get a new row, in the statement's transaction
 *
 * So a number is never given twice, a crash or another process loses none, and writers wait for each other, as they do
 * anyway. What a failed statement or ROLLBACK took is not given again by this session: it remembers how far it was.
 */
#include "session/session_int.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

/* What the session knows of a sequence. */
typedef struct Known {
    struct Known *next;
    uint64_t id;        /* of its table */
    int64_t last_given; /* currval */
    bool given;
    bool ahead; /* last and called below are newer than any commit */
    int64_t last;
    bool called;
} Known;

typedef struct Used {
    Str name;
    SequenceDef def;
    Known *known;
    int64_t last;
    bool called, moved;
} Used;

struct SessionSequences {
    Known *known, *latest; /* latest: lastval */
};

typedef struct Running {
    Session *session;
    pthread_mutex_t lock;
    Used *used;
    uint32_t n;
    Sequences hook;
} Running;

/* ---- the session's memory of them -------------------------------------------------------------- */

static tcudb_status know(Session *session, uint64_t id, Known **out, Error *err)
{
    if (session->sequences == NULL) {
        session->sequences = mem_alloc_zero(NULL, sizeof *session->sequences, err);
        TRY_PTR(session->sequences);
    }
    for (*out = session->sequences->known; *out != NULL; *out = (*out)->next)
        if ((*out)->id == id) return TCUDB_OK;
    *out = mem_alloc_zero(NULL, sizeof **out, err);
    TRY_PTR(*out);
    (*out)->id = id;
    (*out)->next = session->sequences->known;
    session->sequences->known = *out;
    return TCUDB_OK;
}

void session_free_sequences(Session *session)
{
    if (session->sequences == NULL) return;
    for (Known *at = session->sequences->known; at != NULL;) {
        Known *next = at->next;
        mem_free(NULL, at, sizeof *at);
        at = next;
    }
    mem_free(NULL, session->sequences, sizeof *session->sequences);
    session->sequences = NULL;
}

void session_sequences_committed(Session *session)
{
    for (Known *at = session->sequences == NULL ? NULL : session->sequences->known; at != NULL; at = at->next)
        at->ahead = false;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static tcudb_status put_row(Run *run, Str name, int64_t last, bool called, Error *err)
{
    const Value values[] = {{.type = TYPE(TYPE_INT8), .i64 = last},
                            {.type = TYPE(TYPE_INT8), .i64 = 0},
                            {.type = TYPE(TYPE_BOOL), .b = called}};
    Vector cols[3];
    for (int i = 0; i < 3; i++) TRY(vec_const(run->arena, &values[i], &cols[i], err));
    Batch batch = {.rows = 1, .n = 1, .ncols = 3, .cols = cols};
    TRY(txn_truncate(run->session->txn, name, err));
    return txn_append(run->session->txn, name, &batch, err);
}

static tcudb_status take_row(void *ctx, const Batch *batch, Error *err)
{
    Used *used = ctx;
    (void)err;
    if (batch->n == 0) return TCUDB_OK;
    used->last = vec_value(&batch->cols[0], batch_row(batch, 0)).i64;
    used->called = vec_value(&batch->cols[1], batch_row(batch, 0)).b;
    return TCUDB_OK;
}

static tcudb_status read_one(Run *run, Str name, Used *used, Error *err)
{
    const char *quoted = NULL;
    const Table *table = txn_table(run->session->txn, name);
    used->name = name;
    if (table == NULL || !note_sequence(table_def(table), &used->def))
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
    TRY(know(run->session, table_def(table)->id, &used->known, err));
    TRY(session_name(run, name, &quoted, err));
    const char *sql = arena_printf(run->arena, err, "SELECT last_value, is_called FROM %s", quoted);
    TRY_PTR(sql);
    TRY(session_run_inner_into(run, sql, take_row, used, err));
    if (!used->known->ahead) return TCUDB_OK;
    used->last = used->known->last;
    used->called = used->known->called;
    return TCUDB_OK;
}

/* ---- definitions -------------------------------------------------------------------------------- */

tcudb_status session_make_sequence(Run *run, const TableDef *def, Error *err)
{
    SequenceDef sequence = {0};
    TRY(txn_create_table(run->session->txn, def, err));
    (void)note_sequence(def, &sequence);
    return put_row(run, def->name, sequence.start, false, err);
}

tcudb_status session_create_sequence(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Txn *txn = run->session->txn;
    if (stmt->table.temp != TEMP_NONE) TRY(session_attach_temp(run->session, err));
    if (stmt->flag && (txn_table(txn, stmt->name) != NULL || txn_view(txn, stmt->name) != NULL)) {
        session_notify(run->session, "NOTICE", SQLSTATE_DUPLICATE_TABLE,
                       "relation \"" STR_FMT "\" already exists, skipping", STR_ARG(stmt->name));
        return TCUDB_OK;
    }
    return session_make_sequence(run, &stmt->table, err);
}

static tcudb_status check_last(const Used *used, Error *err)
{
    const SequenceDef *def = &used->def;
    if (used->last >= def->min && used->last <= def->max) return TCUDB_OK;
    bool low = used->last < def->min;
    return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE,
                     "RESTART value (%" PRId64 ") cannot be %s than %s (%" PRId64 ")", used->last,
                     low ? "less" : "greater", low ? "MINVALUE" : "MAXVALUE", low ? def->min : def->max);
}

tcudb_status session_alter_sequence(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Used used = {0};
    if (stmt->flag) {
        session_notify(run->session, "NOTICE", SQLSTATE_UNDEFINED_TABLE,
                       "relation \"" STR_FMT "\" does not exist, skipping", STR_ARG(stmt->name));
        return TCUDB_OK;
    }
    TRY(read_one(run, stmt->name, &used, err));
    TRY(txn_redefine_table(run->session->txn, stmt->name, &stmt->table, err));
    (void)note_sequence(&stmt->table, &used.def);
    if (stmt->restart) {
        used.last = stmt->restart_value;
        used.called = false;
    }
    TRY(check_last(&used, err));
    used.known->ahead = false;
    return put_row(run, stmt->name, used.last, used.called, err);
}

/* TRUNCATE ... RESTART IDENTITY, and what goes with a table or column. */
tcudb_status session_of_serials(Run *run, const TableDef *def, const TableDef *now, bool drop, Error *err)
{
    for (uint32_t i = 0; i < def->nchecks; i++) {
        Str column;
        SequenceDef sequence;
        Str name = def->checks[i].sql;
        if (!note_about(&def->checks[i], NOTE_SERIAL, &column)) continue;
        bool kept = false;
        for (uint32_t k = 0; now != NULL && k < now->nchecks; k++)
            kept = kept || (note_about(&now->checks[k], NOTE_SERIAL, &column) && str_equal(now->checks[k].sql, name));
        const Table *table = txn_table(run->session->txn, name);
        if (kept || table == NULL || !note_sequence(table_def(table), &sequence)) continue;
        if (drop)
            TRY(txn_drop_table(run->session->txn, name, err));
        else
            TRY(put_row(run, name, sequence.start, false, err));
    }
    return TCUDB_OK;
}

/* ---- numbers ------------------------------------------------------------------------------------ */

static tcudb_status at_limit(const Used *used, bool up, Error *err)
{
    return error_set(err, SQLSTATE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
                     "nextval: reached %s value of sequence \"" STR_FMT "\" (%" PRId64 ")", up ? "maximum" : "minimum",
                     STR_ARG(used->name), up ? used->def.max : used->def.min);
}

static tcudb_status next_number(Used *used, Error *err)
{
    const SequenceDef *def = &used->def;
    bool up = def->increment > 0;
    int64_t next = used->last;
    if (used->called) {
        bool over = __builtin_add_overflow(used->last, def->increment, &next) || next > def->max || next < def->min;
        if (over && !def->cycle) return at_limit(used, up, err);
        if (over) next = up ? def->min : def->max;
    }
    used->last = next;
    used->called = used->moved = true;
    return TCUDB_OK;
}

static tcudb_status set_number(Used *used, const SequenceCall *call, Error *err)
{
    const SequenceDef *def = &used->def;
    if (call->value < def->min || call->value > def->max)
        return error_set(err, SQLSTATE_NUMERIC_VALUE_OUT_OF_RANGE,
                         "setval: value %" PRId64 " is out of bounds for sequence \"" STR_FMT "\" (%" PRId64
                         "..%" PRId64 ")",
                         call->value, STR_ARG(used->name), def->min, def->max);
    used->last = call->value;
    used->called = call->called;
    used->moved = true;
    return TCUDB_OK;
}

static void remember(Running *r, Used *used, bool given)
{
    Known *known = used->known;
    known->ahead = true;
    known->last = used->last;
    known->called = used->called;
    if (!given) return;
    assert(r->session->sequences != NULL);
    known->given = true;
    known->last_given = used->last;
    r->session->sequences->latest = known;
}

static tcudb_status not_yet(const Used *used, Error *err)
{
    if (used == NULL)
        return error_set(err, SQLSTATE_OBJECT_NOT_IN_PREREQUISITE_STATE, "lastval is not yet defined in this session");
    return error_set(err, SQLSTATE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                     "currval of sequence \"" STR_FMT "\" is not yet defined in this session", STR_ARG(used->name));
}

static tcudb_status answer(Running *r, Used *used, const SequenceCall *call, int64_t *out, Error *err)
{
    const Known *latest = r->session->sequences == NULL ? NULL : r->session->sequences->latest;
    switch (call->op) {
    case SEQUENCE_NEXT:
        TRY(next_number(used, err));
        remember(r, used, true);
        break;
    case SEQUENCE_SET:
        TRY(set_number(used, call, err));
        remember(r, used, call->called);
        break;
    case SEQUENCE_CURRENT:
        if (!used->known->given) return not_yet(used, err);
        *out = used->known->last_given;
        return TCUDB_OK;
    case SEQUENCE_LAST:
        if (latest == NULL) return not_yet(NULL, err);
        *out = latest->last_given;
        return TCUDB_OK;
    }
    *out = used->last;
    return TCUDB_OK;
}

static tcudb_status call_sequence(void *ctx, const SequenceCall *call, int64_t *out, Error *err)
{
    Running *r = ctx;
    Used *used = NULL;
    for (uint32_t i = 0; i < r->n && used == NULL; i++)
        if (str_equal(r->used[i].name, call->name)) used = &r->used[i];
    if (used == NULL && call->op != SEQUENCE_LAST)
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "sequence \"" STR_FMT "\" was not read", STR_ARG(call->name));
    pthread_mutex_lock(&r->lock);
    tcudb_status status = answer(r, used, call, out, err);
    pthread_mutex_unlock(&r->lock);
    return status;
}

static tcudb_status read_all(Run *run, const Stmt *stmt, Running *r, Error *err)
{
    r->used = ARENA_ARRAY(run->arena, Used, stmt->nsequences, err);
    TRY_PTR(r->used);
    r->n = stmt->nsequences;
    for (uint32_t i = 0; i < r->n; i++) TRY(read_one(run, stmt->sequences[i], &r->used[i], err));
    return TCUDB_OK;
}

tcudb_status session_with_sequences(Run *run, const Stmt *stmt, tcudb_status (*body)(Run *run, void *ctx, Error *err),
                                    void *ctx, Error *err)
{
    Running r = {.session = run->session};
    if (!stmt->asks_sequences || run->sequences != NULL) return body(run, ctx, err);
    TRY(read_all(run, stmt, &r, err));
    pthread_mutex_init(&r.lock, NULL);
    r.hook = (Sequences){.ctx = &r, .call = call_sequence};
    run->sequences = &r.hook;
    tcudb_status status = body(run, ctx, err);
    run->sequences = NULL;
    pthread_mutex_destroy(&r.lock);
    for (uint32_t i = 0; i < r.n && status == TCUDB_OK; i++)
        if (r.used[i].moved) status = put_row(run, r.used[i].name, r.used[i].last, r.used[i].called, err);
    return status;
}
