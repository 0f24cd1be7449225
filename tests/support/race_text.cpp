#include "tests/support/race_text.h"

#include <deque>
#include <memory>
#include <span>
#include <utility>

#include "models/make_device.h"
#include "protocols/catalog.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

Point point_from(const std::string& json) {
  static DataShelf shelf({}, {});
  const Document document = Document::parse(json, "test");
  Reader reader(document);
  Point point;
  point.name = "test";
  visit_scenario(reader, point, shelf);
  const auto problems = reader.finish();
  if (!problems.empty()) throw ScenarioError(problems);
  return point;
}

Race race_of(std::uint32_t learners, const std::string& protocol, const std::string& stop,
             const std::string& runtime) {
  return point_from(R"({"cluster": {"learners": )" + std::to_string(learners) + R"(, "runtime": )" +
                    runtime + R"(}, "protocol": )" + protocol + R"(, "stop": )" + stop +
                    R"(, "model": {"kind": "quadratic"}, )"
                    R"("learning_rate": {"kind": "constant", "eta": 0.1}})")
      .race();
}

/// Those with a server, or those without.
static std::vector<std::string> examples(bool server) {
  std::vector<std::string> examples;
  for (const auto* entry : protocol_catalog().entries) {
    if (entry->page.name == "cocoa") continue;
    const std::string example(entry->page.example);
    const Race race = race_of(8, example, R"({"updates": 1})");
    const AnyProtocol protocol = race.make_protocol();
    if (protocol->traits().in_python) continue;
    if (protocol.has_server() == server) examples.push_back(example);
  }
  return examples;
}

std::vector<std::string> every_server_protocol() { return examples(true); }
std::vector<std::string> every_peer_protocol() { return examples(false); }

namespace {

class WholeCurve final : public CurveSink {
 public:
  explicit WholeCurve(RaceRecord& record) : record_(record) {}

  void add(const CurvePoint& seen, std::span<const Evaluation> of_learners) override {
    record_.curve.push_back(seen);
    record_.of_learners.insert(record_.of_learners.end(), of_learners.begin(), of_learners.end());
  }

 private:
  RaceRecord& record_;
};

}  // namespace

std::vector<RaceRecord> run_races(const std::vector<Starter>& starters, Device* device) {
  std::vector<RaceRecord> records(starters.size());
  std::deque<WholeCurve> curves;
  std::vector<Run> runs;
  for (std::size_t i = 0; i < starters.size(); ++i) {
    const auto& [race, replica, limit, observer] = starters[i];
    runs.emplace_back(race, replica, device != nullptr, observer, &curves.emplace_back(records[i]),
                      limit);
  }
  drive(runs, device, [] { return true; });
  for (std::size_t i = 0; i < runs.size(); ++i)
    static_cast<RunRecord&>(records[i]) = runs[i].record();
  return records;
}

RaceRecord run_race(const Starter& starter, Device* device) {
  return std::move(run_races({starter}, device).front());
}

RaceRecord run_timing(const Race& race, std::uint32_t replica, Observer* observer) {
  return run_race({race, replica, TimingPlane::default_limit, observer}, nullptr);
}

RaceRecord run_training(const Point& point, std::uint32_t replica, Observer* observer) {
  const Race race = point.race();
  const auto device = make_device(*point.model, {point.device, point.rows});
  return run_race({race, replica, TimingPlane::default_limit, observer}, device.get());
}

}  // namespace gradrace
