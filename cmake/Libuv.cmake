# A static libuv from its sources.  For the Python extension: a distribution's archive is
# not position independent, and its shared library would have to travel with each wheel.
# And for another C library than the system's.
if(SHOAL_LIBUV_SRC)
  get_filename_component(from "${SHOAL_LIBUV_SRC}" ABSOLUTE)
else()
  set(from "${SHOAL_DEPS_CACHE}/libuv")
  shoal_fetch(libuv "${from}")
endif()
if(NOT EXISTS "${from}/CMakeLists.txt" OR NOT EXISTS "${from}/include/uv.h")
  message(FATAL_ERROR "${from} holds no libuv sources")
endif()

set(LIBUV_BUILD_SHARED OFF CACHE BOOL "" FORCE)
set(BUILD_TESTING OFF CACHE BOOL "" FORCE)
add_subdirectory("${from}" "${CMAKE_CURRENT_BINARY_DIR}/_deps/libuv" EXCLUDE_FROM_ALL)
set_target_properties(uv_a PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_compile_options(uv_a PRIVATE
  -w $<TARGET_PROPERTY:shoal_build,INTERFACE_COMPILE_OPTIONS>)
if(SHOAL_HAS_ftrivial_auto_var_init_zero) # it would clear 12 KB at each poll
  target_compile_options(uv_a PRIVATE -ftrivial-auto-var-init=uninitialized)
endif()
set(SHOAL_LIBUV_LICENSES "${from}/LICENSE" "${from}/LICENSE-extra")

add_library(shoal::libuv INTERFACE IMPORTED GLOBAL)
target_link_libraries(shoal::libuv INTERFACE uv_a)
target_include_directories(shoal::libuv INTERFACE "${from}/include")
message(STATUS "libuv: bundled, from ${from}")
