/*
 * files.h: what the room offers: table functions by name. COPY is in copy.h, CALL in proc.h.
 */
#ifndef FILES_FILES_H
#define FILES_FILES_H

#include "plan/table_func.h"

/* The table function of this (case-folded) name; NULL: there is none. A BindEnv's find_table_func. */
const TableFunc *files_find_table_func(Str name);
/* For listings and completion: the i-th function; NULL past the last. */
const TableFunc *files_table_func_at(uint32_t i);

#endif
