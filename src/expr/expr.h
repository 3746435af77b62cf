/*
 * expr.h: bound scalar expressions.
 *
 * Columns are named by ColId, a number unique within a statement that the binder gives to every column
 * any plan node creates. So rewrites move expressions between nodes without renumbering. Expressions are
 * immutable once built and may be shared between nodes; they live in the statement's arena.
 */
#ifndef EXPR_EXPR_H
#define EXPR_EXPR_H

#include "type/func.h"

typedef uint32_t ColId; /* 0: none */

typedef enum ExprKind {
    EXPR_CONST, /* value */
    EXPR_COL,   /* col: a column of the node's input, or of an outer plan (see Apply in plan.h) */
    EXPR_PARAM, /* param: $1 is 0; value comes from the execution's parameter list */
    EXPR_FUNC,  /* func over args; args already cast */
    EXPR_AND,   /* n-ary, three-valued, evaluated left to right, stops early per row */
    EXPR_OR,
    EXPR_CASE,     /* args: when1, then1, ..., else (always there; a NULL constant if SQL has none) */
    EXPR_COALESCE, /* args evaluated only where the earlier ones are NULL */
    EXPR_IN,       /* args[0] IN (args[1..]): all of one type; three-valued; NOT IN is NOT of this */
    EXPR_KINDS
} ExprKind;

typedef struct Expr Expr;
struct Expr {
    ExprKind kind;
    Type type;
    int position; /* 1-based character offset in the SQL text; 0: none */
    bool given;   /* a constant or column whose type SQL names: 1.5::numeric(5,2), where that of 1.5 follows from its
                     digits */
    uint32_t nargs;
    Expr **args;
    union {
        Value value;
        ColId col;
        uint32_t param;
        struct {
            const Func *func;
        };
    };
};

/* Constructors: in the arena; NULL and *err set when out of memory. */
Expr *expr_const(Arena *arena, const Value *value, int position, Error *err) MUST_CHECK;
Expr *expr_col(Arena *arena, ColId col, Type type, int position, Error *err) MUST_CHECK;
Expr *expr_node(Arena *arena, ExprKind kind, Type type, Expr **args, uint32_t nargs, int position,
                Error *err) MUST_CHECK; /* args are copied */
Expr *expr_func(Arena *arena, const Func *func, Type type, Expr **args, uint32_t nargs, int position,
                Error *err) MUST_CHECK;
/* Resolves an operator or function by name, casts the arguments implicitly, builds the call. */
tcudb_status expr_call(Arena *arena, FuncKind kind, const char *name, Expr **args, uint32_t nargs, int position,
                       Expr **out, Error *err) MUST_CHECK;
/* Wraps e in a cast to `to` if its type differs; constants (unknown literals first) are cast at once. */
tcudb_status expr_cast(Arena *arena, Expr *e, Type to, CastContext context, int position, Expr **out,
                       Error *err) MUST_CHECK;

/* The arguments of a comparison as it sees them, in place: without blanks at the ends of char values. */
tcudb_status expr_compared(Arena *arena, const Func *func, Expr **args, uint32_t nargs, Error *err) MUST_CHECK;
/* The same value under another type of the same form. */
tcudb_status expr_relabel(Arena *arena, Expr *e, Type to, int position, Expr **out, Error *err) MUST_CHECK;

bool expr_equal(const Expr *a, const Expr *b);
/* Calls fn on e and everything below it, parents first; stops when fn returns false. */
typedef bool (*ExprVisit)(void *ctx, const Expr *e);
bool expr_walk(const Expr *e, ExprVisit fn, void *ctx);
/* A copy in which fn's non-NULL results replace nodes (parents first; a replaced node is not entered);
 * unchanged subtrees are shared. */
typedef tcudb_status (*ExprReplace)(void *ctx, Expr *e, Expr **replacement, Error *err);
tcudb_status expr_replace(Arena *arena, Expr *e, ExprReplace fn, void *ctx, Expr **out, Error *err) MUST_CHECK;
/* Whether the value can change between two evaluations on the same row. */
bool expr_volatile(const Expr *e);
/* Whether e is a constant (after folding). */
bool expr_is_const(const Expr *e);
/* SQL-like text for EXPLAIN; columns as name#id when `name` gives one. */
typedef const char *(*ColName)(void *ctx, ColId col);
tcudb_status expr_print(const Expr *e, ColName name, void *ctx, Buf *buf, Error *err) MUST_CHECK;
/* Checks types, argument counts and casts of the whole tree: XX000 naming the fault. Debug builds. */
tcudb_status expr_verify(const Expr *e, Error *err) MUST_CHECK;
/* Splits nested ANDs into conjuncts, in order; appends to *list (arena-grown). */
tcudb_status expr_conjuncts(Arena *arena, Expr *e, Expr ***list, uint32_t *n, Error *err) MUST_CHECK;

#endif
