#pragma once
/// nlohmann::ordered_json compiled once for all (workload/record/json_once.cpp): a third of what a compiler does here is
/// instantiating it again in every file. Part of the precompiled header (cmake/precompile.cmake); nobody includes it.

#include <nlohmann/json.hpp>

extern template class nlohmann::basic_json<nlohmann::ordered_map>;
