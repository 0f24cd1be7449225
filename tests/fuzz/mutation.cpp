#include "tests/fuzz/mutation.h"

#include <algorithm>
#include <random>
#include <string_view>

namespace gradrace {

namespace {

/// Where readers go wrong: limits of types, texts that are not numbers, separators, quotes.
constexpr std::string_view pieces[] = {"0",
                                       "-1",
                                       "1",
                                       "255",
                                       "256",
                                       "65536",
                                       "2147483648",
                                       "4294967296",
                                       "9007199254740993",
                                       "18446744073709551615",
                                       "18446744073709551616",
                                       "1e308",
                                       "1e309",
                                       "-1e308",
                                       "1e-308",
                                       "5e-324",
                                       "1e-400",
                                       "1e39",
                                       "0.1",
                                       "nan",
                                       "inf",
                                       "-inf",
                                       "NaN",
                                       "-0",
                                       "+1",
                                       "0x10",
                                       ".",
                                       "-",
                                       "",
                                       " ",
                                       "\t",
                                       "\n",
                                       "\r\n",
                                       "\r",
                                       ",",
                                       ";",
                                       ":",
                                       "\"",
                                       "\"\"",
                                       "'",
                                       "\\",
                                       "\\u0000",
                                       "\\ud800",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       "[]",
                                       "{}",
                                       "null",
                                       "true",
                                       "false",
                                       "\xef\xbb\xbf",
                                       "\xff",
                                       "\xc3",
                                       "/",
                                       "..",
                                       "kind",
                                       "\"kind\": \"sync\"",
                                       "#",
                                       "1:1",
                                       "0:0",
                                       "\x1f\x8b"};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, std::mt19937_64& random)
      : seeds_(seeds), random_(random) {}

  std::string input() {
    text_ = seeds_[below(seeds_.size())];
    for (std::size_t left = 1 + below(6); left > 0; --left) change();
    return text_;
  }

 private:
  std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }
  std::size_t place() { return below(text_.size() + 1); }

  /// A range of the text: often short.
  std::pair<std::size_t, std::size_t> range() {
    const std::size_t begin = place(), most = below(4) == 0 ? text_.size() : 8;
    return {begin, std::min(below(most + 1), text_.size() - begin)};
  }

  void change() {
    constexpr std::size_t longest = 1 << 16;
    const auto [begin, length] = range();
    switch (below(8)) {
      case 0:
        if (!text_.empty()) text_[below(text_.size())] = static_cast<char>(random_());
        break;
      case 1:
        if (!text_.empty()) text_[below(text_.size())] ^= static_cast<char>(1u << below(8));
        break;
      case 2:
        text_.erase(begin, length);
        break;
      case 3:
        text_.insert(place(), text_.substr(begin, length));
        break;
      case 4:
        text_.replace(begin, length, pieces[below(std::size(pieces))]);
        break;
      case 5:
        replace_number();
        break;
      case 6:
        swap_lines();
        break;
      default: {
        const std::string& other = seeds_[below(seeds_.size())];
        const std::size_t from = below(other.size() + 1);
        text_.replace(begin, length, other.substr(from, below(64)));
      }
    }
    if (text_.size() > longest) text_.resize(longest);
  }

  /// A whole number or fraction becomes another.
  void replace_number() {
    constexpr std::string_view digits = "0123456789.eE+-";
    const std::size_t begin = text_.find_first_of("0123456789", place());
    if (begin == std::string::npos) return;
    const std::size_t end = std::min(text_.find_first_not_of(digits, begin), text_.size());
    text_.replace(begin, end - begin, pieces[below(30)]);
  }

  void swap_lines() {
    const std::size_t end = text_.find('\n', place());
    if (end == std::string::npos) return;
    const std::string line = text_.substr(0, end + 1);
    text_.erase(0, end + 1);
    text_ += line;
  }

  const std::vector<std::string>& seeds_;
  std::mt19937_64& random_;
  std::string text_;
};

}  // namespace

std::string mutated(const std::vector<std::string>& seeds, std::uint64_t seed, std::uint64_t n) {
  std::mt19937_64 random(seed * 0x9E3779B97F4A7C15u + n);
  return Mutator(seeds, random).input();
}

}  // namespace gradrace
