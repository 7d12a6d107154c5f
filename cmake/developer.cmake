# What shoal's own developers and CI build with: cmake -C cmake/developer.cmake -B build
# Options after it on the command line win.
set(SHOAL_DEPS bundled CACHE STRING "Where hiredis comes from: system or bundled" FORCE)
foreach(option IN ITEMS
    SHOAL_BUILD_TESTS SHOAL_BUILD_BENCH SHOAL_BUILD_EXAMPLES SHOAL_WERROR)
  set(${option} ON CACHE BOOL "On for developers" FORCE)
endforeach()
