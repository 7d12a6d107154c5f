# Finds libuv and hiredis.  Downloads only what it is told to bundle.  Defines
#   shoal::libuv            libuv
#   shoal_hiredis           hiredis, reachable as <hiredis/...>
#   SHOAL_HIREDIS_BUNDLED   true when its objects go into our own libraries
#   SHOAL_LIBUV_BUNDLED     true when libuv is built here, and static
#   SHOAL_HAS_TLS           true with shoal::openssl: OpenSSL's libssl and libcrypto
include(cmake/shoalSystem.cmake)
set(SHOAL_DEPS system CACHE STRING "Where hiredis comes from: system or bundled")
set(SHOAL_LIBUV system CACHE STRING "Where libuv comes from: system or bundled")
set_property(CACHE SHOAL_DEPS SHOAL_LIBUV PROPERTY STRINGS system bundled)
set(SHOAL_HIREDIS_SRC "" CACHE PATH "A hiredis >= 1.1 source folder to bundle")
set(SHOAL_LIBUV_SRC "" CACHE PATH "A libuv >= 1.44 source folder to bundle")
if(DEFINED ENV{SHOAL_DEPS_CACHE})
  get_filename_component(deps_cache "$ENV{SHOAL_DEPS_CACHE}" ABSOLUTE)
elseif(NOT PROJECT_IS_TOP_LEVEL)
  set(deps_cache "${CMAKE_CURRENT_BINARY_DIR}/_deps")
else()
  set(deps_cache "${PROJECT_SOURCE_DIR}/build/_deps")
endif()
set(SHOAL_DEPS_CACHE "${deps_cache}" CACHE PATH "Downloaded sources, shared by build folders")

find_package(Threads REQUIRED)
foreach(option IN ITEMS SHOAL_DEPS SHOAL_LIBUV)
  if(NOT ${option} MATCHES "^(system|bundled)$")
    message(FATAL_ERROR "${option} must be system or bundled, not '${${option}}'.\n"
      "Work on shoal itself begins with: cmake -C cmake/developer.cmake -B build")
  endif()
endforeach()

# Puts the sources of a dependency into a folder, unless they are there already.
function(shoal_fetch name folder)
  string(TOUPPER ${name} option)
  if(SKBUILD AND NOT DEFINED ENV{PYTHON}) # an isolated build has a pip of its own
    set(ENV{PYTHON} "${Python_EXECUTABLE}")
  endif()
  file(MAKE_DIRECTORY "${SHOAL_DEPS_CACHE}")
  file(LOCK "${SHOAL_DEPS_CACHE}/lock" GUARD FUNCTION TIMEOUT 300)
  execute_process(
    COMMAND "${PROJECT_SOURCE_DIR}/tools/fetch_${name}.sh" "${folder}"
    RESULT_VARIABLE rc)
  if(NOT rc EQUAL 0)
    message(FATAL_ERROR "${name} could not be fetched (see above).  Without a network, "
      "pass -DSHOAL_${option}_SRC=<folder of ${name} sources>, or use a system ${name}")
  endif()
endfunction()

# A dependency of the system that is missing ends the configuration.
function(shoal_require name least debian option)
  string(TOUPPER ${name} upper)
  if(SHOAL_${upper}_VERSION)
    message(STATUS "${name}: system ${SHOAL_${upper}_VERSION}")
    return()
  endif()
  message(FATAL_ERROR "The system has no ${name} >= ${least}.  There are two ways on:\n"
    "  1. Install it (Debian 13: apt-get install ${debian}); CMAKE_PREFIX_PATH or "
    "PKG_CONFIG_PATH says where it is.\n"
    "  2. Bundle it: -D${option}=bundled downloads the pinned sources, "
    "-DSHOAL_${upper}_SRC=<folder> takes sources that are there.\n"
    "Work on shoal itself begins with: cmake -C cmake/developer.cmake -B build")
endfunction()

set(SHOAL_LIBUV_BUNDLED FALSE)
if(SHOAL_LIBUV STREQUAL "bundled" OR SHOAL_LIBUV_SRC)
  set(SHOAL_LIBUV_BUNDLED TRUE)
  include(cmake/Libuv.cmake)
else()
  shoal_find_libuv()
  shoal_require(libuv 1.44 libuv1-dev SHOAL_LIBUV)
endif()

include(cmake/Tls.cmake)

set(SHOAL_HIREDIS_BUNDLED FALSE)
if(SHOAL_DEPS STREQUAL "bundled" OR SHOAL_HIREDIS_SRC)
  set(SHOAL_HIREDIS_BUNDLED TRUE)
  include(cmake/Hiredis.cmake)
else()
  shoal_find_hiredis()
  shoal_require(hiredis 1.1 libhiredis-dev SHOAL_DEPS)
  add_library(shoal_hiredis INTERFACE)
  target_link_libraries(shoal_hiredis INTERFACE shoal::hiredis)
endif()
