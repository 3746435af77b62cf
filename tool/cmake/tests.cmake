# test/unit/ROOM_NAME_test.c: one cmocka program a file, against the engine's archive. Without cmocka (`make test` installs
# it) there are none, and everything else builds.
enable_testing()
find_library(CMOCKA cmocka)
file(GLOB UNIT_TESTS CONFIGURE_DEPENDS test/unit/*_test.c)
if(NOT CMOCKA)
  set(UNIT_TESTS)
endif()
foreach(source ${UNIT_TESTS})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE engine_static ${CMOCKA})
  target_include_directories(${name} PRIVATE test)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
  add_test(NAME ${name} COMMAND ${name})
endforeach()

# The sqllogictest runner and the fault injector.
add_executable(tcudb_slt test/slt/slt.c)
target_link_libraries(tcudb_slt PRIVATE tcudb_shared z crypto)
add_library(fail_nth SHARED test/fault/fail_nth.c)
target_link_libraries(fail_nth PRIVATE dl)
set_target_properties(fail_nth PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)

# test/fuzz/X_fuzz.c: libFuzzer targets, run by test/fuzz/run.
if(TCUDB_FUZZ)
  file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS test/fuzz/*_fuzz.c)
  foreach(source ${FUZZ_TARGETS})
    get_filename_component(name ${source} NAME_WE)
    add_executable(${name} ${source})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${name} PRIVATE engine_static)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  endforeach()
endif()

# kill -9 at random moments: test/crash/crash_test.sh runs 50 cycles, `make crash` 2,000.
add_executable(crash test/crash/crash.c)
target_link_libraries(crash PRIVATE engine_static)
set_target_properties(crash PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test)
