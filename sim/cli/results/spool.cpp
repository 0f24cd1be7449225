#include "sim/cli/results/spool.h"

namespace gradrace {

void Spool::restart() {
  for (const SpoolFile::Block block : blocks_) file_.release(block);
  blocks_.clear();
  end_.clear();
}

void Spool::spill() {
  while (end_.size() >= SpoolFile::block_size) {
    blocks_.push_back(file_.write(std::string_view(end_).substr(0, SpoolFile::block_size)));
    end_.erase(0, SpoolFile::block_size);
  }
}

}  // namespace gradrace
