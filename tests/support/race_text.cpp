#include "tests/support/race_text.h"

#include <memory>

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
    const std::string example(entry->page.example);
    const Race race = race_of(8, example, R"({"updates": 1})");
    if ((for_server(race.make_protocol()) != nullptr) == server) examples.push_back(example);
  }
  return examples;
}

std::vector<std::string> every_server_protocol() { return examples(true); }
std::vector<std::string> every_peer_protocol() { return examples(false); }

RunRecord run_timing(const Race& race, std::uint32_t replica, Observer* observer) {
  Run run(race, replica, false, observer);
  drive({&run, 1}, nullptr, [] { return true; });
  return run.record();
}

RunRecord run_training(const Point& point, std::uint32_t replica, Observer* observer) {
  const Race race = point.race();
  const auto device = point.model->make_device({point.device, point.rows});
  Run run(race, replica, true, observer);
  drive({&run, 1}, device.get(), [] { return true; });
  return run.record();
}

}  // namespace gradrace
