/*
 * sequence.c: CREATE, ALTER SEQUENCE, and the numbers that a statement takes from sequences.
 *
 *     before a plan runs: each sequence that it uses is read -> numbers are given under a lock, to any worker
 *     after it ran: those that moved get a new row, in the statement's transaction
 *
 * So a number is never given twice, a crash or another process loses none, and writers wait for each other, as they do
 * anyway. What a failed statement or ROLLBACK took is not given again either: the session remembers how far it was, and
 * writes that in a transaction of its own after the one that was undone, or, after ROLLBACK TO, before COMMIT. (A crash
 * or a full disk between the two forgets numbers that nobody has seen in a committed row.) What ALTER SEQUENCE and
 * TRUNCATE RESTART IDENTITY begin anew is undone with them.
 */
#include "session/session_int.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

/* How far it is, as the row says it. */
typedef struct Position {
    bool ahead; /* newer than any commit */
    bool set;   /* by setval, so it may lie before what the row says */
    bool called;
    int64_t last;
} Position;

/* What the session knows of a sequence. */
typedef struct Known {
    struct Known *next;
    uint64_t id;        /* of its table */
    int64_t last_given; /* currval */
    bool given;
    Position at;
    bool lost;       /* the open transaction's row is older, as something was undone */
    uint32_t anew;   /* 1 + the savepoints there were when the open transaction began it anew; 0: it has not */
    Position before; /* that */
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

static Known *first_known(const Session *session)
{
    return session->sequences == NULL ? NULL : session->sequences->known;
}

void session_sequences_committed(Session *session)
{
    for (Known *k = first_known(session); k != NULL; k = k->next) {
        k->at = (Position){0};
        k->lost = false;
        k->anew = 0;
    }
}

void session_sequences_undone(Session *session, uint32_t savepoints)
{
    for (Known *k = first_known(session); k != NULL; k = k->next) {
        if (k->anew > savepoints) {
            k->at = k->before;
            k->anew = 0;
        }
        k->lost = k->at.ahead;
    }
}

void session_sequences_released(Session *session, uint32_t savepoints)
{
    for (Known *k = first_known(session); k != NULL; k = k->next)
        if (k->anew > savepoints + 1) k->anew = savepoints + 1;
}

void session_forget_given(Session *session)
{
    for (Known *k = first_known(session); k != NULL; k = k->next) k->given = false;
    if (session->sequences != NULL) session->sequences->latest = NULL;
}

/* ---- rows --------------------------------------------------------------------------------------- */

static tcudb_status put_row(Txn *txn, Arena *arena, Str name, int64_t last, bool called, Error *err)
{
    const Value values[] = {{.type = TYPE(TYPE_INT8), .i64 = last},
                            {.type = TYPE(TYPE_INT8), .i64 = 0},
                            {.type = TYPE(TYPE_BOOL), .b = called}};
    Vector cols[3];
    for (int i = 0; i < 3; i++) TRY(vec_const(arena, &values[i], &cols[i], err));
    Batch batch = {.rows = 1, .n = 1, .ncols = 3, .cols = cols};
    TRY(txn_truncate(txn, name, err));
    return txn_append(txn, name, &batch, err);
}

static tcudb_status read_value(const Table *table, uint32_t segment, uint32_t col, uint32_t row, Arena *arena,
                               Value *out, Error *err)
{
    Vector v;
    uint32_t start = row / CODEC_BLOCK * CODEC_BLOCK, n = segment_rows(table, segment) - start;
    TRY(segment_read(table, segment, col, start, n < CODEC_BLOCK ? n : CODEC_BLOCK, NULL, 0, arena, &v, err));
    *out = vec_value(&v, row - start);
    return TCUDB_OK;
}

/* The one row that is not deleted. Read as it lies, not by a query: this also works where the statement was stopped. */
static tcudb_status read_row(const Table *table, Arena *arena, Used *used, Error *err)
{
    Value last, called;
    for (uint32_t s = table_segments(table); s-- > 0;) {
        const uint64_t *gone = segment_deleted(table, s);
        for (uint32_t row = segment_rows(table, s); row-- > 0;) {
            if (gone != NULL && bit_get(gone, row)) continue;
            TRY(read_value(table, s, 0, row, arena, &last, err));
            TRY(read_value(table, s, 2, row, arena, &called, err));
            used->last = last.i64;
            used->called = called.b;
            return TCUDB_OK;
        }
    }
    return error_set(err, SQLSTATE_INTERNAL_ERROR, "sequence \"" STR_FMT "\" has no row", STR_ARG(used->name));
}

/* Whether the session knows of numbers behind those of the row. */
static bool knows_more(const Position *at, const Used *row)
{
    if (!at->ahead || at->set) return at->ahead;
    if (at->last == row->last) return at->called && !row->called;
    return row->def.increment > 0 ? at->last > row->last : at->last < row->last;
}

static tcudb_status read_one(Run *run, Str name, Used *used, Error *err)
{
    const Table *table = txn_table(run->session->txn, name);
    used->name = name;
    if (table == NULL || !note_sequence(table_def(table), &used->def))
        return error_set(err, SQLSTATE_UNDEFINED_TABLE, "relation \"" STR_FMT "\" does not exist", STR_ARG(name));
    TRY(know(run->session, table_def(table)->id, &used->known, err));
    TRY(read_row(table, run->arena, used, err));
    if (!knows_more(&used->known->at, used)) return TCUDB_OK;
    used->last = used->known->at.last;
    used->called = used->known->at.called;
    return TCUDB_OK;
}

/* ---- what was undone ----------------------------------------------------------------------------- */

bool session_sequences_lost(const Session *session)
{
    for (const Known *k = first_known(session); k != NULL; k = k->next)
        if (k->lost) return true;
    return false;
}

static const TableDef *def_of(Txn *txn, uint64_t id)
{
    for (uint32_t i = 0; i < txn_table_count(txn); i++)
        if (table_def(txn_table_at(txn, i))->id == id) return table_def(txn_table_at(txn, i));
    return NULL;
}

/* The sequence may be gone: the transaction that made it was undone. */
static tcudb_status put_back(Run *run, Known *known, Error *err)
{
    Txn *txn = run->session->txn;
    const TableDef *def = def_of(txn, known->id);
    if (def != NULL && !txn_is_temp(txn, def->name)) TRY(txn_lock(txn, err));
    def = def_of(txn, known->id); /* the lock has moved the snapshot */
    if (def == NULL) return TCUDB_OK;
    Used used = {0};
    TRY(read_one(run, def->name, &used, err));
    return put_row(txn, run->arena, def->name, used.last, used.called, err);
}

tcudb_status session_put_back_sequences(Session *session, Error *err)
{
    static const SessionSink no_sink = {0};
    Arena arena;
    arena_init(&arena, db_mem(session->instance->db));
    Run run = {.session = session, .arena = &arena, .sink = &no_sink, .tag = ""};
    tcudb_status status = TCUDB_OK;
    for (Known *k = first_known(session); k != NULL && status == TCUDB_OK; k = k->next)
        if (k->lost) status = put_back(&run, k, err);
    arena_free(&arena);
    return status;
}

/* ---- definitions -------------------------------------------------------------------------------- */

tcudb_status session_make_sequence(Run *run, const TableDef *def, Error *err)
{
    SequenceDef sequence = {0};
    TRY(txn_create_table(run->session->txn, def, err));
    (void)note_sequence(def, &sequence);
    return put_row(run->session->txn, run->arena, def->name, sequence.start, false, err);
}

tcudb_status session_create_sequence(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    bool temp = stmt->table.temp != TEMP_NONE;
    if (temp) TRY(session_attach_temp(run->session, err));
    if (session_skips(run, stmt->name, temp)) return TCUDB_OK;
    TRY(session_name_is_free(run->session->txn, stmt->name, temp, err));
    return session_make_sequence(run, &stmt->table, err);
}

/* From here the row counts, until something is undone. */
static void begin_anew(const Session *session, Known *known)
{
    if (known->anew == 0) {
        known->anew = session->npoints + 1;
        known->before = known->at;
    }
    known->at = (Position){0};
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
    TRY(put_row(run->session->txn, run->arena, stmt->name, used.last, used.called, err));
    begin_anew(run->session, used.known);
    return TCUDB_OK;
}

static tcudb_status restart(Run *run, const TableDef *def, Error *err)
{
    SequenceDef sequence = {0};
    Known *known;
    (void)note_sequence(def, &sequence);
    TRY(know(run->session, def->id, &known, err));
    TRY(put_row(run->session->txn, run->arena, def->name, sequence.start, false, err));
    begin_anew(run->session, known);
    return TCUDB_OK;
}

/* TRUNCATE ... RESTART IDENTITY, and what goes with a table or column. */
tcudb_status session_of_serials(Run *run, const TableDef *def, const TableDef *now, bool drop, Error *err)
{
    for (uint32_t i = 0; i < def->nnotes; i++) {
        SequenceDef sequence;
        Str name = def->notes[i].text;
        if (!note_is(&def->notes[i], NOTE_SERIAL)) continue;
        bool kept = false;
        for (uint32_t k = 0; now != NULL && k < now->nnotes; k++)
            kept = kept || (note_is(&now->notes[k], NOTE_SERIAL) && str_equal(now->notes[k].text, name));
        const Table *table = txn_table(run->session->txn, name);
        if (kept || table == NULL || !note_sequence(table_def(table), &sequence)) continue;
        if (drop)
            TRY(txn_drop_table(run->session->txn, name, err));
        else
            TRY(restart(run, table_def(table), err));
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

static void remember(Running *r, Used *used, bool set, bool given)
{
    Known *known = used->known;
    known->at = (Position){.ahead = true, .set = known->at.set || set, .called = used->called, .last = used->last};
    known->lost = false;
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
        remember(r, used, false, true);
        break;
    case SEQUENCE_SET:
        TRY(set_number(used, call, err));
        remember(r, used, true, call->called);
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
        if (r.used[i].moved)
            status = put_row(run->session->txn, run->arena, r.used[i].name, r.used[i].last, r.used[i].called, err);
    return status;
}
