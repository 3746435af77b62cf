/*
 * func.h: the registry of scalar functions, operators, casts and aggregates, and PostgreSQL's rules
 * for choosing among them.
 *
 * A function is one line in func.def and one kernel over vectors. Resolution follows PostgreSQL:
 * exact match, then binary-coercible and implicit casts, preferred types, unknown literals
 * (documentation chapter 10). A cast is a function too: kind FUNC_CAST, one argument.
 */
#ifndef TYPE_FUNC_H
#define TYPE_FUNC_H

#include "type/vector.h"

/* What functions over sequences ask of the session; safe to call from several workers. */
typedef enum SequenceOp { SEQUENCE_NEXT, SEQUENCE_CURRENT, SEQUENCE_LAST, SEQUENCE_SET } SequenceOp;
typedef struct SequenceCall {
    SequenceOp op;
    Str name;
    int64_t value; /* SET */
    bool called;   /* SET: whether the next number comes after `value` */
} SequenceCall;
typedef struct Sequences {
    void *ctx;
    tcudb_status (*call)(void *ctx, const SequenceCall *call, int64_t *out, Error *err);
} Sequences;

/* What a kernel may use. One per worker; the arena lives as long as the batch. */
typedef struct EvalCtx {
    Arena *arena;
    int64_t now; /* transaction start, as a TIMESTAMP value */
    const atomic_bool *cancel;
    uint64_t random[2];         /* state of random() */
    const Sequences *sequences; /* NULL: there are none here */
} EvalCtx;

/* Computes out at the rows sel[0..n-1] (sel NULL: rows 0..n-1). args are flat or const (`const` only if
 * every argument of the call is not const: the evaluator folds all-const calls to one row). out is flat,
 * allocated, of the call's result type, without validity.
 * Strict functions see only rows where no argument is NULL; a strict function that yields NULL itself
 * (e.g. to_number failures) calls vec_need_valid and clears bits. Non-strict ones see everything. */
typedef tcudb_status (*FuncEval)(EvalCtx *ctx, const Vector *args, uint32_t nargs, const uint16_t *sel, uint32_t n,
                                 Vector *out, Error *err);

typedef enum FuncKind { FUNC_FUNCTION, FUNC_OPERATOR, FUNC_CAST } FuncKind;

enum {
    FUNC_STRICT = 1,      /* NULL in, NULL out */
    FUNC_VOLATILE = 2,    /* random(): never folded, never moved */
    FUNC_STABLE = 4,      /* now(): one value a statement */
    FUNC_COMPARISON = 8,  /* =, <>, <, <=, >, >=: see FuncCompare */
    FUNC_COMMON = 16,     /* greatest, least: all arguments are cast to their common type */
    FUNC_LIKE_EQUAL = 32, /* is distinct from: arguments are cast as = would cast them */
    FUNC_WIDEN = 64,      /* float4 op float8: a signature for resolution only, runs as float8 op float8 */
    /* How precision and scale of numeric arguments and results follow from the actual ones. None of
     * these: arguments and result are Num. */
    FUNC_NUM_ADD = 0x100,      /* one scale, one digit more */
    FUNC_NUM_MUL = 0x200,      /* scales add up */
    FUNC_NUM_SAME = 0x400,     /* all alike, result too: mod, abs, unary minus */
    FUNC_NUM_COMPARE = 0x800,  /* all alike; no numeric result */
    FUNC_NUM_INTEGER = 0x1000, /* round, ceil, floor: scale 0 */
    FUNC_NUM_ANY = 0x2000,     /* arguments as they are; the result is Num */
    FUNC_DATE_FIELD = 0x4000,  /* the result is numeric(15,0) */
    FUNC_NUM_PLACES = 0x8000   /* the second argument is the result's scale: see func_places */
};

typedef enum FuncCompare { CMP_NONE, CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE } FuncCompare;
/* What it becomes when its sides are swapped. */
FuncCompare compare_swapped(FuncCompare compare);

typedef struct Func {
    const char *name; /* SQL name: "abs", "+", "like"; a cast: the target type's name */
    FuncKind kind;
    uint32_t flags;
    FuncCompare compare;
    uint32_t nargs; /* fixed arguments; variadic functions repeat the last type */
    bool variadic;
    uint8_t args[7]; /* TypeId; TYPE_NONE: any type, passed uncast (unknown as text) */
    uint8_t result;  /* TypeId; TYPE_NONE: the first argument's */
    FuncEval eval;
} Func;

/* A resolved call: the function, the types its arguments must be cast to (by func_cast), the result. For
 * numeric calls the argument and result precisions and scales are filled in from the actual types. */
enum { FUNC_MAX_ARGS = 100 };
typedef struct FuncCall {
    const Func *func;
    Type args[FUNC_MAX_ARGS];
    Type result;
} FuncCall;

/* The type of round(x, places) and trunc(x, places) for constant places: numeric without a precision where none is
 * known. */
Type func_places(Type x, int32_t places);

/* One function for outer(inner(...)), over inner's arguments; NULL: there is none. Results and errors are the same. */
const Func *func_fused(const Func *outer, const Func *inner);

/* A cast that changes no bit: for values of a cast whose kernel looks at the modifiers of the type it casts to. */
const Func *func_relabel(void);

/* Texts in the context's arena; zeroed: none. Those of a chunk are followed by the next one's. */
typedef struct TextChunk {
    struct TextChunk *next;
    uint32_t n, cap;
    Str texts[];
} TextChunk;
typedef struct TextList {
    TextChunk *first, *last;
    uint64_t n;
} TextList;
/* The bytes stay where they are. Looks at the context's flag every now and then. */
tcudb_status text_list_add(const EvalCtx *ctx, TextList *list, Str text, Error *err) MUST_CHECK;
/* Adds the pieces between delimiters. NULL cuts between all characters, an empty one nowhere; an empty text has no
 * piece. A piece equal to *null (NULL: none) is NULL: its ptr is NULL. */
tcudb_status text_split(const EvalCtx *ctx, Str s, const Str *delimiter, const Str *null, TextList *list,
                        Error *err) MUST_CHECK;

/* Adds the texts between the matches of a regular expression in s: regexp_split_to_table, `function` for messages. */
tcudb_status text_regex_split(EvalCtx *ctx, Str s, Str pattern, Str flags, const char *function, TextList *out,
                              Error *err) MUST_CHECK;
/* Adds the groups of the first match, of each one with the flag g, as the text of an array: regexp_matches. */
tcudb_status text_regex_matches(EvalCtx *ctx, Str s, Str pattern, Str flags, const char *function, TextList *out,
                                Error *err) MUST_CHECK;

/* Fills *out or reports 42883 (no such function: "operator does not exist: text + integer" with
 * PostgreSQL's hint) or 42725 (ambiguous), at `position`. */
tcudb_status func_resolve(FuncKind kind, Str name, const Type *args, uint32_t nargs, int position, FuncCall *out,
                          Error *err) MUST_CHECK;

/* Whether there is one of this name, over whatever types. */
bool func_exists(FuncKind kind, Str name);

typedef enum CastContext { CAST_IMPLICIT, CAST_ASSIGNMENT, CAST_EXPLICIT } CastContext;
/* The function that turns a value of type `from` into `to` (modifiers included: rounding to a scale,
 * length checks, blank padding). *out NULL: the bits are already right (relabel). 42846 if PostgreSQL
 * has no such cast in that context. */
tcudb_status func_cast(Type from, Type to, CastContext context, int position, const Func **out, Error *err) MUST_CHECK;
/* Whether a value of type `from` may be passed where `to` is wanted without a written cast. */
bool func_can_cast_implicitly(Type from, Type to);
/* The common type of UNION, CASE, COALESCE, VALUES, IN (PostgreSQL 10.5); what: "CASE", "UNION", ... */
tcudb_status func_common_type(const Type *types, uint32_t n, const char *what, int position, Type *out,
                              Error *err) MUST_CHECK;

/* Aggregates. The kernels live in exec/; here is what SQL needs to know. */
typedef enum AggKind {
    AGG_COUNT_STAR,
    AGG_COUNT,
    AGG_SUM,
    AGG_AVG,
    AGG_MIN,
    AGG_MAX,
    AGG_VAR_POP,
    AGG_VAR_SAMP,
    AGG_STDDEV_POP,
    AGG_STDDEV_SAMP,
    AGG_BOOL_AND,
    AGG_BOOL_OR,
    AGG_STRING_AGG,
    AGG_ANY, /* internal: any value of the group (functionally dependent columns) */
    AGG_BIT_AND,
    AGG_BIT_OR,
    AGG_BIT_XOR,
    AGG_CORR, /* from here on: (y, x) */
    AGG_COVAR_POP,
    AGG_COVAR_SAMP,
    AGG_REGR_COUNT,
    AGG_REGR_AVGX,
    AGG_REGR_AVGY,
    AGG_REGR_SXX,
    AGG_REGR_SYY,
    AGG_REGR_SXY,
    AGG_REGR_SLOPE,
    AGG_REGR_INTERCEPT,
    AGG_REGR_R2,
    AGG_PERCENTILE_CONT, /* ordered sets: (value of WITHIN GROUP, fraction) */
    AGG_PERCENTILE_DISC,
    AGG_MODE,
    AGG_KINDS
} AggKind;

typedef struct AggCallType {
    AggKind kind;
    Type args[2]; /* what the arguments must be cast to */
    Type result;  /* PostgreSQL's: sum(int4) is bigint, sum(int8) numeric, avg(int) numeric */
} AggCallType;

bool agg_exists(Str name);
tcudb_status agg_resolve(Str name, const Type *args, uint32_t nargs, bool star, int position, AggCallType *out,
                         Error *err) MUST_CHECK;
const char *agg_name(AggKind kind);
/* Of a call WITHIN GROUP. */
bool agg_ordered_set(Str name);

/* Appends a name as SQL must spell it: "in quotes" where it is not plain or reserved. */
tcudb_status text_quote_name(Str s, Buf *buf, Error *err) MUST_CHECK;
/* The name so spelled, in the arena. */
tcudb_status text_quoted_name(Arena *arena, Str s, const char **out, Error *err) MUST_CHECK;
/* Text form of a value, PostgreSQL's output format; appends to buf. NULL is the caller's business. */
tcudb_status value_print(const Value *value, Buf *buf, Error *err) MUST_CHECK;
/* The same of value i of a vector whose type is no text, not NULL: at most NUM_TEXT_MAX bytes, and their number. */
uint32_t vec_print(const Vector *v, uint32_t i, char *to);
/* Text with blanks behind it up to so many characters: at most text.len + characters bytes, and their number. */
uint32_t text_pad(Str text, uint32_t characters, char *to);
/* A numeric value of any form as Num; not NULL. */
Num value_num(const Value *value);
/* What an integer, a decimal (unscaled), a date, a timestamp or a boolean holds; false: NULL or another type. The
 * second one is for types of at most 64 bits: false for wider ones, whatever their value. */
bool value_integer(const Value *value, int128 *out);
bool value_int64(const Value *value, int64_t *out);
/* Total order as ORDER BY sees it (NaN above all numbers, text by bytes), both not NULL, same type. */
int value_compare(const Value *a, const Value *b);
/* Parses text as the type's input function does; text results are copied into the arena. */
tcudb_status value_parse(Str text, Type type, Arena *arena, Value *out, Error *err) MUST_CHECK;
/* A literal without quotes, as the grammar's number tokens spell it: int4, int8 or numeric(p,s) by size. */
tcudb_status value_number_literal(Str text, Value *out, Error *err) MUST_CHECK;
/* Casts one value (func_cast, then one evaluation). */
tcudb_status value_cast(const Value *in, Type to, CastContext context, Arena *arena, Value *out, Error *err) MUST_CHECK;

#endif
