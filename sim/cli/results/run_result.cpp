#include "sim/cli/results/run_result.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace gradrace {

namespace {

using Json = nlohmann::json;

template <class Visit>
void describe(Totals& totals, Visit at) {
  at("updates", totals.updates);
  at("dispatched", totals.dispatched);
  at("applied", totals.applied);
  at("dropped", totals.dropped);
  at("cancelled", totals.cancelled);
  at("lost", totals.lost);
  at("time", totals.time);
  at("last_update_time", totals.last_update_time);
  at("staleness_sum", totals.staleness_sum);
  at("max_staleness", totals.max_staleness);
}

template <class Visit>
void describe(CurvePoint& last, Visit at) {
  at("time", last.point.time);
  at("update", last.point.update);
  at("gradients", last.point.gradients);
  at("epoch", last.point.epoch);
  at("learning_rate", last.point.learning_rate);
  at("k", last.point.k);
  at("loss", last.evaluation.loss);
  at("test_loss", last.evaluation.test_loss);
  at("test_error", last.evaluation.test_error);
  at("disagreement", last.evaluation.disagreement);
}

template <class Visit>
void describe(ExchangeTotals& totals, Visit at) {
  at("communicating", totals.communicating);
  at("waiting", totals.waiting);
  at("hidden", totals.hidden);
  at("down", totals.down);
  at("sent", totals.sent);
  at("received", totals.received);
  at("messages", totals.messages);
  at("conflicts", totals.conflicts);
}

template <class Visit>
void describe(Utilisation& share, Visit at) {
  at("link", share.link);
  at("server", share.server);
}

template <class Visit>
void describe(RanOut& ran_out, Visit at) {
  at("file", ran_out.file);
  at("learner", ran_out.learner);
  at("draws", ran_out.draws);
  at("times", ran_out.times);
}

template <class Visit>
void describe(RunResult& result, Visit at) {
  at("status", result.status);
  at("reason", result.reason);
  at("totals", result.totals);
  at("last", result.last);
  at("first_loss", result.first_loss);
  at("gradients_computed", result.gradients_computed);
  at("hash", result.hash);
  at("exchanged", result.exchanged);
  at("utilisation", result.utilisation);
  at("target_times", result.target_times);
  at("target_intervals", result.target_intervals);
  at("ran_out", result.ran_out);
}

template <class T>
Json json_of(std::optional<T>& value);
template <class T>
Json json_of(std::vector<T>& values);
template <class T>
Json json_of(T& value);

struct Writer {
  Json& object;
  template <class T>
  void operator()(const char* key, T& value) const {
    object[key] = json_of(value);
  }
};

template <class T>
Json json_of(std::optional<T>& value) {
  return value ? json_of(*value) : Json();
}

template <class T>
Json json_of(std::vector<T>& values) {
  Json list = Json::array();
  for (T& value : values) list.push_back(json_of(value));
  return list;
}

template <class T>
Json json_of(T& value) {
  if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_constructible_v<Json, T>) {
    return value;
  } else {
    Json object = Json::object();
    describe(value, Writer{object});
    return object;
  }
}

template <class T>
void read(const Json& json, std::optional<T>& value);
template <class T>
void read(const Json& json, std::vector<T>& values);
template <class T>
void read(const Json& json, T& value);

struct Reader {
  const Json& object;
  template <class T>
  void operator()(const char* key, T& value) const {
    read(object.at(key), value);
  }
};

template <class T>
void read(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) read(json, value.emplace());
}

template <class T>
void read(const Json& json, std::vector<T>& values) {
  for (const Json& item : json) read(item, values.emplace_back());
}

template <class T>
void read(const Json& json, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(json.get<int>());
  } else if constexpr (std::is_constructible_v<Json, T>) {
    value = json.get<T>();
  } else {
    describe(value, Reader{json});
  }
}

constexpr const char* no_result = "it holds no result of a run";

/// Ends the reading of what is nested deeper than a result, since from_cbor() calls itself for each
/// level.
class Depth : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= most; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return depth_-- > 0; }
  bool start_array(std::size_t) override { return ++depth_ <= most; }
  bool end_array() override { return depth_-- > 0; }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  static constexpr std::size_t most = 8;
  std::size_t depth_ = 0;
};

/// Sum over learners; none where they are not followed.
std::optional<ExchangeTotals> exchanged_by(const std::vector<LearnerTotals>& learners) {
  std::optional<ExchangeTotals> sum;
  for (const LearnerTotals& learner : learners) {
    if (!sum) sum.emplace();
    sum->communicating += learner.exchanged.communicating;
    sum->waiting += learner.exchanged.waiting;
    sum->hidden += learner.exchanged.hidden;
    sum->down += learner.exchanged.down;
    sum->sent += learner.exchanged.sent;
    sum->received += learner.exchanged.received;
    sum->messages += learner.exchanged.messages;
    sum->conflicts += learner.exchanged.conflicts;
  }
  return sum;
}

/// Gives a result that an older program stored what it lacks.
void complete(Json& result) {
  result.emplace("target_intervals", Json::array());
  result.emplace("utilisation", Json());
  result.emplace("first_loss", Json());
  const auto exchanged = result.find("exchanged");
  if (exchanged != result.end() && exchanged->is_object()) exchanged->emplace("down", 0.0);
}

}  // namespace

RunResult result_of(const RunRecord& record, const Cluster& cluster,
                    std::vector<double> target_times, std::vector<double> target_intervals,
                    std::optional<double> first_loss) {
  return {.status = record.status,
          .reason = record.reason,
          .totals = record.totals,
          .last = record.last,
          .first_loss = first_loss,
          .gradients_computed = record.gradients_computed,
          .hash = record.hash,
          .exchanged = exchanged_by(record.learners),
          .utilisation = record.utilisation,
          .target_times = std::move(target_times),
          .target_intervals = std::move(target_intervals),
          .ran_out = replays_that_ran_out(cluster, record.learners)};
}

std::string bytes_of(const RunResult& result) {
  std::string bytes;
  RunResult copy = result;
  Json::to_cbor(json_of(copy), bytes);
  return bytes;
}

RunResult result_from(std::string_view bytes) {
  RunResult result;
  try {
    Depth depth;
    if (!Json::sax_parse(bytes, &depth, Json::input_format_t::cbor))
      throw std::runtime_error(no_result);
    Json json = Json::from_cbor(bytes);
    complete(json);
    read(json, result);
  } catch (const Json::exception&) {
    throw std::runtime_error(no_result);
  }
  return result;
}

bool is_result(std::string_view bytes, std::size_t targets) {
  try {
    RunResult result = result_from(bytes);
    const bool has_ended = result.status == Status::finished || result.status == Status::diverged ||
                           result.status == Status::deadlocked;
    const Json told{result.reason, json_of(result.ran_out)};
    [[maybe_unused]] const auto is_utf_8 = told.dump();  // else it throws
    return has_ended && result.target_times.size() == targets;
  } catch (const Json::exception&) {
    return false;
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace gradrace
