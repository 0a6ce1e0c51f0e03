/// The record as JSON. One list of members per struct (`fields`), visited by a writer and by a reader, so that the two
/// cannot drift apart. Keys are the members' names; the unit is last in the name.

#include "workload/record/record_io.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <type_traits>

namespace spillway {

namespace {

using Json = nlohmann::ordered_json;

template <class V>
void fields(V& v, Account& a) {
  v("user_s", a.user_s);
  v("system_s", a.system_s);
  v("runqueue_s", a.runqueue_s);
  v("throttled_s", a.throttled_s);
  v("device_s", a.device_s);
  v("lock_s", a.lock_s);
  v("log_s", a.log_s);
  v("unknown_s", a.unknown_s);
}

template <class V>
void fields(V& v, UntarResult& u) {
  v("number", u.number);
  v("start_s", u.start_s);
  v("elapsed_s", u.elapsed_s);
  v("user_s", u.user_s);
  v("system_s", u.system_s);
  v("bytes", u.bytes);
  v("files", u.files);
  v("max_rss_bytes", u.max_rss_bytes);
  v("voluntary_switches", u.voluntary_switches);
  v("involuntary_switches", u.involuntary_switches);
  v("exit_status", u.exit_status);
  v("account", u.account);
  v("account_sources", u.account_sources);
  v("pauses", u.pauses);
  v("longest_pause_s", u.longest_pause_s);
}

template <class V>
void fields(V& v, PhaseResult& p) {
  v("name", p.name);
  v("start_s", p.start_s);
  v("elapsed_s", p.elapsed_s);
  v("user_s", p.user_s);
  v("system_s", p.system_s);
  v("device_busy_s", p.device_busy_s);
}

template <class V>
void fields(V& v, JobResult& j) {
  v("name", j.name);
  v("start_s", j.start_s);
  v("elapsed_s", j.elapsed_s);
  v("user_s", j.user_s);
  v("system_s", j.system_s);
  v("read_bytes", j.read_bytes);
  v("write_bytes", j.write_bytes);
  v("operations", j.operations);
  v("mb_per_s", j.mb_per_s);
  v("iops", j.iops);
  v("lat_ms_mean", j.lat_ms_mean);
  v("lat_ms_p50", j.lat_ms_p50);
  v("lat_ms_p99", j.lat_ms_p99);
  v("lat_ms_max", j.lat_ms_max);
  v("account", j.account);
}

template <class V>
void fields(V& v, StageResult& s) {
  v("name", s.name);
  v("threads", s.threads);
  v("cpu_pct", s.cpu_pct);
  v("cpu_pct_max", s.cpu_pct_max);
  v("requests", s.requests);
  v("lock_wait_s", s.lock_wait_s);
  v("lock_held_pct", s.lock_held_pct);
  v("wakeup_delay_us_mean", s.wakeup_delay_us_mean);
  v("wakeup_delay_us_p99", s.wakeup_delay_us_p99);
  v("wakeup_delay_us_max", s.wakeup_delay_us_max);
  v("context_switches", s.context_switches);
}

template <class V>
void fields(V& v, KworkerResult& k) {
  v("queue", k.queue);
  v("name", k.name);
  v("count", k.count);
  v("cpu_s", k.cpu_s);
  v("cpu_pct", k.cpu_pct);
  v("busiest_state", k.busiest_state);
}

template <class V>
void fields(V& v, FlusherResult& f) {
  v("count", f.count);
  v("cpu_s", f.cpu_s);
  v("cpu_pct", f.cpu_pct);
  v("blocked_s", f.blocked_s);
  v("pages_written", f.pages_written);
}

template <class V>
void fields(V& v, DeviceResult& d) {
  v("write_bytes", d.write_bytes);
  v("read_bytes", d.read_bytes);
  v("write_ios", d.write_ios);
  v("read_ios", d.read_ios);
  v("seeks", d.seeks);
  v("rmw_reads", d.rmw_reads);
  v("flushes", d.flushes);
  v("busy_s", d.busy_s);
  v("busy_pct", d.busy_pct);
  v("sequential_mb_per_s", d.sequential_mb_per_s);
  v("efficiency_pct", d.efficiency_pct);
  v("split_pct", d.split_pct);
  v("members", d.members);
}

template <class V>
void fields(V& v, LogResult& l) {
  v("transactions", l.transactions);
  v("log_writes", l.log_writes);
  v("log_bytes", l.log_bytes);
  v("forces", l.forces);
  v("ail_pushes", l.ail_pushes);
  v("space_wait_s", l.space_wait_s);
}

template <class V>
void fields(V& v, BoxState& s) {
  v("completion_share", s.completion_share);
  v("completion_phase_s", s.completion_phase_s);
  v("device_completions_pages", s.device_completions_pages);
  v("global_completions_pages", s.global_completions_pages);
  v("dirty_ratelimit_pages_per_s", s.dirty_ratelimit_pages_per_s);
  v("avg_write_bandwidth_pages_per_s", s.avg_write_bandwidth_pages_per_s);
  v("write_bandwidth_pages_per_s", s.write_bandwidth_pages_per_s);
  v("balanced_dirty_ratelimit_pages_per_s", s.balanced_dirty_ratelimit_pages_per_s);
  v("bandwidth_stamp_age_s", s.bandwidth_stamp_age_s);
  v("dirty_limit_pages", s.dirty_limit_pages);
  v("dirtyable_pages", s.dirtyable_pages);
  v("foreign_dirty_pages", s.foreign_dirty_pages);
  v("foreign_completions_pages_per_s", s.foreign_completions_pages_per_s);
  v("foreign_cpus", s.foreign_cpus);
  v("free_pages", s.free_pages);
  v("file_pages", s.file_pages);
  v("uptime_s", s.uptime_s);
  v("throttle_slice_age_s", s.throttle_slice_age_s);
  v("cold", s.cold);
}

template <class V>
void fields(V& v, BoxInfo& b) {
  v.required("kind", b.kind);
  v("name", b.name);
  v("kernel", b.kernel);
  v("hz", b.hz);
  v("cpus", b.cpus);
  v("numa_nodes", b.numa_nodes);
  v("ram_bytes", b.ram_bytes);
  v("device", b.device);
  v("target", b.target);
  v("profile", b.profile);
  v("environment", b.environment);
}

template <class V>
void fields(V& v, Mark& m) {
  v("t_s", m.t_s);
  v("what", m.what);
}

template <class V>
void fields(V& v, Record& r) {
  v("experiment_title", r.experiment_title);
  v.required("experiment_name", r.experiment_name);
  v.pairs("case_keys", r.case_keys);
  v.required("repeat", r.repeat);
  v("seed", r.seed);
  v.required("complete", r.complete);
  v.required("box", r.box);
  v("experiment", r.experiment);
  v("state_before", r.state_before);
  v("untars_end_s", r.untars_end_s);
  v("durable_s", r.durable_s);
  v("cpu_total_s", r.cpu_total_s);
  v("untars", r.untars);
  v("phases", r.phases);
  v("jobs", r.jobs);
  v("stages", r.stages);
  v("kworkers", r.kworkers);
  v("flusher", r.flusher);
  v("device", r.device);
  v("log", r.log);
  v("extents_mean", r.extents_mean);
  v("counters", r.counters);
  v("disturbances", r.disturbances);
  v("notes", r.notes);
  v("files", r.files);
  v("marks", r.marks);
  v("host", r.host);
}

template <class T>
concept HasFields = std::is_same_v<T, Account> || std::is_same_v<T, UntarResult> || std::is_same_v<T, PhaseResult> ||
                    std::is_same_v<T, JobResult> || std::is_same_v<T, StageResult> ||
                    std::is_same_v<T, KworkerResult> || std::is_same_v<T, FlusherResult> ||
                    std::is_same_v<T, DeviceResult> || std::is_same_v<T, LogResult> || std::is_same_v<T, BoxState> ||
                    std::is_same_v<T, BoxInfo> || std::is_same_v<T, Mark> || std::is_same_v<T, Record>;

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};
template <class T>
struct IsMap : std::false_type {};
template <class T>
struct IsMap<std::map<std::string, T>> : std::true_type {};

/// Turns members into JSON. JSON has no infinity and no NaN; the first such value is remembered by its place, so that
/// the writer can refuse the record instead of leaving one that cannot be read.
class Writer {
 public:
  Writer(Json& out, std::string place, std::string& not_finite)
      : out_(out), place_(std::move(place)), not_finite_(not_finite) {}

  template <class T>
  void operator()(const char* key, T& member) {
    if constexpr (IsOptional<T>::value) {
      if (member) out_[key] = value(*member, place_ + key);
    } else {
      out_[key] = value(member, place_ + key);
    }
  }
  template <class T>
  void required(const char* key, T& member) {
    (*this)(key, member);
  }
  void pairs(const char* key, std::vector<std::pair<std::string, std::string>>& member) {
    Json object = Json::object();
    for (const auto& [name, text] : member) object[name] = text;
    out_[key] = std::move(object);
  }

 private:
  template <class T>
  Json value(T& member, const std::string& place) {
    if constexpr (HasFields<T>) {
      Json object = Json::object();
      Writer nested{object, place + ".", not_finite_};
      fields(nested, member);
      return object;
    } else if constexpr (IsVector<T>::value) {
      Json array = Json::array();
      for (std::size_t i = 0; i < member.size(); ++i) {
        array.push_back(value(member[i], fmt::format("{}[{}]", place, i)));
      }
      return array;
    } else if constexpr (IsMap<T>::value) {
      Json object = Json::object();
      for (auto& [name, element] : member) object[name] = value(element, place + "." + name);
      return object;
    } else {
      if constexpr (std::is_same_v<T, double>) {
        if (!std::isfinite(member) && not_finite_.empty()) not_finite_ = place;
      }
      return Json(member);
    }
  }

  Json& out_;
  std::string place_;
  std::string& not_finite_;
};

/// Fills members from JSON; the first problem is kept as a sentence. Unknown keys are let pass: a newer program of the
/// same schema version may write more.
class Reader {
 public:
  Reader(const Json& in, std::string place, std::string& problem) : in_(in), place_(std::move(place)), problem_(problem) {}

  template <class T>
  void operator()(const char* key, T& member) {
    if (!problem_.empty()) return;
    const auto found = in_.find(key);
    if (found == in_.end()) return;
    if constexpr (IsOptional<T>::value) {
      typename T::value_type inner{};
      read(*found, inner, place_ + key);
      member = inner;
    } else {
      read(*found, member, place_ + key);
    }
  }
  template <class T>
  void required(const char* key, T& member) {
    if (!problem_.empty()) return;
    if (!in_.contains(key)) {
      problem_ = fmt::format("key \"{}{}\" is missing", place_, key);
      return;
    }
    (*this)(key, member);
  }
  void pairs(const char* key, std::vector<std::pair<std::string, std::string>>& member) {
    if (!problem_.empty() || !in_.contains(key)) return;
    const Json& object = in_[key];
    if (!expect(object.is_object(), "an object", object, place_ + key)) return;
    for (const auto& [name, text] : object.items()) {
      if (!expect(text.is_string(), "a string", text, place_ + key + "." + name)) return;
      member.emplace_back(name, text.get<std::string>());
    }
  }

 private:
  bool expect(bool ok, std::string_view expected, const Json& found, const std::string& place) {
    if (!ok && problem_.empty()) {
      problem_ = fmt::format("key \"{}\" should be {}, found {}", place, expected, short_text(found));
    }
    return ok;
  }
  static std::string short_text(const Json& json) {
    std::string text = json.dump();
    if (text.size() > 40) text = text.substr(0, 37) + "...";
    return text;
  }

  template <class T>
  void read(const Json& json, T& member, const std::string& place) {
    if (!problem_.empty()) return;
    if constexpr (HasFields<T>) {
      if (!expect(json.is_object(), "an object", json, place)) return;
      Reader nested{json, place + ".", problem_};
      fields(nested, member);
    } else if constexpr (IsVector<T>::value) {
      if (!expect(json.is_array(), "an array", json, place)) return;
      member.resize(json.size());
      for (std::size_t i = 0; i < json.size(); ++i) read(json[i], member[i], fmt::format("{}[{}]", place, i));
    } else if constexpr (IsMap<T>::value) {
      if (!expect(json.is_object(), "an object", json, place)) return;
      for (const auto& [name, element] : json.items()) read(element, member[name], place + "." + name);
    } else if constexpr (std::is_same_v<T, Json>) {
      member = json;
    } else if constexpr (std::is_same_v<T, bool>) {
      if (expect(json.is_boolean(), "true or false", json, place)) member = json.get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (expect(json.is_string(), "a string", json, place)) member = json.get<std::string>();
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      if (expect(json.is_number_unsigned(), "a whole number of 0 or more", json, place)) {
        member = json.get<std::uint64_t>();
      }
    } else if constexpr (std::is_integral_v<T>) {
      if (!expect(json.is_number_integer(), "a whole number", json, place)) return;
      const auto number = json.get<std::int64_t>();
      if (expect(std::in_range<T>(number), "a smaller whole number", json, place)) member = static_cast<T>(number);
    } else {
      static_assert(std::is_same_v<T, double>);
      if (expect(json.is_number(), "a number", json, place)) member = json.get<double>();
    }
  }

  const Json& in_;
  std::string place_;
  std::string& problem_;
};

Json write_json(const Record& record, std::string& not_finite) {
  Json out = Json::object();
  out["schema"] = kRecordSchema;
  Writer writer{out, "", not_finite};
  Record& members = const_cast<Record&>(record);  // the one list of members serves reader and writer; the writer only reads
  fields(writer, members);
  return out;
}

}  // namespace

nlohmann::ordered_json to_json(const Record& record) {
  std::string ignored;
  return write_json(record, ignored);
}

Result<Record> record_from_json(const nlohmann::ordered_json& json, const std::string& where) {
  if (!json.is_object()) return fail(ErrorKind::bad_input, fmt::format("{}: not a record: an object was expected", where));
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_string()) {
    return fail(ErrorKind::bad_input,
                fmt::format("{}: not a record: key \"schema\" is missing, \"{}\" was expected", where, kRecordSchema));
  }
  if (const auto name = schema->get<std::string>(); name != kRecordSchema) {
    return fail(ErrorKind::bad_input, fmt::format("{}: schema is \"{}\", this program reads \"{}\"; repeat the run or use "
                                                  "the program version that wrote it",
                                                  where, name, kRecordSchema));
  }
  Record record;
  std::string problem;
  Reader reader{json, "", problem};
  fields(reader, record);
  if (!problem.empty()) return fail(ErrorKind::bad_input, fmt::format("{}: {}", where, problem));
  return record;
}

Status check_finite(const Record& record) {
  std::string not_finite;
  (void)write_json(record, not_finite);
  if (not_finite.empty()) return {};
  return fail(ErrorKind::internal,
              fmt::format("the record's \"{}\" is not a finite number, so it is not written; this is a fault of the "
                          "program, please report it",
                          not_finite));
}

}  // namespace spillway
