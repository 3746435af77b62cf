/*
 * change.h: the kinds of change in a log record; see commit.c. Stored in files: numbers are never reused.
 */
#ifndef STORE_CHANGE_H
#define STORE_CHANGE_H

#include "store/store_int.h"

enum {
    CHANGE_END = 0,
    CHANGE_DROP_TABLE = 1,   /* id */
    CHANGE_TAKE_TABLE = 2,   /* id: to be named again by 4, 8 or 9 */
    CHANGE_CREATE_TABLE = 3, /* table definition */
    CHANGE_NAME_TABLE = 4,   /* id, name */
    CHANGE_DROP_VIEW = 5,    /* id */
    CHANGE_CREATE_VIEW = 6,  /* view definition */
    CHANGE_ROWS = 7,         /* id, reset, dictionaries, segments, rows, deletions */
    CHANGE_DEFINE_TABLE = 8, /* table definition, of a table taken before, but for the dictionaries */
    CHANGE_COLUMNS = 9       /* table definition, of a table taken before; where its columns come from, new columns */
};

enum { DICT_INLINE = 0, DICT_STORED = 1, DICT_LOOSE = 2 /* a flag */ };

#endif
