# How we compile our own code; never inherited by users.
#   shoal_build  sanitizers or hardening: also for the bundled hiredis
#   shoal_dev    shoal_build, plus the warnings and the standard
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CMakeDependentOption)
cmake_dependent_option(SHOAL_HARDEN "Harden optimised builds" ON "NOT SHOAL_SANITIZE" OFF)

# clang's objects for this hold no machine code: libshoal.a would be of no use without it.
include(CheckIPOSupported)
check_ipo_supported(RESULT has_lto OUTPUT no_lto LANGUAGES C)
if(SHOAL_SANITIZE OR CMAKE_BUILD_TYPE MATCHES "^(Debug)?$" OR
    NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
  set(has_lto OFF)
endif()
cmake_dependent_option(SHOAL_LTO "Optimise the library as a whole" ON has_lto OFF)

add_library(shoal_build INTERFACE)
add_library(shoal_dev INTERFACE)
target_link_libraries(shoal_dev INTERFACE shoal_build)
target_compile_features(shoal_dev INTERFACE c_std_11)
target_compile_definitions(shoal_dev INTERFACE _GNU_SOURCE) # accept4, eventfd, timerfd
# The feature above is content with a compiler that defaults to a later standard.
target_compile_options(shoal_dev INTERFACE -std=c11
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch-enum -Wmissing-prototypes
  -Wstrict-prototypes -Wold-style-definition -Wredundant-decls -Wundef -Wwrite-strings
  -Wpointer-arith -Wcast-align -Wformat=2 -Wimplicit-fallthrough -Wvla -Walloca)
if(SHOAL_WERROR)
  target_compile_options(shoal_dev INTERFACE -Werror)
endif()

# Those of the flags that the compiler knows, in optimised builds only.
function(shoal_harden)
  foreach(flag IN LISTS ARGN)
    string(MAKE_C_IDENTIFIER "SHOAL_HAS${flag}" has)
    check_c_compiler_flag(${flag} ${has})
    if(${has})
      target_compile_options(shoal_build INTERFACE $<$<NOT:$<CONFIG:Debug,>>:${flag}>)
    endif()
  endforeach()
endfunction()

if(SHOAL_SANITIZE)
  set(flags -fsanitize=${SHOAL_SANITIZE} -fno-omit-frame-pointer)
  if(SHOAL_SANITIZE MATCHES "undefined")
    list(APPEND flags -fno-sanitize-recover=all)
  endif()
  if(NOT CMAKE_C_FLAGS MATCHES "-O")
    list(APPEND flags -O1)
  endif()
  target_compile_options(shoal_build INTERFACE ${flags})
  target_link_options(shoal_build INTERFACE ${flags})
elseif(SHOAL_HARDEN)
  shoal_harden(-fstack-protector-strong -fstack-clash-protection -fcf-protection
    -ftrivial-auto-var-init=zero)
  target_compile_options(shoal_build INTERFACE
    $<$<NOT:$<CONFIG:Debug,>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<CONFIG:Debug,>>:-D_FORTIFY_SOURCE=3>)
  set(flags -Wl,-z,relro,-z,now,-z,noexecstack)
  check_linker_flag(C ${flags} SHOAL_HAS_RELRO)
  if(SHOAL_HAS_RELRO)
    target_link_options(shoal_build INTERFACE ${flags})
  endif()
endif()

# Choices between a fast Linux facility and a portable one, as 0 or 1.
function(shoal_choose option fast portable definition)
  set(choice ${${option}})
  if(choice STREQUAL "auto")
    set(choice ${portable})
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
      set(choice ${fast})
    endif()
  endif()
  if(NOT choice MATCHES "^(${fast}|${portable})$")
    message(FATAL_ERROR "${option} must be auto, ${fast} or ${portable}, not '${choice}'")
  endif()
  if(choice STREQUAL fast)
    target_compile_definitions(shoal_dev INTERFACE ${definition}=1)
  else()
    target_compile_definitions(shoal_dev INTERFACE ${definition}=0)
  endif()
  message(STATUS "${option}: ${choice}")
endfunction()

shoal_choose(SHOAL_WAKER timerfd uv SHOAL_WAKER_TIMERFD)
shoal_choose(SHOAL_NOTIFIER eventfd pipe SHOAL_NOTIFIER_EVENTFD)
shoal_choose(SHOAL_PARKER futex semaphore SHOAL_PARKER_FUTEX)
