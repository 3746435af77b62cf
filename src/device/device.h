/*
 * device.h: NVIDIA GPUs through the driver's interface, loaded at run time.
 *
 * Nothing links against the driver or the toolkit. device_open loads libcuda.so.1 and the plugin with our
 * kernels, libtcudb_cuda.so (beside the program or this library), and fails with a sentence that says what is
 * missing; callers then use the CPU. A Device is one GPU's primary context with one stream. All functions may be
 * called from any thread, but from one at a time per Device. Device addresses are DevicePtr, 0 is none.
 */
#ifndef DEVICE_DEVICE_H
#define DEVICE_DEVICE_H

#include "base/mem.h"

typedef struct Device Device;
typedef struct DeviceModule DeviceModule; /* one set of kernels */
typedef uint64_t DevicePtr;
typedef struct DeviceKernel DeviceKernel;

typedef struct DeviceInfo {
    char name[64];
    uint32_t sms;          /* multiprocessors */
    uint32_t major, minor; /* compute capability */
    uint32_t clock_khz;
    uint64_t memory; /* bytes */
    uint64_t l2;     /* bytes */
} DeviceInfo;

/* 0A000 with the reason if there is no driver, no GPU, no plugin, or the GPU is too old. */
tcudb_status device_open(uint32_t ordinal, Device **out, Error *err) MUST_CHECK;
void device_close(Device *dev);
const DeviceInfo *device_info(const Device *dev);

/* A set of kernels by name ("list_vse", src/kernel/NAME.cuh), loaded once. */
tcudb_status device_module(Device *dev, const char *name, DeviceModule **out, Error *err) MUST_CHECK;
/* A kernel; shared: dynamic shared memory it may be launched with. The result lives as long as the module. */
tcudb_status device_kernel(DeviceModule *module, const char *name, DeviceKernel **out, Error *err) MUST_CHECK;

/* 53200 if the device's memory is exhausted. Not cleared. */
tcudb_status device_alloc(Device *dev, size_t size, DevicePtr *out, Error *err) MUST_CHECK;
void device_free(Device *dev, DevicePtr ptr);
/* Host memory that copies from and to the device reach several times faster. 53200 if there is none. */
tcudb_status device_host_alloc(Device *dev, size_t size, void **out, Error *err) MUST_CHECK;
void device_host_free(Device *dev, void *ptr);
tcudb_status device_upload(Device *dev, DevicePtr to, const void *from, size_t size, Error *err) MUST_CHECK;
tcudb_status device_download(Device *dev, void *to, DevicePtr from, size_t size, Error *err) MUST_CHECK;
tcudb_status device_fill(Device *dev, DevicePtr to, uint8_t byte, size_t size, Error *err) MUST_CHECK;
/* Asynchronous on the device's stream. args: pointers to the arguments. */
tcudb_status device_launch(Device *dev, DeviceKernel *kernel, uint32_t grid, uint32_t threads, uint32_t shared,
                           void **args, Error *err) MUST_CHECK;
tcudb_status device_sync(Device *dev, Error *err) MUST_CHECK;
/* Marks a place in the stream (0..DEVICE_MARKS-1), and the milliseconds between two marks once both are reached. */
enum { DEVICE_MARKS = 64 };
tcudb_status device_mark(Device *dev, uint32_t mark, Error *err) MUST_CHECK;
tcudb_status device_between(Device *dev, uint32_t from, uint32_t to, float *ms, Error *err) MUST_CHECK;

#endif
