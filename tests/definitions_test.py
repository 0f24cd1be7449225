"""One name, one definition: a function or type of namespace gradrace is defined in one file.

The compiler sees one source at a time, and the linker takes one of two inline functions, or the one that is not inline,
without a word.  Run without arguments, or with another root.
"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv.pop()) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1]
FOLDERS = ("sim", "distributions", "protocols", "compression", "models", "analysis", "bench", "tests")
# Compiled where another file is not; the same template word for word, for another number.
ALIKE = {"models/gpu/cuda/no_cuda_device.cpp", "models/gpu/cuda/cuda_float64.cu"}

LITERAL = re.compile(r'R"\w*\((?:.|\n)*?\)\w*"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'')
COMMENT = re.compile(r"//[^\n]*|/\*(?:.|\n)*?\*/")
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.MULTILINE)
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<[^<>]*>)*>\s*(?:requires\b[^{;()]*(?=\b(?:class|struct)\b))?")
TYPE = re.compile(r"\b(?:class|struct|union|enum(?:\s+class)?)\s+(?:\[\[\w+\]\]\s*|alignas\(\d+\)\s*)?(\w+(?:<.*>)?)\s*(?:final\s*)?(?::[^:(].*)?$", re.DOTALL)
FUNCTION = re.compile(r"((?:\w+(?:<[^<>()]*>)?::)*(?:~?\w+|operator\W+))\s*\(")


def code_of(text):
    """Without literals, comments and directives."""
    text = re.sub(f"{LITERAL.pattern}|{COMMENT.pattern}", lambda m: '""' if m[0][0] in "R\"'" else " ", text)
    return DIRECTIVE.sub("", text)


def parameters(text):
    """Types of 'double x, const std::string& name = {}', as far as words tell them."""
    types, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            one = re.sub(r"=.*", "", text[start:i], flags=re.DOTALL)
            types.append("".join(re.sub(r"(?<=[\w&*>])([\s&*>]+)\w+\s*$", r"\1", one.strip()).split()))
            start = i + 1
    return ", ".join(types)


def function_of(head):
    """name(types) of what stands before a body; None where it is something else or the file's own."""
    head = TEMPLATE.sub("", head).strip()
    found = FUNCTION.search(head)
    if not found or "=" in head[: found.start()] or re.search(r"\b(static|constexpr\s+static)\b", head[: found.start()]):
        return None
    depth = 0
    for i in range(found.end() - 1, len(head)):
        depth += (head[i] == "(") - (head[i] == ")")
        if depth == 0:
            constant = " const" if re.match(r"\s*const\b", head[i + 1 :]) else ""
            return f"{found[1]}({parameters(head[found.end() : i])}){constant}"
    return None


def definitions(text):
    """Of functions and types in named namespaces, outside of others."""
    scopes, start = [], 0
    for mark in re.finditer(r"[{};]", code_of(text)):
        code = mark.string
        head, start = code[start : mark.start()], mark.end()
        if mark[0] == "}" and scopes:
            scopes.pop()
        if mark[0] != "{":
            continue
        outside = all(scope.startswith("namespace ") for scope in scopes)
        names = "".join(scope[10:] + "::" for scope in scopes)
        if space := re.search(r"\bnamespace\s*([\w:]*)\s*$", head):
            scopes.append("namespace " + space[1] if space[1] else "anonymous")
            continue
        scopes.append("body")
        if not outside or not names:
            continue
        kind = TYPE.search(TEMPLATE.sub("", head))
        name = kind[1] if kind and "(" not in head[: kind.start()] else function_of(head)
        if name and not re.match(r"[A-Z_]+\(", name):  # a test case
            yield names + name


def duplicates(root, folders=FOLDERS):
    files = {}
    for folder in folders:
        for path in sorted(root.joinpath(folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix in (".h", ".cpp", ".cu") and name not in ALIKE:
                for definition in definitions(path.read_text(encoding="utf-8")):
                    files.setdefault(definition, set()).add(name)
    return len(files), {name: sorted(of) for name, of in files.items() if len(of) > 1}


class Definitions(unittest.TestCase):
    def test_each_is_in_one_file(self):
        count, twice = duplicates(ROOT)
        self.assertGreater(count, 500)
        self.assertEqual(twice, {})

    def test_what_is_read_as_a_definition(self):
        text = """
            // std::string comment() {
            #define MACRO() void macro() {}
            namespace gradrace {
            inline std::string number_text(double value) { return f({}); }
            std::string number_text(double x);
            static int own() {}
            template <class T> T twice(const T& x, int y = g(1, 2)) { if (x) { return x; } }
            constexpr Page page{.name = R"(a { b)"};
            struct Row final : Base { int member() { return 1; } };
            Row::Row(int a) : a_{a} {}
            template <class Real> Real Rows<Real>::size() const { return 2; }
            namespace { int hidden() { return 3; } struct Hidden {}; }
            TEST_CASE("a: b") { run(); }
            }  // namespace gradrace
        """
        self.assertEqual(
            [name.removeprefix("gradrace::") for name in definitions(text)],
            ["number_text(double)", "twice(constT&, int)", "Row", "Row::Row(int)", "Rows<Real>::size() const"],
        )


if __name__ == "__main__":
    unittest.main()
