#include <iostream>
#include <optional>

#include "distributions/catalog.h"
#include "protocols/catalog.h"
#include "sim/cli/commands/commands.h"
#include "sim/engine/run.h"
#include "sim/hash.h"
#include "sim/reading/document.h"
#include "sim/reading/reader.h"

namespace gradrace {

namespace {

/// Hashes what happens in which order: learners, versions, draws, fates.  Times stay out.
class ScheduleHash : public Observer {
 public:
  void on_dispatch(const GradientFacts& gradient, double) override { add(1, gradient); }
  void on_end(const GradientFacts& gradient, double, double, Ending ending) override {
    add(2 + static_cast<std::uint64_t>(ending), gradient);
  }
  void on_update(const UpdateFacts& update) override {
    hash_.add(update.update);
    for (const auto& gradient : update.gradients) add(8, gradient);
  }
  std::uint64_t value() const { return hash_.value(); }

 private:
  void add(std::uint64_t what, const GradientFacts& gradient) {
    for (const std::uint64_t number :
         {what, std::uint64_t{gradient.gradient}, std::uint64_t{gradient.learner},
          std::uint64_t{gradient.version}, std::uint64_t{gradient.draw}}) {
      hash_.add(number);
    }
  }

  Hash hash_;
};

void print(std::string_view name, std::uint64_t hash) {
  std::cout << name << std::string(17 - name.size(), ' ') << hex_text(hash) << '\n';
}

/// P = 8, exponential runtimes, 1,000 updates; the protocol as its page's example has it.
/// None of one in a user's file.
std::optional<std::uint64_t> schedule_hash(const ProtocolEntry& entry) {
  const Document document =
      Document::parse(R"({"runtime": {"distribution": "exponential", "mean": 1}, "protocol": )" +
                          std::string(entry.page.example) + "}",
                      std::string(entry.page.name));
  Reader reader(document);
  Race race;
  race.learners = 8;
  read_kind(reader, "runtime", distribution_catalog(), race.runtime, Need::required, "");
  const Setting setting{race.learners, race.runtime, {}};
  read_kind<MakeProtocol, const Setting&>(reader, "protocol", protocol_catalog(),
                                          race.make_protocol, Need::required, "", setting);
  const auto problems = reader.finish();
  if (!problems.empty()) throw ScenarioError(problems);
  if (race.make_protocol()->traits().in_python) return {};
  race.plans.resize(1 + race.make_protocol()->changes().size());
  race.stop.updates = 1000;
  ScheduleHash hash;
  Run run(race, 0, false, &hash);
  drive({&run, 1}, nullptr, [] { return true; });
  return hash.value();
}

}  // namespace

static int signature(const Words& words) {
  Syntax syntax;
  if (!parse(signature_command, words, syntax)) return 0;
  Hash all;
  for (const auto* entry : protocol_catalog().entries) {
    const auto hash = schedule_hash(*entry);
    if (!hash) continue;
    print(entry->page.name, *hash);
    all.add(*hash);
  }
  print("signature", all.value());
  return 0;
}

extern const Command signature_command{
    "signature",
    "hashes of fixed schedules, integers only: equal on every machine that behaves the same",
    "  gradrace signature\n", signature};

}  // namespace gradrace
