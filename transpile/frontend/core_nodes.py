"""Core Python nodes: the fields and node classes that core Python adds to Python's ``ast``.

Core Python is a tree of ``ast`` nodes. Three things are added to it. `Origin` is a field of any
node that has a position: where the node was inlined from, and how NumPy evaluates the operation
that it is a part of. `ReplayIf` is a statement: the original code and the code that is compiled in
its place. `ListPush`, `ListPop`, `ComplexParts` and `ComplexNumber` are expressions that lowering
makes of operations on lists and complex numbers. `with_plain_nodes` turns all of them into Python.

Code that replaces a node must use `copy_location`, which copies the origin together with the
position; code that fills in positions must use `fix_missing_locations`.
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from loopir.lazy_dataclass import record, replace

from ..diagnostics import InlinedAt, Rejection
from .ast_walk import NodeTransformer, child_nodes, copy_tree, walk_nodes

__all__ = [
    "NUMPY_NAME", "CORE_NAME", "ComplexNumber", "ComplexParts", "ListPop", "ListPush", "Origin",
    "ReplayIf", "break_index", "copy_location", "copy_location_to_all", "fix_missing_locations",
    "inlined_at", "is_atomic", "is_early_return", "is_fold", "is_internal", "is_plain_break",
    "is_whole_table", "is_operation_part", "location_node", "mark_atomic", "mark_early_return",
    "mark_fold", "mark_internal", "mark_search", "mark_unassigned", "mark_whole_table",
    "mark_operation_part", "note_obstacle", "obstacle", "relocate", "search_end", "source_text",
    "unassigned", "with_plain_nodes",
]

_Tree = TypeVar("_Tree", bound=ast.AST)

NUMPY_NAME, CORE_NAME = "_np", "_core"
"""Names in core Python of NumPy and of `transpile.core_functions`; no name of the user's hides
them.
"""


@record(frozen=True, slots=True)
class Origin:
    """Where a node of core Python came from, and what the ``ast`` node itself cannot say of it."""

    inlined_at: InlinedAt | None = None
    """The helper's line that it was inlined from; None for code of the function itself."""
    operation_part: bool = False
    """Whether it is one of several operations that take the place of one operation of the source,
    such as the product in a loop for ``np.dot``. A warning must name that one, so whether and how
    Python warns, a replay shows (`StatusSource.certain`).
    """
    atomic: bool = False
    """Whether it is a loop that writes nothing if it raises, as NumPy's operations do."""
    fold: bool = False
    """Whether it is a reduction that NumPy evaluates in another order than the loop; with
    ``reassociate=False`` it is refused (`lower_function`).
    """
    search: bool | None = None
    """Of a search: once the only name that it carries, a bool, has this value, the loop ends. None:
    it is no search.
    """
    internal: bool = False
    """For a loop: whether it implements one operation of the source, such as the lookup of a key,
    so that reports do not speak of it.
    """
    obstacle: Rejection | None = None
    """A reason why the node cannot be compiled that a macro has noted, since lowering could not
    find it, such as that NumPy raises. A refusal of the node gives this reason (`refusal.refuse`).
    """
    whole_table: bool = False
    """Of the name of a dict or set that is a hash table: whether all its keys are used there at
    once (a loop, a sort, a return), in an order in which compiled code has them as Python does
    (`table_inference`).
    """
    early_return: bool = False
    """Of an ``if flag: return …`` at the end of a function: whether `structure_exits` has made it,
    so that the function has no other early returns.
    """
    unassigned: frozenset[str] = frozenset()
    """Of the ``return`` that ends an outlined region, and of the assignment that calls it: the
    results that the region may not have bound (`runtime.outline.unassigned_results`).
    """


_PLAIN = Origin()
_ORIGIN = "core_origin"
"""The attribute of an ``ast`` node that holds its Origin, if that is not `_PLAIN`."""


def _origin(node: ast.AST) -> Origin:
    """The origin of `node`."""
    origin: Origin = node.__dict__.get(_ORIGIN, _PLAIN)
    return origin


def _set_origin(node: ast.AST, origin: Origin) -> None:
    """Sets the origin of `node`; a plain one is not stored."""
    if origin is not _PLAIN:
        node.__dict__[_ORIGIN] = origin
    else:
        node.__dict__.pop(_ORIGIN, None)


def copy_location(new: _Tree, old: ast.AST) -> _Tree:
    """`new`, with the position and the origin of `old`: ``ast.copy_location``, and the origin."""
    if new._attributes and old._attributes:
        source, target = old.__dict__, new.__dict__
        if source.get("lineno") is not None:
            target["lineno"], target["col_offset"] = source["lineno"], source["col_offset"]
        target["end_lineno"] = source.get("end_lineno")
        target["end_col_offset"] = source.get("end_col_offset")
        _set_origin(new, source.get(_ORIGIN, _PLAIN))
    return new


def copy_location_to_all(nodes: Iterable[ast.AST], old: ast.AST) -> None:
    """As `copy_location` to each of `nodes`, which have no origin of their own."""
    if not old._attributes:
        return
    source = old.__dict__
    location: dict[str, object] = {k: source.get(k) for k in ("end_lineno", "end_col_offset")}
    if source.get("lineno") is not None:
        location |= {k: source[k] for k in ("lineno", "col_offset")}
    if (origin := source.get(_ORIGIN, _PLAIN)) is not _PLAIN:
        location[_ORIGIN] = origin
    for new in nodes:
        if new._attributes:
            new.__dict__.update(location)


def fix_missing_locations(tree: _Tree) -> _Tree:
    """`tree`, whose nodes without a position have that of the node around them, and its origin."""
    _inherit(tree, {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}, _PLAIN)
    return tree


def _inherit(node: ast.AST, outer: Mapping[str, int], origin: Origin) -> None:
    """Gives `node` the parts of a position that it lacks, from that of the node around it
    (`outer`), and `origin` if it lacked the end; then does the same for the nodes in `node`.
    """
    if node._attributes:
        own = node.__dict__
        if own.get("end_col_offset") is None:
            _set_origin(node, origin)
        else:
            origin = _origin(node)
        given = {k: v for k in _POSITION if (v := own.get(k)) is not None}
        if len(given) < len(_POSITION):
            own |= {k: v for k, v in outer.items() if k not in given}
            outer = {**outer, **given}
        else:
            outer = given
    for child in child_nodes(node):
        _inherit(child, outer, origin)


_POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def inlined_at(node: ast.AST) -> InlinedAt | None:
    """The helper's line that `node` was inlined from; None for code of the function itself."""
    return _origin(node).inlined_at


def note_obstacle(node: ast.AST, reason: Rejection) -> None:
    """Notes at `node` the `reason` why it cannot be compiled (`Origin.obstacle`). A macro calls
    this where it knows the reason but leaves the node as it is, since another macro may expand it::

        x.sum(axis=2)       # of a matrix: "there is no axis 2 in an array of 2 axes"

    If lowering then meets the node and refuses it, `refuse` raises with this reason in place of
    "is not compiled with these arguments" (`numpy/numpy_errors.py`).
    """
    _set_origin(node, replace(_origin(node), obstacle=reason))


def obstacle(node: ast.AST) -> Rejection | None:
    """The reason that a macro has noted for not compiling `node`; None if there is none."""
    return _origin(node).obstacle


def mark_operation_part(node: ast.AST) -> None:
    """Marks `node`, and nodes that copy its location from now on, as `Origin.operation_part`."""
    _set_origin(node, replace(_origin(node), operation_part=True))


def is_operation_part(node: ast.AST) -> bool:
    """Whether `node` is a part of one operation of the source (`Origin.operation_part`)."""
    return _origin(node).operation_part


def mark_atomic(node: ast.AST) -> None:
    """Marks loops that copy the location of `node` from now on as `Origin.atomic`."""
    _set_origin(node, replace(_origin(node), atomic=True))


def is_atomic(node: ast.AST) -> bool:
    """Whether the loop `node` writes nothing if it raises."""
    return _origin(node).atomic


def mark_fold(node: ast.AST) -> None:
    """Marks loops that copy the location of `node` from now on as `Origin.fold`."""
    _set_origin(node, replace(_origin(node), fold=True))


def is_fold(node: ast.AST) -> bool:
    """Whether NumPy evaluates the reduction `node` in another order than the loop (`Origin.fold`).
    """
    return _origin(node).fold


def mark_search(node: ast.AST, end: bool) -> None:
    """Marks loops that copy the location of `node` from now on as searches: they end once the only
    name that they carry, a bool, is `end`.
    """
    _set_origin(node, replace(_origin(node), search=end))


def search_end(node: ast.AST) -> bool | None:
    """The value of its only carried name, a bool, with which the loop `node` ends
    (`Origin.search`); None if `node` is no search.
    """
    return _origin(node).search


def mark_internal(node: ast.AST) -> None:
    """Marks the loop `node` as `Origin.internal`."""
    _set_origin(node, replace(_origin(node), internal=True))


def is_internal(node: ast.AST) -> bool:
    """Whether the loop `node` implements one operation of the source (`Origin.internal`)."""
    return _origin(node).internal


def mark_whole_table(name: ast.Name) -> None:
    """Marks the occurrence `name` of a dict or set as `Origin.whole_table`."""
    _set_origin(name, replace(_origin(name), whole_table=True))


def is_whole_table(name: ast.Name) -> bool:
    """Whether all keys of the dict or set `name` are used there at once (`Origin.whole_table`)."""
    return _origin(name).whole_table


def mark_early_return(test: ast.If) -> None:
    """Marks the ``if flag: return …`` as `Origin.early_return`."""
    _set_origin(test, replace(_origin(test), early_return=True))


def is_early_return(node: ast.AST) -> bool:
    """Whether `structure_exits` has made the ``if flag: return …`` (`Origin.early_return`)."""
    return _origin(node).early_return


def mark_unassigned(node: ast.Return | ast.Assign, names: frozenset[str]) -> None:
    """Marks the results `names` of a region as `Origin.unassigned`."""
    _set_origin(node, replace(_origin(node), unassigned=names))


def unassigned(node: ast.AST) -> frozenset[str]:
    """The results that a region may not have bound (`Origin.unassigned`)."""
    return _origin(node).unassigned


def location_node(e: ast.AST, at: ast.AST) -> ast.AST:
    """A node for `copy_location` to copy from: at the position of `e`, or of `at` where `e` has
    none, as a macro has just made it; a part of an operation if `at` is one.
    """
    location = copy_location(ast.Pass(), e if hasattr(e, "lineno") else at)
    if is_operation_part(at):
        mark_operation_part(location)
    return location


def relocate(node: ast.AST, at: ast.AST, line: InlinedAt) -> None:
    """Gives `node`, which is inlined for the call `at`, the position of that call, and `line` as
    the line that it was inlined from. It keeps its own marks, such as `Origin.fold`, and gets those
    of the call; an `Origin.obstacle` is dropped.
    """
    own = _origin(node)
    copy_location(node, at)
    if "end_col_offset" in node._attributes:
        call = _origin(at)
        _set_origin(node, Origin(
            line, own.operation_part or call.operation_part, own.atomic or call.atomic,
            own.fold or call.fold, call.search if own.search is None else own.search,
            own.internal or call.internal, whole_table=own.whole_table,
        ))


class ReplayIf(ast.If):
    """A guard whose branch replays: ``body`` is the original code, ``orelse`` what is compiled.

    Lowering turns ``test`` into a guard of the kernel and compiles ``orelse`` alone; where the
    guard fails, the whole call runs as Python again (`runtime.kernel_call.python_wrapper`). So
    ``body`` is never compiled, and no macro rewrites it. The macros make it by
    `frontend.macros.replay_guards.guarded`. As Python, it means what the ``if`` does.
    """


class _AddedExpr(ast.expr):
    """An expression whose fields are given by position, in the order of ``_fields``."""

    def __init__(self, *fields: Any) -> None:
        ast.AST.__init__(self, *fields)


class ListPush(_AddedExpr):
    """Appends items to a list that is a buffer and a count; its value is the new count. All items
    are evaluated before the first one is stored. In Python, of one item:
    ``(buffer.insert(count, item), …, count + 1)[-1]``.
    """

    _fields = __match_args__ = ("buffers", "count", "items")
    buffers: list[ast.Name]
    """One buffer; for a list of tuples, one for each item of a tuple."""
    count: ast.Name
    """The number of items so far."""
    items: list[ast.expr]
    """The value for each buffer; of several items of the list, first those of the first one."""


class ListPop(_AddedExpr):
    """The count of a list without its last item: ``count - 1``."""

    _fields = __match_args__ = ("count",)
    count: ast.Name


class ComplexParts(_AddedExpr):
    """The two parts of a complex number, to be assigned to two names: ``(value.real, value.imag)``.
    """

    _fields = __match_args__ = ("value", "python")
    value: ast.expr
    """The complex number."""
    python: bool
    """Whether the names hold Python numbers, and not NumPy's."""


class ComplexNumber(_AddedExpr):
    """The complex number that was split into two names: ``complex(re, im)``."""

    _fields = __match_args__ = ("re", "im", "name")
    re: ast.Name
    im: ast.Name
    name: str
    """Its name in the source."""


_SHOWN = "Python's to answer"
"""The string that marks the branch of a `ReplayIf` in printed Python: that branch is replayed."""

_ADDED = ReplayIf, _AddedExpr
"""The node classes that core Python adds to those of ``ast``."""


def _plus(e: ast.expr, k: int) -> ast.expr:
    """``e + k``"""
    return ast.BinOp(e, ast.Add(), ast.Constant(k)) if k else e


class _PlainNodes(NodeTransformer):
    """Replaces each added node by Python that means the same."""

    def visit_ReplayIf(self, node: ReplayIf) -> ast.If:
        self.generic_visit(node)
        original = [s for s in node.body if not isinstance(s, ast.Pass)]
        body = [ast.Expr(ast.Constant(_SHOWN)), *original]
        return copy_location(ast.If(node.test, body, node.orelse), node)

    def visit_ListPush(self, node: ListPush) -> ast.expr:
        self.generic_visit(node)
        pushed = len(node.items) // len(node.buffers)
        parts: list[ast.expr] = [
            ast.Call(ast.Attribute(buffer, "insert", ast.Load()), [_plus(node.count, k), item], [])
            for (k, buffer), item in zip(
                itertools.product(range(pushed), node.buffers), node.items, strict=True
            )
        ]
        more = _plus(node.count, pushed)
        last = ast.UnaryOp(ast.USub(), ast.Constant(1))
        plain = ast.Subscript(ast.Tuple([*parts, more], ast.Load()), last, ast.Load())
        return copy_location(plain, node)

    def visit_ListPop(self, node: ListPop) -> ast.expr:
        return copy_location(ast.BinOp(node.count, ast.Sub(), ast.Constant(1)), node)

    def visit_ComplexParts(self, node: ComplexParts) -> ast.expr:
        self.generic_visit(node)
        parts: list[ast.expr] = [
            ast.Attribute(node.value, part, ast.Load()) for part in ("real", "imag")
        ]
        return copy_location(ast.Tuple(parts, ast.Load()), node)

    def visit_ComplexNumber(self, node: ComplexNumber) -> ast.expr:
        function = ast.Name("complex", ast.Load())
        return copy_location(ast.Call(function, [node.re, node.im], []), node)


class _NodesOfSource(_PlainNodes):
    """Replaces split numbers, and tuples that stand for their names, by what was in the source."""

    def visit_Tuple(self, node: ast.Tuple) -> ast.expr:
        """``(t[0], t[1])``, which `tuple_replacement` has put in the place of ``t``, is ``t``: its
        items have that place, too, which those of a tuple in the source have not.
        """
        names = [n for n in walk_nodes(*node.elts) if isinstance(n, ast.Name)]
        place = _place_of(node)
        if names and place is not None and all(_place_of(n) == place for n in names):
            item: ast.expr = node
            levels = 0
            while isinstance(item, ast.Tuple) and item.elts:
                item, levels = item.elts[0], levels + 1
            while isinstance(item, ast.Subscript) and levels:
                item, levels = item.value, levels - 1
            if not levels:
                return item
        self.generic_visit(node)
        return node

    def visit_ComplexParts(self, node: ComplexParts) -> ast.expr:
        value: ast.expr = self.visit(node.value)
        return value

    def visit_ComplexNumber(self, node: ComplexNumber) -> ast.expr:
        return copy_location(ast.Name(node.name, ast.Load()), node)


def _place_of(node: ast.expr) -> tuple[object, ...] | None:
    """Where a node begins and ends; None for one that was made without a place."""
    place = tuple(getattr(node, name, None) for name in _POSITION)
    return None if None in place else place


def with_plain_nodes(tree: _Tree) -> _Tree:
    """`tree` as plain Python, to be printed or run: without the classes of this module. The branch
    of a `ReplayIf` that is replayed begins with a string that says so (`_SHOWN`).
    """
    return _replaced(tree, _PlainNodes)


def source_text(node: ast.AST) -> str:
    """`node` as Python, for a message: split numbers and tuples have their names in the source."""
    return ast.unparse(_NodesOfSource().visit(copy_tree(node)))


def _replaced(tree: _Tree, transformer: type[_PlainNodes]) -> _Tree:
    """A copy of `tree` with the added nodes replaced; `tree` itself if it has none."""
    if not any(isinstance(n, _ADDED) for n in walk_nodes(tree)):
        return tree
    plain: _Tree = transformer().visit(copy_tree(tree))
    return fix_missing_locations(plain)


def is_plain_break(s: ast.stmt) -> bool:
    """Whether `s` is ``if …: break`` without ``else``, the only exit of a loop in core Python:
    `structure_exits` leaves one in a loop at most, at the top level of its body.

    The ``break`` is the first statement of the branch; what follows in the branch never runs.
    """
    return isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Break)


def break_index(body: Sequence[ast.stmt]) -> int | None:
    """The index in the body of a loop of the statement that leaves it early, ``if …: break``; None
    if the loop has no such exit. Core Python has at most one in a loop, at the top level of the
    body: `structure_exits` has made flags of all others.

        for v in x:
            t = v * 2.0
            if t > 9.0: break        →    1
            s += t

    Lowering splits the body there: what follows runs only if the loop goes on
    (`loop_exits.lower_iteration`).
    """
    return next((k for k, s in enumerate(body) if is_plain_break(s)), None)
