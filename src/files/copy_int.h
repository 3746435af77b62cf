/*
 * copy_int.h: what the two directions of COPY share: their options.
 */
#ifndef FILES_COPY_INT_H
#define FILES_COPY_INT_H

#include "files/copy.h"
#include "files/scan.h"
#include "files/source.h"

typedef enum CopyHeader { HEADER_NONE, HEADER_YES, HEADER_MATCH } CopyHeader;

typedef struct CopyOptions {
    bool csv;
    CopyHeader header;
    bool trailing_delimiter; /* ours: every record ends with a delimiter, as dbgen writes them */
    char delim;
    char quote;
    char escape;
    Str null_text;
    Encoding encoding;
    const StmtOption *force_quote; /* NULL: not given; the value lists columns, one a line, or is * */
    const StmtOption *force_not_null;
    const StmtOption *force_null;
} CopyOptions;

/* Checks everything that needs no table. */
tcudb_status copy_options(const Stmt *stmt, CopyOptions *out, Error *err) MUST_CHECK;

/* Marks in flags[0..ncols) the columns that a FORCE_ option (NULL: none) lists among the names of those that
 * are read or written; relation NULL: they are a query's. */
tcudb_status copy_force_flags(const StmtOption *option, const char *relation, const Str *names, uint32_t ncols,
                              bool *flags, Error *err) MUST_CHECK;

#endif
