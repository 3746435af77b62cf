/*
 * card_image.c: how many values an expression can have whatever its columns hold: a remainder, a field of a date, a
 * CASE of constants, a condition.
 */
#include "opt/opt_int.h"

#include <math.h>

static const double DAY = 86400e6; /* a timestamp's unit is a microsecond, a date's a day */

typedef struct Field {
    const char *name;
    double values; /* of extract; INFINITY: as many as date_trunc has */
    double days;   /* of a unit of date_trunc */
} Field;

static const Field fields[] = {
    {"year", INFINITY, 365.25},
    {"isoyear", INFINITY, 365.25},
    {"quarter", 4, 91.3},
    {"month", 12, 30.44},
    {"week", 53, 7},
    {"day", 31, 1},
    {"doy", 366, 1},
    {"dow", 7, 1},
    {"isodow", 7, 1},
    {"hour", 24, 1.0 / 24},
    {"minute", 60, 1. / 1440},
    {"second", INFINITY, 1. / 86400},
    {"decade", INFINITY, 3652},
    {"century", INFINITY, 36525},
    {"epoch", INFINITY, 0},
};

static const Field *field_of(const Expr *name)
{
    if (name->kind != EXPR_CONST || name->value.null || !type_is_text(name->type)) return NULL;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (str_equal(name->value.str, str_of(fields[i].name))) return &fields[i];
    return NULL;
}

/* Units between the exact bounds of a date or timestamp. */
static double units(const Opt *opt, const Expr *e, double days)
{
    e = expr_column(e);
    if (e == NULL || days == 0) return INFINITY;
    const ColFact *fact = card_fact(opt, e->col);
    if (!fact->has_range) return INFINITY;
    double unit = days * (e->type.id == TYPE_DATE ? 1 : DAY);
    return floor((fact->hi - fact->lo) / unit) + 2;
}

static double date_values(const Opt *opt, const Expr *e)
{
    bool extract = expr_is_func(e, "extract") || expr_is_func(e, "date_part");
    bool trunc = expr_is_func(e, "date_trunc");
    if ((!extract && !trunc) || e->nargs < 2) return INFINITY;
    const Field *field = field_of(e->args[0]);
    if (field == NULL) return INFINITY;
    double all = units(opt, e->args[1], field->days);
    return extract ? fmin(field->values, all) : all;
}

/* a % m has m values, or twice as many where a has both signs, which is seldom. */
static double remainders(const Expr *e)
{
    if (!expr_is_func(e, "%") || e->nargs != 2 || e->args[1]->kind != EXPR_CONST) return INFINITY;
    double m = fabs(card_number(&e->args[1]->value));
    return m >= 1 ? m : INFINITY;
}

/* A value a branch, where all are constants. */
static double branches(const Expr *e)
{
    uint32_t last = e->nargs - 1, values = last / 2 + 1;
    for (uint32_t i = 1; i < last; i += 2)
        if (e->args[i]->kind != EXPR_CONST) return INFINITY;
    return e->args[last]->kind == EXPR_CONST ? (double)values : INFINITY;
}

double card_image(const Opt *opt, const Expr *e)
{
    if (e->kind == EXPR_CASE && e->nargs > 0) return branches(e);
    if (e->kind == EXPR_COL || e->kind == EXPR_CONST) return INFINITY;
    if (e->type.id == TYPE_BOOL) return 2;
    return fmin(remainders(e), date_values(opt, e));
}
