/*
 * alter_int.h: what alter.c and alter_sources.c share.
 */
#ifndef BIND_ALTER_INT_H
#define BIND_ALTER_INT_H

#include "bind/bind_int.h"

typedef struct Alter {
    Binder *b;
    const TableDef *old;
    TableBuild t;
    Expr **sources;     /* of each column of t, over the old rows */
    ColumnSource *from; /* likewise: which of the old columns it is */
    bool *retyped;      /* likewise: its type was changed already */
    Plan *scan;
    ColId rowid;
    bool copies; /* rows look different afterwards */
    Block block; /* names of old columns: USING */
    ApplyList applies;
} Alter;

/* The column's type becomes another; computed: by an expression of the user's. */
void bind_alter_retype(ColumnSource *from, bool computed, Type old, Type type);
/* Plans the change of columns in stmt, if it can be done without making the table anew. exprs: the new columns. */
tcudb_status bind_alter_sources(Alter *a, const NamedExpr *exprs, Stmt *stmt, Error *err) MUST_CHECK;

#endif
