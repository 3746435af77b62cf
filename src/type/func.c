/*
 * func.c: the table of functions, and PostgreSQL's rules for choosing one (documentation 10.2, 10.3).
 *
 * resolve(name, argument types):
 *   1. candidates: same kind, name and number of arguments, every argument implicitly castable
 *   2. an exact match wins; an operator with one unknown argument tries the other's type first
 *   3. keep those with most exact matches, then those with most preferred types where a cast is needed
 *   4. unknown arguments: text if some candidate takes text there, else the category all agree on, and
 *      within it the preferred type
 *   5. if all known arguments have one type, take the unknown ones to be of that type
 *   6. still several: 42725; none: 42883
 * Operators over mixed integer widths need no lines of their own: step 3 leaves the wider type. Mixed
 * floats do (float4 op numeric must run as float8): FUNC_WIDEN lines take part and are then replaced.
 *
 * Cost: a scan over the table by name, about a thousand short compares; only while binding.
 */
#include "type/type_int.h"
#include "type/type_short.h"

#include <assert.h>
#include <stdio.h>

/* Flags of func.def's lines. */
enum { S = FUNC_STRICT, N = 0 };

#define NARGS(...) (uint32_t)sizeof((const uint8_t[]){__VA_ARGS__})
static const Func funcs[] = {
#define FUNCTION(name, flags, kernel, result, ...)                                                                     \
    {name, FUNC_FUNCTION, flags, CMP_NONE, NARGS(__VA_ARGS__), false, {__VA_ARGS__}, result, kernel},
#define VARIADIC(name, flags, kernel, result, ...)                                                                     \
    {name, FUNC_FUNCTION, flags, CMP_NONE, NARGS(__VA_ARGS__), true, {__VA_ARGS__}, result, kernel},
#define OPERATOR(name, flags, kernel, result, ...)                                                                     \
    {name, FUNC_OPERATOR, flags, CMP_NONE, NARGS(__VA_ARGS__), false, {__VA_ARGS__}, result, kernel},
#define VARIADIC_OPERATOR(name, flags, kernel, result, ...)                                                            \
    {name, FUNC_OPERATOR, flags, CMP_NONE, NARGS(__VA_ARGS__), true, {__VA_ARGS__}, result, kernel},
#define COMPARE(name, cmp, kernel, arg)                                                                                \
    {name,                                                                                                             \
     FUNC_OPERATOR,                                                                                                    \
     FUNC_STRICT | FUNC_COMPARISON | (arg == NUMERIC ? FUNC_NUM_COMPARE : 0),                                          \
     cmp,                                                                                                              \
     2,                                                                                                                \
     false,                                                                                                            \
     {arg, arg},                                                                                                       \
     TYPE_BOOL,                                                                                                        \
     kernel},
#define CAST(from, to, context, kernel)
#include "type/func.def"
};
enum { FUNC_COUNT = sizeof funcs / sizeof *funcs };

FuncCompare compare_swapped(FuncCompare compare)
{
    switch (compare) {
    case CMP_LT: return CMP_GT;
    case CMP_LE: return CMP_GE;
    case CMP_GT: return CMP_LT;
    case CMP_GE: return CMP_LE;
    default: return compare;
    }
}

/* PostgreSQL's type categories (pg_type.typcategory) and its preferred member of each. */
static char type_category(uint8_t id)
{
    switch ((TypeId)id) {
    case TYPE_BOOL: return 'B';
    case TYPE_INT2:
    case TYPE_INT4:
    case TYPE_INT8:
    case TYPE_NUMERIC:
    case TYPE_FLOAT4:
    case TYPE_FLOAT8: return 'N';
    case TYPE_DATE:
    case TYPE_TIMESTAMP: return 'D';
    case TYPE_INTERVAL: return 'T';
    case TYPE_TEXT:
    case TYPE_VARCHAR:
    case TYPE_BPCHAR: return 'S';
    case TYPE_UNKNOWN: return 'X';
    case TYPE_NONE:
    case TYPE_COUNT: return 'P';
    }
    return 'P';
}

static bool type_preferred(uint8_t id)
{
    return id == TYPE_BOOL || id == TYPE_FLOAT8 || id == TYPE_TEXT || id == TYPE_INTERVAL;
}

bool func_can_cast_implicitly(Type from, Type to)
{
    if (to.id == TYPE_NONE || from.id == to.id || from.id == TYPE_UNKNOWN) return true;
    return cast_context(from.id, to.id) == CAST_IMPLICIT;
}

/* ---- candidates -------------------------------------------------------------------------- */

enum { MAX_CANDIDATES = 64 };

/* varchar has no functions of its own: it is text by relabelling. */
static uint8_t lookup_id(Type type)
{
    return type.id == TYPE_VARCHAR ? TYPE_TEXT : type.id;
}

static uint8_t func_arg(const Func *f, uint32_t i)
{
    return f->args[i < f->nargs ? i : f->nargs - 1];
}

/* A word that is an operator in SQL's syntax (not, like, is null) may be asked for as either kind. */
static bool kind_matches(const Func *f, FuncKind kind, Str name)
{
    bool word = name.len > 0 && name.ptr[0] >= 'a' && name.ptr[0] <= 'z';
    return f->kind == kind || word;
}

bool func_exists(FuncKind kind, Str name)
{
    for (size_t i = 0; i < FUNC_COUNT; i++)
        if (kind_matches(&funcs[i], kind, name) && str_equal(name, str_of(funcs[i].name))) return true;
    return false;
}

static uint32_t find_candidates(FuncKind kind, Str name, const Type *args, uint32_t nargs, const Func **list)
{
    uint32_t n = 0;
    for (size_t i = 0; i < FUNC_COUNT && n < MAX_CANDIDATES; i++) {
        const Func *f = &funcs[i];
        if (!kind_matches(f, kind, name) || !str_equal(name, str_of(f->name))) continue;
        if (f->variadic ? nargs < f->nargs : nargs != f->nargs) continue;
        bool fits = true;
        for (uint32_t a = 0; a < nargs && fits; a++) fits = func_can_cast_implicitly(args[a], TYPE(func_arg(f, a)));
        if (fits) list[n++] = f;
    }
    return n;
}

static const Func *find_exact(const Func *const *list, uint32_t n, const uint8_t *ids, uint32_t nargs)
{
    for (uint32_t c = 0; c < n; c++) {
        uint32_t a = 0;
        while (a < nargs && func_arg(list[c], a) == ids[a]) a++;
        if (a == nargs) return list[c];
    }
    return NULL;
}

/* Keeps the candidates with the highest score; returns how many. */
typedef uint32_t (*ScoreFn)(const Func *f, const uint8_t *ids, uint32_t nargs);

static uint32_t keep_best(const Func **list, uint32_t n, const uint8_t *ids, uint32_t nargs, ScoreFn score)
{
    uint32_t best = 0, kept = 0;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t s = score(list[c], ids, nargs);
        if (c == 0 || s > best) {
            best = s;
            kept = 0;
        }
        if (s == best) list[kept++] = list[c];
    }
    return kept;
}

static uint32_t exact_matches(const Func *f, const uint8_t *ids, uint32_t nargs)
{
    uint32_t s = 0;
    for (uint32_t a = 0; a < nargs; a++) s += ids[a] != TYPE_UNKNOWN && func_arg(f, a) == ids[a];
    return s;
}

static uint32_t preferred_matches(const Func *f, const uint8_t *ids, uint32_t nargs)
{
    uint32_t s = 0;
    for (uint32_t a = 0; a < nargs; a++) {
        uint8_t to = func_arg(f, a);
        if (ids[a] == TYPE_UNKNOWN) continue;
        s += to == ids[a] || (type_preferred(to) && type_category(to) == type_category(ids[a]));
    }
    return s;
}

/* Step 4 for one unknown argument: the category wanted there, whether its preferred type is among the
 * candidates'; '\0' if they disagree. */
static char unknown_category(const Func *const *list, uint32_t n, uint32_t a, bool *preferred)
{
    char category = '\0';
    bool conflict = false;
    *preferred = false;
    for (uint32_t c = 0; c < n; c++) {
        uint8_t id = func_arg(list[c], a);
        char this = type_category(id);
        if (this == 'S' && category != 'S') {
            category = 'S';
            *preferred = false;
            conflict = false;
        }
        if (category == '\0') category = this;
        if (this == category)
            *preferred |= type_preferred(id);
        else if (category != 'S')
            conflict = true;
    }
    return conflict ? '\0' : category;
}

static uint32_t resolve_unknowns(const Func **list, uint32_t n, const uint8_t *ids, uint32_t nargs)
{
    const Func *kept[MAX_CANDIDATES];
    char category[FUNC_MAX_ARGS];
    bool preferred[FUNC_MAX_ARGS];
    for (uint32_t a = 0; a < nargs; a++) {
        if (ids[a] != TYPE_UNKNOWN) continue;
        category[a] = unknown_category(list, n, a, &preferred[a]);
        if (category[a] == '\0') return n;
    }
    uint32_t nkept = 0;
    for (uint32_t c = 0; c < n; c++) {
        bool keep = true;
        for (uint32_t a = 0; a < nargs && keep; a++) {
            uint8_t id = func_arg(list[c], a);
            if (ids[a] == TYPE_UNKNOWN)
                keep = type_category(id) == category[a] && (!preferred[a] || type_preferred(id));
        }
        if (keep) kept[nkept++] = list[c];
    }
    if (nkept == 0) return n;
    memcpy(list, kept, nkept * sizeof *kept);
    return nkept;
}

/* Step 5: the unknown arguments take the type of the known ones, if those have one. */
static const Func *resolve_same(const Func *const *list, uint32_t n, const uint8_t *ids, uint32_t nargs)
{
    uint8_t known = TYPE_UNKNOWN;
    bool unknown = false;
    for (uint32_t a = 0; a < nargs; a++) {
        if (ids[a] == TYPE_UNKNOWN)
            unknown = true;
        else if (known == TYPE_UNKNOWN)
            known = ids[a];
        else if (known != ids[a])
            return NULL;
    }
    if (!unknown || known == TYPE_UNKNOWN) return NULL;
    const Func *found = NULL;
    for (uint32_t c = 0; c < n; c++) {
        bool fits = true;
        for (uint32_t a = 0; a < nargs && fits; a++)
            fits = func_can_cast_implicitly(TYPE(known), TYPE(func_arg(list[c], a)));
        if (!fits) continue;
        if (found != NULL) return NULL;
        found = list[c];
    }
    return found;
}

/* NULL with *n candidates left over: 0 none, else ambiguous. */
static const Func *choose(const Func **list, uint32_t *n, const uint8_t *ids, uint32_t nargs, FuncKind kind)
{
    const Func *exact = find_exact(list, *n, ids, nargs);
    if (exact != NULL) return exact;
    if (kind == FUNC_OPERATOR && nargs == 2 && (ids[0] == TYPE_UNKNOWN) != (ids[1] == TYPE_UNKNOWN)) {
        uint8_t known = ids[0] == TYPE_UNKNOWN ? ids[1] : ids[0];
        exact = find_exact(list, *n, (const uint8_t[2]){known, known}, 2);
        if (exact != NULL) return exact;
    }
    if (*n > 1) *n = keep_best(list, *n, ids, nargs, exact_matches);
    if (*n > 1) *n = keep_best(list, *n, ids, nargs, preferred_matches);
    if (*n > 1) *n = resolve_unknowns(list, *n, ids, nargs);
    if (*n == 1) return list[0];
    return *n == 0 ? NULL : resolve_same(list, *n, ids, nargs);
}

/* ---- errors ------------------------------------------------------------------------------ */

static void describe_call(FuncKind kind, Str name, const Type *args, uint32_t nargs, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    if (kind == FUNC_OPERATOR && nargs <= 2) {
        if (nargs == 2) used += (size_t)snprintf(out, size, "%s ", type_base_name(args[0]));
        snprintf(out + used, size - used, STR_FMT " %s", STR_ARG(name), type_base_name(args[nargs - 1]));
        return;
    }
    used = (size_t)snprintf(out, size, STR_FMT "(", STR_ARG(name));
    for (uint32_t a = 0; a < nargs && used < size; a++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", a == 0 ? "" : ", ", type_base_name(args[a]));
    if (used < size) snprintf(out + used, size - used, ")");
}

static tcudb_status no_match(FuncKind kind, Str name, const Type *args, uint32_t nargs, int position, bool ambiguous,
                             Error *err)
{
    char call[ERROR_TEXT / 2];
    if (name.len > 64) name.len = 64;
    describe_call(kind, name, args, nargs, call, sizeof call);
    const char *what = kind == FUNC_OPERATOR ? "operator" : "function";
    tcudb_status status;
    if (kind == FUNC_OPERATOR)
        status = error_at(err, ambiguous ? SQLSTATE_AMBIGUOUS_FUNCTION : SQLSTATE_UNDEFINED_FUNCTION, position,
                          "operator %s: %s", ambiguous ? "is not unique" : "does not exist", call);
    else
        status = error_at(err, ambiguous ? SQLSTATE_AMBIGUOUS_FUNCTION : SQLSTATE_UNDEFINED_FUNCTION, position,
                          "function %s %s", call, ambiguous ? "is not unique" : "does not exist");
    if (ambiguous)
        error_hint(err, "Could not choose a best candidate %s. You might need to add explicit type casts.", what);
    else if (kind == FUNC_OPERATOR && nargs == 1)
        error_hint(
            err, "No operator matches the given name and argument type. You might need to add an explicit type cast.");
    else
        error_hint(err, "No %s matches the given name and argument types. You might need to add explicit type casts.",
                   what);
    return status;
}

/* ---- results ----------------------------------------------------------------------------- */

static Type decimal_of(Type t)
{
    switch ((TypeId)t.id) {
    case TYPE_INT2: return TYPE_DECIMAL(5, 0);
    case TYPE_INT4: return TYPE_DECIMAL(10, 0);
    case TYPE_INT8: return TYPE_DECIMAL(19, 0);
    case TYPE_NUMERIC: return t;
    default: return TYPE(TYPE_NUMERIC);
    }
}

/* numeric with `integer` digits before the point and `scale` behind it. Digits that 38 cannot hold are cut
 * in front, where an actual value that needs them is reported as overflow; a scale beyond 38 makes it Num. */
static Type decimal_fit(int integer, int scale)
{
    if (scale > NUM_MAX_DIGITS) return TYPE(TYPE_NUMERIC);
    int precision = integer + scale;
    if (precision < 1) precision = 1;
    return TYPE_DECIMAL((uint8_t)(precision > NUM_MAX_DIGITS ? NUM_MAX_DIGITS : precision), (uint8_t)scale);
}

/* The type that holds every value of both exactly, if 38 digits do; else Num. */
static Type decimal_common(Type a, Type b)
{
    if (a.precision == 0 || b.precision == 0) return TYPE(TYPE_NUMERIC);
    int scale = a.scale > b.scale ? a.scale : b.scale;
    int ia = a.precision - a.scale, ib = b.precision - b.scale;
    int integer = ia > ib ? ia : ib;
    return integer + scale > NUM_MAX_DIGITS ? TYPE(TYPE_NUMERIC) : decimal_fit(integer, scale);
}

/* The arguments of * keep their scales; if the product needs an int128, so do the factors. */
static void type_product(FuncCall *call, Type a, Type b)
{
    call->result = TYPE(TYPE_NUMERIC);
    if (a.precision > 0 && b.precision > 0)
        call->result = decimal_fit(a.precision - a.scale + b.precision - b.scale, a.scale + b.scale);
    if (call->result.precision == 0) a = b = TYPE(TYPE_NUMERIC);
    call->args[0] = a;
    call->args[1] = b;
}

Type func_places(Type x, int32_t places)
{
    int integer = x.precision - x.scale + 1; /* 9.9 is rounded to 10 */
    bool known = x.id == TYPE_NUMERIC && x.precision > 0 && places >= 0 && places <= NUM_MAX_DIGITS - integer;
    return known ? decimal_fit(integer, places) : TYPE(TYPE_NUMERIC);
}

/* Fills in precisions and scales where the function has numeric arguments. */
static void type_decimals(FuncCall *call, const Type *actual)
{
    const Func *f = call->func;
    Type first = decimal_of(actual[0]);
    if (f->flags & FUNC_NUM_ANY) {
        for (uint32_t a = 0; a < f->nargs; a++)
            if (f->args[a] == TYPE_NUMERIC) call->args[a] = decimal_of(actual[a]);
    } else if (f->flags & FUNC_NUM_MUL) {
        type_product(call, first, decimal_of(actual[1]));
    } else if (f->flags & (FUNC_NUM_ADD | FUNC_NUM_SAME | FUNC_NUM_COMPARE)) {
        Type common = first;
        for (uint32_t a = 1; a < f->nargs; a++) common = decimal_common(common, decimal_of(actual[a]));
        Type wide = common;
        if (common.precision > 0 && (f->flags & FUNC_NUM_ADD))
            wide = decimal_fit(common.precision - common.scale + 1, common.scale);
        for (uint32_t a = 0; a < f->nargs; a++) call->args[a] = wide;
        if (f->result == TYPE_NUMERIC) call->result = wide;
    } else if (f->flags & FUNC_NUM_INTEGER) {
        call->args[0] = first;
        call->result = first.precision == 0 ? first : decimal_fit(first.precision - first.scale + 1, 0);
    }
}

static tcudb_status fill_call(const Func *f, const Type *args, uint32_t nargs, FuncCall *out)
{
    bool numeric = false;
    out->func = f;
    for (uint32_t a = 0; a < nargs; a++) {
        uint8_t id = func_arg(f, a);
        out->args[a] = TYPE(id);
        if (id == TYPE_NONE) out->args[a] = args[a].id == TYPE_UNKNOWN ? TYPE(TYPE_TEXT) : args[a];
        if (id == TYPE_BPCHAR && args[a].id == TYPE_BPCHAR) out->args[a] = args[a];
        numeric |= id == TYPE_NUMERIC;
    }
    out->result = f->result == TYPE_NONE ? out->args[0] : TYPE(f->result);
    if (numeric) type_decimals(out, args);
    if (f->flags & FUNC_DATE_FIELD) out->result = TYPE_DECIMAL(15, 0);
    return TCUDB_OK;
}

static tcudb_status resolve_common(const Func *f, Str name, const Type *args, uint32_t nargs, int position,
                                   FuncCall *out, Error *err)
{
    Type common;
    TRY(func_common_type(args, nargs, str_equal(name, STR_LIT("greatest")) ? "GREATEST" : "LEAST", position, &common,
                         err));
    out->func = f;
    for (uint32_t a = 0; a < nargs; a++) out->args[a] = common;
    out->result = common;
    return TCUDB_OK;
}

/* A varchar is compared with a char(n) as one: among the operators only that one has a type of either. */
static void match_bpchar(FuncKind kind, Str name, const Type *args, uint32_t nargs, uint8_t *ids)
{
    static const char *const names[] = {"=", "<>", "<", "<=", ">", ">="};
    if (kind != FUNC_OPERATOR || nargs != 2) return;
    bool mixed = (args[0].id == TYPE_VARCHAR && args[1].id == TYPE_BPCHAR) ||
                 (args[0].id == TYPE_BPCHAR && args[1].id == TYPE_VARCHAR);
    for (size_t i = 0; mixed && i < sizeof names / sizeof *names; i++)
        if (str_equal(name, str_of(names[i]))) ids[0] = ids[1] = TYPE_BPCHAR;
}

tcudb_status func_resolve(FuncKind kind, Str name, const Type *args, uint32_t nargs, int position, FuncCall *out,
                          Error *err)
{
    const Func *list[MAX_CANDIDATES];
    uint8_t ids[FUNC_MAX_ARGS];
    if (nargs > FUNC_MAX_ARGS)
        return error_at(err, SQLSTATE_TOO_MANY_ARGUMENTS, position, "cannot pass more than %d arguments to a function",
                        FUNC_MAX_ARGS);
    for (uint32_t a = 0; a < nargs; a++) ids[a] = lookup_id(args[a]);
    if (str_equal(name, STR_LIT("!="))) name = STR_LIT("<>");
    match_bpchar(kind, name, args, nargs, ids);
    uint32_t n = find_candidates(kind, name, args, nargs, list);
    const Func *f = choose(list, &n, ids, nargs, kind);
    if (f == NULL) return no_match(kind, name, args, nargs, position, n > 0, err);
    if (f->flags & FUNC_COMMON) return resolve_common(f, name, args, nargs, position, out, err);
    if (f->flags & FUNC_LIKE_EQUAL) {
        TRY(func_resolve(FUNC_OPERATOR, STR_LIT("="), args, nargs, position, out, err));
        out->func = f;
        return TCUDB_OK;
    }
    if (f->flags & FUNC_WIDEN) {
        const Type wide[2] = {TYPE(TYPE_FLOAT8), TYPE(TYPE_FLOAT8)};
        return func_resolve(kind, name, wide, 2, position, out, err);
    }
    return fill_call(f, args, nargs, out);
}

/* ---- common types ------------------------------------------------------------------------ */

/* What modifiers survive when values of both types meet: a numeric keeps its precision only if the scales
 * agree, because PostgreSQL shows each value with its own. */
static Type merge_modifiers(Type a, Type b)
{
    if (type_equal(a, b)) return a;
    if (a.id != TYPE_NUMERIC || a.precision == 0 || b.precision == 0 || a.scale != b.scale) return TYPE(a.id);
    return a.precision >= b.precision ? a : b;
}

tcudb_status func_common_type(const Type *types, uint32_t n, const char *what, int position, Type *out, Error *err)
{
    Type common = TYPE(TYPE_UNKNOWN);
    for (uint32_t i = 0; i < n; i++) {
        Type t = types[i];
        if (t.id == TYPE_UNKNOWN || t.id == common.id) continue;
        if (common.id == TYPE_UNKNOWN) {
            common = t;
        } else if (type_category(t.id) != type_category(common.id)) {
            return error_at(err, SQLSTATE_DATATYPE_MISMATCH, position, "%s types %s and %s cannot be matched", what,
                            type_base_name(common), type_base_name(t));
        } else if (!type_preferred(common.id) && func_can_cast_implicitly(common, t) &&
                   !func_can_cast_implicitly(t, common)) {
            common = t;
        }
    }
    if (common.id == TYPE_UNKNOWN) common = TYPE(TYPE_TEXT);
    bool first = true, literal = false, exact = strcmp(what, "IN") == 0 && common.id == TYPE_NUMERIC;
    Type merged = TYPE(common.id);
    for (uint32_t i = 0; i < n; i++) {
        literal |= types[i].id == TYPE_UNKNOWN;
        if (types[i].id == TYPE_UNKNOWN) continue;
        Type t = types[i].id == common.id ? types[i] : exact ? decimal_of(types[i]) : TYPE(common.id);
        if (common.id == TYPE_NUMERIC && !exact) t = decimal_of(types[i]);
        merged = first ? t : exact ? decimal_common(merged, t) : merge_modifiers(merged, t);
        first = false;
    }
    /* a literal keeps its digits and characters */
    if (literal && (merged.id == TYPE_TIMESTAMP || merged.id == TYPE_VARCHAR)) merged = TYPE(merged.id);
    *out = merged;
    return TCUDB_OK;
}
