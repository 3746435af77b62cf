/*
 * list_gpu_group.h: between the files that run queries on a GPU: a group of queries that is answered by the same
 * launches.
 */
#ifndef CODEC_LIST_GPU_GROUP_H
#define CODEC_LIST_GPU_GROUP_H

#include "codec/list_gpu_ops.h"

/* Device memory that a group may fill with bitmaps, scores or kept numbers. */
enum { LIST_GROUP_BYTES = 512 << 20 };

typedef struct ListGpuGroup {
    ListGpuIndex *x;
    const ListQuery *queries; /* of the whole batch */
    const uint32_t *which;    /* this group's */
    uint32_t n;
    uint32_t top; /* best documents wanted; 0: the numbers */
    /* What the answers go to, by the number of the query in the batch. */
    Buf *answers;
    ListHit *hits;
    uint32_t *found;
    Arena arena; /* on the host */
    Buf tasks, clear, begin, lists, least, tasks_of, task_begin;
    uint32_t used; /* of the index's scratch memory */
    ListOpsArgs args;
} ListGpuGroup;

/* Takes `size` bytes of the index's scratch memory, which the next group uses again. */
tcudb_status list_group_take(ListGpuGroup *g, size_t size, DevicePtr *out, Error *err) MUST_CHECK;
tcudb_status list_group_send(ListGpuGroup *g, const Buf *data, DevicePtr *out, Error *err) MUST_CHECK;
/* A task for every block of the list. */
tcudb_status list_group_tasks(ListGpuGroup *g, Buf *tasks, uint32_t query, uint32_t list, uint32_t index,
                              Error *err) MUST_CHECK;
/* Lays out the queries' lists and what every kernel is told. */
tcudb_status list_group_begin(ListGpuGroup *g, Error *err) MUST_CHECK;
/* Launches a kernel over these tasks, if there are any. scored: with room for frequencies. */
tcudb_status list_group_launch(ListGpuGroup *g, DeviceKernel *kernel, const Buf *tasks, bool scored,
                               Error *err) MUST_CHECK;
/* Room for hits and their numbers on the device; fetches them. */
tcudb_status list_group_room(ListGpuGroup *g, Error *err) MUST_CHECK;
tcudb_status list_group_hits(ListGpuGroup *g, Error *err) MUST_CHECK;

/* Fetches the group's numbers, query i's from at[i] to at[i + 1], and appends them to the answers. */
tcudb_status list_group_deal(ListGpuGroup *g, DevicePtr numbers, const uint64_t *at, Error *err) MUST_CHECK;

/* Answers a group. */
tcudb_status list_filter_query(ListGpuGroup *g, Error *err) MUST_CHECK;
tcudb_status list_filter_top(ListGpuGroup *g, Error *err) MUST_CHECK;
tcudb_status list_dense_query(ListGpuGroup *g, Error *err) MUST_CHECK;
tcudb_status list_dense_top(ListGpuGroup *g, Error *err) MUST_CHECK;
/* How many of `which` (n of them, at least one) a group may take. */
uint32_t list_filter_fit(const ListGpuIndex *x, const ListQuery *queries, const uint32_t *which, uint32_t n, bool top);
uint32_t list_dense_fit(const ListGpuIndex *x, uint32_t n, bool top);
/* Blocks that the query's tasks begin from when it is filtered. */
uint64_t list_filter_tasks(const ListGpuIndex *x, const ListQuery *q);

#endif
