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

template <class Kind>
Message message_by(Kind kind, std::optional<Memory> memory = {}) {
  return {std::make_shared<const CompressorOf<Kind>>(std::move(kind)), memory};
}

/// The key `memory` of a kind whose messages are not the gradient in the mean.
std::optional<Memory> read_memory(Fields& fields);

}  // namespace gradrace
