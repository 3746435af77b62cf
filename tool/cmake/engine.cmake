# The engine: every room but the programs, once as objects, then as libtcudb.so and as an archive for tests.
find_package(Threads REQUIRED)
file(GLOB_RECURSE ENGINE_SOURCES CONFIGURE_DEPENDS
  src/base/*.c src/type/*.c src/expr/*.c src/device/*.c src/codec/*.c src/store/*.c src/catalog/*.c src/sql/*.c
  src/plan/*.c src/bind/*.c src/tensor/*.c src/opt/*.c src/phys/*.c src/files/*.c src/exec/*.c
  src/session/*.c src/api/*.c)
# The operators' inner loops: unswitching and vectorisation are worth their code size there.
file(GLOB HOT_SOURCES CONFIGURE_DEPENDS src/exec/*.c src/exec/cpu/*.c src/expr/eval_run.c)
set_source_files_properties(${HOT_SOURCES} PROPERTIES COMPILE_OPTIONS "$<$<NOT:$<CONFIG:Debug>>:-O3>")
add_library(engine OBJECT ${ENGINE_SOURCES})
if(TCUDB_TINY_ARENAS)
  set_source_files_properties(src/base/mem.c PROPERTIES COMPILE_DEFINITIONS TCUDB_TINY_ARENAS)
endif()
target_include_directories(engine PUBLIC include src)
target_include_directories(engine SYSTEM PRIVATE /usr/include/pg_query)

find_library(PG_QUERY_LIBRARY NAMES libpg_query.a REQUIRED)
find_library(PROTOBUF_C_LIBRARY NAMES libprotobuf-c.a REQUIRED)
# A copy of libpg_query whose memory is ours: src/sql/pg_call.c.
find_program(OBJCOPY objcopy REQUIRED)
set(PG_QUERY_SYMBOLS ${CMAKE_SOURCE_DIR}/tool/cmake/pg_query.syms)
set(PG_QUERY_WEAK --weaken-symbol=sql_pg_tree_size --weaken-symbol=sql_pg_tree_pack
  --weaken-symbol=sql_pg_scan_size --weaken-symbol=sql_pg_scan_pack)
set(PG_QUERY_COPY ${CMAKE_BINARY_DIR}/libpg_query_call.a)
add_custom_command(OUTPUT ${PG_QUERY_COPY} DEPENDS ${PG_QUERY_LIBRARY} ${PG_QUERY_SYMBOLS}
  COMMAND ${OBJCOPY} --redefine-syms=${PG_QUERY_SYMBOLS} ${PG_QUERY_WEAK}
    ${PG_QUERY_LIBRARY} ${PG_QUERY_COPY} VERBATIM)
add_custom_target(pg_query_copy DEPENDS ${PG_QUERY_COPY})
add_dependencies(engine pg_query_copy)
set(ENGINE_LIBRARIES ${PG_QUERY_COPY} ${PROTOBUF_C_LIBRARY} pcre2-8 utf8proc z zstd xxhash crypto m dl Threads::Threads)

add_library(tcudb_shared SHARED $<TARGET_OBJECTS:engine>)
set_target_properties(tcudb_shared PROPERTIES OUTPUT_NAME tcudb VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR} LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
target_include_directories(tcudb_shared INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/include>)
target_link_libraries(tcudb_shared PRIVATE ${ENGINE_LIBRARIES})
target_link_options(tcudb_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--version-script=${CMAKE_SOURCE_DIR}/tool/cmake/tcudb.map)

add_library(engine_static STATIC $<TARGET_OBJECTS:engine>)
target_include_directories(engine_static PUBLIC include src)
target_link_libraries(engine_static PUBLIC ${ENGINE_LIBRARIES})
target_link_options(engine_static INTERFACE -Wl,--undefined=sql_pg_malloc) # libpg_query needs it, after the archive
