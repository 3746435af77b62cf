# Programs that measure. They need no GPU and no toolkit to build: codec_gpu says why it skips.
# Linked against nothing that a bare machine with a driver lacks, so that they can be carried there.
add_executable(codec_gpu bench/codec_gpu.c bench/codec_gpu_ops.c bench/codec_gpu_wide.c bench/codec_pool.c)
target_link_libraries(codec_gpu PRIVATE -Wl,--as-needed engine_static)
target_include_directories(codec_gpu PRIVATE bench)
set_target_properties(codec_gpu PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR} ENABLE_EXPORTS ON)
add_executable(tensor_kernels bench/tensor_kernels.c)
target_link_libraries(tensor_kernels PRIVATE -Wl,--as-needed engine_static)
set_target_properties(tensor_kernels PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# Debian's libstreamvbyte is built without SSSE3. To compare with its vector path: -DSTREAMVBYTE=libstreamvbyte.a, compiled
# from its sources with -mssse3 -msse4.1.
find_library(STREAMVBYTE streamvbyte)
if(STREAMVBYTE)
  add_executable(codec_lists bench/codec_lists.c)
  target_link_libraries(codec_lists PRIVATE -Wl,--as-needed engine_static ${STREAMVBYTE})
  set_target_properties(codec_lists PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
add_executable(tensor_cores bench/tensor_cores.c)
target_link_libraries(tensor_cores PRIVATE -Wl,--as-needed engine_static)
set_target_properties(tensor_cores PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
