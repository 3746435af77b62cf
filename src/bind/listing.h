/*
 * listing.h: relations that are made of what the transaction sees: VALUES nodes, filled cell by cell.
 */
#ifndef BIND_LISTING_H
#define BIND_LISTING_H

#include "bind/bind_int.h"

typedef struct Listing Listing;

/* A relation's name, columns and how its rows are made. */
typedef struct Listed {
    const char *schema, *name;
    tcudb_status (*fill)(Listing *l, Error *err);
    const char *columns; /* separated by blanks; text, or ending in # integer, ^ bigint, % smallint, ? boolean */
    uint32_t ncols;
} Listed;

struct Listing {
    Binder *b;
    const Listed *relation;
    Expr **cells;
    uint64_t nrows, cap;
    uint32_t at; /* next cell of the row */
};

/* A new row; then its cells in the order of the columns. */
tcudb_status bind_list_row(Listing *l, Error *err) MUST_CHECK;
tcudb_status bind_list_text(Listing *l, Str s, Error *err) MUST_CHECK;
tcudb_status bind_list_word(Listing *l, const char *s, Error *err) MUST_CHECK;
tcudb_status bind_list_int(Listing *l, TypeId type, int64_t n, Error *err) MUST_CHECK; /* int2, int4, int8 */
tcudb_status bind_list_bool(Listing *l, bool yes, Error *err) MUST_CHECK;
tcudb_status bind_list_null(Listing *l, TypeId type, uint32_t n, Error *err) MUST_CHECK;
/* fill NULL: no rows. */
tcudb_status bind_list_plan(Binder *b, const Listed *relation, Plan **out, Error *err) MUST_CHECK;

/* NULL: there is no i-th. */
const Listed *bind_schema_listed(uint32_t i); /* schema.c */
const Listed *bind_facts_listed(uint32_t i);  /* facts.c */

#endif
