/*
 * expr_int.h: what the files of expr/ share.
 */
#ifndef EXPR_EXPR_INT_H
#define EXPR_EXPR_INT_H

#include "expr/expr.h"

enum { EXPR_MAX_DEPTH = 3000 };

/* 54001 */
tcudb_status expr_depth_error(Error *err);

#endif
