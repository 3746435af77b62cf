/*
 * cuda_plugin.c: libtcudb_cuda.so: our kernels as fat binaries, by name. Host code finds them with dlsym; nothing
 * here calls the driver. KERNEL_FOLDER is where the build put NAME.fatbin.
 */
#include "device/driver.h"

#define IMAGE(name)                                                                                                    \
    __asm__(".section .rodata\n.balign 64\n.global image_" #name "\n.hidden image_" #name "\nimage_" #name             \
            ":\n.incbin \"" KERNEL_FOLDER "/" #name ".fatbin\"\n.previous\n");                                         \
    extern const unsigned char image_##name[];
#include "kernel/aot.def"
#undef IMAGE

extern const DeviceImage tcudb_cuda_images[];
__attribute__((visibility("default"))) const DeviceImage tcudb_cuda_images[] = {
#define IMAGE(name) {#name, image_##name},
#include "kernel/aot.def"
#undef IMAGE
    {0, 0}};
