#include "sim/reading/synonyms.h"

#include <algorithm>
#include <string>

#include "sim/reading/edit_distance.h"

namespace gradrace {

namespace {

struct Synonym {
  std::string_view letters;  // small ones, without dashes
  std::string_view name;
};

constexpr Synonym synonyms[] = {
    {"bsp", "sync"},
    {"bulksynchronous", "sync"},
    {"synchronous", "sync"},
    {"ssgd", "sync"},
    {"syncsgd", "sync"},
    {"asp", "async"},
    {"asgd", "async"},
    {"asynchronous", "async"},
    {"asyncsgd", "async"},
    {"hogwild", "async"},
    {"downpour", "async"},
    {"stalesynchronous", "ssp"},
    {"backupworkers", "backup"},
    {"ddp", "all-reduce"},
    {"horovod", "all-reduce"},
    {"ringallreduce", "all-reduce"},
    {"fedavg", "local-sgd"},
    {"diloco", "local-sgd"},
    {"postlocalsgd", "switch"},
    {"fedbuff", "k-batch-async"},
    {"gossip", "d-psgd"},
    {"sgdm", "sgd"},
    {"erlang", "gamma"},
    {"constant", "deterministic"},
    {"gaussian", "normal"},
    {"bernoulli", "two-point"},
    {"trace", "empirical"},
    {"linearregression", "least-squares"},
};

std::string letters_of(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c == '-' || c == '_' || c == ' ') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return letters;
}

}  // namespace

std::string_view name_meant(std::string_view word, std::span<const std::string_view> names) {
  const std::string letters = letters_of(word);
  for (const Synonym& synonym : synonyms) {
    const bool is_named = std::ranges::find(names, synonym.name) != names.end();
    if (is_named && synonym.letters == letters) return synonym.name;
  }
  return nearest_name(word, names);
}

}  // namespace gradrace
