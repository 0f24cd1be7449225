#include "sim/reading/quantity.h"

#include <doctest/doctest.h>

namespace gradrace::quantity_test {

TEST_CASE("quantity: a text with a unit is told as the number to write") {
  const std::string seconds = ", where times are in seconds (time_unit)";
  CHECK(number_for("5 ms") == "0.005" + seconds);
  CHECK(number_for("5ms") == "0.005" + seconds);
  CHECK(number_for("2 \u00b5s") == "2e-06" + seconds);
  CHECK(number_for("1.5 h") == "5400" + seconds);
  CHECK(number_for("20 %") == "0.2, a fraction");
  CHECK(number_for("100 MB") == "1e+08, in bytes");
  CHECK(number_for("1 KiB") == "1024, in bytes");
  CHECK(number_for("8 bits") == "1, in bytes");
  CHECK(number_for("10 Gb/s") == "1.25e+09, in bytes a second" + seconds);
  CHECK(number_for("10 Gbps") == number_for("10 Gbit/s"));
  CHECK(number_for("1 GB/s") == "1e+09, in bytes a second" + seconds);
}

TEST_CASE("quantity: another unit is left out, and quotes where there is none") {
  CHECK(number_for("32") == "32, without quotes");
  CHECK(number_for("-1e-3") == "-1e-3, without quotes");
  CHECK(number_for("7 ") == "7, without quotes");
  CHECK(number_for("3 lightyears") == "3, the number alone");
  CHECK(number_for("5k") == "5000, with k as 1000");
  CHECK(number_for("10 G") == "1e+10, with G as 1e+09");
  CHECK(number_for("5 /s") == "5, the number alone");
}

TEST_CASE("quantity: what begins with no number is none") {
  for (const char* text : {"", " ", "ms", "fast", "1e999", "inf s", "nan", "-"})
    CHECK(number_for(text) == "");
}

TEST_CASE("quantity: digits past the number are no unit") {
  for (const char* text : {"1,000", "0,5", "1_000", "0x10", "1/3", "2^20", "5-10 ms", "1.2.3"})
    CHECK(number_for(text) == "");
}

}  // namespace gradrace::quantity_test
