# Headers, libraries, licences, manual pages, pkg-config file, CMake package, bench; and
# how to remove them.
install(DIRECTORY include/shoal TYPE INCLUDE COMPONENT devel FILES_MATCHING PATTERN "*.h")
install(TARGETS ${SHOAL_LIBRARIES} EXPORT shoal
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT devel
  ARCHIVE COMPONENT devel)
if(TARGET shoal-bench)
  install(TARGETS shoal-bench RUNTIME COMPONENT tools)
  install(FILES docs/man/shoal-bench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1
    COMPONENT tools)
endif()
install(FILES docs/man/shoal.7 DESTINATION ${CMAKE_INSTALL_MANDIR}/man7 COMPONENT devel)

install(FILES LICENSE TYPE DOC COMPONENT devel)
if(SHOAL_HIREDIS_BUNDLED)
  install(FILES ${SHOAL_HIREDIS_LICENSES} DESTINATION ${CMAKE_INSTALL_DOCDIR}/hiredis
    COMPONENT devel)
endif()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/shoal)
configure_package_config_file(cmake/shoalConfig.cmake.in shoalConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/shoalConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(EXPORT shoal FILE shoalTargets.cmake NAMESPACE shoal::
  DESTINATION ${package_dir} COMPONENT devel)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/shoalConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/shoalConfigVersion.cmake
  cmake/shoalSystem.cmake
  DESTINATION ${package_dir} COMPONENT devel)

# Written while installing: the prefix may still change, and the paths in it are absolute.
set(requires_private "libuv >= 1.44")
if(NOT SHOAL_HIREDIS_BUNDLED)
  string(APPEND requires_private ", hiredis >= 1.1")
endif()
if(SHOAL_HAS_TLS)
  string(APPEND requires_private ", libssl >= 3.0, libcrypto >= 3.0")
endif()
install(CODE "
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE)
  set(full_libdir \"${CMAKE_INSTALL_LIBDIR}\")
  set(full_includedir \"${CMAKE_INSTALL_INCLUDEDIR}\")
  cmake_path(ABSOLUTE_PATH full_libdir BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  cmake_path(ABSOLUTE_PATH full_includedir BASE_DIRECTORY \"\${CMAKE_INSTALL_PREFIX}\")
  set(version \"${PROJECT_VERSION}\")
  set(requires_private \"${requires_private}\")
  configure_file(\"${PROJECT_SOURCE_DIR}/cmake/shoal.pc.in\"
    \"${CMAKE_CURRENT_BINARY_DIR}/shoal.pc\" @ONLY)
  file(INSTALL \"${CMAKE_CURRENT_BINARY_DIR}/shoal.pc\"
    DESTINATION \"\${full_libdir}/pkgconfig\")"
  COMPONENT devel)

if(PROJECT_IS_TOP_LEVEL)
  configure_file(cmake/uninstall.cmake.in uninstall.cmake @ONLY)
  add_custom_target(uninstall
    COMMAND ${CMAKE_COMMAND} -P ${CMAKE_CURRENT_BINARY_DIR}/uninstall.cmake)
endif()
