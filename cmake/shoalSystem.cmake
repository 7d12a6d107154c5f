# Finds a library of the system, for shoal's build and for shoal's users.  Makes the target
# shoal::<name>.  pkg-config, where there is one, only says where to look first.
include_guard()

# The version that the macros <prefix>_MAJOR, _MINOR and _PATCH of a header say.
function(shoal_header_version ret_version header prefix)
  set(version "")
  foreach(part IN ITEMS MAJOR MINOR PATCH)
    file(STRINGS "${header}" line REGEX "^#define ${prefix}_${part} +[0-9]+")
    string(REGEX REPLACE "^#define ${prefix}_${part} +([0-9]+).*" "\\1" number "${line}")
    list(APPEND version ${number})
  endforeach()
  list(JOIN version . version)
  set(${ret_version} "${version}" PARENT_SCOPE)
endfunction()

# shoal_find_system(<name> <least version> <header> <library> <header that holds the version>
#   <what the version's macros begin with>)
# Sets SHOAL_<NAME>_VERSION; empty if there is no such library, or if it is too old.
function(shoal_find_system name least header library version_header macro)
  string(TOUPPER ${name} upper)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND AND NOT SHOAL_${upper}_INCLUDE_DIR)
    pkg_check_modules(SHOAL_${upper}_HINT QUIET ${name})
  endif()
  set(folders ${SHOAL_${upper}_HINT_INCLUDEDIR} ${SHOAL_${upper}_HINT_INCLUDE_DIRS})
  foreach(folder IN LISTS folders)
    get_filename_component(above "${folder}" DIRECTORY) # -I<prefix>/include/hiredis
    list(APPEND folders "${above}")
  endforeach()
  find_path(SHOAL_${upper}_INCLUDE_DIR ${header} HINTS ${folders})
  find_library(SHOAL_${upper}_LIBRARY NAMES ${library} HINTS
    ${SHOAL_${upper}_HINT_LIBDIR} ${SHOAL_${upper}_HINT_LIBRARY_DIRS})
  mark_as_advanced(SHOAL_${upper}_INCLUDE_DIR SHOAL_${upper}_LIBRARY)

  set(version "")
  if(SHOAL_${upper}_INCLUDE_DIR AND SHOAL_${upper}_LIBRARY)
    shoal_header_version(version "${SHOAL_${upper}_INCLUDE_DIR}/${version_header}" ${macro})
  endif()
  if(version VERSION_LESS least)
    set(SHOAL_${upper}_VERSION "" PARENT_SCOPE)
    return()
  endif()

  set(SHOAL_${upper}_VERSION ${version} PARENT_SCOPE)
  if(NOT TARGET shoal::${name})
    find_package(Threads REQUIRED)
    add_library(shoal::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(shoal::${name} INTERFACE "${SHOAL_${upper}_INCLUDE_DIR}")
    target_link_libraries(shoal::${name} INTERFACE # what an archive needs, too
      "${SHOAL_${upper}_LIBRARY}" Threads::Threads ${CMAKE_DL_LIBS})
  endif()
endfunction()

# 1.44: the oldest that shoal is tested with.
macro(shoal_find_libuv)
  shoal_find_system(libuv 1.44 uv.h "uv;uv_a" uv/version.h UV_VERSION)
endmacro()

# 1.1: the first that reads big numbers.
macro(shoal_find_hiredis)
  shoal_find_system(hiredis 1.1 hiredis/hiredis.h hiredis hiredis/hiredis.h HIREDIS)
endmacro()

# 3.0: the oldest that shoal is written for.
macro(shoal_find_openssl)
  set(SHOAL_OPENSSL_VERSION "")
  # FindOpenSSL calls it also where there is no pkg-config.
  find_package(PkgConfig QUIET)
  if(NOT COMMAND pkg_check_modules)
    macro(pkg_check_modules)
    endmacro()
  endif()
  find_package(OpenSSL 3.0 QUIET)
  if(OpenSSL_FOUND)
    set(SHOAL_OPENSSL_VERSION ${OPENSSL_VERSION})
    if(NOT TARGET shoal::openssl)
      add_library(shoal::openssl INTERFACE IMPORTED GLOBAL)
      target_link_libraries(shoal::openssl INTERFACE OpenSSL::SSL OpenSSL::Crypto)
    endif()
  endif()
endmacro()
