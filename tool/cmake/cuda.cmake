# The GPU plugin: src/kernel/NAME.cuh -> NAME.fatbin (machine code for Hopper, PTX for later chips) -> libtcudb_cuda.so.
# Without nvcc nothing of this is built, and tcudb runs on the CPU. Its temporary files lie in the build: in /tmp those that
# an ended build of somebody else left would be in the way.
find_program(NVCC nvcc PATHS /usr/local/cuda/bin)
if(NVCC)
  set(KERNEL_FOLDER ${CMAKE_BINARY_DIR}/kernel)
  file(MAKE_DIRECTORY ${KERNEL_FOLDER})
  file(STRINGS src/kernel/aot.def KERNEL_LINES REGEX "^IMAGE")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/kernel/aot.def)
  file(GLOB KERNEL_HEADERS CONFIGURE_DEPENDS src/kernel/*.cuh)
  set(KERNEL_IMAGES)
  foreach(line ${KERNEL_LINES})
    string(REGEX REPLACE "IMAGE\\(([a-z0-9_]+)\\)" "\\1" name ${line})
    add_custom_command(OUTPUT ${KERNEL_FOLDER}/${name}.fatbin
      COMMAND ${CMAKE_COMMAND} -E env TMPDIR=${KERNEL_FOLDER}
              ${NVCC} -fatbin -O3 -std=c++17 -I${CMAKE_SOURCE_DIR}/src -x cu -Wno-deprecated-gpu-targets
              -gencode=arch=compute_90a,code=sm_90a -gencode=arch=compute_90,code=compute_90
              ${CMAKE_SOURCE_DIR}/src/kernel/${name}.cuh -o ${KERNEL_FOLDER}/${name}.fatbin
      DEPENDS ${KERNEL_HEADERS} ${CMAKE_SOURCE_DIR}/src/codec/list_args.h VERBATIM)
    list(APPEND KERNEL_IMAGES ${KERNEL_FOLDER}/${name}.fatbin)
  endforeach()
  add_library(tcudb_cuda SHARED src/kernel/cuda_plugin.c)
  target_include_directories(tcudb_cuda PRIVATE src)
  target_compile_definitions(tcudb_cuda PRIVATE KERNEL_FOLDER="${KERNEL_FOLDER}")
  set_property(SOURCE src/kernel/cuda_plugin.c PROPERTY OBJECT_DEPENDS "${KERNEL_IMAGES}")
  set_target_properties(tcudb_cuda PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
