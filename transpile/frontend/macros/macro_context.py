"""Macro context: what a macro gets besides the node: templates, fresh names, facts, name lookup.

Templates are quasi-quotation: Python text in which each capitalised name is a hole::

    cx.code("for I in range(N): BODY", I=cx.fresh("i"), N=length, BODY=statements)

All nodes of the result get the position and origin of the node being replaced (``cx.at``).
"""
from __future__ import annotations

import ast
import builtins
import functools
import textwrap
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...analysis.definite_assignment import may_be_unbound
from ...analysis.type_inference.binding_facts import add_constant_tuple
from ...analysis.type_inference.flow_facts import new_facts
from ...analysis.type_inference.type_lattice import UNKNOWN, Fact
from ...types.type_env import Env
from ...types.value_types import ELEMENTS
from ..ast_names import bound_names, fresh_name, names_used
from ..ast_walk import NodeTransformer, copy_tree, integer_constant, tree_key, walk_nodes
from ..core_nodes import (
    CORE_NAME,
    NUMPY_NAME,
    copy_location,
    copy_location_to_all,
    mark_atomic,
    mark_fold,
    mark_internal,
    mark_operation_part,
    mark_search,
)
from ..specialize.object_arguments import MemberReplacer

if TYPE_CHECKING:
    from .name_index import NameIndex

__all__ = [
    "Macro", "Part", "ViewRule", "statements_from", "expression_from", "Context", "add_ints",
    "subtract_ints",
]

Part: TypeAlias = "str | ast.expr | Sequence[ast.stmt]"
"""What fills a hole: a name, an expression, or statements (if the hole is a statement)."""

ViewRule: TypeAlias = "Callable[[ast.expr, Context], object | None]"
"""From an array expression its `numpy.array_views.View`; None where the rule does not apply."""

Macro: TypeAlias = "Callable[[ast.AST, Context], list[ast.stmt] | ast.expr | None]"
"""From a statement the statements, or from an expression the expression, that replace it; None if
the macro does not fire.
"""


def statements_from(
    text: str, at: ast.AST, parts: Mapping[str, Part], *, internal: bool = False
) -> list[ast.stmt]:
    """The statements of the template `text`, with copies of `parts` in its holes (quasi-quotation).
    Macros call it through `Context.code`, which passes the node that they replace as `at`.

        "for I in range(N): BODY",  I="_i", N=<len(x)>, BODY=[<s = s + 1>]
    →
        for _i in range(len(x)):
            s = s + 1

    A hole is a capitalised name. A name or an expression fills it anywhere; statements fill it if
    the hole is a statement itself. A capitalised name that `parts` lacks stays. All nodes of the
    template get the position of `at`, so that messages name the source; the parts keep theirs.
    ``internal``: the loops of `text` are one operation of the source, and no report names them.
    """
    module = copy_tree(_parsed(text))
    nodes = [*walk_nodes(module)]
    copy_location_to_all(nodes, at)
    for node in nodes if internal else ():
        if isinstance(node, (ast.For, ast.While)):
            mark_internal(node)
    return _Fill(parts).block(module.body)


def expression_from(text: str, at: ast.AST, parts: Mapping[str, Part]) -> ast.expr:
    """The expression of the template `text`; as `statements_from`."""
    (statement,) = statements_from(text, at, parts)
    assert isinstance(statement, ast.Expr), text
    return statement.value


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


class _Fill(NodeTransformer):
    """Fills the holes of a template, in place."""

    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """`statements` with their holes filled; a hole of statements becomes several."""
        out: list[ast.stmt] = []
        for s in statements:
            new = self.visit(s)
            out += new if isinstance(new, list) else [new]
        return out

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        if isinstance(node.value, ast.Name):
            part = self.parts.get(node.value.id)
            if part is not None and not isinstance(part, (str, ast.expr)):
                return [copy_tree(s) for s in part]
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.expr:
        match self.parts.get(node.id):
            case None:
                return node
            case str(name):
                return copy_location(ast.Name(name, node.ctx), node)
            case ast.expr() as part:
                return _in_context(copy_tree(part), node.ctx)
            case _:
                raise AssertionError(f"{node.id} is filled with statements, but is no statement")


def _in_context(expr: ast.expr, ctx: ast.expr_context) -> ast.expr:
    """`expr` as a target (``ast.Store``), a ``del`` or a read, by `ctx`; changed in place."""
    match expr:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            expr.ctx = ctx
        case ast.Starred(value=value):
            expr.ctx = ctx
            _in_context(value, ctx)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            expr.ctx = ctx
            for e in elts:
                _in_context(e, ctx)
    return expr


_DATA = (bool, int, float, complex, str, bytes, tuple)
"""The types of objects whose value a macro may depend on."""


class Context:
    """The state of the expansion of one function. The driver (`MacroDriver`) sets ``at``,
    ``within`` and ``depth``, and keeps ``facts``.

    ``prologue``: statements that come first in the function, by `tree_key`. They are expressions of
    the arguments and free names whose values decided what was compiled, which lowering guards
    (`guard`), and bindings of displays of constants (`bind_constants`). ``written_by_closures``:
    names that local functions bind by ``nonlocal``. ``view_rules``: see
    `macro_table.VIEW_RULES`.
    """

    def __init__(
        self, tree: ast.FunctionDef, env: Env, prologue: dict[Hashable, ast.stmt],
        written_by_closures: Collection[str] = (), view_rules: Sequence[ViewRule] = (),
    ) -> None:
        # the node being replaced, and the statement that it is a part of
        self.at: ast.AST = tree
        self.within: ast.AST = tree
        # the number of loops and branches around that statement
        self.depth = 0
        # the number of ``try`` statements with handlers around code that is inlined
        self.handlers_around = 0
        # the facts about local names before that statement
        self.facts = new_facts(tree, env, self._resolve_for_facts, self.fresh, written_by_closures)
        self.view_rules = view_rules
        self._env = env
        self._prologue = prologue
        # the names that `fresh` has made
        self.generated: set[str] = set()
        # names that `fresh` must not return, and names that are local to the function
        self._taken = names_used(tree) | {NUMPY_NAME, CORE_NAME}
        self._local = self.facts.local_names | {
            a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)
        }
        # see `before`
        self._before: list[ast.stmt] = []
        # expands a block with all macros; set by the driver
        self.expand: Callable[[list[ast.stmt]], list[ast.stmt]] = list
        self.tree = tree
        # the statements that the driver is expanding, and so may change
        self._open: set[ast.stmt] = set()
        # the expression that a local name of a range or class is an alias of
        self.aliases: dict[str, ast.expr] = {}
        # replaces members of arguments in code that is inlined during the expansion
        self.members: MemberReplacer | None = None

    def is_fixed(self, assignment: ast.AST, name: str) -> bool:
        """Whether `assignment` is the only binding of the local `name`, and is in no loop or
        branch. False in functions with inner scopes other than comprehensions.
        """
        scopes = (
            ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global,
            ast.Nonlocal,
        )
        nodes = [n for s in self.tree.body for n in walk_nodes(s)]
        if assignment not in self.tree.body or any(isinstance(n, scopes) for n in nodes):
            return False
        others = (s for s in self.tree.body if s is not assignment)
        parameters = {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}
        return name not in bound_names(*others) | parameters

    def is_only_in(self, name: str, body: Sequence[ast.stmt]) -> bool:
        """Whether the local `name`, the target of a loop over `body`, is only read in `body` or in
        other loops that have it as their target, and is not bound in `body`. Then the reads in
        `body` can be replaced by what the loop binds the name to.
        """
        loops = [n for n in walk_nodes(self.tree) if isinstance(n, ast.For)]
        bodies = [body, *(n.body for n in loops if name in bound_names(n.target))]
        inside = {n for block in bodies for s in block for n in walk_nodes(s)}
        reads = (n for n in walk_nodes(self.tree) if isinstance(n, ast.Name) and n.id == name)
        is_bound = name in bound_names(*body)
        return not is_bound and all(n in inside for n in reads if isinstance(n.ctx, ast.Load))

    @functools.cached_property
    def names(self) -> NameIndex:
        """Finds the statements of the function that mention a name."""
        from .name_index import NameIndex

        return NameIndex(self.tree, self._open)

    def open(self, s: ast.stmt) -> bool:
        """For the driver, which is about to expand `s`. False if it is doing so already."""
        is_new = s not in self._open
        self._open.add(s)
        return is_new

    def close(self, s: ast.stmt | None = None) -> None:
        """For the driver, which has expanded `s`; None: it begins, and nothing is known yet."""
        if s is not None:
            self._open.discard(s)
        if "names" in self.__dict__:
            self.names.forget(s)

    @functools.cached_property
    def may_be_unbound(self) -> set[str]:
        """The function's local names that may be read before they are bound."""
        return may_be_unbound(self.tree)

    def fresh(self, hint: str) -> str:
        """A name made of `hint` that occurs nowhere in the function: ``_hint``, ``_hint_1``, …"""
        name = fresh_name("_" + hint.lstrip("_"), self._taken)
        self._taken.add(name)
        self._local.add(name)
        self.generated.add(name)
        return name

    def bind(self, names: Collection[str]) -> None:
        """Makes `names`, which new code binds, local to the function."""
        self._local.update(names)
        self.facts.local_names.update(names)
        self.facts.rebound.update(names)

    def reserve(self, names: Iterable[str]) -> None:
        """Reserves `names`, so that `fresh` never returns one of them."""
        self._taken.update(names)

    def code(self, text: str, **parts: Part) -> list[ast.stmt]:
        """The statements of `text`; capitalised names in it are holes, filled with `parts`."""
        return statements_from(text, self.at, parts)

    def internal_code(self, text: str, **parts: Part) -> list[ast.stmt]:
        """As `code`, for loops that implement one operation of the source, such as the search for a
        key: reports do not speak of them, as the user has no loop there.

            counts[key] += 1    →    while used[slot] and keys[slot] != key: slot = ...

        The nodes are marked (``Origin.internal``), lowering marks their spans (`Span.internal`),
        and `remark_selection` and `report_builder` leave out what is at such spans.
        """
        return statements_from(text, self.at, parts, internal=True)

    def expr(self, text: str, **parts: Part) -> ast.expr:
        """The expression of `text`; capitalised names in it are holes, filled with `parts`."""
        return expression_from(text, self.at, parts)

    def mark_operation_parts(self) -> None:
        """Mark code made from now on as parts of one operation of the source (``Origin``): where it
        warns, Python's warning names that operation, and not its part.
        """
        mark_operation_part(self.at)

    def mark_atomic(self) -> None:
        """Mark loops made from now on as atomic: where one raises, nothing has been written."""
        mark_atomic(self.at)

    def mark_folds(self, dtype: str) -> None:
        """Mark loops made from now on as folds of elements of `dtype` that NumPy evaluates in
        another order than the loop. So their bits may differ from NumPy's, and with
        ``reassociate=False`` they are refused (`refuse_ordered_folds`). No effect for dtypes whose
        sums are exact.
        """
        if ELEMENTS[dtype].kind in "fc":
            mark_fold(self.at)

    def mark_searches(self, end: bool) -> None:
        """Mark loops made from now on as searches: they carry one bool, and evaluate nothing more
        once it is `end`.
        """
        mark_search(self.at, end)

    def before(self, *statements: ast.stmt) -> None:
        """For a macro on an expression: run `statements` before the statement that contains it."""
        self._before.extend(statements)

    @property
    def before_count(self) -> int:
        """The number of statements given to `before` since the last `take_before`."""
        return len(self._before)

    def take_before(self) -> list[ast.stmt]:
        """Removes and returns the statements given to `before` since the last call."""
        statements, self._before = self._before, []
        return statements

    def expanded(self, statement: ast.stmt) -> list[ast.stmt]:
        """`statement` with all macros applied; updates the facts to those after it."""
        outer = self.at, self.within, self._before
        self._before = []
        out = self.expand([statement])
        self.at, self.within, self._before = outer
        return out

    def with_before(self, make: Callable[[], list[ast.stmt] | None]) -> list[ast.stmt] | None:
        """For a macro on a statement: the statements that `make` gave to `before`, then those that
        it returned. None where `make` returned None; what it gave to `before` is then discarded.
        """
        outer, self._before = self._before, []
        lines = make()
        before, self._before = self._before, outer
        return None if lines is None else [*before, *lines]

    def bound_name(self, name: str, make: Callable[[], list[ast.stmt] | None]) -> ast.expr | None:
        """For a macro on an expression: the name `name` as its replacement, bound by the statements
        that `make` returns, which run before the current statement. None where `make` returns None.
        """
        lines = self.with_before(make)
        if lines is None:
            return None
        self.before(*lines)
        return self.expr("NAME", NAME=name)

    @property
    def numpy(self) -> ast.expr:
        """A name that means NumPy in the function: ``np`` or ``numpy`` if it does, else ``_np``,
        which always does.
        """
        names = (ast.Name(n, ast.Load()) for n in ("np", "numpy", NUMPY_NAME))
        return next(n for n in names if n.id == NUMPY_NAME or self.resolve(n) is np)

    def is_numpy(self, func: ast.expr, name: str) -> bool:
        """Whether `func` is NumPy's function of that name."""
        return name in vars(np) and self.resolve(func) is getattr(np, name)

    def fact(self, expr: ast.expr) -> Fact:
        """The fact about `expr` at the node being replaced: its types, rank, shape and owner."""
        return self.facts.of(expr)

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that a name or dotted name refers to outside of the function, such as the
        function ``np.sum``, or 3 for a global ``K = 3``. None for a local name, unless it is a
        constant on every path; None if unknown.

        Macros ask it when they decide what a call or a constant means. What they have decided holds
        only as long as the name is bound to that object. So data (`_DATA`, such as a number) is
        guarded here: each call compares it. Functions and classes are guarded without this, where
        the source names them (`lower.binding_guards`). Use `resolve_unguarded` where only the type
        of the object matters.
        """
        value = self.resolve_unguarded(expr)
        if type(value) in _DATA:
            self.guard(expr)
        return value

    def _resolve_for_facts(self, expr: ast.expr) -> object | None:
        """As `resolve`, for the facts of expressions: of a number these depend on the type only,
        which lowering guards; of a str, such as a dtype, on its value.
        """
        value = self.resolve_unguarded(expr)
        if type(value) in (str, bytes, tuple):
            self.guard(expr)
        return value

    def resolve_unguarded(self, expr: ast.expr) -> object | None:
        """As `resolve`, but guards nothing: for a decision that depends only on the type of the
        object, which lowering guards.
        """
        root = expr
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return None
        if root.id in self._local:
            constant = self.facts.known.get(root.id, UNKNOWN).constant
            return constant.value if constant and root is expr else None
        return self._env.resolve(expr)

    @property
    def parameters(self) -> set[str]:
        """The names of the function's parameters."""
        return {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}

    def is_local(self, name: str) -> bool:
        """Whether `name` is a parameter, or is bound by the function."""
        return name in self._local

    def result_uses(self, name: str | None = None) -> int:
        """How many times the node being replaced, or `name`, is the result of the function or an
        item of it, in displays of any depth; 0 if the current statement is no ``return``.
        """
        if not isinstance(self.within, ast.Return):
            return 0
        worklist, count = [self.within.value], 0
        while worklist:
            e = worklist.pop()
            if isinstance(e, (ast.Tuple, ast.List, ast.Dict)):
                worklist += e.values if isinstance(e, ast.Dict) else e.elts
            count += e is self.at if name is None else isinstance(e, ast.Name) and e.id == name
        return count

    def guard(self, e: ast.expr) -> None:
        """Guard the kernel by what `e` is now: puts `e` as a statement at the start of the
        function, of which lowering makes the guard. No effect unless `e` is an argument, a free
        name, or an attribute of one.
        """
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and (
            root.id in self.parameters or root.id not in self._local
        ):
            line = copy_location(ast.Expr(e), self.at)
            self._prologue.setdefault(tree_key(e), line)

    def bind_constants(self, display: ast.expr) -> ast.expr:
        """A name that is bound, at the start of the function, to a display of constants; the same
        name for the same display.
        """
        key = tree_key(display)
        if key not in self._prologue:
            name = self.fresh("list")
            add_constant_tuple(self.facts, name, display)
            (line,) = self.code("NAME = E", NAME=name, E=display)
            self._prologue[key] = line
        line = self._prologue[key]
        assert isinstance(line, ast.Assign)
        assert isinstance(line.targets[0], ast.Name)
        return self.expr("NAME", NAME=line.targets[0].id)

    def is_builtin(self, *names: str) -> bool:
        """Whether each of `names` means the builtin of that name in the function."""
        return all(
            self.resolve(ast.Name(n, ast.Load())) is getattr(builtins, n) for n in names
        )

    def builtin(self, node: ast.AST) -> str:
        """The name of the builtin that `node` calls, "" if it is not a call of one."""
        match node:
            case ast.Call(func=ast.Name(id=name)) if (
                hasattr(builtins, name) and self.is_builtin(name)
            ):
                return name
        return ""


def add_ints(a: ast.expr, b: ast.expr, cx: Context) -> ast.expr:
    """The expression ``a + b`` of ints, with constants folded."""
    match integer_constant(a), integer_constant(b):
        case 0, _:
            return b
        case _, 0:
            return a
        case int(x), int(y):
            return copy_location(ast.Constant(x + y), cx.at)
    return cx.expr("A + B", A=a, B=b)


def subtract_ints(a: ast.expr, b: ast.expr, cx: Context) -> ast.expr:
    """The expression ``a - b`` of ints, with constants folded."""
    match integer_constant(a), integer_constant(b):
        case _, 0:
            return a
        case int(x), int(y) if x >= y:
            return copy_location(ast.Constant(x - y), cx.at)
        case None, int(y) if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Sub):
            less = integer_constant(a.right, None)
            if less is not None:
                return subtract_ints(a.left, ast.Constant(less + y), cx)
    return cx.expr("A - B", A=a, B=b)
