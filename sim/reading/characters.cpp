#include "sim/reading/characters.h"

#include <cstdint>
#include <cstdio>
#include <iterator>

namespace gradrace {

namespace {

struct Character {
  std::uint32_t code;
  std::size_t bytes;
};

constexpr std::uint32_t no_utf8 = 0xFFFFFFFF;  // a byte that begins no character

/// Of a text that is not empty.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {lead, 1};
  constexpr std::uint32_t least[] = {0x80, 0x800, 0x10000};  // of two, three and four bytes
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (lead < 0xC0 || text.size() < bytes) return {no_utf8, 1};
  std::uint32_t code = lead & (0x7Fu >> bytes);
  for (const char c : text.substr(1, bytes - 1)) {
    if ((c & 0xC0) != 0x80) return {no_utf8, 1};
    code = code << 6 | (c & 0x3F);
  }
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  const bool sound = lead < 0xF8 && code >= least[bytes - 2] && code <= 0x10FFFF && !is_surrogate;
  return sound ? Character{code, bytes} : Character{no_utf8, 1};
}

bool is_control(std::uint32_t code) {
  const bool breaks_or_turns =
      (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || breaks_or_turns;
}

/// Of Unicode's format characters those that hide, or turn the direction of what stands around
/// them; and its line and paragraph separators.
bool is_hidden(std::uint32_t code) {
  constexpr std::uint32_t ranges[][2] = {{0x061C, 0x061C}, {0x200B, 0x200B},  {0x200E, 0x200F},
                                         {0x2028, 0x202E}, {0x2060, 0x206F},  {0xFEFF, 0xFEFF},
                                         {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F}};
  for (const auto& [first, last] : ranges) {
    if (code >= first && code <= last) return true;
  }
  return false;
}

std::string escape(std::uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, code > 0xFFFF ? "\\U%08x" : "\\u%04x", code);
  return text;
}

/// Calls visit(code, its bytes) for each character until that returns false.
template <class Visit>
void each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    if (!visit(code, text.substr(0, bytes))) return;
    text.remove_prefix(bytes);
  }
}

}  // namespace

std::string control_character(std::string_view text) {
  std::string found;
  each_character(text, [&](std::uint32_t code, std::string_view) {
    char name[16];
    if (!is_control(code)) return true;
    std::snprintf(name, sizeof name, "U+%04X", code);
    found = name;
    return found.empty();
  });
  return found;
}

bool is_utf8(std::string_view text) {
  bool sound = true;
  each_character(text,
                 [&](std::uint32_t code, std::string_view) { return sound = code != no_utf8; });
  return sound;
}

std::string printable(std::string_view text) {
  std::string result;
  each_character(text, [&](std::uint32_t code, std::string_view bytes) {
    if (code == no_utf8) {
      char byte[8];
      std::snprintf(byte, sizeof byte, "\\x%02x", static_cast<unsigned char>(bytes.front()));
      result += byte;
    } else if (is_control(code) || is_hidden(code)) {
      result += escape(code);
    } else {
      result += bytes;
    }
    return true;
  });
  return result;
}

bool is_plain(std::string_view text) {
  constexpr std::string_view begins_of_formulas = "=+-@";
  return printable(text) == text &&
         (text.empty() || begins_of_formulas.find(text.front()) == std::string_view::npos);
}

}  // namespace gradrace
