# What pip builds: the Python extension and what it is linked with, nothing else.
set(SHOAL_PYTHON_LIBSHOAL bundled CACHE STRING
  "The library in the Python extension: bundled, or system for an installed one")
option(SHOAL_PYTHON_LTO "Optimise the Python extension as a whole" ON)
set_property(CACHE SHOAL_PYTHON_LIBSHOAL PROPERTY STRINGS bundled system)
if(NOT SHOAL_PYTHON_LIBSHOAL MATCHES "^(bundled|system)$")
  message(FATAL_ERROR
    "SHOAL_PYTHON_LIBSHOAL must be bundled or system, not '${SHOAL_PYTHON_LIBSHOAL}'")
endif()

if(SHOAL_PYTHON_LTO AND NOT SHOAL_SANITIZE)
  include(CheckIPOSupported)
  check_ipo_supported(RESULT CMAKE_INTERPROCEDURAL_OPTIMIZATION LANGUAGES C)
endif()

if(SHOAL_PYTHON_LIBSHOAL STREQUAL "bundled")
  # A wheel needs nothing that is not in it.  In the cache, so that it holds when an
  # editable installation configures again.
  set(SHOAL_DEPS bundled CACHE STRING "Where hiredis comes from: system or bundled")
  set(SHOAL_LIBUV bundled CACHE STRING "Where libuv comes from: system or bundled")
  # But OpenSSL, which it finds where it runs: only the headers count here.
  find_package(OpenSSL 3.0 QUIET)
  if(OpenSSL_FOUND)
    add_library(shoal::openssl INTERFACE IMPORTED GLOBAL)
    target_include_directories(shoal::openssl INTERFACE "${OPENSSL_INCLUDE_DIR}")
  endif()
  include(cmake/Deps.cmake)
  add_subdirectory(src EXCLUDE_FROM_ALL)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(SHOAL REQUIRED IMPORTED_TARGET shoal>=${PROJECT_VERSION})
endif()
add_subdirectory(bindings/python)
