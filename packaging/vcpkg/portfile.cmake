# An overlay port inside of the tree: vcpkg install shoal --overlay-ports=packaging/vcpkg
# A registry's copy takes the sources of a release instead, by vcpkg_from_git().
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

# vcpkg says which kind of library is wanted by BUILD_SHARED_LIBS.
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    -DSHOAL_DEPS=system
    -DSHOAL_LIBUV=system)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/shoal)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
