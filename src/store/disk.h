/*
 * disk.h: what the files that deal with a database's directory share.
 *
 * NAME.tcu/manifest      the state at the last fold; replaced by rename
 *          log-G         commits since manifest G
 *          part-N        encoded columns; dict-N: dictionaries
 *          lock          locks and, as a hint, where the log ends
 *
 * Locks are open-file-description locks on bytes of `lock`: one byte for the writer, one for the readers of each
 * generation (manifest and its log). They go with the process, so nothing is left to clean up after a crash.
 */
#ifndef STORE_DISK_H
#define STORE_DISK_H

#include "store/store_int.h"

/* What the writer tells others through the lock file; never made durable. */
typedef struct Mark {
    uint64_t generation;
    uint64_t length; /* of the log: all of it is committed */
} Mark;

typedef struct DeadFile {
    char name[40];
    uint64_t since; /* no generation from this one on needs it */
} DeadFile;

struct Disk {
    int lock_fd;          /* -1: a read-only place without a lock file */
    pthread_mutex_t sync; /* following other processes, one thread at a time; before db->lock */
    atomic_bool locked;   /* this process has the write lock */
    _Atomic uint64_t seen_generation, seen_length; /* the mark when last followed */
    uint64_t generation;
    int log_fd;
    uint64_t log_length; /* as far as applied to db->root */
    bool log_suspect;    /* an append failed: what lies behind log_length is unknown; commit by manifest */
    bool old_format;     /* the manifest is of an older version: the same, so that older programs refuse what is new */
    bool dir_suspect;    /* the directory may not be durable */
    bool new_files;      /* created since the directory was last made durable */
    bool garbage;        /* a commit has left files without use */
    struct DeadFile *dead; /* files without use that could not go yet */
    uint32_t ndead, cap_dead;
    Generation *current;
    Generation *generations; /* all that live, under db->lock */
};

/* lock.c */
tcudb_status lock_open(Db *db, Error *err) MUST_CHECK;
/* *got false: somebody else has it. */
tcudb_status lock_try_write(Db *db, bool *got, Error *err) MUST_CHECK;
void lock_release_write(Db *db);
uint64_t lock_writer_pid(Db *db);   /* 0: unknown */
bool lock_writer_elsewhere(Db *db); /* another process has the write lock */
tcudb_status lock_hold_generation(Db *db, uint64_t number, Error *err) MUST_CHECK;
void lock_release_generation(Db *db, uint64_t number);
/* Whether another process reads a generation below; errors count as yes. */
bool lock_older_readers(Db *db, uint64_t number);
bool lock_read_mark(Db *db, Mark *mark); /* false: none, or damaged */
void lock_write_mark(Db *db, Mark mark);

/* manifest.c */
tcudb_status manifest_write(Db *db, const Root *root, uint64_t generation, Error *err) MUST_CHECK;
/* *out NULL, with generation 0: there is no manifest. */
tcudb_status manifest_read(Db *db, Root **out, uint64_t *generation, Error *err) MUST_CHECK;
tcudb_status manifest_generation(Db *db, uint64_t *generation, Error *err) MUST_CHECK;

/* log.c */
enum { LOG_HEADER = 32 };
tcudb_status log_create(Db *db, uint64_t generation, int *fd, Error *err) MUST_CHECK;
tcudb_status log_open(Db *db, uint64_t generation, int *fd, Error *err) MUST_CHECK;
/* Applies the records from *length on; *length moves to the end of the last. Records that end by `known` must be right;
 * behind it the first wrong one is where an unfinished write begins. */
tcudb_status log_apply(Db *db, uint64_t generation, int fd, uint64_t known, uint64_t *length, Root *root,
                       Error *err) MUST_CHECK;
/* Durably, at disk->log_length, which moves. */
tcudb_status log_append(Db *db, const Buf *payload, Error *err) MUST_CHECK;

/* fold.c */
/* Commits the transaction by a new manifest and an empty log. */
tcudb_status commit_by_manifest(Txn *txn, Error *err) MUST_CHECK;

tcudb_status generation_new(Db *db, uint64_t number, Generation **out, Error *err) MUST_CHECK;

#endif
