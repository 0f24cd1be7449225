"""Says what is wrong with a class of a user's file, or lacks for it, and imports nothing that lies beside the file.

    look.py FILE CLASS LENGTH FUNCTIONS PACKAGE...

FUNCTIONS, parted by commas, are those that the class must have, packages those that Python must have. See user_class.py.
"""

import ast
import importlib.machinery
import importlib.util
import os
import sys

from user_class import FAILED, WELL, answer, run


def is_there(package, folder):
    """Whether it can be imported; nothing is."""
    finder = importlib.machinery.PathFinder
    return bool(importlib.util.find_spec(package) or finder.find_spec(package, [folder]))


def fault_of(file, text, name, functions, packages):
    """What is wrong with the file, or lacks for it; empty where nothing is, as far as its text says."""
    try:
        tree = ast.parse(text, file)
    except SyntaxError as problem:
        return f"{file}:{problem.lineno}:{problem.offset}: {problem.msg}"
    except ValueError as problem:
        return f"{file}: {problem}"
    for package in packages:
        if importlib.util.find_spec(package.lower()) is None:
            return f"{sys.executable} has no {package}; GRADRACE_PYTHON names another Python"
    for line, package in imported(tree) if b"sys.path" not in text else ():
        if not is_there(package, os.path.dirname(file)):
            return f"{file}:{line}: imports {package}, which {sys.executable} lacks; GRADRACE_PYTHON names another Python"
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    if name not in classes:
        if {name, "*"} & set(bound(tree)):
            return ""
        others = f"; it has {', '.join(classes)}" if classes else ""
        return f"{file}: has no class {name}{others}"
    missing = [function for function in functions if function not in set(bound(classes[name]))]
    if missing and not may_get_more(classes[name], tree):
        return f"{file}:{classes[name].lineno}: class {name} has no {', '.join(missing)}"
    return ""


def may_get_more(cls, tree):
    """Whether a class may have functions that its body does not name."""
    later = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
    )
    is_set = any(isinstance(value, ast.Name) and value.id == cls.name for value in later)
    return (
        cls.bases
        or cls.keywords
        or cls.decorator_list
        or is_set
        or {"setattr", "__getattr__"} & names_of(tree)
    )


def names_of(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | set(bound(tree))


def bound(tree):
    """Names that stand for something after these statements, as far as they are seen."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if isinstance(node, ast.alias):
            yield node.asname or node.name
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def imported(tree):
    """Lines and packages of the imports that the file makes whatever happens."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        if isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module.split(".")[0]


def look(file, text, name, _, functions, *packages):
    fault = fault_of(file, text, name, functions.split(","), packages)
    answer(FAILED if fault else WELL, fault, (0, 0, 0))


if __name__ == "__main__":
    run(look)
