/*
 * api.c: the C API over session/. Not written yet.
 */
#include "tcudb.h"
