/*
 * convert.h: columns of texts -> vectors of a type, as the type's input function reads them.
 */
#ifndef FILES_CONVERT_H
#define FILES_CONVERT_H

#include "type/func.h"

/* Parses texts[0..n) (where valid, NULL: everywhere) into *out, in the arena. The texts have 8 readable bytes
 * after them; a text column keeps the array and the texts themselves. On failure *bad_row is the first bad
 * row and *err what the type's input function says. With bad != NULL (room for n bits, zeroed) bad rows are
 * marked there instead, and only memory can fail. */
tcudb_status convert_column(Type type, Str *texts, uint64_t *valid, uint32_t n, Arena *arena, Vector *out,
                            uint64_t *bad, uint32_t *bad_row, Error *err) MUST_CHECK;

/* Days since 2000-01-01 of a Gregorian date; the date must exist (date_exists). */
int32_t date_days(int32_t year, uint32_t month, uint32_t day);
bool date_exists(int32_t year, uint32_t month, uint32_t day);

#endif
