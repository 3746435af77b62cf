/*
 * show_rates.c: SHOW RATES (nanoseconds of every step, measured or not) and SHOW CORRECTIONS (what queries took,
 * against what was predicted).
 */
#include "session/rows.h"
#include "session/session_int.h"

#include <math.h>

static tcudb_status text(Rows *rows, Value *value, const char *string, Error *err)
{
    char *copy = arena_strndup(rows->arena, string, strlen(string), err);
    TRY_PTR(copy);
    rows_text(value, str_of(copy));
    return TCUDB_OK;
}

static tcudb_status values_text(Rows *rows, Value *value, const double *values, uint32_t n, Error *err)
{
    Buf buf;
    tcudb_status status = TCUDB_OK;
    buf_init(&buf, NULL);
    for (uint32_t i = 0; i < n && status == TCUDB_OK; i++)
        status = buf_printf(&buf, err, "%s%.4g", i == 0 ? "" : " ", values[i]);
    if (status == TCUDB_OK) status = buf_char(&buf, '\0', err);
    if (status == TCUDB_OK) status = text(rows, value, buf.data, err);
    buf_free(&buf);
    return status;
}

tcudb_status session_rates_rows(Session *session, Rows *rows, Error *err)
{
    const RateInfo *info;
    Rates rates = session->instance->rates;
    rows_column(rows, "rate", TYPE_TEXT);
    rows_column(rows, "nanoseconds", TYPE_TEXT);
    rows_column(rows, "source", TYPE_TEXT);
    rows_column(rows, "description", TYPE_TEXT);
    for (uint32_t i = 0; (info = rates_at(i)) != NULL; i++) {
        Value *row = rows_add(rows, err);
        TRY_PTR(row);
        rows_text(&row[0], str_of(info->name));
        TRY(values_text(rows, &row[1], rate_values(&rates, info), info->n, err));
        rows_text(&row[2], str_of(session->instance->measured ? "calibrated" : "default"));
        rows_text(&row[3], str_of(info->help));
    }
    return TCUDB_OK;
}

tcudb_status session_corrections_rows(Session *session, Rows *rows, Error *err)
{
    rows_column(rows, "candidate", TYPE_TEXT);
    rows_column(rows, "predicted", TYPE_TEXT);
    rows_column(rows, "queries", TYPE_INT8);
    rows_column(rows, "factor", TYPE_TEXT);
    for (uint32_t form = 0; form < CANDIDATE_FORMS; form++) {
        for (uint32_t regime = 0; regime < CORRECTION_REGIMES; regime++) {
            double mean;
            uint64_t n;
            corrections_look(session->instance->corrections, (CandidateForm)form, regime, &mean, &n);
            if (n == 0) continue;
            Value *row = rows_add(rows, err);
            TRY_PTR(row);
            rows_text(&row[0], str_of(candidate_name((CandidateForm)form)));
            rows_text(&row[1], str_of(correction_regime_name(regime)));
            rows_int(&row[2], (int64_t)n);
            TRY(values_text(rows, &row[3], (double[]){exp(mean)}, 1, err));
        }
    }
    return TCUDB_OK;
}
