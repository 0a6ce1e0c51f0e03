# Precompiled headers and unity builds: JSON, fmt and Catch2 are a third to two thirds of what a compiler does here.
#
# Three headers, each compiled once and shared (REUSE_FROM): for the pure model (standard library and fmt, as its rule
# of includes wants), for everything else (JSON too), and for the tests (Catch2 too). A source file must still include what
# it uses: the `dev` preset builds without precompiled headers and shows it.

set(SPILLWAY_PRECOMPILED_STANDARD
    <algorithm> <array> <chrono> <cmath> <cstdint> <expected> <filesystem> <functional> <map> <memory> <optional> <set>
    <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>)

# Every library and program under `directory`.
function(spillway_targets_under directory result)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(subdirectories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(subdirectory IN LISTS subdirectories)
    spillway_targets_under(${subdirectory} more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Call when all targets exist.
function(spillway_precompile)
  find_package(nlohmann_json 3.11 REQUIRED)
  # What decides whether a precompiled header fits must be the same for all: fmt defines a macro.
  get_target_property(fmt_definitions fmt::fmt INTERFACE_COMPILE_DEFINITIONS)
  if(fmt_definitions)
    target_compile_definitions(spillway_flags INTERFACE ${fmt_definitions})
  endif()
  target_precompile_headers(spillway_sim PRIVATE ${SPILLWAY_PRECOMPILED_STANDARD} <fmt/format.h>)

  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
  add_library(spillway_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(spillway_precompiled PRIVATE spillway_flags nlohmann_json::nlohmann_json)
  target_precompile_headers(spillway_precompiled PRIVATE ${SPILLWAY_PRECOMPILED_STANDARD} <fmt/format.h>
                            "${PROJECT_SOURCE_DIR}/workload/record/json_once.hpp")

  # ordered_json is instantiated here and nowhere else; whoever has our flags gets it.
  add_library(spillway_json_once STATIC ${PROJECT_SOURCE_DIR}/workload/record/json_once.cpp)
  target_compile_features(spillway_json_once PRIVATE cxx_std_23)
  target_link_libraries(spillway_json_once PRIVATE nlohmann_json::nlohmann_json)
  if(SPILLWAY_SANITIZE)
    target_compile_options(spillway_json_once PRIVATE -fsanitize=${SPILLWAY_SANITIZE} -fno-omit-frame-pointer)
  endif()
  target_link_libraries(spillway_flags INTERFACE spillway_json_once)

  foreach(folder workload analysis plots cli)
    spillway_targets_under(${PROJECT_SOURCE_DIR}/${folder} targets)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      # The guest is static and knows no JSON.
      if(type MATCHES "STATIC_LIBRARY|EXECUTABLE|OBJECT_LIBRARY" AND NOT target STREQUAL "spillway-guest")
        target_precompile_headers(${target} REUSE_FROM spillway_precompiled)
        if(NOT target MATCHES "archive|extract|analysis")
          target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
        endif()
        # Six files at a time to the compiler: half of its time is headers and templates that they share. What an unnamed
        # namespace holds is then seen by an #included .cpp, which is what this warning is about.
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
        target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
      endif()
    endforeach()
  endforeach()

  if(BUILD_TESTING)
    find_package(Catch2 2.13 REQUIRED)  # the target is known in the folder that looks for it only
    add_library(spillway_tests_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(spillway_tests_precompiled PRIVATE spillway_flags nlohmann_json::nlohmann_json Catch2::Catch2)
    target_precompile_headers(spillway_tests_precompiled PRIVATE ${SPILLWAY_PRECOMPILED_STANDARD} <fmt/format.h>
                              "${PROJECT_SOURCE_DIR}/workload/record/json_once.hpp" <catch2/catch.hpp>)
    spillway_targets_under(${PROJECT_SOURCE_DIR}/tests targets)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      get_target_property(libraries ${target} LINK_LIBRARIES)
      if(type STREQUAL "EXECUTABLE" AND "spillway_test_main" IN_LIST libraries)
        target_precompile_headers(${target} REUSE_FROM spillway_tests_precompiled)
      endif()
    endforeach()
  endif()
endfunction()
