#include "sim/reading/document.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/check.h"
#include "sim/reading/json_places.h"

namespace gradrace::document_test {

using nlohmann::ordered_json;

static Document parse(const std::string& text) { return Document::parse(text, "a.json"); }

/// "line:column" of a pointer, "origin" where there is no line.
static std::string place(const Document& document, const std::string& pointer) {
  const auto problem = document.problem(pointer, "");
  if (problem.line == 0) return problem.origin;
  return std::to_string(problem.line) + ":" + std::to_string(problem.column);
}

/// The texts of the problems with which the text is refused.
static std::string refusal(const std::string& text) {
  try {
    parse(text);
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("document: a problem is written as compilers do") {
  Problem problem{.origin = "scenarios/bad.json",
                  .line = 3,
                  .column = 5,
                  .path = "protocol.kind",
                  .what = "unknown value \"sink\"",
                  .allowed = "sync, async",
                  .suggestion = "sync"};
  CHECK(problem.text() ==
        "scenarios/bad.json:3:5: error: protocol.kind: unknown value \"sink\"\n"
        "    allowed: sync, async\n"
        "    did you mean \"sync\"?");
  problem = {.origin = "--set k=9",
             .line = 0,
             .column = 0,
             .path = "",
             .what = "wrong",
             .allowed = "",
             .suggestion = ""};
  CHECK(problem.text() == "--set k=9: error: wrong");
  problem.meaning = "what is wanted";
  CHECK(problem.text() == "--set k=9: error: wrong; it is: what is wanted");
}

TEST_CASE(
    "document: an error tells its problems sorted by place, each once, those without a line last") {
  const auto document = parse("{\"a\": 1,\n \"b\": [2, 3]}");
  auto outside = document.problem("/a", "from outside");
  outside.origin = "--set a=1";
  outside.line = outside.column = 0;
  const ScenarioError error({outside, document.problem("/b/1", "third"),
                             document.problem("/b", "second"), document.problem("/a", "first"),
                             document.problem("/b", "second")});
  CHECK(std::string(error.what()) ==
        "a.json:1:2: error: a: first\n"
        "a.json:2:2: error: b: second\n"
        "a.json:2:11: error: b[1]: third\n"
        "--set a=1: error: a: from outside");
  CHECK(error.problems().size() == 4);
}

TEST_CASE("document: of many problems of a key an error tells the first 20 and counts the others") {
  std::string list = "1", expected;
  for (int i = 1; i < 23; ++i) list += ",1";
  const auto document = parse("{\"a\": [" + list + "],\n\"b\": 2}");
  std::vector<Problem> problems{document.problem("/b", "last")};
  for (int i = 22; i >= 0; --i) {
    problems.push_back(document.problem("/a/" + std::to_string(i), "is 1"));
    const int j = 22 - i;
    if (j < 20)
      expected +=
          "a.json:1:" + std::to_string(8 + 2 * j) + ": error: a[" + std::to_string(j) + "]: is 1\n";
  }
  const ScenarioError error(problems);
  CHECK(error.what() == expected + "    and 3 more of this key\na.json:2:1: error: b: last");
  CHECK(error.problems().size() == 24);
}

TEST_CASE("document: keys and array items have exact places, numbers before a line break too") {
  const auto document = parse(
      "{\n"
      "  \"parts\": [1,\n"
      "    2.5\n"
      "    , -3e2 ,true,\"x,:\\\"]\", null,\n"
      "\t{\"deep\" :\n"
      "  [[],[ 7]]}],\n"
      "  \"last\": 4\n"
      "}\n");
  CHECK(place(document, "") == "1:1");
  CHECK(place(document, "/parts") == "2:3");
  CHECK(place(document, "/parts/0") == "2:13");
  CHECK(place(document, "/parts/1") == "3:5");
  CHECK(place(document, "/parts/2") == "4:7");
  CHECK(place(document, "/parts/3") == "4:13");
  CHECK(place(document, "/parts/4") == "4:18");
  CHECK(place(document, "/parts/5") == "4:28");
  CHECK(place(document, "/parts/6") == "5:2");
  CHECK(place(document, "/parts/6/deep") == "5:3");
  CHECK(place(document, "/parts/6/deep/0") == "6:4");
  CHECK(place(document, "/parts/6/deep/1") == "6:7");
  CHECK(place(document, "/parts/6/deep/1/0") == "6:9");
  CHECK(place(document, "/last") == "7:3");
  CHECK(document.root()["parts"][2] == -300.0);
}

TEST_CASE("document: columns count characters, a tabulator is one") {
  const auto document = parse("{\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\":\t[ 1],\t\"b\": 2}");
  CHECK(place(document, "/\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80/0") == "1:11");
  CHECK(place(document, "/b") == "1:15");
}

TEST_CASE(
    "document: a carriage return does not count as a line, a byte order mark not as a column") {
  const auto document = parse("\xEF\xBB\xBF{\"a\": 1,\r\n  \"b\": [\r\n3]}\r\n");
  CHECK(place(document, "/a") == "1:2");
  CHECK(place(document, "/b") == "2:3");
  CHECK(place(document, "/b/0") == "3:1");
}

TEST_CASE("document: what is not there has the place of the nearest value above") {
  const auto document = parse("{\n \"a\": {\"b\": [5]}}");
  CHECK(place(document, "/a/c") == "2:2");
  CHECK(place(document, "/a/b/7/x") == "2:8");
  CHECK(place(document, "/z") == "1:1");
  CHECK(document.problem("/a/c", "w").path == "a.c");
  CHECK_THROWS_AS(document.problem("a.c", "w"), BrokenInvariant);
}

TEST_CASE("document: pointers are told as dotted paths") {
  CHECK(dotted_path("") == "");
  CHECK(dotted_path("/parts/0/mean") == "parts[0].mean");
  CHECK(dotted_path("/sweep/protocol.k/2") == "sweep.protocol.k[2]");
  CHECK(dotted_path("/a~1b/c~0d/~01") == "a/b.c~d.~1");
  CHECK(child_pointer("/a", "b/c~d") == "/a/b~1c~0d");
}

TEST_CASE(
    "document: a key given twice is a problem at the later one, whose value and places count") {
  const auto document = parse(
      "{\"seed\": 1,\n \"a\": {\"x\": [1], \"y\": 2},\n \"seed\": 3,\n \"a\": {\"y\":\n [4], "
      "\"y\": 5}}");
  REQUIRE(document.problems().size() == 3);
  CHECK(document.problems()[0].text() ==
        "a.json:3:2: error: seed: given twice (JSON keeps only the last)");
  CHECK(document.problems()[1].text() ==
        "a.json:4:2: error: a: given twice (JSON keeps only the last)");
  CHECK(document.problems()[2].text() ==
        "a.json:5:7: error: a.y: given twice (JSON keeps only the last)");
  CHECK(document.root().dump() == R"({"seed":3,"a":{"y":5}})");
  CHECK(place(document, "/seed") == "3:2");
  CHECK(place(document, "/a/x") == "4:2");
  CHECK(place(document, "/a/y/0") == "5:7");
}

TEST_CASE("document: the same key in two objects is no problem") {
  CHECK(parse(R"({"a": {"k": 1}, "b": {"k": 2}, "c": [{"k": 3}, {"k": 4}]})").problems().empty());
}

TEST_CASE("document: whole numbers, natural numbers and others keep their kind") {
  const auto root = parse("[1, -1, 1.0, 18446744073709551615, 18446744073709551616]").root();
  CHECK(root[0].is_number_unsigned());
  CHECK(root[1].is_number_integer());
  CHECK_FALSE(root[1].is_number_unsigned());
  CHECK(root[2].is_number_float());
  CHECK(root[3].get<std::uint64_t>() == 18446744073709551615U);
  CHECK(root[4].is_number_float());
}

TEST_CASE("document: a syntax error tells where it is, what was expected and what was found") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "1:1: error: expected a value, got the end of the file"},
      {"{\n  \"a\": 1,\n}",
       "3:1: error: expected a key in double quotes, got '}'; "
       "there must be no comma after the last item"},
      {"{,}", "1:2: error: expected a key in double quotes or '}', got ','"},
      {"{a: 1}", "1:2: error: expected a key in double quotes or '}', got 'a'"},
      {"{'a': 1}", "1:2: error: expected a key in double quotes or '}', got ''a''"},
      {"{\"a\" 1}", "1:6: error: expected ':' after the key, got '1'"},
      {"a: 1", "1:1: error: expected a value, got 'a'; JSON begins with {"},
      {"{\"a\": }", "1:7: error: expected a value, got '}'"},
      {"{\"a\":: 1}", "1:6: error: expected a value, got ':'"},
      {"{\"a\": 1\n \"b\": 2}", "2:2: error: expected ',' or '}', got \"b\""},
      {"{\"a\": 1,, \"b\": 2}", "1:9: error: expected a key in double quotes, got ','"},
      {"[1, ]",
       "1:5: error: expected a value, got ']'; there must be no comma after the last item"},
      {"[1 2]", "1:4: error: expected ',' or ']', got '2'"},
      {"[1\n2]", "2:1: error: expected ',' or ']', got '2'"},
      {"[}", "1:2: error: expected a value or ']', got '}'"},
      {"[1, 2", "1:6: error: expected ',' or ']', got the end of the file"},
      {"{\"a\": [1, {\"b\": 2}\n", "2:1: error: expected ',' or ']', got the end of the file"},
      {"{\"a\": 1} x", "1:10: error: expected the end of the file, got 'x'"},
      {"{\"a\": 1}}", "1:9: error: expected the end of the file, got '}'"},
      {"{\"a\": tru}", "1:7: error: expected a value, got 'tru'"},
      {"{\"a\": truest}", "1:7: error: 'truest' is no JSON value"},
      {"{\"a\": 01}", "1:7: error: '01' is no JSON value"},
      {"{\"a\": .5}", "1:7: error: expected a value, got '.5'"},
      {"{\"a\": 1.}", "1:7: error: expected a value, got '1.'"},
      {"{\"a\": -}", "1:7: error: expected a value, got '-'"},
      {"[tru", "1:2: error: expected a value or ']', got 'tru'"},
      {"{\"a\": NaN}", "1:7: error: expected a value, got 'NaN'"},
      {"{\"a\": [2, 1e999]}", "1:11: error: '1e999' is too large for a number"},
      {"{\"a\": 1, // one\n \"b\": 2}", "1:10: error: JSON has no comments"},
      {"{\"a\": 1 /* one */}", "1:9: error: JSON has no comments"},
      {"{\"a\": \"b}", "1:7: error: a string is not closed on its line"},
      {"{\"a\": \"b\n\", \"c\": 1}", "1:7: error: a string is not closed on its line"},
      {"{\"a\": \"\\x\"}", "1:7: error: in a string: forbidden character after backslash"},
  };
  for (const auto& [text, expected] : cases) {
    CAPTURE(text);
    CHECK(refusal(text) == "a.json:" + expected);
  }
}

TEST_CASE("document: a syntax error does not hide the keys given twice before it") {
  CHECK(refusal("{\"a\": 1,\n \"a\": 2,\n \"b\" 3}") ==
        "a.json:2:2: error: a: given twice (JSON keeps only the last)\n"
        "a.json:3:6: error: expected ':' after the key, got '3'");
}

TEST_CASE("document: 200 levels are read, 201 are refused") {
  CHECK(refusal(std::string(200, '[') + std::string(200, ']')) == "accepted");
  CHECK(refusal(std::string(100000, '[')) == "a.json:1:201: error: nested more than 200 deep");
}

TEST_CASE("document: a value set from outside has its origin and no line") {
  auto document = parse("{\n \"protocol\": {\"kind\": \"sync\", \"k\": 4}}");
  document.set("protocol.k", ordered_json(9), "--set protocol.k=9");
  CHECK(document.root()["protocol"]["k"] == 9);
  CHECK(document.problem("/protocol/k", "must be 1 to 8, got 9").text() ==
        "--set protocol.k=9: error: protocol.k: must be 1 to 8, got 9");
  CHECK(place(document, "/protocol/kind") == "2:15");
  CHECK(place(document, "/protocol") == "2:2");

  document.set("protocol", ordered_json{{"kind", "async"}}, "--set protocol=..");
  CHECK(place(document, "/protocol/kind") == "--set protocol=..");
  CHECK(place(document, "/protocol/k") == "--set protocol=..");
  CHECK(document.root().dump() == R"({"protocol":{"kind":"async"}})");
}

TEST_CASE("document: setting makes the objects on the way and selects from arrays") {
  auto document = parse("{\n \"parts\": [{\"mean\": 1},\n {\"mean\": 2}]}");
  document.set("model.optimiser.momentum", ordered_json(0.9), "--set m");
  document.set("parts.1.mean", ordered_json(3), "--set p");
  CHECK(document.root().dump() ==
        R"({"parts":[{"mean":1},{"mean":3}],"model":{"optimiser":{"momentum":0.9}}})");
  CHECK(place(document, "/model") == "--set m");
  CHECK(place(document, "/model/optimiser/nesterov") == "--set m");
  CHECK(place(document, "/parts/1") == "3:2");
  CHECK(place(document, "/parts/1/mean") == "--set p");
  CHECK(place(document, "/parts/0/mean") == "2:13");
}

TEST_CASE("document: a path that leads through something that is no object is refused") {
  auto document = parse("{\"a\": {\"b\": 3}, \"c\": [1, 2]}");
  const auto refusal_of = [&](const std::string& path) {
    try {
      document.set(path, ordered_json(1), "--set x");
    } catch (const ScenarioError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal_of("a.b.c") == "--set x: error: a.b: expected an object, got 3");
  CHECK(refusal_of("c.2") == "--set x: error: c: has no item 2, its length is 2");
  CHECK(refusal_of("c.x") == "--set x: error: c: has no item x, its length is 2");
  CHECK(refusal_of("a..b") == "--set x: error: \"a..b\" is no path of keys");
  CHECK(refusal_of("") == "--set x: error: \"\" is no path of keys");
  CHECK(document.root().dump() == R"({"a":{"b":3},"c":[1,2]})");
  CHECK(refusal_of("c.1") == "accepted");
}

TEST_CASE("document: the value of a sweep keeps its place") {
  const auto base = parse(
      "{\"protocol\": {\"kind\": \"k-sync\", \"k\": 1},\n"
      " \"sweep\": {\n"
      "  \"protocol.k\": [1, 2,\n"
      "   4],\n"
      "  \"protocol\": [{\"kind\": \"sync\"},\n"
      "    {\"kind\": \"k-sync\", \"ks\": [1, {\"x\": 0}]}],\n"
      "  \"a/b~c\": [5]}}");
  auto point = base;
  point.set("protocol.k", "/sweep/protocol.k/2");
  CHECK(point.root()["protocol"].dump() == R"({"kind":"k-sync","k":4})");
  CHECK(point.problem("/protocol/k", "w").text() == "a.json:4:4: error: protocol.k: w");
  CHECK(place(point, "/protocol/kind") == "1:15");

  point = base;
  point.set("protocol", "/sweep/protocol/1");
  CHECK(place(point, "/protocol") == "6:5");
  CHECK(place(point, "/protocol/kind") == "6:6");
  CHECK(place(point, "/protocol/ks/1/x") == "6:35");
  CHECK(place(point, "/protocol/k") == "6:5");

  point = base;
  point.set("new.key", "/sweep/a~1b~0c/0");
  CHECK(point.root()["new"]["key"] == 5);
  CHECK(place(point, "/new/key") == "7:13");
  CHECK(place(point, "/new") == "7:13");

  CHECK(place(base, "/protocol/k") == "1:33");
  CHECK(base.root()["protocol"]["k"] == 1);
}

TEST_CASE("document: a value set inside a sweep from outside keeps that origin at its new place") {
  auto document = parse("{\"sweep\": {\"seed\": [1, 2]}}");
  document.set("sweep.seed", ordered_json{7, 8}, "--set sweep.seed=[7,8]");
  document.set("seed", "/sweep/seed/1");
  CHECK(document.root()["seed"] == 8);
  CHECK(place(document, "/seed") == "--set sweep.seed=[7,8]");
}

TEST_CASE("document: what is set aside is no part of the document, but values are taken from it") {
  auto document = parse("{\"seed\": 1, \"sweep\": {\"seed\": [1,\n {\"a\": 2}]}, \"quick\": 3}");
  document.set("sweep.b", ordered_json{7, 8}, "--set sweep.b=[7,8]");
  document.set_aside("sweep");
  CHECK(document.root().dump() == R"({"seed":1,"sweep":{},"quick":3})");
  auto point = document;
  point.set("seed", "/sweep/seed/1");
  point.set("quick", "/sweep/b/1");
  CHECK(point.root().dump() == R"({"seed":{"a":2},"sweep":{},"quick":8})");
  CHECK(place(point, "/seed/a") == "2:3");
  CHECK(place(point, "/quick") == "--set sweep.b=[7,8]");
  CHECK(document.root()["seed"] == 1);
  CHECK(place(document, "/seed") == "1:2");
}

TEST_CASE("document: a value within one that was set has the place of the later one") {
  const auto base = parse(
      "{\"p\": {\"k\": 1},\n"
      " \"whole\": {\"k\": 2,\n"
      "  \"of\": {\"x\": 3}},\n"
      " \"part\": {\"y\": 4}}");
  auto point = base;
  point.set("p", "/whole");
  point.set("p.of", "/part");
  CHECK(point.root()["p"].dump() == R"({"k":2,"of":{"y":4}})");
  CHECK(place(point, "/p/k") == "2:12");
  CHECK(place(point, "/p/of/y") == "4:11");
  CHECK(place(point, "/p/of/x") == "4:2");
  point.set("copy.of", "/p/of");
  CHECK(place(point, "/copy/of/y") == "4:11");
  CHECK(place(point, "/copy/y") == "4:2");
  point.set("p", "/whole");
  CHECK(place(point, "/p/of/x") == "3:10");
  CHECK(place(point, "/copy/of/y") == "4:11");
}

TEST_CASE("document: a file is read under its name, what cannot be read is no scenario error") {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("gradrace-document-test-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto file = folder / "bad.json";
  std::ofstream(file) << "{\"a\": 1,\n\"b\": 2}";
  CHECK(Document::read(file).problem("/b", "w").text() == file.string() + ":2:1: error: b: w");
  std::filesystem::remove(file);
  CHECK_THROWS_WITH_AS(Document::read(file),
                       ("cannot read " + file.string() + ": No such file or directory").c_str(),
                       std::runtime_error);
  CHECK_THROWS_WITH_AS(Document::read(folder),
                       ("cannot read " + folder.string() + ": it is a folder").c_str(),
                       std::runtime_error);
  std::filesystem::remove(folder);
}

}  // namespace gradrace::document_test
