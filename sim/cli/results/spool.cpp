#include "sim/cli/results/spool.h"

namespace gradrace {

void Spool::restart() {
  for (const SpoolFile::Block block : blocks_) file_.release(block);
  blocks_.clear();
  end_.clear();
}

void Spool::spill() {
  std::string_view text = end_;
  for (; text.size() >= SpoolFile::block_size; text.remove_prefix(SpoolFile::block_size))
    blocks_.push_back(file_.write(text.substr(0, SpoolFile::block_size)));
  end_.erase(0, end_.size() - text.size());
}

}  // namespace gradrace
