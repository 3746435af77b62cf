/*
 * driver.h: the handful of driver functions that we call, declared by ourselves.
 *
 * X(field, symbol, arguments): the symbol is the versioned name in libcuda.so.1. Handles are pointers to types we
 * never look into; results are 0 for success.
 */
#ifndef DEVICE_DRIVER_H
#define DEVICE_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef struct DriverContext DriverContext;
typedef struct DriverModule DriverModule;
typedef struct DriverFunction DriverFunction;
typedef struct DriverStream DriverStream;
typedef struct DriverEvent DriverEvent;

enum { DRIVER_OUT_OF_MEMORY = 2, DRIVER_NO_DEVICE = 100, DRIVER_FUNCTION_SHARED = 8 };
/* Device attributes. */
enum {
    DRIVER_ATTR_CLOCK = 13,
    DRIVER_ATTR_SMS = 16,
    DRIVER_ATTR_L2 = 38,
    DRIVER_ATTR_MAJOR = 75,
    DRIVER_ATTR_MINOR = 76
};

#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(init, "cuInit", (unsigned flags))                                                                                \
    X(error_name, "cuGetErrorName", (int result, const char **name))                                                   \
    X(device_count, "cuDeviceGetCount", (int *count))                                                                  \
    X(device_get, "cuDeviceGet", (int *device, int ordinal))                                                           \
    X(device_name, "cuDeviceGetName", (char *name, int size, int device))                                              \
    X(device_memory, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                                              \
    X(device_attribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                               \
    X(context_retain, "cuDevicePrimaryCtxRetain", (DriverContext * *context, int device))                              \
    X(context_release, "cuDevicePrimaryCtxRelease_v2", (int device))                                                   \
    X(context_set, "cuCtxSetCurrent", (DriverContext * context))                                                       \
    X(module_load, "cuModuleLoadData", (DriverModule * *module, const void *image))                                    \
    X(module_unload, "cuModuleUnload", (DriverModule * module))                                                        \
    X(module_function, "cuModuleGetFunction", (DriverFunction * *function, DriverModule * module, const char *name))   \
    X(function_set, "cuFuncSetAttribute", (DriverFunction * function, int attribute, int value))                       \
    X(mem_alloc, "cuMemAlloc_v2", (uint64_t * ptr, size_t size))                                                       \
    X(mem_free, "cuMemFree_v2", (uint64_t ptr))                                                                        \
    X(host_alloc, "cuMemAllocHost_v2", (void **ptr, size_t size))                                                      \
    X(host_free, "cuMemFreeHost", (void *ptr))                                                                         \
    X(copy_to, "cuMemcpyHtoDAsync_v2", (uint64_t to, const void *from, size_t size, DriverStream *stream))             \
    X(copy_from, "cuMemcpyDtoHAsync_v2", (void *to, uint64_t from, size_t size, DriverStream *stream))                 \
    X(fill, "cuMemsetD8Async", (uint64_t to, unsigned char byte, size_t size, DriverStream *stream))                   \
    X(launch, "cuLaunchKernel",                                                                                        \
      (DriverFunction * function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,        \
       unsigned shared, DriverStream *stream, void **args, void **extra))                                              \
    X(stream_new, "cuStreamCreate", (DriverStream * *stream, unsigned flags))                                          \
    X(stream_free, "cuStreamDestroy_v2", (DriverStream * stream))                                                      \
    X(stream_sync, "cuStreamSynchronize", (DriverStream * stream))                                                     \
    X(event_new, "cuEventCreate", (DriverEvent * *event, unsigned flags))                                              \
    X(event_free, "cuEventDestroy_v2", (DriverEvent * event))                                                          \
    X(event_record, "cuEventRecord", (DriverEvent * event, DriverStream * stream))                                     \
    X(event_sync, "cuEventSynchronize", (DriverEvent * event))                                                         \
    X(event_elapsed, "cuEventElapsedTime", (float *ms, DriverEvent *from, DriverEvent *to))

typedef struct Driver {
#define FIELD(field, symbol, arguments) int(*field) arguments;
    DRIVER_FUNCTIONS(FIELD)
#undef FIELD
} Driver;

/* What the plugin libtcudb_cuda.so exports as tcudb_cuda_images: images of kernels, ended by a null name. */
typedef struct DeviceImage {
    const char *name;
    const unsigned char *bytes;
} DeviceImage;

#endif
