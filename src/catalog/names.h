/*
 * names.h: tables, views, sequences and indexes share one name space; temporary ones have another, which is seen first.
 */
#ifndef CATALOG_NAMES_H
#define CATALOG_NAMES_H

#include "store/store.h"

/* The table of that side that has a key or index of the name; NULL: none. */
const Table *names_index_of(Txn *txn, Str name, bool temp);
/* Whether something of that side has the name. */
bool names_taken(Txn *txn, Str name, bool temp);

#endif
