/*
 * list_gpu_ops.h: the operations of list_ops.h on a GPU, many queries a launch.
 */
#ifndef CODEC_LIST_GPU_OPS_H
#define CODEC_LIST_GPU_OPS_H

#include "codec/list_gpu.h"
#include "codec/list_ops.h"

enum { LIST_GPU_SCRATCH = 16 };
typedef struct ListGpuScratch {
    DevicePtr at;
    size_t size;
} ListGpuScratch;

typedef enum ListGpuWay { LIST_GPU_CHOOSE, LIST_GPU_FILTER, LIST_GPU_DENSE } ListGpuWay;

typedef struct ListGpuIndex {
    Device *dev;
    const ListSet *set, *freq_set; /* freq_set: NULL if there are none */
    ListGpu docs, freqs;
    uint32_t *first; /* per list its first block, and one more */
    DevicePtr first_dev;
    DeviceKernel *filter[2], *merge, *select_kept;         /* list_filter.cuh; filter[1]: with frequencies */
    DeviceKernel *mark, *score, *count, *extract, *select; /* list_ops.cuh */
    ListGpuScratch scratch[LIST_GPU_SCRATCH];              /* working memory, kept from call to call */
    char *stage;                                           /* host memory that answers come to in portions */
    ListGpuWay way;                                        /* for tests: taken wherever it can be taken */
} ListGpuIndex;

/* Uploads both sets, which must outlive the index. freqs may be NULL: then no list_gpu_top. */
tcudb_status list_gpu_index_open(Device *dev, const ListSet *docs, const ListSet *freqs, ListGpuIndex *out,
                                 Error *err) MUST_CHECK;
void list_gpu_index_close(ListGpuIndex *index);
/* As list_query_batch and list_top_batch. 53200 if the device's memory does not hold a query. */
tcudb_status list_gpu_query(ListGpuIndex *index, const ListQuery *queries, uint32_t n, Buf *answers,
                            Error *err) MUST_CHECK;
tcudb_status list_gpu_top(ListGpuIndex *index, const ListQuery *queries, uint32_t n, uint32_t k, ListHit *hits,
                          uint32_t *found, Error *err) MUST_CHECK;

#endif
