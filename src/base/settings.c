/*
 * settings.c: parsing and printing of settings, driven by the table in settings.def.
 */
#include "base/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

typedef struct SettingInfo {
    const char *name;
    SettingKind kind;
    size_t offset;
    int64_t initial, min, max;
    const char *choices; /* the default text of a string setting */
    const char *help;
} SettingInfo;

static const SettingInfo table[] = {
#define SETTING(field, name, kind, initial, min, max, choices, help)                                                   \
    {name, kind, offsetof(Settings, field), initial, min, max, choices, help},
#define SETTING_STRING(field, name, initial, help)                                                                     \
    {name, SETTING_TEXT, offsetof(Settings, field), 0, 0, 0, initial, help},
#include "base/settings.def"
#undef SETTING
#undef SETTING_STRING
};

enum { SETTINGS = sizeof table / sizeof table[0] };

static void store_int(Settings *settings, const SettingInfo *info, int64_t value)
{
    char *at = (char *)settings + info->offset;
    if (info->kind == SETTING_BOOL) {
        bool b = value != 0;
        memcpy(at, &b, sizeof b);
    } else {
        memcpy(at, &value, sizeof value);
    }
}

static int64_t load_int(const Settings *settings, const SettingInfo *info)
{
    const char *at = (const char *)settings + info->offset;
    if (info->kind == SETTING_BOOL) {
        bool b;
        memcpy(&b, at, sizeof b);
        return b;
    }
    int64_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static void reset_one(Settings *settings, const SettingInfo *info)
{
    if (info->kind == SETTING_TEXT)
        snprintf((char *)settings + info->offset, SETTING_TEXT_MAX, "%s", info->choices);
    else
        store_int(settings, info, info->initial);
}

void settings_init(Settings *settings)
{
    memset(settings, 0, sizeof *settings);
    for (uint32_t i = 0; i < SETTINGS; i++) reset_one(settings, &table[i]);
}

static size_t common_prefix(const char *a, Str b)
{
    size_t n = 0;
    while (n < b.len && a[n] != '\0' && tolower((unsigned char)a[n]) == tolower((unsigned char)b.ptr[n])) n++;
    return n;
}

static const SettingInfo *nearest(Str name)
{
    const SettingInfo *best = &table[0];
    size_t score = 0;
    for (uint32_t i = 0; i < SETTINGS; i++) {
        size_t n = common_prefix(table[i].name, name);
        if (n > score) {
            score = n;
            best = &table[i];
        }
    }
    return best;
}

static tcudb_status find(Str name, const SettingInfo **out, Error *err)
{
    for (uint32_t i = 0; i < SETTINGS; i++) {
        if (strlen(table[i].name) == name.len && strncasecmp(table[i].name, name.ptr, name.len) == 0) {
            *out = &table[i];
            return TCUDB_OK;
        }
    }
    tcudb_status status = error_set(err, SQLSTATE_UNDEFINED_OBJECT,
                                    "unrecognized configuration parameter \"" STR_FMT "\"", STR_ARG(name));
    error_hint(err, "Perhaps you meant \"%s\"; SHOW ALL lists every setting.", nearest(name)->name);
    return status;
}

static tcudb_status bad_value(const SettingInfo *info, const char *text, Error *err)
{
    tcudb_status status = error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "invalid value for parameter \"%s\": \"%s\"",
                                    info->name, text);
    if (info->kind == SETTING_BOOL) error_hint(err, "Use on or off.");
    if (info->kind == SETTING_ENUM) error_hint(err, "Available values: %s.", info->choices);
    if (info->kind == SETTING_INT)
        error_hint(err, "Use a whole number from %lld to %lld.", (long long)info->min, (long long)info->max);
    if (info->kind == SETTING_TIME)
        error_hint(err, "Valid units for this parameter are \"us\", \"ms\", \"s\", \"min\", \"h\", and \"d\".");
    if (info->kind == SETTING_SIZE) error_hint(err, "Use a size such as 512MB or 4GB, or a number of bytes.");
    return status;
}

static bool parse_bool(const char *text, int64_t *out)
{
    static const char *const on[] = {"on", "true", "yes", "1", "t", "y"};
    static const char *const off[] = {"off", "false", "no", "0", "f", "n"};
    for (size_t i = 0; i < sizeof on / sizeof on[0]; i++) {
        if (strcasecmp(text, on[i]) == 0) return *out = 1, true;
        if (strcasecmp(text, off[i]) == 0) return *out = 0, true;
    }
    return false;
}

static bool parse_choice(const char *choices, const char *text, int64_t *out)
{
    size_t n = strlen(text);
    int64_t index = 0;
    for (const char *at = choices; *at != '\0'; index++) {
        size_t len = strcspn(at, "|");
        if (len == n && strncasecmp(at, text, n) == 0) return *out = index, true;
        at += len;
        if (*at == '|') at++;
    }
    return false;
}

static const struct {
    const char *name;
    int64_t micros;
} times[] = {
    {"d", INT64_C(86400000000)}, {"h", INT64_C(3600000000)}, {"min", 60000000}, {"s", 1000000}, {"ms", 1000}, {"us", 1},
};
enum { TIMES = sizeof times / sizeof times[0] };

/* 5s, 1.5 h; without a unit milliseconds. */
static bool parse_time(const SettingInfo *info, const char *text, int64_t *out)
{
    char *end;
    double value = strtod(text, &end);
    int64_t micros = 1000;
    if (end == text) return false;
    while (*end == ' ') end++;
    if (*end != '\0') {
        uint32_t i = 0;
        while (i < TIMES && strcmp(times[i].name, end) != 0) i++;
        if (i == TIMES) return false;
        micros = times[i].micros;
    }
    value = rint(value * (double)micros / 1000);
    if (!(value >= (double)info->min && value <= (double)info->max)) return false;
    *out = value >= 9223372036854775808.0 ? INT64_MAX : (int64_t)value;
    return true;
}

static bool parse_number(const SettingInfo *info, const char *text, int64_t *out)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text) return false;
    while (*end == ' ') end++;
    int64_t unit = 1;
    if (info->kind == SETTING_SIZE && *end != '\0') {
        static const char units[] = "kmgt";
        const char *at = strchr(units, tolower((unsigned char)*end));
        if (tolower((unsigned char)*end) == 'b') at = NULL;
        if (at != NULL) {
            unit = INT64_C(1) << (10 * (at - units + 1));
            end++;
        }
        if (tolower((unsigned char)*end) == 'i') end++;
        if (tolower((unsigned char)*end) == 'b') end++;
    }
    if (*end != '\0' || __builtin_mul_overflow((int64_t)value, unit, out)) return false;
    return *out >= info->min && *out <= info->max;
}

tcudb_status settings_set(Settings *settings, Str name, Str value, Error *err)
{
    const SettingInfo *info = NULL;
    TRY(find(name, &info, err));
    char text[SETTING_TEXT_MAX];
    if (value.len >= sizeof text)
        return error_set(err, SQLSTATE_INVALID_PARAMETER_VALUE, "value of parameter \"%s\" is longer than %d bytes",
                         info->name, SETTING_TEXT_MAX - 1);
    if (value.len > 0) memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    int64_t number = 0;
    bool ok = true;
    switch (info->kind) {
    case SETTING_TEXT: memcpy((char *)settings + info->offset, text, sizeof text); return TCUDB_OK;
    case SETTING_BOOL: ok = parse_bool(text, &number); break;
    case SETTING_ENUM: ok = parse_choice(info->choices, text, &number); break;
    case SETTING_TIME: ok = parse_time(info, text, &number); break;
    case SETTING_INT:
    case SETTING_SIZE: ok = parse_number(info, text, &number); break;
    }
    if (!ok) return bad_value(info, text, err);
    store_int(settings, info, number);
    return TCUDB_OK;
}

tcudb_status settings_reset(Settings *settings, Str name, Error *err)
{
    const SettingInfo *info = NULL;
    TRY(find(name, &info, err));
    reset_one(settings, info);
    return TCUDB_OK;
}

static tcudb_status show_size(int64_t size, Buf *out, Error *err)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    uint32_t unit = 0;
    while (unit < 4 && size != 0 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    return size == 0 ? buf_char(out, '0', err) : buf_printf(out, err, "%lld%s", (long long)size, units[unit]);
}

/* In the largest unit that leaves a whole number. */
static tcudb_status show_time(int64_t ms, Buf *out, Error *err)
{
    for (uint32_t i = 0; ms != 0 && times[i].micros >= 1000; i++) {
        int64_t unit = times[i].micros / 1000;
        if (ms % unit == 0) return buf_printf(out, err, "%lld%s", (long long)(ms / unit), times[i].name);
    }
    return buf_char(out, '0', err);
}

tcudb_status settings_show(const Settings *settings, Str name, Buf *out, Error *err)
{
    const SettingInfo *info = NULL;
    TRY(find(name, &info, err));
    if (info->kind == SETTING_TEXT) return buf_text(out, (const char *)settings + info->offset, err);
    int64_t value = load_int(settings, info);
    if (info->kind == SETTING_BOOL) return buf_text(out, value ? "on" : "off", err);
    if (info->kind == SETTING_TIME) return show_time(value, out, err);
    if (info->kind == SETTING_SIZE) return show_size(value, out, err);
    if (info->kind == SETTING_INT) return buf_printf(out, err, "%lld", (long long)value);
    const char *at = info->choices;
    for (int64_t i = 0; i < value; i++) at += strcspn(at, "|") + 1;
    return buf_append(out, at, strcspn(at, "|"), err);
}

bool settings_at(uint32_t i, const char **name, const char **help)
{
    if (i >= SETTINGS) return false;
    *name = table[i].name;
    *help = table[i].help;
    return true;
}

/* Parameters that only SHOW knows, as PostgreSQL 15 reports them. */
static const struct {
    const char *name;
    const char *value;
} fixed[] = {
    {"server_version", "15.0"},
    {"server_version_num", "150000"},
    {"server_encoding", "UTF8"},
    {"integer_datetimes", "on"},
    {"in_hot_standby", "off"},
    {"is_superuser", "on"},
    {"max_identifier_length", "63"},
    {"lc_collate", "C"},
    {"lc_ctype", "C"},
    {"session_authorization", "tcudb"},
};

bool settings_known(Str name)
{
    const SettingInfo *info = NULL;
    return settings_fixed(name, NULL) != NULL || find(name, &info, NULL) == TCUDB_OK;
}

const char *settings_fixed(Str name, const char **canonical)
{
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++) {
        if (strlen(fixed[i].name) != name.len || strncasecmp(fixed[i].name, name.ptr, name.len) != 0) continue;
        if (canonical != NULL) *canonical = fixed[i].name;
        return fixed[i].value;
    }
    return NULL;
}
