"""The layers hold: imports point down, Python trees stay in `transpile`, functions are short.

Proven from the source, by ``ast``; nothing is imported.
"""
from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from paths import ROOT

FLOORS = {"loopir": 0, "targets": 1, "transpile": 3}
FILES = sorted(path for floor in FLOORS for path in (ROOT / floor).rglob("*.py"))
READS_PYTHON = re.compile(r"loopir/ir_(parser|printer)\.py")
"""Loop IR text has Python's syntax, so ``ast`` is its lexer and grammar."""

LONGEST = 90

each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and top-level name of every absolute import, also those inside functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.split(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module.split(".")[0]


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


def declared() -> set[str]:
    """The modules of the distributions that pyproject.toml lets the packages depend on."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:dependencies|zig) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return {"_cffi_backend", *re.findall(r'"([A-Za-z]\w*)', " ".join(lists))}


def test_there_are_floors() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(FLOORS)


@pytest.mark.parametrize(
    ("below", "above"), [("algebra", "analysis"), ("algebra", "passes"), ("analysis", "passes")]
)
def test_passes_stand_on_analyses_and_these_on_algebra(below: str, above: str) -> None:
    for path in (ROOT / "loopir" / below).glob("*.py"):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom):
                assert above not in (node.module or "").split("."), f"{path.name}:{node.lineno}"


@each_file
def test_imports_point_down(path: Path) -> None:
    floor = FLOORS[path.relative_to(ROOT).parts[0]]
    up = [(line, name) for line, name in imports(tree_of(path)) if FLOORS.get(name, 0) > floor]
    assert up == []


@each_file
def test_imports_are_declared(path: Path) -> None:
    known = declared() | set(FLOORS) | sys.stdlib_module_names
    assert [(line, name) for line, name in imports(tree_of(path)) if name not in known] == []


@each_file
def test_python_trees_stay_upstairs(path: Path) -> None:
    where = path.relative_to(ROOT)
    if where.parts[0] == "transpile" or READS_PYTHON.fullmatch(where.as_posix()):
        return
    assert "ast" not in {name for _, name in imports(tree_of(path))}


@each_file
def test_functions_are_short(path: Path) -> None:
    sizes = {f.name: (f.end_lineno or f.lineno) - f.lineno + 1 for f in functions(tree_of(path))}
    assert {name: size for name, size in sizes.items() if size > LONGEST} == {}


@each_file
def test_the_first_line_says_the_idea(path: Path) -> None:
    tree = tree_of(path)
    assert not tree.body or (ast.get_docstring(tree) or "").splitlines()[0].strip()


@each_file
def test_names_for_others_are_listed(path: Path) -> None:
    """Functions and classes are in ``__all__``, or have an underscore."""
    tree = tree_of(path)
    assigned = {
        target.id
        for node in tree.body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    }
    defined = {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    assert "__all__" in assigned or not defined
    lists = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    listed = {name for names in lists for name in names}
    assert {name for name in defined - listed if not name.startswith("_")} == set()


def test_loop_ir_needs_numpy_only() -> None:
    known = {"numpy", "loopir", *sys.stdlib_module_names}
    for path in (ROOT / "loopir").rglob("*.py"):
        assert {name for _, name in imports(tree_of(path))} <= known, path


def test_the_checks_see_a_fault() -> None:
    text = "def f():\n    import transpile\n    from targets.isa import x\n    from . import y"
    assert list(imports(ast.parse(text))) == [(2, "transpile"), (3, "targets")]
    assert {"numpy", "cffi", "astor", "rich"} <= declared()
