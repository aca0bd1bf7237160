"""Type stub of a built package: the source's functions and classes, with the signatures built.

For functions the annotations of the source stand, if it has any; else the types of the signatures,
each of several as an overload.
"""
from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from ..types.value_types import ArgType, ArrayType, ListType, ScalarType
from .kernel_units import KernelUnit
from .runtime_files import PROJECT, is_for_type_checkers

__all__ = ["type_stub"]

_NUMPY = {
    "f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32",
    "i16": "int16", "i8": "int8", "u64": "uint64", "u32": "uint32", "u16": "uint16", "u8": "uint8",
    "bool": "bool_", "c64": "complex64", "c128": "complex128",
}
_PYTHON = {"f64": "float", "i64": "int", "bool": "bool", "c128": "complex"}


_KEPT = frozenset({
    "abstractmethod", "cached_property", "classmethod", "dataclass", "deleter", "final", "getter",
    "overload", "property", "setter", "staticmethod", "total_ordering",
})
"""The decorators, by their last names, that tell type checkers something."""

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_Signatures: TypeAlias = Mapping[tuple[str, int], Sequence[tuple[ArgType, ...]]]


def type_stub(source: bytes, units: Sequence[KernelUnit]) -> str:
    """The text of the stub for a module with this source."""
    signatures: defaultdict[tuple[str, int], list[tuple[ArgType, ...]]] = defaultdict(list)
    for unit in units:
        place = unit.function.__qualname__, unit.function.__code__.co_firstlineno
        signatures[place].append(unit.types)
    stub = _Stub(ast.parse(source), signatures)
    lines = [
        "from typing import Any, overload", "", "import numpy as np",
        "from numpy.typing import NDArray", "", *stub.lines(stub.tree.body),
        "def __getattr__(name: str) -> Any: ...",
    ]
    return "\n".join(lines) + "\n"


class _Stub:
    """Makes the lines of a stub. Annotations stand if all names in them are defined in it: by
    imports, classes, and assignments whose names occur in annotations and bases.
    """

    def __init__(self, tree: ast.Module, signatures: _Signatures) -> None:
        self.tree = tree
        self.signatures = signatures
        self.known = {*vars(builtins), "Any", "NDArray", "np", "overload"}
        self.known |= {alias.asname or alias.name.partition(".")[0] for alias in _aliases(tree)}
        self.known |= {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
        parts = [
            part for node in ast.walk(tree) for field in ("annotation", "returns", "bases")
            for part in _as_list(getattr(node, field, None))
        ]
        self.aliases = {name for part in parts for name in _names(part)}
        self.known |= {name for node in tree.body for name in _assigned(node) & self.aliases}

    def lines(self, body: Sequence[ast.stmt], owner: str = "") -> Iterator[str]:
        """The lines for the statements of the module, or of the class `owner`."""
        last = {node.name: node for node in body if isinstance(node, _Function)}
        for node in body:
            match node:
                case ast.Import() | ast.ImportFrom() if not _is_left_out(node):
                    yield ast.unparse(node)
                case ast.If() if is_for_type_checkers(node):
                    yield from self.lines(node.body)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    if last[name] is node or self._decorators(node):
                        yield from self._function(node, owner)
                case ast.ClassDef():
                    yield from self._class(node, owner)
                case ast.AnnAssign(target=ast.Name(id=name)):
                    default = " = ..." if node.value and owner else ""
                    yield f"{name}: {self._annotation(node.annotation)}{default}"
                case ast.Assign() if _assigned(node) & self.aliases or (owner and _assigned(node)):
                    yield ast.unparse(node)

    def _class(self, node: ast.ClassDef, owner: str) -> Iterator[str]:
        """The lines of a class; its objects may have attributes that the stub does not have."""
        bases = [*map(ast.unparse, node.bases)] if self._are_known(node.bases) else ["Any"]
        bases += map(ast.unparse, node.keywords)
        yield from self._decorators(node)
        yield f"class {node.name}{'(' + ', '.join(bases) + ')' if bases else ''}:"
        for line in self.lines(node.body, f"{owner}{node.name}."):
            yield f"    {line}"
        yield "    def __getattr__(self, name: str) -> Any: ..."

    def _function(self, node: _Function, owner: str) -> Iterator[str]:
        """The lines of a function, with its signatures if it has no annotations."""
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        is_annotated = node.returns or any(a.annotation for a in arguments)
        signatures = [] if is_annotated else self.signatures.get((owner + node.name, first), [])
        distinct = [*dict.fromkeys(tuple(map(_type, types)) for types in signatures)] or [()]
        decorators = self._decorators(node)
        is_method = bool(owner) and "@staticmethod" not in decorators
        for types in distinct:
            yield from ["@overload"] if len(distinct) > 1 else []
            yield from decorators
            text = self._arguments(node, types, is_method=is_method)
            word = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
            yield f"{word} {node.name}({text}) -> {self._annotation(node.returns)}: ..."

    def _arguments(self, node: _Function, types: Sequence[str], *, is_method: bool) -> str:
        """The parameters of a function, with these types if it has no annotations."""
        copy = ast.parse(ast.unparse(node.args).join(("def f(", "): ...")))
        function = copy.body[0]
        assert isinstance(function, ast.FunctionDef)
        args = function.args
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        rest = [a for a in (args.vararg, args.kwarg) if a is not None]
        for k, argument in enumerate([*named, *rest]):
            if k == 0 and is_method and named:
                argument.annotation = None
                continue
            text = types[k] if k < len(types) else self._annotation(argument.annotation)
            argument.annotation = ast.parse(text, mode="eval").body
        args.defaults = [ast.Constant(...) for _ in args.defaults]
        args.kw_defaults = [d and ast.Constant(...) for d in args.kw_defaults]
        return ast.unparse(args)

    def _decorators(self, node: _Function | ast.ClassDef) -> list[str]:
        """The lines of the decorators in `_KEPT`."""
        texts = map(ast.unparse, node.decorator_list)
        return [f"@{t}" for t in texts if t.partition("(")[0].rpartition(".")[2] in _KEPT]

    def _annotation(self, node: ast.expr | None) -> str:
        """The text of an annotation; ``Any`` if there is none, or not all of its names are known.
        """
        return ast.unparse(node) if node and self._are_known([node]) else "Any"

    def _are_known(self, nodes: Sequence[ast.expr]) -> bool:
        """Whether type checkers find all names in `nodes`."""
        return all(name in self.known for node in nodes for name in _names(node))


def _as_list(value: object) -> list[ast.expr]:
    """A field of a node, as a list."""
    return value if isinstance(value, list) else [value] if isinstance(value, ast.expr) else []


def _names(node: ast.expr) -> set[str]:
    """The names in an annotation, which may be a string; what is no Python has an unknown one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        try:
            return _names(ast.parse(node.value, mode="eval").body)
        except SyntaxError:
            return {node.value}
    return {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}


def _assigned(node: ast.stmt) -> set[str]:
    """The name that an assignment binds."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
    return set()


def _aliases(tree: ast.Module) -> Iterator[ast.alias]:
    """The imported names that are in the stub."""
    for node in tree.body:
        inner = node.body if isinstance(node, ast.If) and is_for_type_checkers(node) else [node]
        for statement in inner:
            if isinstance(statement, ast.Import | ast.ImportFrom) and not _is_left_out(statement):
                yield from statement.names


def _is_left_out(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import is of modules that users of the package may not have, or of the future."""
    modules = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        modules = [node.module or ""]
    return any(m.partition(".")[0] in (*PROJECT, "__future__") for m in modules)


def _type(ty: ArgType) -> str:
    """The annotation for a type."""
    match ty:
        case ArrayType(dtype=dtype):
            return f"NDArray[np.{_NUMPY[dtype]}]" if dtype in _NUMPY else "NDArray[Any]"
        case ScalarType(dtype=dtype, weak=True):
            return _PYTHON.get(dtype, "Any")
        case ScalarType(dtype=dtype):
            return f"np.{_NUMPY[dtype]}" if dtype in _NUMPY else "Any"
        case ListType():
            return "list[Any]"
    return "Any"
