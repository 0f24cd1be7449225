#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/compressor.h"

namespace gradrace {

/// The codes of a run's gradients, by the version at which these are computed.
class CodeHistory {
 public:
  /// numbers: of a gradient as the network has it.
  CodeHistory(const Codes& codes, double numbers)
      : chooser_(codes.make_chooser()), codes_{chooser_->first()}, numbers_(numbers) {
    for (const auto& compressor : codes.compressors) bytes_.push_back(compressor->bytes(numbers));
  }

  /// Of the mean of the messages in the next update.
  void hear(double norm) { codes_.push_back(chooser_->next(norm)); }

  /// The last one that is known where the norm is not there.
  std::uint16_t at(std::uint32_t version) const {
    return codes_[std::min<std::size_t>(version, codes_.size() - 1)];
  }
  double bytes(std::uint32_t version) const { return bytes_[at(version)]; }
  /// Of a number, by the last code that is known; NaN where the network has no numbers.
  double bits() const { return 8 * bytes_[codes_.back()] / numbers_; }

 private:
  std::unique_ptr<CodeChooser> chooser_;
  std::vector<std::uint16_t> codes_;  // [version]
  std::vector<double> bytes_;         // [code]
  double numbers_;
};

}  // namespace gradrace
