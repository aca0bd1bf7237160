"""Imports point down: between the packages, between the layers inside each, and in no cycle.

Proved from the source by ``ast``; only what tests import of ours is imported. Counted are imports
at the top of a module, inside functions, and under TYPE_CHECKING.
"""
from __future__ import annotations

import ast
import functools
import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from for_each import for_each
from paths import ROOT, TESTS
from source_trees import PACKAGES, SOURCES, statements_of, tree_of

LAYERS = """
loopir.process
loopir.lazy_dataclass
loopir.dtypes
loopir.op_semantics  loopir.status_bits
loopir.op_table
loopir.nodes
loopir.rejection  loopir.machine_model
loopir.ir_traversal
loopir.ir_names
loopir.ir_parser
loopir.ir_printer
loopir.ir_interpreter
loopir.statement_blocks
loopir.algebra
loopir.analysis.integers
loopir.analysis
loopir.analysis.decomposition
loopir.ir_verifier
loopir.passes.loop_splitting  loopir.passes.pass_conditions
loopir.passes.canonical
loopir.passes.vector
loopir.passes.reduce
loopir.passes.memory
loopir.passes.scalar
loopir.passes.loops
loopir.passes.parallel
loopir.passes.checks
loopir.passes.pass_list  loopir.passes.nest_plans  loopir.passes.__init__
loopir.passes.version_small_calls
loopir.fusion
loopir.__init__

targets.file_kinds  targets.isa  targets.region_costs
targets.legalization
targets.c.headers
targets.c  targets.mlir
targets.c.parallel
targets.c.c_regions
targets.c.c_statements
targets.c.emit_c
targets.c.__init__
targets.handwritten_kernels  targets.op_support
targets.kernel_selection
targets.build
targets.abi
targets.__init__

transpile.codes
transpile.ops  transpile.core_functions  transpile.knobs  transpile.diagnostics
transpile.thread_limits
transpile.options
transpile.numpy.__init__  transpile.containers.__init__
transpile.numpy.function_row
transpile.numpy.function_table  transpile.containers.method_table
transpile.frontend
transpile.host_nodes
transpile.frontend.fold_branches
transpile.types
transpile.random_numbers  transpile.result_spec  transpile.errors
transpile.call_plan
transpile.analysis
transpile.analysis.type_inference
transpile.frontend.specialize
transpile.frontend.macros
transpile.frontend.language
transpile.frontend.iterators
transpile.numpy
transpile.numpy.elementwise
transpile.numpy.reduce  transpile.numpy.creation
transpile.numpy.functions
transpile.containers
transpile.containers.tables
transpile.numpy.indexing
transpile.frontend.macros.macro_table
transpile.expand
transpile.frontend.inline
transpile.lower.*
transpile.pipeline
transpile.region_trace
transpile.trace
transpile.report
transpile.runtime.outline  transpile.runtime.process  transpile.runtime.kernel_call
transpile.runtime.call_selection
transpile.runtime.compiled_variant  transpile.runtime.installed_call
transpile.runtime.refused
transpile.runtime.cache
transpile.chunks
transpile.ufuncs.__init__
transpile.ufuncs.number_types
transpile.ufuncs.generalized_ufunc
transpile.runtime
transpile.ufuncs
transpile.ahead
transpile.cli.input_files
transpile.cli.static
transpile.cli
transpile.build_hooks
transpile.__init__  transpile.__main__
"""
"""Modules and folders, the lowest first; what stands on one line does not import one another.

A folder is its modules and its ``__init__``, without the folders in it; ``folder.*`` is with them.
"""

REQUIREMENTS = {"loopir": {"numpy"}}
"""What a package may import besides Python's own library and the packages below it, where that is
less than `pyproject.toml` declares."""

EXTRAS = {"transpile.chunks": {"dask"}, "transpile.ufuncs": {"dask"}}
"""What the modules of a folder may import besides: libraries of `pyproject.toml`'s extras, inside
functions that are called with their objects."""

PARSERS = re.compile(r"loopir/ir_(parser|printer)\.py")
"""Loop IR text has Python's syntax, so ``ast`` is its lexer and grammar."""


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(p): p for p in SOURCES}


def imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of whatever is imported in a module of ``package``, also in functions.

    Of ``from a import b`` the name is ``a.b``.
    """
    for node in statements_of(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=module, level=level, names=names):
                parts = package.split(".")
                around = parts[: len(parts) - level + 1] if level else []
                start = ".".join([*around, *([module] if module else [])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in names)


def lazily_imported(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Line and full name of each ``lazy_function(__package__, "module:name")``, and of each
    ``lazy_macro("module:name", …)``.
    """
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("lazy_function"), args=[start, ast.Constant(str(path))]):
                start = ast.literal_eval(start) if isinstance(start, ast.Constant) else package
            case ast.Call(func=ast.Name("lazy_macro"), args=[ast.Constant(str(path)), *_]):
                start = "transpile"
            case _:
                continue
        module, _, name = path.partition(":")
        yield node.lineno, f"{start}.{module}.{name or module.rpartition('.')[2]}"


@functools.cache
def imports_of(name: str) -> list[tuple[int, str]]:
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found = [*imported(tree_of(path), package)]
    if "lazy_function(" in path.read_text(encoding="utf-8"):
        found += lazily_imported(tree_of(path), package)
    return found


def as_module(name: str) -> str | None:
    """The module of ours that ``name`` is, or is a name of; None of others."""
    while name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name or None


def exists(name: str) -> bool:
    """Whether a full name is a module or a folder, or a module has it at its top level."""
    module, _, last = name.rpartition(".")
    if name in MODULES or (ROOT / name.replace(".", "/")).is_dir():
        return True
    return hasattr(importlib.import_module(module), last)


def edges_of(name: str) -> dict[str, int]:
    """The modules of ours that a module imports, each with a line.

    With them run the ``__init__`` of the folders around them, if they do not run already.
    """
    found: dict[str, int] = {}
    for line, target in imports_of(name):
        module = as_module(target)
        while module and not f"{name}.".startswith(f"{module}."):
            found.setdefault(module, line)
            module = as_module(module.rpartition(".")[0])
    return found


@functools.cache
def graph() -> dict[str, dict[str, int]]:
    """The edges of every module."""
    return {name: edges_of(name) for name in MODULES}


def cycles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The strongly connected components with more than one node (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(v: str) -> None:
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w)
            if w in stack:
                low[v] = min(low[v], low[w])
        if low[v] == index[v]:
            part = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(part) > 1:
                found.append(sorted(part))

    for v in graph:
        if v not in index:
            visit(v)
    return found


def layers(text: str) -> dict[str, int]:
    return {name: k for k, line in enumerate(text.split("\n")) for name in line.split()}


def entry_of(name: str, order: Mapping[str, int]) -> str | None:
    """The entry of the list that has a module: its own, or its folder's; None where none has."""
    own = f"{name}.__init__" if MODULES[name].name == "__init__.py" else name
    folder = own.rpartition(".")[0]
    parts = folder.split(".")
    around = [f"{'.'.join(parts[:k])}.*" for k in range(len(parts), 0, -1)]
    return next((entry for entry in (own, folder, *around) if entry in order), None)


ORDER = layers(LAYERS)


def declared() -> set[str]:
    """The modules of the distributions that pyproject.toml lets the packages depend on."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:dependencies|zig|build) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    return {"_cffi_backend", *re.findall(r'"([A-Za-z]\w*)', " ".join(lists))}


each_module = for_each(sorted(MODULES))


def test_there_are_no_cycles() -> None:
    assert cycles(graph()) == []


def test_layers_are_what_there_is() -> None:
    """Each line of the list names a module or a folder that exists, and each once."""
    names = LAYERS.split()
    folders = {name.rpartition(".")[0] for name in MODULES} | {
        name for name, path in MODULES.items() if path.name == "__init__.py"
    }
    known = {*MODULES, *folders, *(f"{f}.{end}" for f in folders for end in ("__init__", "*"))}
    assert sorted(set(names)) == sorted(names)
    assert [name for name in names if name not in known] == []


@for_each(sorted(TESTS.rglob("*.py")), name=lambda path: str(path.relative_to(TESTS)))
def test_what_tests_import_of_ours_exists(path: Path) -> None:
    """Tools and benchmarks, too, which no test may run: a name that was renamed is found here."""
    if "reject" in path.parts:
        return  # programs that Python refuses
    targets = [name for _, name in imported(ast.parse(path.read_text(encoding="utf-8")), "")]
    ours = [name for name in targets if name.partition(".")[0] in PACKAGES]
    assert [name for name in ours if not exists(name)] == []


def test_lazy_functions_exist() -> None:
    """A row may name a function that no test calls."""
    found = [
        target
        for name in MODULES
        if any(t.endswith("lazy_function.lazy_function") for _, t in imports_of(name))
        for _, target in lazily_imported(tree_of(MODULES[name]), name.rpartition(".")[0])
    ]
    assert len(found) > 50
    assert [target for target in found if not exists(target)] == []


@each_module
def test_imports_point_to_lower_layers(name: str) -> None:
    own = entry_of(name, ORDER)
    assert own is not None, f"{name} stands in no layer: add it, or its folder, to LAYERS"
    up = []
    for target, line in graph()[name].items():
        entry = entry_of(target, ORDER)
        if entry is None or (entry != own and ORDER[entry] >= ORDER[own]):
            up.append(f"line {line}: {target}")
    assert up == []


def test_folders_around_folders_import_nothing_of_theirs() -> None:
    """An import that fails in the middle (no memory, Ctrl-C) may leave the folder ``a.b`` imported,
    and ``a`` not. The next import, of ``a.b.c``, runs ``a`` only where ``c`` asks for another part
    of it; if ``a`` then needs ``a.b.c``, which is not ready yet, each later import fails as well.
    The runtime and the command are imported before anything of theirs.
    """
    wrong = []
    for name, path in MODULES.items():
        is_outer = any(m.startswith(f"{name}.") and p.name == "__init__.py"
                       for m, p in MODULES.items())
        if path.name == "__init__.py" and is_outer:
            body = ast.parse(path.read_text(encoding="utf-8")).body
            at_top = ast.Module([s for s in body if isinstance(s, (ast.Import, ast.ImportFrom))])
            own = [t for _, t in imported(at_top, name) if t.startswith(f"{name}.")]
            wrong += [name] if own else []
    assert sorted(wrong) == ["transpile.cli", "transpile.runtime"]


def test_modules_imported_by_name_are_few() -> None:
    """``import_module`` escapes the graph: rows of a table name the module of their rule, which is
    imported on first use; the others import modules of the user, of NumPy and of cffi, those that a
    file imports, or are `transpile` itself.
    """
    found = {
        name
        for name, path in MODULES.items()
        if re.search(r"\bimport_module\(|__import__\(", path.read_text(encoding="utf-8"))
    }
    assert found == {
        "loopir.process.lazy_function", "transpile", "transpile.random_numbers",
        "transpile.numpy.function_table", "transpile.containers.method_table",
        "transpile.runtime.cache.disk_cache", "transpile.runtime.cache.function_pickling",
        "transpile.cli.static.find_modules", "transpile.ahead.built_functions",
        "targets.abi.object_layout", "targets.build.shared_library",
    }


@each_module
def test_imports_are_declared(name: str) -> None:
    package = name.split(".")[0]
    below = PACKAGES[: PACKAGES.index(package) + 1]
    known = {*REQUIREMENTS.get(package, declared()), *below, *sys.stdlib_module_names}
    known |= EXTRAS.get(name.rpartition(".")[0], set())
    tops = ((line, target.split(".")[0]) for line, target in imports_of(name))
    assert [(line, top) for line, top in tops if top not in known] == []


@each_module
def test_python_trees_stay_in_the_front_end(name: str) -> None:
    """Only `transpile` knows Python's ``ast``, and the text form of Loop IR."""
    where = MODULES[name].relative_to(ROOT).as_posix()
    if not where.startswith("transpile/") and not PARSERS.fullmatch(where):
        assert "ast" not in {target.split(".")[0] for _, target in imports_of(name)}


def test_the_checks_see_a_fault() -> None:
    text = (
        "def f():\n    import transpile\n    from targets.isa import x\n"
        "from . import y\nfrom ..b import z"
    )
    assert list(imported(ast.parse(text), "a.c")) == [
        (4, "a.c.y"), (5, "a.b.z"), (2, "transpile"), (3, "targets.isa.x"),
    ]
    assert cycles({"a": "b", "b": "c", "c": "ab", "d": "a", "e": "e"}) == [["a", "b", "c"]]
    assert layers("a  b\nc") == {"a": 0, "b": 0, "c": 1}
    assert as_module("loopir.nodes.Kernel") == "loopir.nodes"
    assert as_module("numpy.random") is None
    assert {"numpy", "cffi", "astor", "rich"} <= declared()
