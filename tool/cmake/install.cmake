# make install: the shell, the library with its header, pkg-config and CMake packages, man page, bash completion.
include(CMakePackageConfigHelpers)
set(TCUDB_CMAKE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/tcudb)

target_include_directories(tcudb_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(tcudb_shared PROPERTIES EXPORT_NAME tcudb)
install(TARGETS tcudb_shared EXPORT tcudbTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtcudb0
          NAMELINK_COMPONENT libtcudb-dev)
install(FILES include/tcudb.h include/tcudb_codec.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libtcudb-dev)
install(EXPORT tcudbTargets NAMESPACE tcudb:: DESTINATION ${TCUDB_CMAKE_FOLDER} COMPONENT libtcudb-dev)
configure_package_config_file(tool/install/tcudbConfig.cmake.in ${CMAKE_BINARY_DIR}/tcudbConfig.cmake
  INSTALL_DESTINATION ${TCUDB_CMAKE_FOLDER})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tcudbConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tcudbConfig.cmake ${CMAKE_BINARY_DIR}/tcudbConfigVersion.cmake
  DESTINATION ${TCUDB_CMAKE_FOLDER} COMPONENT libtcudb-dev)

foreach(kind LIBDIR INCLUDEDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}}")
    set(PC_${kind} "${CMAKE_INSTALL_${kind}}")
  else()
    set(PC_${kind} "\${prefix}/${CMAKE_INSTALL_${kind}}")
  endif()
endforeach()
# The prefix may be given late (cmake --install --prefix): the file is made at install time.
install(CODE "
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  set(PC_LIBDIR [=[${PC_LIBDIR}]=])
  set(PC_INCLUDEDIR [=[${PC_INCLUDEDIR}]=])
  configure_file(\"${CMAKE_SOURCE_DIR}/tool/install/tcudb.pc.in\" \"${CMAKE_BINARY_DIR}/tcudb.pc\" @ONLY)
" COMPONENT libtcudb-dev)
install(FILES ${CMAKE_BINARY_DIR}/tcudb.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libtcudb-dev)

install(TARGETS tcudb RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tcudb)
install(FILES doc/man/tcudb.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tcudb)
install(FILES tool/install/tcudb.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME tcudb COMPONENT tcudb)

# The GPU's kernels lie beside the library, which looks for them there.
if(TARGET tcudb_cuda)
  install(TARGETS tcudb_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libtcudb0)
endif()
