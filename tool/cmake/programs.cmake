# The shell: uses include/tcudb.h and nothing else of ours.
file(GLOB SHELL_SOURCES CONFIGURE_DEPENDS src/shell/*.c)
if(SHELL_SOURCES)
  add_executable(tcudb ${SHELL_SOURCES})
  target_include_directories(tcudb PRIVATE src/shell)
  target_link_libraries(tcudb PRIVATE tcudb_shared edit utf8proc Threads::Threads)
  set_target_properties(tcudb PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}"
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
endif()
