#include "models/replay/ready_uses.h"

#include <algorithm>
#include <vector>

namespace gradrace {

UseRange ready_uses(const Program& program, std::size_t step, std::uint32_t use,
                    std::uint32_t most) {
  std::vector<Slot> written;
  UseRange range{use, use};
  for (; step < program.steps.size(); ++step) {
    const Step& at = program.steps[step];
    if (at.kind == Step::Kind::update) {
      for (std::uint32_t i = std::max(at.first, use); i < at.first + at.count; ++i) {
        const SlotUse& ready = program.uses[i];
        const bool lost = std::ranges::find(written, ready.at) != written.end();
        if (ready.computed || ready.again || lost || i - use == most) return range;
        range.last = i + 1;
      }
    }
    using enum Step::Kind;
    if (at.kind == update || at.kind == average || at.kind == send) written.push_back(at.out);
  }
  return range;
}

}  // namespace gradrace
