"""Branch folding: evaluates tests of constants, and removes the branches that cannot be taken.

`fold_branches` propagates constants forward (constant arguments of an inlined call, values that the
signature fixes, items of a loop over constants that `unrolled_loop` unrolls).
`drop_excluded_branches` removes branches that contradict a comparison which an ``if`` around the
call has made. All run on bodies before they are expanded, so that code for other cases, which often
has other types, never reaches the compiler.
"""
from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from loopir.lazy_dataclass import record
from loopir.process.signal_exceptions import failures

from ..host_nodes import HostExpr, HostName, from_ast
from .ast_names import bound_names
from .ast_walk import NodeTransformer, child_blocks, child_nodes, copy_tree, walk_nodes
from .core_nodes import copy_location, fix_missing_locations

__all__ = [
    "fold_branches", "constant_bindings", "constant_of", "display_of_range", "literal_source",
    "rank_key", "LessThan", "renamed_fact", "less_than", "drop_excluded_branches", "unrolled_loop",
    "with_displays", "yields_surely",
]

Constants = dict[str, object]
"""Values by name; the rank of an array ``x`` is under `rank_key`, ``x.ndim``. The value of
a name of a function is no constant of Python's, but the function or its definition: it is true, and
not None.
"""

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not,
}
_INTEGER: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}
_INT_LIMIT = 1 << 62
"""Ints of this magnitude or more are not folded."""


class _NotConstant(Exception):
    """Raised for an expression that does not fold to a constant."""


def constant_of(e: ast.expr, constants: Constants) -> ast.Constant | None:
    """`e` folded to a constant, with the names in `constants` replaced by their values. None unless
    the result is None, a string, a bool or an int whose magnitude is below `_INT_LIMIT`.
    """
    try:
        value = _evaluate(e, constants)
    except failures(_NotConstant, TypeError, ZeroDivisionError):
        return None
    return copy_location(ast.Constant(value), e) if _is_foldable(value) else None


def _truth(test: ast.expr, constants: Constants) -> bool | None:
    """Whether `test` holds: of constants as `constant_of` finds them, and of names of functions."""
    if isinstance(test, ast.Name) and test.id in constants:
        value = constants[test.id]
        if not isinstance(value, (int, float, complex, str, bytes, tuple, type(None))):
            return True
    constant = constant_of(test, constants)
    return None if constant is None else bool(constant.value)


def rank_key(name: str) -> str:
    """The key in `Constants` of the rank of the array `name`."""
    return f"{name}.ndim"


def literal_source(value: object) -> ast.expr:
    """The expression that Python's parser makes for `value`: a negative number is ``-`` and a
    constant.
    """
    if isinstance(value, (int, float)) and (value < 0 or math.copysign(1, value) < 0):
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)  # type: ignore[arg-type]  # of the kinds that have one


def _is_foldable(value: object) -> bool:
    """Whether a literal takes the place of an expression with this value (`constant_of`)."""
    small = type(value) is int and abs(value) < _INT_LIMIT
    return small or value is None or type(value) in (bool, str)


def _evaluate(e: ast.expr, constants: Constants) -> Any:
    """The value of `e`. Evaluates ``not``, ``-``, arithmetic of ints, comparisons (also of tuples;
    ``is`` only with None), and ``and`` / ``or`` as far as Python would. Raises _NotConstant for all
    else, and what Python raises.
    """
    match e:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in constants:
            return constants[name]
        case ast.Attribute(attr="ndim", value=ast.Name(id=name)) if rank_key(name) in constants:
            return constants[rank_key(name)]
        case ast.Tuple(elts=items):
            return tuple(_evaluate(i, constants) for i in items)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _evaluate(operand, constants)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_evaluate(operand, constants)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _INTEGER:
            a, b = _evaluate(left, constants), _evaluate(right, constants)
            if type(a) is type(b) is int:
                return _INTEGER[type(op)](a, b)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
            a, b = _evaluate(left, constants), _evaluate(right, constants)
            if not isinstance(op, (ast.Is, ast.IsNot)) or a is None or b is None:
                return _COMPARE[type(op)](a, b)
        case ast.BoolOp(op=op, values=[first, *rest]):
            value = _evaluate(first, constants)
            undecided = bool(value) is isinstance(op, ast.And)
            if undecided and rest:
                return _evaluate(ast.BoolOp(op, rest), constants)
            return value
    raise _NotConstant


def fold_branches(block: Sequence[ast.stmt], constants: Constants) -> list[ast.stmt]:
    """`block` without the branches that cannot be taken if `constants` hold at its start (constant
    propagation, in one forward pass). For the body of an inlined call the constants are its
    arguments (`inline.callee_body`); for the whole function, what the signature fixes
    (`value_specialization`).

        if weight is None:
            weight = np.ones(3)
        s = x[0] if mode == "first" else x[-1]
        t = x.sum(axis=k - 1)
    → with weight = None, mode = "first", k = 1
        weight = np.ones(3)
        s = x[0]
        t = x.sum(axis=0)

    `constant_of` says what folds: tests and arithmetic of ints, bools, strings and None, not of
    floats, whose operations may warn. Outside of tests only ints and bools replace their names. A
    name is known from an assignment of a constant on. It is unknown after an assignment of another
    value, and in and after a loop that binds it (`_FoldBranches.statement`). One that `block`, or a
    function in it, declares global or nonlocal is never known: any call may bind it.
    """
    outer = {name for n in walk_nodes(*block) if isinstance(n, (ast.Global, ast.Nonlocal))
             for name in n.names}
    return _FoldBranches(constants, outer).block(block)


class _FoldBranches(NodeTransformer):
    """Constant propagation in one pass over the statements. ``constants`` has what is known before
    the statement at hand. ``outer``: names that are never known.
    """

    def __init__(self, constants: Constants, outer: Collection[str]) -> None:
        self.outer = outer
        self.constants = {n: v for n, v in constants.items() if n.partition(".")[0] not in outer}

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [out for s in statements for out in self.statement(s)]

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """`s` folded, changed in place; the statements of the branch that is taken for an ``if``
        whose test is constant. Updates ``constants`` to what is known after `s`.

        A loop forgets all names that it binds, before and after its body; so does a ``match``,
        whose cases are folded one by one. ``n += 1`` of a constant becomes ``n = 3``. Of other
        compound statements (``try``, ``with``, ``def``) nothing is folded, and the names that they
        bind are forgotten.
        """
        for e in child_nodes(s):
            if isinstance(e, ast.expr):
                self._forget(*(n.target for n in walk_nodes(e) if isinstance(n, ast.NamedExpr)))
        match s:
            case ast.If(test=test, body=body, orelse=orelse):
                s.test = self.visit(test)
                if (truth := _truth(s.test, self.constants)) is not None:
                    return self.block(body if truth else orelse)
                self._fold_both_branches(s)
            case ast.For() | ast.While():
                if isinstance(s, ast.For):
                    s.iter = self.visit(s.iter)
                self._forget(s)
                if isinstance(s, ast.While):
                    s.test = self.visit(s.test)
                s.body = self.block(s.body)
                self._forget(s)
                s.orelse = self.block(s.orelse)
                self._forget(s)
            case ast.Match(subject=subject, cases=cases):
                s.subject = self.visit(subject)
                self._forget(s)
                known = self.constants
                for case in cases:
                    self.constants = dict(known)
                    case.guard = self.visit(case.guard) if case.guard else None
                    case.body = self.block(case.body) or [copy_location(ast.Pass(), s)]
                self.constants = known
            case _ if any(child_blocks(s)):
                self._forget(s)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value) if (
                new := constant_of(ast.BinOp(ast.Name(name, ast.Load()), op, value), self.constants)
            ):
                return self.statement(copy_location(ast.Assign([target], new), s))
            case _:
                s = self.visit(s)
                self._forget(s)
                match s:
                    case ast.Assign(targets=[ast.Name(id=name)], value=value) if (
                        name not in self.outer and (constant := constant_of(value, {}))
                    ):
                        self.constants[name] = constant.value
        return [s]

    def _fold_both_branches(self, s: ast.If) -> None:
        """Folds both branches of `s`. Afterwards a name is constant if it has the same value, of
        the same type (1 is not True), at the end of both.
        """
        before = dict(self.constants)
        s.body = self.block(s.body) or [copy_location(ast.Pass(), s)]
        after_body, self.constants = self.constants, before
        s.orelse = self.block(s.orelse)
        after_else = {n: (type(v), v) for n, v in self.constants.items()}
        self.constants = {
            n: v for n, v in after_body.items() if after_else.get(n) == (type(v), v)
        }

    def _forget(self, *nodes: ast.AST) -> None:
        """Removes the names that `nodes` bind from the constants, and their ranks."""
        for name in bound_names(*nodes):
            self.constants.pop(name, None)
            self.constants.pop(rank_key(name), None)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._folded(node) if isinstance(node.ctx, ast.Load) else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self._folded(node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self._folded(node)

    def _folded(self, node: ast.expr) -> ast.expr:
        """A literal if `node` reads a known name and folds to an int or a bool; else `node`, with
        its operands folded.
        """
        known = self.constants.keys()
        reads_known = bool(known) and any(
            isinstance(n, ast.Name) and n.id in known for n in walk_nodes(node)
        )
        constant = constant_of(node, self.constants) if reads_known else None
        if constant is None or not isinstance(constant.value, int):
            return self.generic_visit(node)  # type: ignore[return-value]  # of an expression
        return copy_location(literal_source(constant.value), node)

    def _comprehension(self, node: Any) -> Any:
        """Folds `node`, in which its loop variables hide constants of the same names."""
        outer = self.constants
        hidden = bound_names(*(g.target for g in node.generators))
        self.constants = {n: v for n, v in outer.items() if n.partition(".")[0] not in hidden}
        node = self.generic_visit(node)
        self.constants = outer
        return node

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        truth = _truth(node.test, self.constants)
        return node if truth is None else node.body if truth else node.orelse

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node  # it may be called when its names have other values


# -- loops over constants

MAX_NODES = 350
"""The maximal number of nodes of the unrolled code, without contexts and operators."""

_LONGEST_DISPLAY = 32
"""How many items of a range `with_displays` makes a display of."""

_MOST_COMBINATIONS = 1000
"""Of how many combinations of constants `yields_surely` evaluates the conditions."""


def _constant_items(iterable: ast.expr) -> Sequence[ast.expr]:
    """The items of a tuple or list display of numbers, or of tuples of numbers; else none."""
    if isinstance(iterable, (ast.Tuple, ast.List)) and all(map(_is_number, iterable.elts)):
        return iterable.elts
    return ()


def constant_bindings(target: ast.expr, iterable: ast.expr) -> list[Constants]:
    """For each item of a display of constants (`_constant_items`), what is known of the names in
    `target` in that turn of a loop; empty for other iterables.
    """
    return [_bindings(target, item) for item in _constant_items(iterable)]


def _is_number(e: ast.expr) -> bool:
    """Whether `e` is a number, or a tuple of numbers."""
    match e:
        case ast.Constant(value=int() | float()) | ast.UnaryOp(ast.USub(), ast.Constant()):
            return True
        case ast.Tuple(elts=parts):
            return all(map(_is_number, parts))
    return False


def unrolled_loop(
    loop: ast.For, arrays: Sequence[ast.expr] = (), unknown: Collection[str] = ()
) -> list[ast.stmt] | None:
    """For each item of a `loop` over constants a copy of its body, after an assignment of the item
    to the loop variable. Where the body tests the variable, or passes it to a call, its constants
    are propagated into the copy, and branches that cannot be taken are left out (`fold_branches`).

        for d in (-1, 0):      →   d = -1
            if d:                  s = s + x[i + -1]
                s = s + x[i + d]   d = 0

    None for a loop that `_constants_of` excludes, and if the copies have more than `MAX_NODES`
    nodes. ``arrays``: names of arrays that it iterates over in place of constants. ``unknown``:
    names that any call may bind.
    """
    items = arrays or _constants_of(loop)
    nodes = len(arrays) * _size(loop) if arrays else _size(loop)  # `_size` unrolls constants itself
    if not items or nodes > MAX_NODES:
        return None
    out: list[ast.stmt] = []
    for item in items:
        out.append(copy_location(ast.Assign([copy_tree(loop.target)], copy_tree(item)), loop))
        body = [*map(copy_tree, loop.body)]
        known = {n: v for n, v in _bindings(loop.target, item).items() if n not in unknown}
        out += fold_branches(body, known) if _selects_by(known, body) else body
    return [fix_missing_locations(s) for s in out]


def _constants_of(loop: ast.For) -> Sequence[ast.expr]:
    """The constants that `loop` iterates over, if it has no ``else``, and its body only statements
    that can be copied (`_is_unrollable`); else none.
    """
    unrollable = not loop.orelse and all(map(_is_unrollable, loop.body))
    return _constant_items(loop.iter) if unrollable else ()


def _is_unrollable(s: ast.stmt) -> bool:
    """Whether `s` is an assignment, an expression, an ``if`` of such statements, or a loop over
    constants that is unrolled itself. So it has no exit.
    """
    match s:
        case ast.For():
            return bool(_constants_of(s))
        case ast.If():
            return all(map(_is_unrollable, (*s.body, *s.orelse)))
        case _:
            return isinstance(s, ast.Assign | ast.AugAssign | ast.Expr | ast.Pass)


def _size(s: ast.AST) -> int:
    """The number of nodes of `s` with its loops over constants unrolled."""
    times = len(_constants_of(s)) if isinstance(s, ast.For) else 0
    return max(1, times) * (1 + sum(map(_size, child_nodes(s))))


def _bindings(target: ast.expr, item: ast.expr) -> Constants:
    """What is known of the names in `target` once they are bound to the constant `item`."""
    match target, item:
        case ast.Name(id=name), _ if (constant := constant_of(item, {})) is not None:
            return {name: constant.value}
        case (ast.Tuple() | ast.List()), ast.Tuple() if len(target.elts) == len(item.elts):
            known: Constants = {}
            for t, e in zip(target.elts, item.elts, strict=True):
                known |= _bindings(t, e)
            return known
    return {}


def _selects_by(names: Collection[str], body: Sequence[ast.stmt]) -> bool:
    """Whether a test in `body` reads one of `names`, or a call has one as an argument, such as the
    axis of a NumPy function, that may have to be known.
    """
    nodes = [*walk_nodes(*body)]
    read = [n.test for n in nodes if isinstance(n, (ast.If, ast.IfExp))]
    passed = [a for n in nodes if isinstance(n, ast.Call) for a in (
        *n.args, *(k.value for k in n.keywords))]
    in_tests = (n for test in read for n in walk_nodes(test))
    return any(isinstance(n, ast.Name) and n.id in names for n in (*in_tests, *passed))


def with_displays(
    generators: Sequence[ast.comprehension], is_range: Callable[[ast.expr], bool]
) -> list[ast.comprehension]:
    """`generators` with displays in place of short ranges of constants, so that their loops are
    unrolled::

        … for i in range(-1, 2) for v in x     →     … for i in (-1, 0, 1) for v in x

    ``is_range``: whether an expression is a call of the builtin ``range``.
    """
    return [
        copy_location(ast.comprehension(g.target, display, g.ifs, g.is_async), g)
        if is_range(g.iter) and (display := display_of_range(g.iter)) else g
        for g in generators
    ]


def display_of_range(e: ast.expr) -> ast.Tuple | None:
    """The tuple display of the ints of ``range(…)`` with constant arguments, if they are at least
    one and at most `_LONGEST_DISPLAY`; else None.
    """
    values = [constant_of(a, {}) for a in e.args] if isinstance(e, ast.Call) else []
    ints = [v.value for v in values if v is not None and type(v.value) is int]
    if not 1 <= len(ints) <= 3 or len(ints) < len(values) or ints[2:] == [0]:
        return None
    items = range(*ints)
    if not 0 < len(items) <= _LONGEST_DISPLAY:
        return None
    display = ast.Tuple([ast.parse(str(k), mode="eval").body for k in items], ast.Load())
    return fix_missing_locations(copy_location(display, e))


def yields_surely(generators: Sequence[ast.comprehension]) -> bool:
    """Whether a comprehension with these `generators` yields an item for certain: they iterate over
    constants, and the conditions hold for a combination of these.

        … for i in (-1, 0, 1) for j in (0, 1) if i or j
    """
    combinations: list[Constants] = [{}]
    for g in generators:
        items = _constant_items(g.iter)
        if len(combinations) * len(items) > _MOST_COMBINATIONS:
            return False
        combinations = [
            known for c in combinations for item in items
            for known in [c | _bindings(g.target, item)]
            if all((test := constant_of(i, known)) is not None and test.value for i in g.ifs)
        ]
    return bool(combinations)


@record(frozen=True, slots=True)
class LessThan:
    """The fact ``low < high``."""

    low: HostExpr
    """The smaller operand."""
    high: HostExpr
    """The larger operand."""
    names: frozenset[str]
    """The names in the two operands: the fact holds until one of them is bound again."""


def less_than(test: ast.expr) -> LessThan | None:
    """The fact that `test`, ``a < b`` or ``b > a``, states; None for other tests, and for operands
    other than names, constants and lengths.
    """
    match test:
        case ast.Compare(left=a, ops=[ast.Lt()], comparators=[b]):
            pass
        case ast.Compare(left=b, ops=[ast.Gt()], comparators=[a]):
            pass
        case _:
            return None
    if not (_is_repeatable(a) and _is_repeatable(b)):
        return None
    names = frozenset(n.id for n in walk_nodes(test) if isinstance(n, ast.Name))
    return LessThan(from_ast(a), from_ast(b), names)


def renamed_fact(fact: LessThan, copies: Mapping[str, str | ast.expr]) -> LessThan:
    """`fact` about the copies of its operands: ``m < n`` becomes ``_m < n`` if ``_m = m`` was just
    assigned, that is, for ``{"m": "_m"}``. `fact` itself where an operand's copy is no name.
    """
    operands, names = list[HostExpr](), set(fact.names)
    for e in (fact.low, fact.high):
        copy = copies.get(e.name) if isinstance(e, HostName) else None
        if isinstance(copy, ast.expr):
            return fact
        operands.append(e if copy is None else HostName(copy))
        names |= set() if copy is None else {copy}
    low, high = operands
    return LessThan(low, high, frozenset(names))


def _is_repeatable(e: ast.expr) -> bool:
    """Whether `e` gives the same value each time, while its names do not change: a name, a
    constant, ``x.shape[0]`` or ``x.size``.
    """
    match e:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript(
            value=ast.Attribute(value=ast.Name(), attr="shape"), slice=ast.Constant()
        ) | ast.Attribute(value=ast.Name(), attr="size"):
            return True
    return False


def drop_excluded_branches(block: Sequence[ast.stmt], known: Sequence[LessThan]) -> list[ast.stmt]:
    """`block` without the branches of its ``if`` statements that are excluded, as their test is
    ``a < b`` where the fact ``b < a`` is known: the ``else`` branch takes the place of the ``if``.
    The facts of `known` hold at the start of `block`, each until one of its names is bound. The
    inliner knows them from the ``if`` statements around a call (``Inlining.known_facts``).

        if n < m:
            return f(m, n).T
        s = n + m
    → within ``if m < n``
        s = n + m
    """
    out: list[ast.stmt] = []
    for index, s in enumerate(block):
        tested = less_than(s.test) if isinstance(s, ast.If) else None
        if tested and any((tested.high, tested.low) == (fact.low, fact.high) for fact in known):
            assert isinstance(s, ast.If)
            return [*out, *drop_excluded_branches([*s.orelse, *block[index + 1 :]], known)]
        known = [fact for fact in known if not fact.names & bound_names(s)]
        out.append(s)
    return out
