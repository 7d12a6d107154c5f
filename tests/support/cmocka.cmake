# shoal_cmocka: the test framework, of the system or, for another C library, from its sources.
set(SHOAL_CMOCKA_SRC "" CACHE PATH "A cmocka source folder, instead of the system's")
if(SHOAL_CMOCKA_SRC)
  add_library(shoal_cmocka STATIC EXCLUDE_FROM_ALL "${SHOAL_CMOCKA_SRC}/src/cmocka.c")
  target_include_directories(shoal_cmocka SYSTEM PUBLIC "${SHOAL_CMOCKA_SRC}/include")
  target_compile_definitions(shoal_cmocka PRIVATE
    HAVE_SIGNAL_H=1 HAVE_STRINGS_H=1 HAVE_STDINT_H=1 HAVE_TIME_H=1 HAVE_STDLIB_H=1
    HAVE_STRUCT_TIMESPEC=1 HAVE_CLOCK_REALTIME=1 HAVE_CLOCK_GETTIME=1 _GNU_SOURCE)
  target_compile_options(shoal_cmocka PRIVATE -w)
else()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
  add_library(shoal_cmocka INTERFACE)
  target_link_libraries(shoal_cmocka INTERFACE PkgConfig::CMOCKA)
endif()
