#include "compression/catalog.h"

namespace gradrace {

extern const CompressionEntry qsgd_entry, terngrad_entry, sign_entry, top_k_entry, random_k_entry,
    uniform_compressor_entry;

const CompressionCatalog& compression_catalog() {
  static constexpr const CompressionEntry* entries[] = {&qsgd_entry,     &terngrad_entry,
                                                        &sign_entry,     &top_k_entry,
                                                        &random_k_entry, &uniform_compressor_entry};
  static constexpr CompressionCatalog catalog{"compressors", "kind", entries};
  return catalog;
}

std::optional<Memory> read_memory(Fields& fields) {
  Memory memory;
  if (!fields.open("memory", Need::none,
                   "each learner adds what its messages left out to its next gradient: error "
                   "feedback (Karimireddy et al., ICML 2019)"))
    return {};
  fields.real("decay", memory.decay, Need::defaulted, between(0, 1),
              "of what it remembers, from message to message");
  fields.close();
  return memory;
}

}  // namespace gradrace
