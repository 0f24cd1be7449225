#include "sim/reading/reader.h"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/catalog.h"
#include "sim/reading/document.h"
#include "sim/reading/edit_distance.h"

namespace gradrace::reader_test {

using nlohmann::ordered_json;

/// The problems' texts, a line break between.
static std::string texts(const std::vector<Problem>& problems) {
  std::string result;
  for (const auto& problem : problems) result += (result.empty() ? "" : "\n") + problem.text();
  return result;
}

/// Reads a document with a function that visits its fields; the problems' texts.
template <class Visit>
static std::string problems_of(const Document& document, Visit visit) {
  Reader reader(document);
  visit(reader);
  return texts(reader.finish());
}

template <class Visit>
static std::string problems_of(const std::string& text, Visit visit) {
  return problems_of(Document::parse(text, "a.json"), visit);
}

/// The text of the one problem without "a.json:line:column: error: ".
template <class Visit>
static std::string complaint(const std::string& text, Visit visit) {
  const auto document = Document::parse(text, "a.json");
  Reader reader(document);
  visit(reader);
  const auto problems = reader.finish();
  if (problems.empty()) return "none";
  REQUIRE(problems.size() == 1);
  const std::string whole = problems.front().text();
  return whole.substr(whole.find("error: ") + 7);
}

static std::string real_complaint(const std::string& value, Range range) {
  return complaint("{\"x\": " + value + "}", [&](Fields& fields) {
    double x = 77;
    fields.real("x", x, Need::required, range, "");
    CHECK((fields.good() || x == 77));
  });
}

static std::string integer_complaint(const std::string& value, Range range) {
  return complaint("{\"x\": " + value + "}", [&](Fields& fields) {
    std::uint64_t x = 77;
    fields.integer("x", x, Need::required, range, "");
    CHECK((fields.good() || x == 77));
  });
}

TEST_CASE("reader: a number of the wrong type is refused with what was found") {
  CHECK(real_complaint("1", anything()) == "none");
  CHECK(real_complaint("-1.5e3", anything()) == "none");
  CHECK(real_complaint("\"yes\"", anything()) == "x: expected a number, got \"yes\"");
  CHECK(real_complaint("null", anything()) == "x: expected a number, got null");
  CHECK(real_complaint("true", anything()) == "x: expected a number, got true");
  CHECK(real_complaint("{\"a\" : [1,  2]}", anything()) ==
        "x: expected a number, got {\"a\":[1,2]}");
  CHECK(integer_complaint("\"3\"", anything()) ==
        "x: expected a whole number, got \"3\"\n    allowed: 3, without quotes");
  CHECK(integer_complaint("null", anything()) == "x: expected a whole number, got null");
}

TEST_CASE("reader: what was found is cut to 40 characters") {
  const std::string forty = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]";
  REQUIRE(forty.size() == 40);
  CHECK(real_complaint(forty, anything()) == "x: expected a number, got " + forty);
  CHECK(real_complaint("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]", anything()) ==
        "x: expected a number, got [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,...");
  std::string accents, cut;
  for (int i = 0; i < 50; ++i) accents += "\xC3\xA9";
  for (int i = 0; i < 39; ++i) cut += "\xC3\xA9";
  CHECK(real_complaint("\"" + accents + "\"", anything()) ==
        "x: expected a number, got \"" + cut + "...");
}

TEST_CASE("reader: a real number out of its range is refused, its ends are as the range says") {
  CHECK(real_complaint("-0.1", positive()) == "x: must be > 0, got -0.1");
  CHECK(real_complaint("0", positive()) == "x: must be > 0, got 0");
  CHECK(real_complaint("1e-300", positive()) == "none");
  CHECK(real_complaint("-1e-3", at_least(0)) == "x: must be >= 0, got -0.001");
  CHECK(real_complaint("0", at_least(0)) == "none");
  CHECK(real_complaint("2", greater_than(2)) == "x: must be > 2, got 2");
  CHECK(real_complaint("2.5", between(0.5, 2)) == "x: must be 0.5 to 2, got 2.5");
  CHECK(real_complaint("0.5", between(0.5, 2)) == "none");
  CHECK(real_complaint("2", between(0.5, 2)) == "none");
  CHECK(real_complaint("1", from_below(0, 1)) == "x: must be >= 0 and < 1, got 1");
  CHECK(real_complaint("0", from_below(0, 1)) == "none");
  CHECK(real_complaint("4", {.high = 3}) == "x: must be <= 3, got 4");
  CHECK(real_complaint("1", {.low = 0, .high = 1, .low_allowed = false, .high_allowed = false}) ==
        "x: must be > 0 and < 1, got 1");
}

TEST_CASE("reader: a whole number may be written 3.0, a broken one is refused") {
  CHECK(integer_complaint("1.5", at_least(1)) == "x: must be a whole number, got 1.5");
  CHECK(integer_complaint("0", at_least(1)) == "x: must be >= 1, got 0");
  CHECK(integer_complaint("-3", anything()) == "x: must be >= 0, got -3");
  CHECK(integer_complaint("-3", at_least(1)) == "x: must be >= 1, got -3");
  CHECK(integer_complaint("9", between(1, 8)) == "x: must be 1 to 8, got 9");
  CHECK(integer_complaint("9", between(1, 8, "cluster.learners")) ==
        "x: must be 1 to 8 (cluster.learners), got 9");
  CHECK(integer_complaint("8", between(1, 8, "cluster.learners")) == "none");
  CHECK(integer_complaint("3.0", between(1, 8)) == "none");
  std::uint64_t x = 0;
  CHECK(problems_of("{\"x\": 3.0}", [&](Fields& fields) {
          fields.integer("x", x, Need::required, at_least(1), "");
        }) == "");
  CHECK(x == 3);
}

TEST_CASE("reader: a whole number has at most 64 bits") {
  CHECK(integer_complaint("18446744073709551616", anything()) ==
        "x: must be a whole number below 2^64, got 1.8446744073709552e+19");
  CHECK(integer_complaint("1e300", at_least(1)) ==
        "x: must be a whole number below 2^64, got 1e+300");
  std::uint64_t x = 0;
  CHECK(problems_of("{\"x\": 18446744073709551615}", [&](Fields& fields) {
          fields.integer("x", x, Need::required, anything(), "");
        }) == "");
  CHECK(x == 18446744073709551615U);
}

TEST_CASE("reader: a 32-bit number is named with its largest value only when it is exceeded") {
  const auto read = [](const std::string& value) {
    return complaint("{\"x\": " + value + "}", [&](Fields& fields) {
      std::uint32_t x = 1;
      fields.integer("x", x, Need::required, at_least(1), "");
      if (value == "4294967295") CHECK(x == 4294967295U);
    });
  };
  CHECK(read("0") == "x: must be >= 1, got 0");
  CHECK(read("4294967296") == "x: must be <= 4294967295, got 4294967296");
  CHECK(read("4294967295") == "none");
}

TEST_CASE("reader: a number that was set to infinity is not finite") {
  auto document = Document::parse("{}", "a.json");
  document.set("x", ordered_json(std::numeric_limits<double>::infinity()), "--set x");
  CHECK(problems_of(document, [](Fields& fields) {
          double x = 0;
          fields.real("x", x, Need::required, anything(), "");
        }) == "--set x: error: x: must be finite, got null");
}

TEST_CASE("reader: flags and texts are not read from other types") {
  const auto read = [](const std::string& value) {
    return problems_of("{\"flag\": " + value + ",\n\"text\": " + value + "}", [](Fields& fields) {
      bool flag = false;
      std::string text;
      fields.flag("flag", flag, Need::required, "");
      fields.text("text", text, Need::required, "");
    });
  };
  CHECK(read("1") ==
        "a.json:1:2: error: flag: expected true or false, got 1\n"
        "a.json:2:1: error: text: expected a string, got 1");
  CHECK(read("true") == "a.json:2:1: error: text: expected a string, got true");
  CHECK(read("\"true\"") == "a.json:1:2: error: flag: expected true or false, got \"true\"");
}

TEST_CASE("reader: a choice is one of its words, the nearest is proposed") {
  static constexpr std::array<std::string_view, 3> words = {"none", "linear", "sqrt"};
  const auto read = [](const std::string& value) {
    return complaint("{\"scale\": " + value + "}", [](Fields& fields) {
      std::string scale = "none";
      fields.choice("scale", scale, words, Need::defaulted, "");
    });
  };
  CHECK(read("\"sqrt\"") == "none");
  CHECK(read("\"liner\"") ==
        "scale: unknown value \"liner\"\n"
        "    allowed: none, linear, sqrt\n"
        "    did you mean \"linear\"?");
  CHECK(read("\"cubic\"") ==
        "scale: unknown value \"cubic\"\n"
        "    allowed: none, linear, sqrt");
  CHECK(read("2") ==
        "scale: expected a string, got 2\n"
        "    allowed: none, linear, sqrt");
}

TEST_CASE("reader: an array of numbers is checked item by item, one number is an array of one") {
  const auto read = [](const std::string& value, std::vector<double>& at) {
    return problems_of("{\"at\":\n" + value + "}", [&](Fields& fields) {
      fields.reals("at", at, Need::required, positive(), "");
    });
  };
  std::vector<double> at = {9};
  CHECK(read("[1, 2.5]", at) == "");
  CHECK(at == std::vector<double>{1, 2.5});
  CHECK(read("0.5", at) == "");
  CHECK(at == std::vector<double>{0.5});
  CHECK(read("[]", at) == "");
  CHECK(at.empty());
  at = {9};
  CHECK(read("[1, -2,\n \"x\", 3, null]", at) ==
        "a.json:2:5: error: at[1]: must be > 0, got -2\n"
        "a.json:3:2: error: at[2]: expected a number, got \"x\"\n"
        "a.json:3:10: error: at[4]: expected a number, got null");
  CHECK(read("-1", at) == "a.json:1:2: error: at: must be > 0, got -1");
  CHECK(read("\"x\"", at) ==
        "a.json:1:2: error: at: expected a number or an array of numbers, got \"x\"");
  CHECK(at == std::vector<double>{9});
}

TEST_CASE("reader: a list of pairs is checked number by number") {
  const auto read = [](const std::string& value, std::vector<std::array<double, 2>>& at) {
    return problems_of("{\"at\":\n" + value + "}", [&](Fields& fields) {
      fields.pairs("at", at, Need::required, {"from", at_least(0)}, {"to", positive()}, "");
    });
  };
  std::vector<std::array<double, 2>> at = {{9, 9}};
  CHECK(read("[[0, 1], [2.5, 3]]", at) == "");
  CHECK(at == std::vector<std::array<double, 2>>{{0, 1}, {2.5, 3}});
  CHECK(read("[]", at) == "");
  CHECK(at.empty());
  CHECK(read("[[0, 0], [1], 2,\n [-1, \"x\"], [1, 1, 1]]", at) ==
        "a.json:2:6: error: at[0][1]: must be > 0, got 0\n"
        "a.json:2:10: error: at[1]: expected a pair [from, to], got [1]\n"
        "a.json:2:15: error: at[2]: expected a pair [from, to], got 2\n"
        "a.json:3:3: error: at[3][0]: must be >= 0, got -1\n"
        "a.json:3:7: error: at[3][1]: expected a number, got \"x\"\n"
        "a.json:3:13: error: at[4]: expected a pair [from, to], got [1,1,1]");
  CHECK(read("7", at) == "a.json:1:2: error: at: expected an array of pairs [from, to], got 7");
  CHECK(at.empty());
}

TEST_CASE("reader: a word or null may stand for no number") {
  const auto read = [](const std::string& text, std::optional<double>& x,
                       std::optional<std::uint64_t>& n) {
    const Document document = Document::parse(text, "a.json");
    Reader reader(document);
    reader.real("x", x, "null", positive(), "");
    reader.integer("n", n, "all", at_least(1), "");
    std::string told = reader.resolved().dump();
    for (const Problem& problem : reader.finish()) told += problem.text();
    return told;
  };
  std::optional<double> x = 2.5;
  std::optional<std::uint64_t> n = 4;
  CHECK(read("{}", x, n) == R"({"x":2.5,"n":4})");
  CHECK((x == 2.5 && n == 4u));
  CHECK(read(R"({"x": 3, "n": 7})", x, n) == R"({"x":3,"n":7})");
  CHECK((x == 3.0 && n == 7u));
  CHECK(read(R"({"x": "all", "n": null})", x, n) ==
        "{}a.json:1:2: error: x: expected a number or null, got \"all\""
        "a.json:1:14: error: n: expected a whole number or all, got null");
  CHECK(read(R"({"x": null, "n": "all"})", x, n) == R"({"x":null,"n":"all"})");
  CHECK((!x && !n));
}

TEST_CASE("reader: a key of several forms is read in the one that it has") {
  const auto form = [](const std::string& text) {
    std::string found;
    const Document document = Document::parse(text, "a.json");
    Reader reader(document);
    if (reader.is("x", Form::number)) found += "number";
    if (reader.is("x", Form::list)) found += "list";
    if (reader.is("x", Form::numbers)) found += " of numbers";
    if (reader.is("x", Form::pairs)) found += " of pairs";
    if (reader.is("x", Form::object)) found += "object";
    return found;
  };
  CHECK(form(R"({"x": 1})") == "number");
  CHECK(form(R"({"x": "1"})") == "number");
  CHECK(form(R"({"x": [1]})") == "list of numbers");
  CHECK(form(R"({"x": []})") == "list of numbers");
  CHECK(form(R"({"x": [[1, 2]]})") == "list of pairs");
  CHECK(form(R"({"x": {}})") == "object");
  CHECK(form("{}") == "number");
}

TEST_CASE("reader: a number, or one of each learner") {
  const auto read = [](const std::string& text, PerLearner& x) {
    const Document document = Document::parse(text, "a.json");
    Reader reader(document);
    reader.per_learner("x", x, Need::defaulted, at_least(1), "rows", "of each learner");
    reader.check_learners("x", x, 3);
    std::string told;
    for (const Problem& problem : reader.finish()) told += problem.text();
    return told.empty() ? reader.resolved().dump() : told;
  };
  PerLearner x = 7;
  CHECK(read("{}", x) == R"({"x":7})");
  CHECK(x[2] == 7);
  CHECK(read(R"({"x": 5})", x) == R"({"x":5})");
  CHECK((!x.differs() && x[2] == 5 && !x.listed()));
  CHECK(read(R"({"x": [4, 9, 4]})", x) == R"({"x":[4,9,4]})");
  CHECK((x.differs() && x[0] == 4 && x[1] == 9 && x[2] == 4));
  CHECK((x.least() == 4 && x.greatest() == 9 && x.mean() == 17.0 / 3));
  CHECK(x.different() == std::vector<std::uint32_t>{4, 9});
  CHECK(read(R"({"x": [6, 6, 6]})", x) == R"({"x":[6,6,6]})");
  CHECK((!x.differs() && x[2] == 6 && x.listed() == 3));
  CHECK(read(R"({"x": [6, 6]})", x) ==
        "a.json:1:2: error: x: has 2 numbers, and there are 3 learners (cluster.learners)"
        "\n    allowed: a number, or a list of 3");
  for (const auto& [text, told] :
       {std::pair(R"({"x": []})", "1:2: error: x: must hold at least one number, got none"),
        {R"({"x": [1, 0, 2]})", "1:11: error: x[1]: must be >= 1, got 0"},
        {R"({"x": [1, 1.5, 2]})", "1:2: error: x: must be whole numbers"},
        {R"({"x": [1, [2], 2]})", "1:11: error: x[1]: expected a number, got [2]"},
        {R"({"x": {"a": 1}})", "1:2: error: x: expected a whole number, got {\"a\":1}"},
        {R"({"x": "4"})",
         "1:2: error: x: expected a whole number, got \"4\"\n    allowed: 4, without quotes"}}) {
    PerLearner kept = 8;
    CHECK(read(text, kept) == "a.json:" + std::string(told));
    CHECK(kept[0] == 8);
  }
}

TEST_CASE(
    "reader: a required key that is missing is told at the object around it, with its meaning") {
  CHECK(problems_of("{\n \"cluster\": {}}",
                    [](Fields& fields) {
                      std::uint32_t learners = 8;
                      double mean = 0;
                      REQUIRE(fields.open("cluster", Need::required, "who computes"));
                      fields.integer("learners", learners, Need::required, at_least(1),
                                     "number of learners");
                      fields.close();
                      fields.real("mean", mean, Need::required, positive(), "");
                      CHECK_FALSE(fields.open("stop", Need::required, "when to end"));
                      CHECK(learners == 8);
                    }) ==
        "a.json:1:1: error: mean: required key is missing\n"
        "a.json:1:1: error: stop: required key is missing; it is: when to end\n"
        "a.json:2:2: error: cluster.learners: required key is missing; it is: number of learners");
}

TEST_CASE("reader: a required key whose name is written wrong is told once, where it stands") {
  const auto visit = [](Fields& fields) {
    double mean = 0, deviation = 0;
    fields.real("mean", mean, Need::required, positive(), "");
    fields.real("deviation", deviation, Need::required, positive(), "");
  };
  CHECK(problems_of("{\n \"maen\": 1}", visit) ==
        "a.json:1:1: error: deviation: required key is missing\n"
        "a.json:2:2: error: maen: unknown key\n"
        "    allowed: mean, deviation\n"
        "    did you mean \"mean\"?");
}

TEST_CASE("reader: unknown keys are told with those that are known and the nearest of them") {
  const auto visit = [](Reader& reader) {
    double learning_rate = 0, damping = 0, k = 0;
    REQUIRE(reader.open("protocol", Need::required, ""));
    reader.real("learning_rate", learning_rate, Need::defaulted, anything(), "");
    reader.real("damping", damping, Need::defaulted, anything(), "");
    reader.real("k", k, Need::defaulted, anything(), "");
    reader.close();
    reader.pass("$schema");
  };
  CHECK(problems_of("{\"$schema\": 3,\n"
                    " \"protocol\": {\"learning_rte\": 1,\n"
                    "  \"dmaping\": 1,\n"
                    "  \"n\": 1, \"K\": 2},\n"
                    " \"sweeps\": {}}",
                    visit) ==
        "a.json:2:15: error: protocol.learning_rte: unknown key\n"
        "    allowed: learning_rate, damping, k\n"
        "    did you mean \"learning_rate\"?\n"
        "a.json:3:3: error: protocol.dmaping: unknown key\n"
        "    allowed: learning_rate, damping, k\n"
        "    did you mean \"damping\"?\n"
        "a.json:4:3: error: protocol.n: unknown key\n"
        "    allowed: learning_rate, damping, k\n"
        "a.json:4:11: error: protocol.K: unknown key\n"
        "    allowed: learning_rate, damping, k\n"
        "    did you mean \"k\"?\n"
        "a.json:5:2: error: sweeps: unknown key\n"
        "    allowed: protocol, $schema");
}

TEST_CASE("reader: a key given twice is told among the other problems, by place") {
  CHECK(problems_of("{\"x\": -1,\n \"x\": -2,\n \"y\": -3}",
                    [](Fields& fields) {
                      double x = 0, y = 0;
                      fields.real("y", y, Need::required, positive(), "");
                      fields.real("x", x, Need::required, positive(), "");
                    }) ==
        "a.json:2:2: error: x: given twice (JSON keeps only the last)\n"
        "a.json:2:2: error: x: must be > 0, got -2\n"
        "a.json:3:2: error: y: must be > 0, got -3");
}

TEST_CASE("reader: absent values keep their variables, optional ones stay empty") {
  const auto document = Document::parse(R"({"time": 4, "updates": 7, "sub": {}})", "a.json");
  Reader reader(document);
  double mean = 2;
  std::string mode = "block", note = "n";
  bool late = true;
  std::vector<double> at = {1};
  std::optional<double> time, loss;
  std::optional<std::uint64_t> updates, gradients;
  reader.real("mean", mean, Need::none, positive(), "");
  reader.text("note", note, Need::none, "");
  reader.flag("late", late, Need::none, "");
  reader.choice("mode", mode, {}, Need::none, "");
  reader.reals("at", at, Need::none, positive(), "");
  Fields& fields = reader;
  fields.real("time", time, positive(), "");
  fields.real("loss", loss, positive(), "");
  fields.integer("updates", updates, at_least(1), "");
  fields.integer("gradients", gradients, at_least(1), "");
  CHECK_FALSE(reader.open("record", Need::none, ""));
  CHECK(reader.open("sub", Need::none, ""));
  CHECK_FALSE(reader.has("time"));
  reader.close();
  CHECK(reader.has("time"));
  CHECK_FALSE(reader.has("mean"));
  CHECK(texts(reader.finish()) == "");
  CHECK(mean == 2);
  CHECK(note == "n");
  CHECK(late);
  CHECK(mode == "block");
  CHECK(at == std::vector<double>{1});
  CHECK(time == 4.0);
  CHECK_FALSE(loss.has_value());
  CHECK(updates == std::uint64_t{7});
  CHECK_FALSE(gradients.has_value());
  CHECK(reader.resolved().dump() == R"({"time":4,"updates":7,"sub":{}})");
}

TEST_CASE("reader: an object that is none is refused and not read") {
  CHECK(complaint("{\"cluster\": [1]}", [](Fields& fields) {
          CHECK_FALSE(fields.open("cluster", Need::required, ""));
        }) == "cluster: expected an object, got [1]");
  CHECK(complaint("[1]", [](Fields& fields) {
          double x = 0;
          fields.real("x", x, Need::required, positive(), "");
          CHECK_FALSE(fields.good());
        }) == "expected an object, got [1]");
}

TEST_CASE("reader: complaints stand at the key, or at the object if the key is not there") {
  const auto read = [](std::string key) {
    return problems_of("{\n\"stop\": {\n\"time\": 1}}", [&](Fields& fields) {
      double time = 0;
      REQUIRE(fields.open("stop", Need::required, ""));
      fields.real("time", time, Need::required, positive(), "");
      CHECK(fields.good());
      fields.complain(key, "needs a limit", "time, updates");
      CHECK_FALSE(fields.good());
      fields.close();
      CHECK_FALSE(fields.good());
    });
  };
  CHECK(read("time") == "a.json:3:1: error: stop.time: needs a limit\n    allowed: time, updates");
  CHECK(read("updates") ==
        "a.json:2:1: error: stop.updates: needs a limit\n    allowed: time, updates");
  CHECK(read("") == "a.json:2:1: error: stop: needs a limit\n    allowed: time, updates");
}

TEST_CASE("reader: good() is about the object opened last and what was closed in it") {
  const auto document =
      Document::parse(R"({"a": {"x": -1, "c": {"x": -1}}, "b": {"x": 1, "d": {"x": -1}}})", "a");
  Reader reader(document);
  double x = 0;
  const auto read_x = [&] { reader.real("x", x, Need::required, positive(), ""); };
  reader.open("a", Need::required, "");
  CHECK(reader.good());
  read_x();
  CHECK_FALSE(reader.good());
  reader.open("c", Need::required, "");
  CHECK(reader.good());
  read_x();
  CHECK_FALSE(reader.good());
  reader.close();
  reader.close();
  reader.open("b", Need::required, "");
  read_x();
  CHECK(reader.good());
  reader.open("d", Need::required, "");
  CHECK(reader.good());
  read_x();
  reader.close();
  CHECK_FALSE(reader.good());
  reader.close();
  CHECK_FALSE(reader.good());
  CHECK(reader.finish().size() == 3);
}

TEST_CASE("reader: equal problems are told once") {
  CHECK(complaint("{\"x\": -1}", [](Fields& fields) {
          double x = 0;
          fields.real("x", x, Need::required, positive(), "");
          fields.real("x", x, Need::required, positive(), "");
        }) == "x: must be > 0, got -1");
}

/// A toy catalog: numbers that are made of numbers.
using Number = std::shared_ptr<double>;

static const Catalog<Number>& numbers();

static Number read_constant(Fields& fields) {
  double value = 1;
  fields.real("value", value, Need::defaulted, positive(), "the number");
  return fields.good() ? std::make_shared<double>(value) : nullptr;
}

static Number read_twice(Fields& fields) {
  Number of;
  read_kind(fields, "of", numbers(), of, Need::required, "what is doubled");
  return fields.good() ? std::make_shared<double>(2 * *of) : nullptr;
}

static Number read_sum(Fields& fields) {
  std::vector<Number> parts;
  read_kinds(fields, "parts", numbers(), parts, Need::required, "what is added");
  if (!fields.good()) return nullptr;
  double sum = 0;
  for (const auto& part : parts) sum += *part;
  return std::make_shared<double>(sum);
}

static const Catalog<Number>& numbers() {
  static const Entry<Number> constant = {{"constant", "", "", ""}, read_constant};
  static const Entry<Number> twice = {{"twice", "", "", ""}, read_twice};
  static const Entry<Number> sum = {{"sum", "", "", ""}, read_sum};
  static const std::array<const Entry<Number>*, 3> entries = {&constant, &twice, &sum};
  static const Catalog<Number> catalog = {"numbers", "kind", entries};
  return catalog;
}

/// The problems of a document with one required number, which is handed out.
static std::string read_number(const Document& document, Number& number, ordered_json& resolved) {
  Reader reader(document);
  if (reader.has("sweep")) reader.pass("sweep");
  read_kind(reader, "number", numbers(), number, Need::required, "the result");
  resolved = reader.resolved();
  return texts(reader.finish());
}

static std::string number_problems(const std::string& text) {
  Number number;
  ordered_json resolved;
  return read_number(Document::parse(text, "a.json"), number, resolved);
}

TEST_CASE("reader: kinds are read in kinds and arrays of kinds") {
  Number number;
  ordered_json resolved;
  const auto document = Document::parse(
      R"({"number": {"parts": [{"kind": "constant", "value": 3},
          {"kind": "twice", "of": {"kind": "sum", "parts": [{"kind": "constant"},
           {"of": {"value": 0.25, "kind": "constant"}, "kind": "twice"}]}},
          {"kind": "sum", "parts": []}], "kind": "sum"}})",
      "a.json");
  CHECK(read_number(document, number, resolved) == "");
  REQUIRE(number);
  CHECK(*number == 6);
  CHECK(resolved.dump() ==
        R"({"number":{"kind":"sum","parts":[{"kind":"constant","value":3},)"
        R"({"kind":"twice","of":{"kind":"sum","parts":[{"kind":"constant","value":1},)"
        R"({"kind":"twice","of":{"kind":"constant","value":0.25}}]}},)"
        R"({"kind":"sum","parts":[]}]}})");
}

TEST_CASE("reader: problems in kinds have the index in their path, all of them are found") {
  CHECK(number_problems("{\"number\": {\"kind\": \"sum\", \"parts\": [\n"
                        "  {\"kind\": \"constant\", \"value\": 0},\n"
                        "  {\"kind\": \"twcie\", \"whatever\": 3},\n"
                        "  5,\n"
                        "  {\"value\": 3},\n"
                        "  {\"kind\": 7},\n"
                        "  {\"kind\": \"twice\", \"off\": {\"kind\": \"constant\"}}]}}") ==
        "a.json:2:24: error: number.parts[0].value: must be > 0, got 0\n"
        "a.json:3:3: error: number.parts[1].of: required key is missing; it is: what is doubled\n"
        "a.json:3:4: error: number.parts[1].kind: unknown value \"twcie\"\n"
        "    allowed: constant, twice, sum\n"
        "    did you mean \"twice\"?\n"
        "a.json:3:21: error: number.parts[1].whatever: unknown key\n"
        "    allowed: kind, of\n"
        "a.json:4:3: error: number.parts[2]: expected an object, got 5\n"
        "a.json:5:3: error: number.parts[3].kind: required key is missing\n"
        "    allowed: constant, twice, sum\n"
        "a.json:6:4: error: number.parts[4].kind: expected a string, got 7\n"
        "    allowed: constant, twice, sum\n"
        "a.json:7:21: error: number.parts[5].off: unknown key\n"
        "    allowed: kind, of\n"
        "    did you mean \"of\"?");
}

TEST_CASE("reader: a kind whose name is near no other is one problem, whatever its keys are") {
  CHECK(number_problems("{\"number\": {\"kind\": \"cube\", \"whatever\": 3}}") ==
        "a.json:1:13: error: number.kind: unknown value \"cube\"\n"
        "    allowed: constant, twice, sum");
}

TEST_CASE("reader: nothing is made of a kind that was only meant") {
  Number number;
  ordered_json resolved;
  const auto document = Document::parse(R"({"number": {"kind": "constnt", "value": 3}})", "a.json");
  CHECK(read_number(document, number, resolved) != "");
  CHECK(!number);
}

TEST_CASE("reader: a kind that is missing or none is one problem") {
  CHECK(number_problems("{}") ==
        "a.json:1:1: error: number: required key is missing; it is: the result");
  CHECK(number_problems("{\"number\": 3}") ==
        "a.json:1:2: error: number: expected an object, got 3");
  CHECK(number_problems("{\"number\": {\"knd\": \"constant\", \"value\": 3}}") ==
        "a.json:1:13: error: number.knd: unknown key\n"
        "    allowed: kind (constant, twice, sum)\n"
        "    did you mean \"kind\"?");
  CHECK(number_problems("{\"number\": {\"kind\": \"sum\", \"parts\": {}}}") ==
        "a.json:1:28: error: number.parts: expected an array, got {}");
}

TEST_CASE("reader: a path is text that the locator finds, and the document keeps it as it stands") {
  const auto document = Document::parse(R"({"here": "scenarios", "there": "nowhere/x"})", "a.json");
  Reader reader(document, Locator("."));
  Location here, there, absent;
  reader.path("here", here, Need::required, "");
  reader.path("there", there, Need::required, "");
  reader.path("absent", absent, Need::none, "");
  CHECK(texts(reader.finish()) == "");
  CHECK(here.name == "scenarios");
  CHECK(here.found == std::filesystem::canonical("scenarios"));
  CHECK(there.found.empty());
  CHECK(there.looked_at == std::filesystem::absolute("nowhere/x").string() +
                               "; --data or GRADRACE_DATA name a data folder");
  CHECK(absent.name.empty());
  CHECK(reader.resolved().dump() == R"({"here":"scenarios","there":"nowhere/x"})");
  CHECK(complaint(R"({"p": 1})", [](Fields& fields) {
          Location location;
          fields.path("p", location, Need::required, "");
        }) == "p: expected a string, got 1");
}

TEST_CASE("reader: absent kinds leave their products as they are") {
  const auto document = Document::parse("{}", "a.json");
  Reader reader(document);
  auto number = std::make_shared<double>(5);
  std::vector<Number> none, defaulted;
  read_kind(reader, "a", numbers(), number, Need::defaulted, "");
  read_kind(reader, "b", numbers(), number, Need::none, "");
  read_kinds(reader, "c", numbers(), none, Need::none, "");
  read_kinds(reader, "d", numbers(), defaulted, Need::defaulted, "");
  CHECK(*number == 5);
  CHECK(none.empty());
  CHECK(defaulted.empty());
  CHECK(texts(reader.finish()) == "");
  CHECK(reader.resolved().dump() == R"({"d":[]})");
}

TEST_CASE("reader: a catalog may say which kind is meant where none is named") {
  Catalog<Number> catalog = numbers();
  catalog.otherwise = "constant";
  const auto read = [&](const char* text, Need need) {
    const auto document = Document::parse(text, "a.json");
    Reader reader(document);
    Number number;
    read_kind(reader, "a", catalog, number, need, "");
    const std::string found = texts(reader.finish());
    return found.empty() ? (number ? std::to_string(*number) : "none") + reader.resolved().dump()
                         : found;
  };
  CHECK(read("{}", Need::defaulted) == R"(1.000000{"a":{"kind":"constant","value":1}})");
  CHECK(read("{}", Need::none) == "none{}");
  CHECK(read(R"({"a": {"value": 3}})", Need::none) ==
        R"(3.000000{"a":{"kind":"constant","value":3}})");
  CHECK(read(R"({"a": {"kind": "constant"}})", Need::none) ==
        R"(1.000000{"a":{"kind":"constant","value":1}})");
  const auto refused = [&](const char* text, Need need, const char* why) {
    return read(text, need).find(why) != std::string::npos;
  };
  CHECK(refused(R"({"a": {"of": 3}})", Need::defaulted, "a.of: unknown key"));
  CHECK(refused(R"({"a": 3})", Need::defaulted, "a: expected an object, got 3"));
  CHECK(refused("{}", Need::required, "a: required key is missing"));
}

namespace {

/// A window of time, and a list of them.
struct Window {
  double start = -1, factor = 2;
  Number number;
};

}  // namespace

static std::vector<Window> read_windows(Fields& fields, Need need) {
  std::vector<Window> windows(fields.open_list("windows", need, "when"));
  for (std::size_t i = 0; i < windows.size(); ++i) {
    fields.open_item(i);
    fields.real("start", windows[i].start, Need::required, at_least(0), "when it begins");
    fields.real("factor", windows[i].factor, Need::defaulted, positive(), "");
    read_kind(fields, "number", numbers(), windows[i].number, Need::none, "");
    fields.close();
  }
  if (!windows.empty()) fields.close();
  return windows;
}

TEST_CASE("reader: an array of plain objects is read item by item, with defaults and kinds") {
  const auto document = Document::parse(
      R"({"windows": [{"start": 1}, {"factor": 3, "start": 2, "number": {"kind": "constant"}}],
          "after": 4})",
      "a.json");
  Reader reader(document);
  const auto windows = read_windows(reader, Need::required);
  double after = 0;
  reader.real("after", after, Need::required, positive(), "");
  CHECK(texts(reader.finish()) == "");
  REQUIRE(windows.size() == 2);
  CHECK(windows[0].start == 1);
  CHECK(windows[0].factor == 2);
  CHECK(windows[1].factor == 3);
  CHECK(*windows[1].number == 1);
  CHECK(after == 4);
  CHECK(reader.resolved().dump() ==
        R"({"windows":[{"start":1,"factor":2},)"
        R"({"start":2,"factor":3,"number":{"kind":"constant","value":1}}],"after":4})");
}

TEST_CASE("reader: problems in a list have the index in their path, an item that is none is one") {
  const auto read = [](Reader& reader) {
    CHECK(reader.good());
    read_windows(reader, Need::none);
    CHECK_FALSE(reader.good());
  };
  CHECK(problems_of("{\"windows\": [\n"
                    "  {\"start\": -1, \"fcator\": 2},\n"
                    "  5,\n"
                    "  {},\n"
                    "  {\"start\": 0},\n"
                    "  {\"start\": 0, \"number\": {\"kind\": \"constant\", \"value\": 0}}]}",
                    read) ==
        "a.json:2:4: error: windows[0].start: must be >= 0, got -1\n"
        "a.json:2:17: error: windows[0].fcator: unknown key\n"
        "    allowed: start, factor, number\n"
        "    did you mean \"factor\"?\n"
        "a.json:3:3: error: windows[1]: expected an object, got 5\n"
        "a.json:4:3: error: windows[2].start: required key is missing; it is: when it begins\n"
        "a.json:6:47: error: windows[4].number.value: must be > 0, got 0");
  CHECK(problems_of("{\"windows\": {\"start\": 1}}", read) ==
        "a.json:1:2: error: windows: expected an array, got {\"start\":1}");
}

TEST_CASE("reader: an absent list has no items, nor has an empty one") {
  const auto read = [](const std::string& text, Need need) {
    const auto document = Document::parse(text, "a.json");
    Reader reader(document);
    CHECK(read_windows(reader, need).empty());
    const std::string problems = texts(reader.finish());
    return problems.empty() ? reader.resolved().dump() : problems;
  };
  CHECK(read("{}", Need::none) == "{}");
  CHECK(read("{}", Need::defaulted) == R"({"windows":[]})");
  CHECK(read(R"({"windows": []})", Need::required) == R"({"windows":[]})");
  CHECK(read("{}", Need::required) ==
        "a.json:1:1: error: windows: required key is missing; it is: when");
}

TEST_CASE("reader: problems of values that were set are told where they came from") {
  auto document = Document::parse(
      "{\"number\": {\"kind\": \"constant\", \"value\": 1},\n"
      " \"sweep\": {\"number.value\": [1,\n"
      "  -2]}}",
      "a.json");
  auto point = document;
  point.set("number.value", "/sweep/number.value/1");
  Number number;
  ordered_json resolved;
  CHECK(read_number(point, number, resolved) ==
        "a.json:3:3: error: number.value: must be > 0, got -2");

  point = document;
  point.set("number", ordered_json{{"kind", "constant"}, {"valeu", 3}}, "--set number={..}");
  point.set("typo", ordered_json(1), "--set typo=1");
  CHECK(read_number(point, number, resolved) ==
        "--set number={..}: error: number.valeu: unknown key\n"
        "    allowed: kind, value\n"
        "    did you mean \"value\"?\n"
        "--set typo=1: error: typo: unknown key\n"
        "    allowed: sweep, number");
}

/// A config with a field of each sort.
struct Toy {
  double eta = 0.5, cap = std::numeric_limits<double>::infinity(), sd = 0;
  std::uint64_t seed = 1;
  std::uint32_t learners = 0;
  bool nesterov = false;
  std::string path, mode = "bootstrap";
  std::vector<double> at = {0.5, 1}, weights;
  std::optional<double> time;
  double momentum = 0;
  Number number;
  std::vector<Number> numbers;
};

static void visit_toy(Reader& fields, Toy& toy) {
  static constexpr std::array<std::string_view, 2> modes = {"bootstrap", "block"};
  fields.pass("$schema");
  fields.integer("seed", toy.seed, Need::defaulted, anything(), "");
  fields.integer("learners", toy.learners, Need::required, at_least(1), "");
  fields.real("eta", toy.eta, Need::defaulted, positive(), "");
  fields.real("cap", toy.cap, Need::defaulted, positive(), "");
  fields.real("sd", toy.sd, Need::defaulted, at_least(0), "");
  static_cast<Fields&>(fields).real("time", toy.time, positive(), "");
  fields.text("path", toy.path, Need::required, "");
  fields.choice("mode", toy.mode, modes, Need::defaulted, "");
  fields.reals("at", toy.at, Need::defaulted, positive(), "");
  fields.reals("weights", toy.weights, Need::required, positive(), "");
  if (fields.open("optimiser", Need::defaulted, "")) {
    fields.real("momentum", toy.momentum, Need::defaulted, from_below(0, 1), "");
    fields.flag("nesterov", toy.nesterov, Need::defaulted, "");
    fields.close();
  }
  read_kind(fields, "number", reader_test::numbers(), toy.number, Need::required, "");
  read_kinds(fields, "numbers", reader_test::numbers(), toy.numbers, Need::none, "");
}

TEST_CASE("reader: the resolved document has every default, and reads as the same again") {
  const auto document = Document::parse(
      R"({"numbers": [{"kind": "twice", "of": {"kind": "constant"}}], "number": {"kind": "constant"},
          "weights": 2, "learners": 8.0, "path": "a\n\"b", "$schema": {"x": [1.0, 1]},
          "seed": 18446744073709551615})",
      "a.json");
  Reader reader(document);
  Toy toy;
  visit_toy(reader, toy);
  CHECK(texts(reader.finish()) == "");
  const std::string resolved = reader.resolved().dump();
  CHECK(resolved ==
        R"({"$schema":{"x":[1.0,1]},"seed":18446744073709551615,"learners":8,"eta":0.5,"sd":0,)"
        R"("path":"a\n\"b","mode":"bootstrap","at":[0.5,1],"weights":2,)"
        R"("optimiser":{"momentum":0,"nesterov":false},)"
        R"("number":{"kind":"constant","value":1},)"
        R"("numbers":[{"kind":"twice","of":{"kind":"constant","value":1}}]})");

  const auto again = Document::parse(resolved, "resolved");
  Reader second(again);
  Toy same;
  visit_toy(second, same);
  CHECK(texts(second.finish()) == "");
  CHECK(second.resolved().dump() == resolved);
  CHECK(same.seed == toy.seed);
  CHECK(same.learners == 8);
  CHECK(same.eta == 0.5);
  CHECK(same.cap == std::numeric_limits<double>::infinity());
  CHECK(same.path == "a\n\"b");
  CHECK(same.at == toy.at);
  CHECK(same.weights == std::vector<double>{2});
  CHECK(*same.number == 1);
  REQUIRE(same.numbers.size() == 1);
  CHECK(*same.numbers[0] == 2);
}

TEST_CASE("edit distance: inserting, deleting, replacing and swapping letters cost one each") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("expnential", "exponential") == 1);
  CHECK(edit_distance("mena", "mean") == 1);
  CHECK(edit_distance("abcd", "badc") == 2);
  CHECK(edit_distance("ca", "abc") == 3);
  CHECK(edit_distance("K", "k") == 0);
}

TEST_CASE("edit distance: a proposal is within two edits and half of the word") {
  const std::array<std::string_view, 4> names = {"k", "eta", "exponential", "at"};
  CHECK(nearest_name("expnentila", names) == "exponential");
  CHECK(nearest_name("expneniltla", names) == "");
  CHECK(nearest_name("n", names) == "");
  CHECK(nearest_name("kk", names) == "k");
  CHECK(nearest_name("eat", names) == "eta");
  CHECK(nearest_name("it", names) == "at");
  CHECK(nearest_name("xy", names) == "");
  CHECK(nearest_name("EXPONENTIAL", names) == "exponential");
  CHECK(nearest_name("k", {}) == "");
  CHECK(nearest_name("expon", names) == "exponential");
  CHECK(nearest_name("exp", names) == "exponential");  // by the glossary
  CHECK(nearest_name("ex", names) == "");
}

TEST_CASE("edit distance: what parts a name's words counts only between names that are as near") {
  const std::array<std::string_view, 5> names = {"sync", "k-sync", "async", "learning_rate",
                                                 "k_sync"};
  CHECK(nearest_name("ksync", names) == "k-sync");
  CHECK(nearest_name("k_sync", names) == "k_sync");
  CHECK(nearest_name("a-sync", names) == "async");
  CHECK(nearest_name("k-asnc", names) == "k-sync");
  CHECK(nearest_name("l-e-a-r-n-i-n-g rate", names) == "learning_rate");
  CHECK(nearest_name("learning_rte", names) == "learning_rate");
  CHECK(nearest_name("---", names) == "");
}

TEST_CASE("reader: another word of the field for a name is known, before names that look alike") {
  constexpr std::array<std::string_view, 5> names{"sync", "async", "ssp", "local-sgd",
                                                  "all-reduce"};
  CHECK(nearest_name("bsp", names) == "sync");
  CHECK(nearest_name("ASP", names) == "async");
  CHECK(nearest_name("Fed-Avg", names) == "local-sgd");
  CHECK(nearest_name("DDP", names) == "all-reduce");
  CHECK(nearest_name("asinc", names) == "async");
  constexpr std::array<std::string_view, 1> others{"ssp"};
  CHECK(nearest_name("bsp", others) == "ssp");
}

}  // namespace gradrace::reader_test
