/*
 * rates_file.c: measured rates as a text file.
 *
 *     tcudb rates 1
 *     cpu AMD EPYC 9R14
 *     scan_value 0.41
 *     dense_group 1.1 1.4 3.2 4.9 7.8 9.8
 *     end
 *
 * A name and its values a line, in any order; a rate that is missing keeps its default, so a newer tcudb reads an older
 * file. The version and the processor are in the file's name too: machines that share a home do not disturb each other.
 * Anything else is damage, and damage means the defaults: a wrong price costs time, never an answer.
 */
#include "session/rates_file.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 1, LINE = 512 };

void rates_cpu(char model[RATES_CPU])
{
    char line[LINE];
    snprintf(model, RATES_CPU, "unknown");
    FILE *f = fopen("/proc/cpuinfo", "re");
    if (f == NULL) return;
    while (fgets(line, sizeof line, f) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        snprintf(model, RATES_CPU, "%.*s", (int)strcspn(colon + 1 + strspn(colon + 1, " "), "\n"),
                 colon + 1 + strspn(colon + 1, " "));
        break;
    }
    fclose(f);
}

bool rates_path(char path[RATES_PATH])
{
    char cpu[RATES_CPU];
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    bool xdg = data != NULL && data[0] == '/';
    if (!xdg && (home == NULL || home[0] != '/')) return false;
    rates_cpu(cpu);
    for (char *c = cpu; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c)) *c = '-';
    int n = snprintf(path, RATES_PATH, "%s%s/tcudb/rates-%d-%s", xdg ? data : home, xdg ? "" : "/.local/share", VERSION,
                     cpu);
    return n > 0 && n < RATES_PATH;
}

static const RateInfo *find_rate(const char *name, size_t len)
{
    const RateInfo *info;
    for (uint32_t i = 0; (info = rates_at(i)) != NULL; i++)
        if (strlen(info->name) == len && memcmp(info->name, name, len) == 0) return info;
    return NULL;
}

/* "name value ..."; false: damage. */
static bool read_rate(Rates *rates, const char *line)
{
    size_t len = strcspn(line, " ");
    const RateInfo *info = find_rate(line, len);
    if (info == NULL) return false;
    double *values = rate_values(rates, info);
    const char *at = line + len;
    for (uint32_t i = 0; i < info->n; i++) {
        char *end;
        double v = strtod(at, &end);
        if (end == at || !isfinite(v) || v <= 0 || v > 1e9) return false;
        values[i] = v;
        at = end;
    }
    return *at == '\0';
}

/* NULL: read to its end. */
static const char *read_lines(FILE *f, Rates *rates)
{
    char line[LINE], cpu[RATES_CPU];
    uint32_t n = 0;
    rates_cpu(cpu);
    for (; fgets(line, sizeof line, f) != NULL; n++) {
        line[strcspn(line, "\n")] = '\0';
        if (n == 0 && strcmp(line, "tcudb rates 1") != 0) return "is not a file of rates";
        if (n == 1 && (strncmp(line, "cpu ", 4) != 0 || strcmp(line + 4, cpu) != 0)) return "is of another processor";
        if (n < 2) continue;
        if (strcmp(line, "end") == 0) return NULL;
        if (!read_rate(rates, line)) return "is damaged";
    }
    return "is damaged";
}

void rates_load(Rates *out, bool *measured, char warning[RATES_WARNING])
{
    char path[RATES_PATH];
    *out = rates_default();
    *measured = false;
    warning[0] = '\0';
    FILE *f = rates_path(path) ? fopen(path, "re") : NULL;
    if (f == NULL) return;
    Rates read = *out;
    const char *fault = read_lines(f, &read);
    fclose(f);
    *measured = fault == NULL;
    if (fault == NULL)
        *out = read;
    else
        snprintf(warning, RATES_WARNING, "rates file \"%.180s\" %s, so the defaults are used", path, fault);
}

static tcudb_status cannot(const char *path, Error *err)
{
    return error_set(err, SQLSTATE_IO_ERROR, "could not write \"%.400s\": %s", path, strerror(errno));
}

/* The folders above the file. */
static tcudb_status make_folders(char *path, Error *err)
{
    for (char *c = path + 1; *c != '\0'; c++) {
        if (*c != '/') continue;
        *c = '\0';
        bool bad = mkdir(path, 0777) != 0 && errno != EEXIST;
        tcudb_status status = bad ? cannot(path, err) : TCUDB_OK;
        *c = '/';
        TRY(status);
    }
    return TCUDB_OK;
}

static void write_rates(FILE *f, const Rates *rates)
{
    char cpu[RATES_CPU];
    const RateInfo *info;
    Rates copy = *rates;
    rates_cpu(cpu);
    fprintf(f, "tcudb rates %d\ncpu %s\n", VERSION, cpu);
    for (uint32_t i = 0; (info = rates_at(i)) != NULL; i++) {
        fputs(info->name, f);
        for (uint32_t v = 0; v < info->n; v++) fprintf(f, " %.6g", rate_values(&copy, info)[v]);
        fputc('\n', f);
    }
    fputs("end\n", f);
}

tcudb_status rates_save(const Rates *rates, char path[RATES_PATH], Error *err)
{
    char temporary[RATES_PATH + 32];
    if (!rates_path(path)) {
        error_set(err, SQLSTATE_IO_ERROR, "there is no home directory to keep the rates in");
        return error_hint(err, "Set HOME or XDG_DATA_HOME."), TCUDB_ERROR;
    }
    TRY(make_folders(path, err));
    snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    FILE *f = fopen(temporary, "we");
    if (f == NULL) return cannot(temporary, err);
    write_rates(f, rates);
    bool bad = fflush(f) != 0 || ferror(f) != 0 || fsync(fileno(f)) != 0;
    bad |= fclose(f) != 0;
    if (!bad && rename(temporary, path) == 0) return TCUDB_OK;
    tcudb_status status = cannot(path, err);
    unlink(temporary);
    return status;
}
