# A static libuv for the Python extension: a distribution's archive is not position
# independent, and its shared library would have to travel with each wheel.
set(SHOAL_LIBUV_SRC "" CACHE PATH "A libuv >= 1.44 source folder, for offline builds")

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
set(SHOAL_LIBUV_LICENSES "${from}/LICENSE" "${from}/LICENSE-extra")

add_library(PkgConfig::SHOAL_LIBUV INTERFACE IMPORTED GLOBAL)
target_link_libraries(PkgConfig::SHOAL_LIBUV INTERFACE uv_a)
message(STATUS "libuv: bundled, from ${from}")
