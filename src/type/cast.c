/*
 * cast.c: which casts exist, in which context, and the kernel of each.
 *
 * Four sources, in this order: a relabelling (text to varchar: the bits are right already), a change of
 * modifiers within one type (numeric(p,s), varchar(n), char(n)), a line CAST in func.def, and conversion
 * through text, which PostgreSQL allows explicitly from any type to any other of the string types and
 * back (on assignment towards text). Kernels read source and target modifiers from the vectors' types.
 */
#include "type/type_int.h"
#include "type/type_short.h"

#include <assert.h>

typedef struct CastLine {
    uint8_t context; /* CastContext */
    Func func;
} CastLine;

static const CastLine casts[] = {
#define FUNCTION(...)
#define VARIADIC(...)
#define OPERATOR(...)
#define VARIADIC_OPERATOR(...)
#define COMPARE(...)
#define CAST(from, to, context_, kernel)                                                                               \
    {CAST_##context_, {#to, FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {from}, to, kernel}},
#include "type/func.def"
};
enum { CAST_COUNT = sizeof casts / sizeof *casts };

static const Func cast_from_text = {"any", FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {TEXT}, TYPE_NONE, text_to_any};
static const Func cast_to_text = {"text", FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {TYPE_NONE}, TEXT, any_to_text};
static const Func cut_varchar = {"varchar", FUNC_CAST, FUNC_STRICT,  CMP_NONE,        1,
                                 false,     {TEXT},    TYPE_VARCHAR, text_cut_varchar};
static const Func fit_varchar = {"varchar", FUNC_CAST, FUNC_STRICT,  CMP_NONE,        1,
                                 false,     {TEXT},    TYPE_VARCHAR, text_fit_varchar};
static const Func cut_bpchar = {"bpchar", FUNC_CAST, FUNC_STRICT, CMP_NONE,       1,
                                false,    {TEXT},    TYPE_BPCHAR, text_cut_bpchar};
static const Func fit_bpchar = {"bpchar", FUNC_CAST, FUNC_STRICT, CMP_NONE,       1,
                                false,    {TEXT},    TYPE_BPCHAR, text_fit_bpchar};
static const Func drop_blanks = {"text", FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {TEXT}, TEXT, text_drop_blanks};
static const Func add_blanks = {"bpchar", FUNC_CAST, FUNC_STRICT, CMP_NONE,       1,
                                false,    {TEXT},    TYPE_BPCHAR, text_add_blanks};
static const Func cut_to_text = {"text", FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {TYPE_NONE}, TEXT, any_cut_text};
static const Func fit_to_text = {"text", FUNC_CAST, FUNC_STRICT, CMP_NONE, 1, false, {TYPE_NONE}, TEXT, any_fit_text};
static const Func fit_interval = {"interval", FUNC_CAST, FUNC_STRICT,         CMP_NONE, 1, false,
                                  {INTERVAL}, INTERVAL,  interval_to_interval};
static const Func round_timestamp = {"timestamp", FUNC_CAST, FUNC_STRICT,           CMP_NONE, 1, false,
                                     {TIMESTAMP}, TIMESTAMP, timestamp_to_timestamp};
static const Func rescale_numeric = {"numeric", FUNC_CAST, FUNC_STRICT, CMP_NONE,          1,
                                     false,     {NUMERIC}, NUMERIC,     numeric_to_numeric};

static const Func relabel = {"relabel", FUNC_CAST,   FUNC_STRICT, CMP_NONE,      1,
                             false,     {TYPE_NONE}, TYPE_NONE,   any_relabelled};

const Func *func_relabel(void)
{
    return &relabel;
}

/* The same bits. */
KERNEL(any_relabelled)
{
    const size_t size = phys_size((Phys)out->phys);
    const char *from = args[0].data;
    char *to = out->data;
    EACH_ROW(i, row) memcpy(to + row * size, from + row * STRIDE(args[0]) * size, size);
    return TCUDB_OK;
}

static const CastLine *find_line(uint8_t from, uint8_t to)
{
    for (size_t i = 0; i < CAST_COUNT; i++)
        if (casts[i].func.args[0] == from && casts[i].func.result == to) return &casts[i];
    return NULL;
}

int cast_context(uint8_t from, uint8_t to)
{
    if (from == to || from == TYPE_UNKNOWN) return CAST_IMPLICIT;
    bool from_text = type_is_text(TYPE(from)), to_text = type_is_text(TYPE(to)) && to != TYPE_UNKNOWN;
    if (from_text && to_text) return CAST_IMPLICIT;
    const CastLine *line = find_line(from, to);
    if (line != NULL) return line->context;
    if (to_text) return CAST_ASSIGNMENT;
    if (from_text && to != TYPE_UNKNOWN) return CAST_EXPLICIT;
    return CAST_NONE;
}

/* Between text types. char(n) becomes another type without its blanks, char without a length with all of them. */
static const Func *cast_length(Type from, Type to, CastContext context)
{
    bool explicit_cast = context == CAST_EXPLICIT, fits = from.length > 0 && from.length <= to.length;
    if (to.id == TYPE_BPCHAR && to.length == 0) return from.id == TYPE_BPCHAR && from.length > 0 ? &add_blanks : NULL;
    if (to.id == TYPE_BPCHAR) return from.id == TYPE_BPCHAR && fits ? NULL : explicit_cast ? &cut_bpchar : &fit_bpchar;
    if (to.id == TYPE_TEXT || to.length == 0) return type_keeps_blanks(from) ? &drop_blanks : NULL;
    if (from.id != TYPE_TEXT && fits) return NULL;
    return explicit_cast ? &cut_varchar : &fit_varchar;
}

static const Func *cast_numeric(Type from, Type to)
{
    if (from.precision == to.precision && from.scale == to.scale) return NULL;
    if (to.precision == 0 || from.precision == 0) return &rescale_numeric;
    bool same_form = type_phys(from) == type_phys(to);
    return same_form && from.scale == to.scale && from.precision <= to.precision ? NULL : &rescale_numeric;
}

/* Between types that differ in their modifiers only; not of texts. */
static const Func *cast_modifiers(Type from, Type to)
{
    if (to.id == TYPE_NUMERIC) return cast_numeric(from, to);
    if (to.id == TYPE_INTERVAL && to.length != 0) return &fit_interval;
    bool coarser = to.precision > 0 && (from.precision == 0 || from.precision > to.precision);
    return to.id == TYPE_TIMESTAMP && coarser ? &round_timestamp : NULL;
}

tcudb_status func_cast(Type from, Type to, CastContext context, int position, const Func **out, Error *err)
{
    *out = NULL;
    assert(to.id != TYPE_NONE && from.id != TYPE_NONE);
    if (to.id == TYPE_UNKNOWN) {
        if (type_is_text(from)) return TCUDB_OK;
    } else if ((int)context >= cast_context(from.id, to.id)) {
        if (type_is_text(from))
            *out = type_is_text(to) ? cast_length(from, to, context) : &cast_from_text;
        else if (from.id == to.id)
            *out = cast_modifiers(from, to);
        else if (find_line(from.id, to.id) != NULL)
            *out = &find_line(from.id, to.id)->func;
        else if (to.id == TYPE_TEXT || (to.id == TYPE_VARCHAR && to.length == 0))
            *out = &cast_to_text;
        else
            *out = context == CAST_EXPLICIT ? &cut_to_text : &fit_to_text;
        return TCUDB_OK;
    }
    return error_at(err, SQLSTATE_CANNOT_COERCE, position, "cannot cast type %s to %s", type_base_name(from),
                    type_base_name(to));
}
