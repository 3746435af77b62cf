/*
 * hint.c: "Perhaps you meant ...": the nearest names for a misspelt table.
 *
 * PostgreSQL has no such hint for relations. It is added here, after the statement failed, because only a
 * failing statement should pay for it: every table and view is compared by edit distance, and names within
 * a third of the length count.
 */
#include "session/session_int.h"

#include <assert.h>
#include <ctype.h>

enum { NAME_MAX_LEN = 63 };

static uint32_t least(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t m = a < b ? a : b;
    return m < c ? m : c;
}

/* Levenshtein, case-insensitive, of names up to NAME_MAX_LEN bytes. */
static uint32_t distance(Str a, Str b)
{
    uint8_t row[NAME_MAX_LEN + 1];
    assert(b.len <= NAME_MAX_LEN && a.len <= NAME_MAX_LEN);
    for (uint32_t j = 0; j <= b.len; j++) row[j] = (uint8_t)j;
    for (uint32_t i = 1; i <= a.len; i++) {
        uint32_t diagonal = row[0];
        row[0] = (uint8_t)i;
        for (uint32_t j = 1; j <= b.len; j++) {
            bool same = tolower((unsigned char)a.ptr[i - 1]) == tolower((unsigned char)b.ptr[j - 1]);
            uint32_t best = least(row[j] + 1U, row[j - 1] + 1U, diagonal + (same ? 0 : 1));
            diagonal = row[j];
            row[j] = (uint8_t)best;
        }
    }
    return row[b.len];
}

typedef struct Nearest {
    Str wanted;
    Str best;
    uint32_t distance;
} Nearest;

static void consider(Nearest *nearest, Str name)
{
    if (name.len > NAME_MAX_LEN) return;
    uint32_t d = distance(nearest->wanted, name);
    if (d >= nearest->distance) return;
    nearest->distance = d;
    nearest->best = name;
}

/* The name in: relation "NAME" does not exist / table "NAME" does not exist. */
static bool missing_name(const Error *err, Str *out)
{
    if (strcmp(err->sqlstate, SQLSTATE_UNDEFINED_TABLE) != 0 || err->hint[0] != '\0') return false;
    const char *open = strchr(err->message, '"');
    const char *close = open == NULL ? NULL : strchr(open + 1, '"');
    if (close == NULL) return false;
    *out = (Str){open + 1, (uint32_t)(close - open - 1)};
    return out->len > 0 && out->len <= NAME_MAX_LEN;
}

void session_hint(Session *session, Error *err)
{
    Str wanted;
    Txn *txn = session->txn;
    if (err == NULL || !missing_name(err, &wanted)) return;
    bool own = txn == NULL;
    if (own && txn_begin(session->instance->db, &txn, NULL) != TCUDB_OK) return;
    Nearest nearest = {.wanted = wanted, .distance = wanted.len / 3 + 2};
    uint32_t tables = txn_table_count(txn);
    uint32_t views = txn_view_count(txn);
    for (uint32_t i = 0; i < tables; i++) consider(&nearest, table_def(txn_table_at(txn, i))->name);
    for (uint32_t i = 0; i < views; i++) consider(&nearest, txn_view_at(txn, i)->name);
    if (nearest.best.len > 0)
        error_hint(err, "Perhaps you meant \"" STR_FMT "\".", STR_ARG(nearest.best));
    else if (tables + views == 0)
        error_hint(err, "The database has no tables yet.");
    if (own) txn_rollback(txn);
}
