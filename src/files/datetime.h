/*
 * datetime.h: dates and timestamps by pattern, as files write them.
 */
#ifndef FILES_DATETIME_H
#define FILES_DATETIME_H

#include "base/str.h"

/* Reads text by a pattern of strptime's kind: %Y year, %y two digits (69 and above: 19xx), %m %d %H %I %M one
 * or two digits, %S seconds with an optional fraction, %b month's short name, %B long name, %p AM or PM, %Z
 * a Z or a zero offset, %% a percent sign; everything else stands for itself. *micros: since 2000-01-01. False:
 * the text does not match, or there is no such day or time. */
bool datetime_parse(const char *pattern, Str text, int64_t *micros);
/* Whether the pattern has a time part. */
bool datetime_has_time(const char *pattern);
/* Whether it is one that datetime_parse knows. */
bool datetime_valid(const char *pattern);

#endif
