/*
 * device.c: the driver's interface behind device.h.
 *
 * Two libraries are loaded: libcuda.so.1, which the driver installs, and libtcudb_cuda.so, which holds our kernels
 * as fat binaries (machine code for sm_90a and PTX for later chips). The plugin is looked for in TCUDB_CUDA_PLUGIN,
 * beside the object that this code is in, and on the loader's path. Neither is ever unloaded before device_close.
 *
 * Every call makes the device's context current first, so a Device may move between threads. A failed call names
 * the driver function and the driver's own error name.
 */
#include "device/device.h"
#include "device/driver.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 16, KERNELS = 64 };

struct DeviceKernel {
    char name[48];
    DriverFunction *function;
    uint32_t shared; /* dynamic shared memory allowed so far */
};

struct DeviceModule {
    Device *dev;
    char name[32];
    DriverModule *module;
    uint32_t kernels;
    DeviceKernel kernel[KERNELS];
};

struct Device {
    Driver driver;
    DeviceInfo info;
    void *libcuda, *plugin;
    const DeviceImage *images;
    int ordinal;
    DriverContext *context;
    DriverStream *stream;
    DriverEvent *mark[DEVICE_MARKS];
    uint32_t modules;
    DeviceModule *module[MODULES];
};

static tcudb_status failed(Device *dev, int result, const char *what, Error *err)
{
    const char *name = NULL;
    if (dev->driver.error_name == NULL || dev->driver.error_name(result, &name) != 0 || name == NULL)
        name = "unknown error";
    if (result == DRIVER_OUT_OF_MEMORY)
        return error_set(err, SQLSTATE_OUT_OF_MEMORY, "out of device memory (%s)", what);
    return error_set(err, SQLSTATE_SYSTEM_ERROR, "GPU driver: %s failed: %s", what, name);
}

static tcudb_status no_gpu(Error *err, const char *why)
{
    return error_set(err, SQLSTATE_FEATURE_NOT_SUPPORTED, "no usable GPU: %s", why);
}

/* Calls a driver function; fails the enclosing function with its name. */
#define CALL(dev, field, ...)                                                                                          \
    do {                                                                                                               \
        int call_ = (dev)->driver.field(__VA_ARGS__);                                                                  \
        if (call_ != 0) return failed((dev), call_, #field, err);                                                      \
    } while (0)

static tcudb_status load_driver(Device *dev, Error *err)
{
    dev->libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (dev->libcuda == NULL) return no_gpu(err, "the NVIDIA driver (libcuda.so.1) is not installed");
    const char *missing = NULL;
#define LOAD(field, symbol, arguments)                                                                                 \
    *(void **)&dev->driver.field = dlsym(dev->libcuda, symbol);                                                        \
    if (dev->driver.field == NULL) missing = symbol;
    DRIVER_FUNCTIONS(LOAD)
#undef LOAD
    if (missing != NULL) return no_gpu(err, "the NVIDIA driver is too old");
    return TCUDB_OK;
}

static void *open_plugin(void)
{
    static const char file[] = "libtcudb_cuda.so";
    char path[4096];
    const char *named = getenv("TCUDB_CUDA_PLUGIN");
    Dl_info self;
    if (named != NULL && named[0] != '\0') return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (dladdr((void *)device_open, &self) != 0 && self.dli_fname != NULL) {
        const char *slash = strrchr(self.dli_fname, '/');
        int folder = slash == NULL ? 0 : (int)(slash - self.dli_fname) + 1;
        if (snprintf(path, sizeof(path), "%.*s%s", folder, self.dli_fname, file) < (int)sizeof(path) && folder > 0) {
            void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (plugin != NULL) return plugin;
        }
    }
    return dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

static tcudb_status load_plugin(Device *dev, Error *err)
{
    dev->plugin = open_plugin();
    if (dev->plugin != NULL) dev->images = dlsym(dev->plugin, "tcudb_cuda_images");
    if (dev->images == NULL) return no_gpu(err, "libtcudb_cuda.so, which holds the kernels, is not found");
    return TCUDB_OK;
}

static tcudb_status attribute(Device *dev, int which, uint32_t *out, Error *err)
{
    int value = 0;
    CALL(dev, device_attribute, &value, which, dev->ordinal);
    *out = (uint32_t)value;
    return TCUDB_OK;
}

static tcudb_status read_info(Device *dev, Error *err)
{
    size_t memory = 0;
    uint32_t l2 = 0;
    CALL(dev, device_name, dev->info.name, (int)sizeof(dev->info.name), dev->ordinal);
    CALL(dev, device_memory, &memory, dev->ordinal);
    TRY(attribute(dev, DRIVER_ATTR_SMS, &dev->info.sms, err));
    TRY(attribute(dev, DRIVER_ATTR_MAJOR, &dev->info.major, err));
    TRY(attribute(dev, DRIVER_ATTR_MINOR, &dev->info.minor, err));
    TRY(attribute(dev, DRIVER_ATTR_CLOCK, &dev->info.clock_khz, err));
    TRY(attribute(dev, DRIVER_ATTR_L2, &l2, err));
    dev->info.memory = memory;
    dev->info.l2 = l2;
    return TCUDB_OK;
}

static tcudb_status start(Device *dev, uint32_t ordinal, Error *err)
{
    int count = 0;
    TRY(load_driver(dev, err));
    TRY(load_plugin(dev, err));
    int result = dev->driver.init(0);
    if (result == 0) result = dev->driver.device_count(&count);
    if (result == DRIVER_NO_DEVICE || (result == 0 && count <= (int)ordinal)) return no_gpu(err, "no such device");
    if (result != 0) return failed(dev, result, "init", err);
    CALL(dev, device_get, &dev->ordinal, (int)ordinal);
    TRY(read_info(dev, err));
    if (dev->info.major < 9) return no_gpu(err, "its compute capability is below 9.0");
    CALL(dev, context_retain, &dev->context, dev->ordinal);
    CALL(dev, context_set, dev->context);
    CALL(dev, stream_new, &dev->stream, 1); /* does not wait for the null stream */
    return TCUDB_OK;
}

tcudb_status device_open(uint32_t ordinal, Device **out, Error *err)
{
    Device *dev = mem_alloc_zero(NULL, sizeof(*dev), err);
    *out = NULL;
    TRY_PTR(dev);
    tcudb_status status = start(dev, ordinal, err);
    if (status != TCUDB_OK) {
        device_close(dev);
        return status;
    }
    *out = dev;
    return TCUDB_OK;
}

void device_close(Device *dev)
{
    if (dev == NULL) return;
    if (dev->context != NULL) {
        (void)dev->driver.context_set(dev->context);
        for (uint32_t i = 0; i < DEVICE_MARKS; i++)
            if (dev->mark[i] != NULL) (void)dev->driver.event_free(dev->mark[i]);
        for (uint32_t i = 0; i < dev->modules; i++) {
            (void)dev->driver.module_unload(dev->module[i]->module);
            mem_free(NULL, dev->module[i], sizeof(*dev->module[i]));
        }
        if (dev->stream != NULL) (void)dev->driver.stream_free(dev->stream);
        (void)dev->driver.context_release(dev->ordinal);
    }
    if (dev->plugin != NULL) dlclose(dev->plugin);
    if (dev->libcuda != NULL) dlclose(dev->libcuda);
    mem_free(NULL, dev, sizeof(*dev));
}

const DeviceInfo *device_info(const Device *dev)
{
    return &dev->info;
}

tcudb_status device_module(Device *dev, const char *name, DeviceModule **out, Error *err)
{
    const DeviceImage *image = dev->images;
    for (uint32_t i = 0; i < dev->modules; i++)
        if (strcmp(dev->module[i]->name, name) == 0) {
            *out = dev->module[i];
            return TCUDB_OK;
        }
    while (image->name != NULL && strcmp(image->name, name) != 0) image++;
    if (image->name == NULL) return no_gpu(err, "libtcudb_cuda.so is of another version");
    if (dev->modules == MODULES || strlen(name) >= sizeof(dev->module[0]->name))
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "too many kernel modules");
    DeviceModule *module = mem_alloc_zero(NULL, sizeof(*module), err);
    TRY_PTR(module);
    int result = dev->driver.context_set(dev->context);
    if (result == 0) result = dev->driver.module_load(&module->module, image->bytes);
    if (result != 0) {
        mem_free(NULL, module, sizeof(*module));
        return failed(dev, result, "module_load", err);
    }
    module->dev = dev;
    memcpy(module->name, name, strlen(name) + 1);
    *out = dev->module[dev->modules++] = module;
    return TCUDB_OK;
}

tcudb_status device_kernel(DeviceModule *module, const char *name, DeviceKernel **out, Error *err)
{
    Device *dev = module->dev;
    for (uint32_t i = 0; i < module->kernels; i++)
        if (strcmp(module->kernel[i].name, name) == 0) {
            *out = &module->kernel[i];
            return TCUDB_OK;
        }
    if (module->kernels == KERNELS || strlen(name) >= sizeof(module->kernel[0].name))
        return error_set(err, SQLSTATE_INTERNAL_ERROR, "too many kernels");
    DeviceKernel *kernel = &module->kernel[module->kernels];
    CALL(dev, context_set, dev->context);
    CALL(dev, module_function, &kernel->function, module->module, name);
    memcpy(kernel->name, name, strlen(name) + 1);
    kernel->shared = 32 << 10; /* the rest of the default 48 KB may be the kernel's own */
    module->kernels++;
    *out = kernel;
    return TCUDB_OK;
}

tcudb_status device_alloc(Device *dev, size_t size, DevicePtr *out, Error *err)
{
    *out = 0;
    CALL(dev, context_set, dev->context);
    CALL(dev, mem_alloc, out, size == 0 ? 1 : size);
    return TCUDB_OK;
}

void device_free(Device *dev, DevicePtr ptr)
{
    if (ptr == 0) return;
    (void)dev->driver.context_set(dev->context);
    (void)dev->driver.mem_free(ptr);
}

tcudb_status device_host_alloc(Device *dev, size_t size, void **out, Error *err)
{
    *out = NULL;
    CALL(dev, context_set, dev->context);
    CALL(dev, host_alloc, out, size);
    return TCUDB_OK;
}

void device_host_free(Device *dev, void *ptr)
{
    if (ptr == NULL) return;
    (void)dev->driver.context_set(dev->context);
    (void)dev->driver.host_free(ptr);
}

tcudb_status device_upload(Device *dev, DevicePtr to, const void *from, size_t size, Error *err)
{
    if (size == 0) return TCUDB_OK;
    CALL(dev, context_set, dev->context);
    CALL(dev, copy_to, to, from, size, dev->stream);
    return device_sync(dev, err);
}

tcudb_status device_download(Device *dev, void *to, DevicePtr from, size_t size, Error *err)
{
    if (size == 0) return TCUDB_OK;
    CALL(dev, context_set, dev->context);
    CALL(dev, copy_from, to, from, size, dev->stream);
    return device_sync(dev, err);
}

tcudb_status device_fill(Device *dev, DevicePtr to, uint8_t byte, size_t size, Error *err)
{
    if (size == 0) return TCUDB_OK;
    CALL(dev, context_set, dev->context);
    CALL(dev, fill, to, byte, size, dev->stream);
    return TCUDB_OK;
}

tcudb_status device_launch(Device *dev, DeviceKernel *kernel, uint32_t grid, uint32_t threads, uint32_t shared,
                           void **args, Error *err)
{
    assert(threads > 0 && threads <= 1024);
    if (grid == 0) return TCUDB_OK;
    CALL(dev, context_set, dev->context);
    if (shared > kernel->shared) {
        CALL(dev, function_set, kernel->function, DRIVER_FUNCTION_SHARED, (int)shared);
        kernel->shared = shared;
    }
    CALL(dev, launch, kernel->function, grid, 1, 1, threads, 1, 1, shared, dev->stream, args, NULL);
    return TCUDB_OK;
}

tcudb_status device_sync(Device *dev, Error *err)
{
    CALL(dev, context_set, dev->context);
    CALL(dev, stream_sync, dev->stream);
    return TCUDB_OK;
}

tcudb_status device_mark(Device *dev, uint32_t mark, Error *err)
{
    assert(mark < DEVICE_MARKS);
    CALL(dev, context_set, dev->context);
    if (dev->mark[mark] == NULL) CALL(dev, event_new, &dev->mark[mark], 0);
    CALL(dev, event_record, dev->mark[mark], dev->stream);
    return TCUDB_OK;
}

tcudb_status device_between(Device *dev, uint32_t from, uint32_t to, float *ms, Error *err)
{
    assert(from < DEVICE_MARKS && to < DEVICE_MARKS && dev->mark[from] != NULL && dev->mark[to] != NULL);
    CALL(dev, context_set, dev->context);
    CALL(dev, event_sync, dev->mark[to]);
    CALL(dev, event_elapsed, ms, dev->mark[from], dev->mark[to]);
    return TCUDB_OK;
}
