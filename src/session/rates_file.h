/*
 * rates_file.h: where `tcudb calibrate` keeps what it measured, one file a kind of processor.
 */
#ifndef SESSION_RATES_FILE_H
#define SESSION_RATES_FILE_H

#include "tensor/rates.h"

enum { RATES_PATH = 1024, RATES_WARNING = 256, RATES_CPU = 96 };

/* $XDG_DATA_HOME/tcudb/ or ~/.local/share/tcudb/, then rates-VERSION-PROCESSOR; false: no home directory. */
bool rates_path(char path[RATES_PATH]);
/* The processor's model as /proc/cpuinfo has it; "unknown" elsewhere. */
void rates_cpu(char model[RATES_CPU]);
/* The file's rates, or the defaults: *measured says which. A file that is damaged or of another processor leaves the
 * defaults and a warning (else ""). Never fails. */
void rates_load(Rates *out, bool *measured, char warning[RATES_WARNING]);
/* Atomically; the directories are made. 58030 if it cannot be written. */
tcudb_status rates_save(const Rates *rates, char path[RATES_PATH], Error *err) MUST_CHECK;

#endif
