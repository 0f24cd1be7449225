#include "sim/reading/characters.h"

#include <doctest/doctest.h>

using namespace std::string_literals;

namespace gradrace::characters_test {

TEST_CASE("characters: the first control character is named by its code") {
  CHECK(control_character("") == "");
  CHECK(control_character("mnist k=4, \"é\" 日本 𝜂") == "");
  CHECK(control_character("..\0"s) == "U+0000");
  CHECK(control_character("a\nb\x1b") == "U+000A");
  CHECK(control_character("a\x1f") == "U+001F");
  CHECK(control_character("a b") == "");
  CHECK(control_character("a~\x7f") == "U+007F");
  CHECK(control_character("\xc2\x80") == "U+0080");
  CHECK(control_character("\xc2\x9f") == "U+009F");
  CHECK(control_character("\xc2\xa0") == "");
  CHECK(control_character("\xe2\x80\xa7") == "");
  CHECK(control_character("\xe2\x80\xa8") == "U+2028");  // a line separator
  CHECK(control_character("\xe2\x80\xae") == "U+202E");  // from right to left
  CHECK(control_character("\xe2\x81\xa9") == "U+2069");
  CHECK(control_character("\xe2\x80\x8b") == "");  // invisible: escaped where it is printed
}

TEST_CASE(
    "characters: UTF-8 is no byte alone, no longer form, no surrogate, nothing above 10FFFF") {
  for (const char* sound : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                            "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    CHECK(is_utf8(sound));
  for (const char* wrong :
       {"\x80", "\xbf", "\xc2", "\xc2 ", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xe2\x80",
        "\xed\xa0\x80", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
    CHECK_FALSE(is_utf8(wrong));
}

TEST_CASE("characters: what a terminal would obey, hide or turn round is escaped") {
  CHECK(printable("η = 0.1, 日本 – 𝜂") == "η = 0.1, 日本 – 𝜂");
  CHECK(printable("a\033[2J\nb\0\x7f"s) == "a\\u001b[2J\\u000ab\\u0000\\u007f");
  CHECK(printable("\xc2\x9b"
                  "2J") == "\\u009b2J");
  CHECK(printable("fdp.\xe2\x80\xae"
                  "exe") == "fdp.\\u202eexe");
  CHECK(printable("\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8b\xef\xbb\xbf") ==
        "\\u2066\\u2069\\u200b\\ufeff");
  CHECK(printable("\xf3\xa0\x81\x81") == "\\U000e0041");
  CHECK(printable("caf\xe9 \xe2\x80") == "caf\\xe9 \\xe2\\x80");
}

}  // namespace gradrace::characters_test
