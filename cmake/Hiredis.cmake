# hiredis from its sources: as objects for our own libraries, and as an archive.

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

  shoal_header_version(version "${include}/hiredis/hiredis.h" HIREDIS)
  if(version VERSION_LESS 1.1)
    message(FATAL_ERROR "${include}/hiredis is older than hiredis 1.1")
  endif()
  set(${ret_include} "${include}" PARENT_SCOPE)
endfunction()

# The names of its functions become ours, here and for those who include its headers.
function(shoal_rename_hiredis header)
  file(STRINGS cmake/hiredis_names.txt names REGEX "^[^#]")
  list(TRANSFORM names REPLACE "(.+)" "#define \\1 shoal__hi_\\1\n")
  list(JOIN names "" text)
  file(CONFIGURE OUTPUT "${header}" CONTENT "${text}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS cmake/hiredis_names.txt)
endfunction()

shoal_obtain_hiredis(include)
set(renamed "${CMAKE_CURRENT_BINARY_DIR}/_deps/hiredis_names.h")
shoal_rename_hiredis("${renamed}")

add_library(shoal_hiredis_objects OBJECT)
foreach(name IN ITEMS alloc async hiredis net read sds)
  target_sources(shoal_hiredis_objects PRIVATE "${include}/hiredis/${name}.c")
endforeach()
# -fwrapv: an announced length near the largest number must not be undefined.
target_compile_options(shoal_hiredis_objects PRIVATE
  -w -fwrapv -include "${renamed}")
target_link_libraries(shoal_hiredis_objects PRIVATE shoal_build)
set_target_properties(shoal_hiredis_objects PROPERTIES
  C_STANDARD 11
  C_VISIBILITY_PRESET hidden
  POSITION_INDEPENDENT_CODE ON)
add_library(shoal_hiredis STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:shoal_hiredis_objects>)
set_target_properties(shoal_hiredis PROPERTIES LINKER_LANGUAGE C)
target_include_directories(shoal_hiredis SYSTEM INTERFACE "${include}")
target_compile_options(shoal_hiredis INTERFACE "SHELL:-include '${renamed}'")
set(SHOAL_HIREDIS_FOLDER "${include}/hiredis")
set(SHOAL_HIREDIS_LICENSES "${include}/hiredis/COPYING")
message(STATUS "hiredis: bundled, from ${include}/hiredis")
