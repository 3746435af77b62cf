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

/* A table's definition on its way to another, with room for so many more of everything; at the end the statement. */
tcudb_status bind_alter_new(Binder *b, const Table *table, size_t room, Alter *a, Error *err) MUST_CHECK;
tcudb_status bind_alter_finish(Alter *a, Stmt *stmt, Error *err) MUST_CHECK;
/* The table that a statement names; NULL with IF EXISTS: then the statement is settled. */
tcudb_status bind_alter_find(Binder *b, const PgQuery__RangeVar *range, bool missing_ok, const char *verb, Stmt *stmt,
                             const Table **out, Error *err) MUST_CHECK;
tcudb_status bind_alter_column(const Alter *a, const char *name, uint32_t *out, Error *err) MUST_CHECK;
bool bind_alter_has(const Alter *a, const char *name); /* a column of the name */
/* Where the name of the key, check or foreign key of that name is; NULL: none. */
Str *bind_alter_constraint(Alter *a, const char *name);
tcudb_status bind_alter_no_constraint(const Alter *a, const char *name, const char *what, Error *err) MUST_CHECK;
/* The column's type becomes another; computed: by an expression of the user's. */
void bind_alter_retype(ColumnSource *from, bool computed, Type old, Type type);
/* Plans the change of columns in stmt, if it can be done without making the table anew. exprs: the new columns. */
tcudb_status bind_alter_sources(Alter *a, const NamedExpr *exprs, Stmt *stmt, Error *err) MUST_CHECK;

#endif
