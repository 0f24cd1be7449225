#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "sim/catalog.h"
#include "sim/compressor.h"
#include "sim/tape.h"

namespace gradrace {

/// What a scenario's `compression` says: a Message, whose compressor knows no tensors yet.
using CompressionEntry = Entry<Message>;
using CompressionCatalog = Catalog<Message>;
const CompressionCatalog& compression_catalog();

/// Empty where the fields are not good().
template <class Kind>
Message message_by(const Fields& fields, Kind kind, std::optional<Memory> memory = {}) {
  if (!fields.good()) return {};
  return {std::make_shared<const Kind>(std::move(kind)), memory};
}

/// The key `memory` of a kind.  unbiased: its messages are the gradient in the mean, so that it may
/// follow an estimate, but what they leave out would grow without bound.
std::optional<Memory> read_memory(Fields& fields, bool unbiased = false);

}  // namespace gradrace
