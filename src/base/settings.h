/*
 * settings.h: the settings of a connection (SET, SHOW, RESET). One line each in settings.def.
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include "base/str.h"

typedef enum SettingKind {
    SETTING_BOOL,
    SETTING_INT,
    SETTING_TIME,
    SETTING_SIZE,
    SETTING_ENUM,
    SETTING_TEXT
} SettingKind;

enum { SETTING_TEXT_MAX = 64 };

/* One field a setting: bool, int64_t (ints, milliseconds, sizes in bytes, enums as index) or char[]. */
typedef struct Settings {
#define SETTING_FIELD_SETTING_BOOL       bool
#define SETTING_FIELD_SETTING_INT        int64_t
#define SETTING_FIELD_SETTING_TIME       int64_t
#define SETTING_FIELD_SETTING_SIZE       int64_t
#define SETTING_FIELD_SETTING_ENUM       int64_t
#define SETTING(field, name, kind, ...)  SETTING_FIELD_##kind field;
#define SETTING_STRING(field, name, ...) char field[SETTING_TEXT_MAX];
#include "base/settings.def"
#undef SETTING
#undef SETTING_STRING
} Settings;

enum { ENGINE_AUTO, ENGINE_CPU, ENGINE_GPU, ENGINE_TCU }; /* settings.engine */
enum { EAGER_AUTO, EAGER_ON, EAGER_OFF };                 /* settings.eager */
enum { PRECISION_EXACT, PRECISION_FAST };                 /* settings.precision */

void settings_init(Settings *settings);
/* Names are case-insensitive. 42704 unknown (hint: the nearest name), 22023 bad value (the range). */
tcudb_status settings_set(Settings *settings, Str name, Str value, Error *err) MUST_CHECK;
tcudb_status settings_reset(Settings *settings, Str name, Error *err) MUST_CHECK;
tcudb_status settings_show(const Settings *settings, Str name, Buf *out, Error *err) MUST_CHECK;
bool settings_known(Str name); /* whether SET or SHOW takes it */
/* A parameter that cannot be set: its value and (name not NULL) its own spelling; NULL: none. */
const char *settings_fixed(Str name, const char **canonical);
/* For SHOW ALL: the i-th setting; false past the last. */
bool settings_at(uint32_t i, const char **name, const char **help);

#endif
