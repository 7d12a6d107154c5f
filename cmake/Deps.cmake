# Finds libuv and hiredis.  Defines
#   PkgConfig::SHOAL_LIBUV  libuv; bundled and static in the Python extension
#   shoal_hiredis           hiredis, reachable as <hiredis/...>
#   SHOAL_HIREDIS_BUNDLED   true when its objects go into our own libraries
set(SHOAL_DEPS auto CACHE STRING "Where hiredis comes from: auto, system or bundled")
set_property(CACHE SHOAL_DEPS PROPERTY STRINGS auto system bundled)
set(SHOAL_HIREDIS_SRC "" CACHE PATH "A hiredis >= 1.1 source folder, for offline builds")
if(DEFINED ENV{SHOAL_DEPS_CACHE})
  get_filename_component(deps_cache "$ENV{SHOAL_DEPS_CACHE}" ABSOLUTE)
elseif(NOT PROJECT_IS_TOP_LEVEL)
  set(deps_cache "${CMAKE_CURRENT_BINARY_DIR}/_deps")
else()
  set(deps_cache "${PROJECT_SOURCE_DIR}/build/_deps")
endif()
set(SHOAL_DEPS_CACHE "${deps_cache}" CACHE PATH "Downloaded sources, shared by build folders")

find_package(Threads REQUIRED)

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

if(SKBUILD AND SHOAL_PYTHON_LIBUV STREQUAL "bundled")
  include(cmake/Libuv.cmake)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(SHOAL_LIBUV REQUIRED IMPORTED_TARGET libuv>=1.44)
endif()

if(NOT SHOAL_DEPS MATCHES "^(auto|system|bundled)$")
  message(FATAL_ERROR "SHOAL_DEPS must be auto, system or bundled, not '${SHOAL_DEPS}'")
endif()

set(SHOAL_HIREDIS_BUNDLED TRUE)
if(NOT SHOAL_DEPS STREQUAL "bundled" AND NOT SHOAL_HIREDIS_SRC)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(SHOAL_HIREDIS QUIET IMPORTED_TARGET hiredis>=1.1)
  if(SHOAL_HIREDIS_FOUND)
    set(SHOAL_HIREDIS_BUNDLED FALSE)
  elseif(SHOAL_DEPS STREQUAL "system")
    message(FATAL_ERROR "SHOAL_DEPS=system, but pkg-config knows no hiredis >= 1.1")
  endif()
endif()

# Sources and headers end up in a folder named hiredis, as a system's would.
function(shoal_obtain_hiredis ret_include)
  if(SHOAL_HIREDIS_SRC)
    set(include "${CMAKE_CURRENT_BINARY_DIR}/_deps/local/include")
    get_filename_component(from "${SHOAL_HIREDIS_SRC}" ABSOLUTE)
    if(NOT EXISTS "${from}/read.c")
      message(FATAL_ERROR "SHOAL_HIREDIS_SRC=${from} holds no hiredis sources (no read.c)")
    endif()
    file(MAKE_DIRECTORY "${include}")
    file(REMOVE "${include}/hiredis")
    file(CREATE_LINK "${from}" "${include}/hiredis" SYMBOLIC)
  else()
    set(include "${SHOAL_DEPS_CACHE}/include")
    shoal_fetch(hiredis "${include}/hiredis")
  endif()

  file(STRINGS "${include}/hiredis/hiredis.h" major REGEX "#define HIREDIS_MAJOR [1-9]")
  if(NOT major)
    message(FATAL_ERROR "${include}/hiredis is older than hiredis 1.0")
  endif()
  set(${ret_include} "${include}" PARENT_SCOPE)
endfunction()

if(SHOAL_HIREDIS_BUNDLED)
  shoal_obtain_hiredis(include)
  add_library(shoal_hiredis_objects OBJECT)
  foreach(name IN ITEMS alloc async hiredis net read sds sockcompat)
    target_sources(shoal_hiredis_objects PRIVATE "${include}/hiredis/${name}.c")
  endforeach()
  # -fwrapv: an announced length near the largest number must not be undefined.
  target_compile_options(shoal_hiredis_objects PRIVATE -w -fwrapv)
  target_link_libraries(shoal_hiredis_objects PRIVATE shoal_build)
  set_target_properties(shoal_hiredis_objects PROPERTIES
    C_STANDARD 11
    C_VISIBILITY_PRESET hidden # an application may load another hiredis beside ours
    POSITION_INDEPENDENT_CODE ON)
  add_library(shoal_hiredis STATIC $<TARGET_OBJECTS:shoal_hiredis_objects>)
  set_target_properties(shoal_hiredis PROPERTIES LINKER_LANGUAGE C)
  target_include_directories(shoal_hiredis SYSTEM INTERFACE "${include}")
  set(SHOAL_HIREDIS_LICENSES "${include}/hiredis/COPYING")
  message(STATUS "hiredis: bundled, from ${include}/hiredis")
else()
  # hiredis.pc adds <prefix>/include/hiredis; we say <hiredis/...>, so step up.
  set(include "")
  foreach(folder IN LISTS SHOAL_HIREDIS_INCLUDE_DIRS)
    if(folder MATCHES "/hiredis/?$")
      get_filename_component(folder "${folder}" DIRECTORY)
      list(APPEND include "${folder}")
    endif()
  endforeach()
  add_library(shoal_hiredis INTERFACE)
  target_link_libraries(shoal_hiredis INTERFACE PkgConfig::SHOAL_HIREDIS)
  target_include_directories(shoal_hiredis SYSTEM INTERFACE ${include})
  message(STATUS "hiredis: system ${SHOAL_HIREDIS_VERSION}")
endif()
