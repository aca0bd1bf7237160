"""Conventions of source files: sizes, names, docstrings, ``__all__``. Proved by ``ast``."""
from __future__ import annotations

import ast
import builtins
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from paths import ROOT
from source_trees import PACKAGES, SOURCES, statements_of, tree_of

LONGEST_FUNCTION = 90
LONGEST_FILE = 600

MOST_MODULES = 15


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def files_with(fault: Callable[[Path], object]) -> dict[str, object]:
    """What `fault` finds, by the name of the file, where it finds something."""
    return {name(path): found for path in SOURCES if (found := fault(path))}


def too_long(tree: ast.AST) -> dict[str, int]:
    sizes = {
        f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in statements_of(tree)
        if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    return {name: size for name, size in sizes.items() if size > LONGEST_FUNCTION}


def unlisted(tree: ast.Module) -> set[str]:
    """Functions and classes that are neither in ``__all__`` nor have an underscore."""
    lists = [
        ast.literal_eval(node.value if node.value is not None else ast.List([]))
        for node in tree.body
        if (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
        or (isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "__all__")
    ]
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    listed = {name for names in lists for name in names}
    return {name for name in defined - listed if not name.startswith("_") or not lists}


def without_encoding(tree: ast.AST) -> set[int]:
    """The lines that open a text file in the encoding of the locale, which may be ASCII."""
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
    opened = [
        call for call in calls
        if ast.unparse(call.func) == "open"
        and not any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in call.args[1:])
    ]
    return {c.lineno for c in opened if "encoding" not in [k.arg for k in c.keywords]}


TELLS = {
    "_may_be_bug", "_must_raise", "is_fault", "is_from_signal_handler", "rejection_of",
    "should_retry",
}
"""Functions that tell what a signal handler has raised from other exceptions."""
FOR_LACK = {"MemoryError", "RecursionError"}
"""Exceptions after which no function can be called that tells."""


def is_of_others(kinds: ast.expr | None) -> bool:
    """Whether the type of a clause names exceptions of Python or of a library."""
    match kinds:
        case ast.Tuple(elts=parts):
            return any(map(is_of_others, parts))
        case ast.Name(id=name):
            kind = getattr(builtins, name, None)
            return isinstance(kind, type) and name not in FOR_LACK | {"BaseException"}
        case ast.Attribute() | None:
            return True
    return False


def tells(clause: ast.ExceptHandler) -> bool:
    """Whether a clause raises the exception again, or asks who has raised it."""
    last = clause.body[-1]
    called = {ast.unparse(n.func).rpartition(".")[2] for n in ast.walk(clause)
              if isinstance(n, ast.Call)}
    return (isinstance(last, ast.Raise) and last.exc is None) or bool(called & TELLS)


def catching(tree: ast.AST) -> set[int]:
    """The lines in functions that catch what a signal handler of the user's may raise there, too
    (`loopir.process.signal_exceptions`)."""
    nodes = [
        node for f in statements_of(tree) if isinstance(f, ast.FunctionDef) for node in ast.walk(f)
    ]
    clauses = [n for n in nodes if isinstance(n, ast.ExceptHandler)]
    calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == "suppress"]
    return {c.lineno for c in clauses if is_of_others(c.type) and not tells(c)} | {
        c.lineno for c in calls if any(map(is_of_others, c.args))
    }


PASSING_OVER = {
    "ast": {
        "NodeTransformer", "NodeVisitor", "dump", "fix_missing_locations", "get_source_segment",
        "increment_lineno", "iter_child_nodes", "iter_fields", "walk",
    },
    "os.path": {"exists", "isdir", "isfile", "islink", "ismount", "lexists"},
}
"""Functions of Python's own modules that pass over an exception (AttributeError; OSError and
ValueError), which a signal handler, or a lack of memory or descriptors, may have caused."""


def passing_over(tree: ast.AST) -> set[int]:
    """The lines that use `PASSING_OVER`."""
    return {
        n.lineno for n in ast.walk(tree)
        if (isinstance(n, ast.ImportFrom) and n.module in PASSING_OVER)
        or (isinstance(n, ast.Attribute) and n.attr in PASSING_OVER.get(ast.unparse(n.value), ()))
    }


@pytest.mark.parametrize("lines_with", [catching, passing_over])
def test_what_a_signal_handler_raises_is_not_caught(lines_with: Callable[..., set[int]]) -> None:
    """The command, building a package and reading Loop IR are no part of a first call."""
    found = files_with(lambda path: lines_with(tree_of(path)))
    others = ("transpile/cli/", "transpile/ahead/", "transpile/build_hooks/", "loopir/ir_parser.py")
    assert {name: lines for name, lines in found.items() if not name.startswith(others)} == {}


def test_there_are_files() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SOURCES} == set(PACKAGES)


def test_functions_are_short() -> None:
    assert files_with(lambda path: too_long(tree_of(path))) == {}


def test_files_are_one_concept() -> None:
    lines = {name(path): path.read_text(encoding="utf-8").count("\n") for path in SOURCES}
    assert {name: count for name, count in lines.items() if count > LONGEST_FILE} == {}


def test_folders_can_be_surveyed() -> None:
    counts = Counter(name(path.parent) for path in SOURCES if path.name != "__init__.py")
    assert {folder: count for folder, count in counts.items() if count > MOST_MODULES} == {}


def test_a_name_is_used_once() -> None:
    """One module of a name in the tree, so that a search for it finds one file."""
    names = Counter(p.name for p in SOURCES if p.stem not in ("__init__", "__main__"))
    assert {name for name, times in names.items() if times > 1} == set()


def test_the_first_line_says_what_the_module_is() -> None:
    def is_missing(path: Path) -> bool:
        tree = tree_of(path)
        return bool(tree.body) and not (ast.get_docstring(tree) or "\n").splitlines()[0].strip()

    assert files_with(is_missing) == {}


def test_public_names_are_listed() -> None:
    assert files_with(lambda path: unlisted(tree_of(path))) == {}


def test_text_files_are_opened_with_an_encoding() -> None:
    assert files_with(lambda path: without_encoding(tree_of(path))) == {}


def test_the_checks_see_a_fault() -> None:
    assert without_encoding(ast.parse("open(p)\nopen(p, 'rb')\nopen(p, encoding='u8')")) == {1}
    assert unlisted(ast.parse("def f(): 0\ndef _g(): 0\n__all__ = ['h']\ndef h(): 0")) == {"f"}
    assert unlisted(ast.parse("def _g(): 0")) == {"_g"}
    assert unlisted(ast.parse("__all__: list[str] = ['f']\ndef f(): 0")) == set()
    clause = "def f():\n    try: g()\n    except {}: {}"
    for kinds in "OSError", "(Refused, KeyError)", "struct.error":
        assert catching(ast.parse(clause.format(kinds, 0))) == {3}
    for kinds in "failures(OSError)", "Refused":
        assert catching(ast.parse(clause.format(kinds, 0))) == set()
    assert catching(ast.parse(clause.format("OSError", "raise"))) == set()
    assert catching(ast.parse("def f():\n    with suppress(OSError): g()")) == {2}
    for use in "ast.walk(t)", "class A(ast.NodeTransformer): pass", "os.path.isdir(p)":
        assert passing_over(ast.parse(use)) == {1}
    assert passing_over(ast.parse("from os.path import exists")) == {1}
    assert passing_over(ast.parse("walk(t), os.walk(t), ast.parse(t)")) == set()
    assert too_long(ast.parse("def f():\n" + "    0\n" * LONGEST_FUNCTION)) == {"f": 91}
