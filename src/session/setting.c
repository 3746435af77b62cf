/*
 * setting.c: SET, RESET, SHOW.
 *
 * The values are in base/settings; here is what has to happen besides: values that name something we do not
 * have are refused, SET survives only a COMMIT (txn.c), and a few read-only parameters that client programs
 * ask for are answered from a table.
 */
#include "session/rows.h"
#include "session/session_int.h"

#include <assert.h>
#include <strings.h>

static bool named(Str name, const char *setting)
{
    return name.len == strlen(setting) && strncasecmp(name.ptr, setting, name.len) == 0;
}

static bool contains_word(Str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.len; i++)
        if (strncasecmp(text.ptr + i, word, n) == 0) return true;
    return false;
}

static bool contains_any(const char *text, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (contains_word(str_of(text), words[i])) return true;
    return false;
}

/* Values that PostgreSQL takes and we cannot honour. */
static tcudb_status check_value(const Settings *s, Str name, Str value, Error *err)
{
    static const char *const encodings[] = {"utf8", "utf-8", "unicode"}, *const orders[] = {"ymd", "dmy", "eur"},
                             *const outputs[] = {"german", "sql", "postgres"};
    bool known = true;
    if (named(name, "client_encoding")) known = contains_any(s->client_encoding, encodings, 3);
    if (named(name, "DateStyle"))
        known = !contains_any(s->datestyle, orders, 3) && !contains_any(s->datestyle, outputs, 3);
    if (named(name, "IntervalStyle")) known = strcasecmp(s->intervalstyle, "postgres") == 0;
    if (named(name, "standard_conforming_strings")) known = s->strings;
    if (named(name, "default_transaction_read_only")) known = !s->read_only;
    if (named(name, "extra_float_digits")) known = s->extra_float_digits >= 1;
    return known ? TCUDB_OK : error_unsupported(err, 0, STR_FMT " \"" STR_FMT "\"", STR_ARG(name), STR_ARG(value));
}

void session_apply_memory_limit(Session *session)
{
    int64_t wanted = session->settings.memory_limit;
    size_t limit = wanted == 0 ? session->instance->memory_limit : (size_t)wanted;
    atomic_store(&db_mem(session->instance->db)->limit, limit);
}

static tcudb_status is_fixed(Str name, Error *err)
{
    return error_set(err, SQLSTATE_CANT_CHANGE_RUNTIME_PARAM, "parameter \"" STR_FMT "\" cannot be changed",
                     STR_ARG(name));
}

tcudb_status session_set_to(Session *session, Str name, Str value, bool local, Error *err)
{
    Settings next = session->settings;
    if (settings_fixed(name, NULL) != NULL) return is_fixed(name, err);
    if (named(name, "transaction_isolation")) return session_set_isolation(session, value, err);
    TRY(settings_set(&next, name, value, err));
    if (named(name, "transaction_read_only")) return session_set_access(session, next.read_only_now, err);
    TRY(check_value(&next, name, value, err));
    session->settings = next;
    if (!local) TRY(settings_set(&session->at_commit, name, value, err));
    session_apply_memory_limit(session);
    return TCUDB_OK;
}

tcudb_status session_set(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    if (stmt->flag && !run->session->block)
        session_notify(run->session, "WARNING", SQLSTATE_NO_ACTIVE_SQL_TRANSACTION,
                       "SET LOCAL can only be used in transaction blocks");
    return session_set_to(run->session, stmt->name, stmt->text, stmt->flag, err);
}

static bool is_of_transaction(Str name)
{
    return named(name, "transaction_isolation") || named(name, "transaction_read_only");
}

tcudb_status session_reset(Run *run, Error *err)
{
    const Stmt *stmt = run->stmt;
    Session *session = run->session;
    if (!stmt->flag && is_of_transaction(stmt->name)) return TCUDB_OK;
    if (!stmt->flag && settings_fixed(stmt->name, NULL) != NULL) return is_fixed(stmt->name, err);
    if (stmt->flag) {
        const Settings before = session->settings;
        settings_init(&session->settings);
        session->settings.isolation_now = before.isolation_now;
        session->settings.read_only_now = before.read_only_now;
        session->at_commit = session->settings;
    } else {
        TRY(settings_reset(&session->settings, stmt->name, err));
        TRY(settings_reset(&session->at_commit, stmt->name, err));
        if (named(stmt->name, "tcudb.corrections")) corrections_reset(session->instance->corrections);
    }
    session_apply_memory_limit(session);
    return TCUDB_OK;
}

static tcudb_status show_text(const Settings *settings, const char *name, Arena *arena, Str *out, Error *err)
{
    Buf buf;
    buf_init(&buf, NULL);
    tcudb_status status = settings_show(settings, str_of(name), &buf, err);
    char *copy = status == TCUDB_OK ? arena_strndup(arena, buf.data == NULL ? "" : buf.data, buf.len, err) : NULL;
    *out = (Str){copy, (uint32_t)buf.len};
    buf_free(&buf);
    if (status == TCUDB_OK && copy == NULL) return TCUDB_NOMEM;
    return status;
}

tcudb_status session_settings_rows(Session *session, Rows *rows, Error *err)
{
    const char *name = NULL;
    const char *help = NULL;
    rows_column(rows, "name", TYPE_TEXT);
    rows_column(rows, "setting", TYPE_TEXT);
    rows_column(rows, "description", TYPE_TEXT);
    for (uint32_t i = 0; settings_at(i, &name, &help); i++) {
        Str value;
        TRY(show_text(&session->settings, name, rows->arena, &value, err));
        Value *row = rows_add(rows, err);
        TRY_PTR(row);
        rows_text(&row[0], str_of(name));
        rows_text(&row[1], value);
        rows_text(&row[2], str_of(help));
    }
    return TCUDB_OK;
}

/* The setting's own spelling, for the column's name. */
static const char *canonical_name(Str name)
{
    const char *at = NULL;
    const char *help = NULL;
    for (uint32_t i = 0; settings_at(i, &at, &help); i++)
        if (named(name, at)) return at;
    return NULL;
}

static tcudb_status show_one(Run *run, Rows *rows, Error *err)
{
    Str name = run->stmt->name;
    const char *column = NULL;
    const char *constant = settings_fixed(name, &column);
    Str value = constant != NULL ? str_of(constant) : (Str){0};
    if (constant == NULL) {
        column = canonical_name(name);
        if (column == NULL) return settings_reset(&(Settings){0}, name, err); /* words the error */
        TRY(show_text(&run->session->settings, column, run->arena, &value, err));
    }
    rows_column(rows, column, TYPE_TEXT);
    Value *row = rows_add(rows, err);
    TRY_PTR(row);
    rows_text(&row[0], value);
    return TCUDB_OK;
}

tcudb_status session_show(Run *run, Error *err)
{
    Rows rows;
    rows_init(&rows, run->arena);
    if (run->stmt->flag) {
        TRY(session_settings_rows(run->session, &rows, err));
    } else if (named(run->stmt->name, "tables")) {
        TRY(session_tables_rows(run->session, (Str){0}, &rows, err));
    } else if (named(run->stmt->name, "rates")) {
        TRY(session_rates_rows(run->session, &rows, err));
    } else if (named(run->stmt->name, "corrections")) {
        TRY(session_corrections_rows(run->session, &rows, err));
    } else {
        TRY(show_one(run, &rows, err));
    }
    return rows_send(&rows, run->sink, err);
}
