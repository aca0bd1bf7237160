"""Macro context: fresh names, facts about expressions, and quasi-quotation (code templates).

In a template, a capitalised name is a hole for what is put in its place.
"""
from __future__ import annotations

import ast
import builtins
import functools
import textwrap
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from ...analysis.definite_assignment import may_be_unbound
from ...analysis.flow_facts import Flow
from ...analysis.type_facts import UNKNOWN, Fact
from ...types.type_env import Env
from ...types.value_types import ELEMENTS
from ..ast_names import bound_names, fresh_name, names_used
from ..ast_walk import copy_tree, tree_key, walk_nodes
from ..core_nodes import (
    NUMPY_NAME,
    OPS_NAME,
    copy_location,
    mark_atomic,
    mark_fold,
    mark_search,
    mark_step,
)
from ..int_exprs import integer_constant

__all__ = [
    "Part", "ViewRule", "statements_from", "expression_from", "Context", "add_ints",
    "subtract_ints",
]

Part: TypeAlias = "str | ast.expr | Sequence[ast.stmt]"
"""A name, an expression, or statements (for a hole that stands as a statement)."""

ViewRule: TypeAlias = "Callable[[ast.expr, Context], object | None]"
"""From an array expression its `numpy.array_views.View`; None where the rule does not know it."""


def statements_from(text: str, at: ast.AST, parts: Mapping[str, Part]) -> list[ast.stmt]:
    """Parse `text` to statements, with its holes filled by copies of `parts`, at the position of
    `at`.
    """
    module = copy_tree(_parsed(text))
    for node in walk_nodes(module):
        copy_location(node, at)
    return _Fill(parts).block(module.body)


def expression_from(text: str, at: ast.AST, parts: Mapping[str, Part]) -> ast.expr:
    """Parse `text` to an expression, with its holes filled by copies of `parts`, at the position of
    `at`.
    """
    (statement,) = statements_from(text, at, parts)
    assert isinstance(statement, ast.Expr), text
    return statement.value


@lru_cache(maxsize=256)
def _parsed(text: str) -> ast.Module:
    return ast.parse(textwrap.dedent(text))


class _Fill(ast.NodeTransformer):
    def __init__(self, parts: Mapping[str, Part]) -> None:
        self.parts = parts

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
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
                raise AssertionError(f"{node.id} stands for statements, and not alone")


def _in_context(expr: ast.expr, ctx: ast.expr_context) -> ast.expr:
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


class Context:
    """What a macro is given besides the node: one for the expansion of one function.

    ``at`` is the node being replaced; it is part of the statement ``within``, which is ``depth``
    loops and branches deep. ``asked`` holds, by `tree_key`, the arguments and free names whose
    value decided what was compiled (the specialisation is guarded by them), and displays of
    constants.
    """

    def __init__(
        self, tree: ast.FunctionDef, env: Env, asked: dict[Hashable, ast.stmt],
        changed: Collection[str] = (), view_rules: Sequence[ViewRule] = (),
    ) -> None:
        self.at: ast.AST = tree
        self.within: ast.AST = tree
        self.depth = 0
        self.facts = Flow(tree, env, self.resolve, self.fresh, changed)
        self.view_rules = view_rules
        self._env = env
        self._asked = asked
        self._taken = names_used(tree) | {NUMPY_NAME, OPS_NAME}
        self._local = bound_names(*tree.body) | {
            a.arg for a in walk_nodes(tree) if isinstance(a, ast.arg)
        }
        self._before: list[ast.stmt] = []
        self.expand: Callable[[list[ast.stmt]], list[ast.stmt]] = list
        self.tree = tree
        self.stands: dict[str, ast.expr] = {}  # for what a name of a range or class stands

    def is_fixed(self, assignment: ast.AST, name: str) -> bool:
        """Whether `assignment` is the only binding of the local `name`, and is in no loop or
        branch.
        """
        inner = (
            ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Global,
            ast.Nonlocal,
        )
        own = [n for s in self.tree.body for n in walk_nodes(s)]
        if assignment not in self.tree.body or any(isinstance(n, inner) for n in own):
            return False
        others = (s for s in self.tree.body if s is not assignment)
        parameters = {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}
        return name not in bound_names(*others) | parameters

    def is_only_in(self, name: str, body: Sequence[ast.stmt]) -> bool:
        """Whether the local `name` is read in `body` only, or in other loops that bind it first,
        and is not bound in `body`.
        """
        loops = [n for n in walk_nodes(self.tree) if isinstance(n, ast.For)]
        own = [n for n in loops if name in bound_names(n.target)]
        inside = {n for s in (*body, *(s for f in own for s in f.body)) for n in walk_nodes(s)}
        reads = (n for n in walk_nodes(self.tree) if isinstance(n, ast.Name) and n.id == name)
        once = name not in bound_names(*body)
        return once and all(n in inside for n in reads if isinstance(n.ctx, ast.Load))

    @functools.cached_property
    def may_be_unbound(self) -> set[str]:
        """The function's local names that may be read before they are bound."""
        return may_be_unbound(self.tree)

    def fresh(self, hint: str) -> str:
        """A name that occurs nowhere in the function: ``_hint``, ``_hint_1``, …"""
        name = fresh_name("_" + hint.lstrip("_"), self._taken)
        self._taken.add(name)
        self._local.add(name)
        return name

    def bind(self, names: Collection[str]) -> None:
        """Notes that `names` are bound in the function from now on."""
        self._local.update(names)
        self.facts.own.update(names)
        self.facts.moving.update(names)

    def taken(self, names: Iterable[str]) -> None:
        """Reserves `names`, so that `fresh` never returns one of them."""
        self._taken.update(names)

    def code(self, text: str, **parts: Part) -> list[ast.stmt]:
        """The statements of `text`; capitalised names in it are holes, filled with `parts`."""
        return statements_from(text, self.at, parts)

    def expr(self, text: str, **parts: Part) -> ast.expr:
        """The expression of `text`; capitalised names in it are holes, filled with `parts`."""
        return expression_from(text, self.at, parts)

    def steps(self) -> None:
        """Mark code made from now on as steps of one NumPy operation, whose warnings do not name
        them.
        """
        mark_step(self.at)

    def at_once(self) -> None:
        """Mark loops made from now on as atomic: where one raises, nothing has been written."""
        mark_atomic(self.at)

    def folds(self, dtype: str) -> None:
        """Mark loops made from now on as folds of elements of `dtype`, which NumPy (and `sum` of
        Python floats) evaluates in another order or with a correction, so that lowering may
        reassociate them if the caller allows it.
        """
        if ELEMENTS[dtype].kind in "fc":
            mark_fold(self.at)

    def searches(self, end: bool) -> None:
        """Mark loops made from now on as searches: they carry one bool, and end when it is `end`.
        """
        mark_search(self.at, end)

    def before(self, *statements: ast.stmt) -> None:
        """For a macro on an expression: `statements` run before the one it stands in."""
        self._before.extend(statements)

    @property
    def lines_ahead(self) -> int:
        """The number of statements given to `before` since the last `take_before`."""
        return len(self._before)

    def take_before(self) -> list[ast.stmt]:
        """The statements given to `before` since the last call."""
        taken, self._before = self._before, []
        return taken

    def expanded(self, statement: ast.stmt) -> list[ast.stmt]:
        """`statement` with all macros applied; the facts are those after it."""
        outer = self.at, self.within, self._before
        self._before = []
        out = self.expand([statement])
        self.at, self.within, self._before = outer
        return out

    def whole(self, make: Callable[[], list[ast.stmt] | None]) -> list[ast.stmt] | None:
        """For a macro on a statement: the statements given to `before` while `make` ran, then those
        that `make` returned; None, and no statements, where `make` returned None.
        """
        outer, self._before = self._before, []
        made = make()
        taken, self._before = self._before, outer
        return None if made is None else [*taken, *made]

    def made(self, name: str, make: Callable[[], list[ast.stmt] | None]) -> ast.expr | None:
        """For a macro on an expression: run the statements that `make` returns before the current
        statement, and use `name`, which they bind. None where `make` returns None.
        """
        lines = self.whole(make)
        if lines is None:
            return None
        self.before(*lines)
        return self.expr("NAME", NAME=name)

    @property
    def numpy(self) -> ast.expr:
        """A name for NumPy in the function; ``_np`` always is one."""
        names = (ast.Name(n, ast.Load()) for n in ("np", "numpy", NUMPY_NAME))
        return next(n for n in names if n.id == NUMPY_NAME or self.resolve(n) is np)

    def is_numpy(self, func: ast.expr, name: str) -> bool:
        """Whether `func` is NumPy's function of that name."""
        return name in vars(np) and self.resolve(func) is getattr(np, name)

    def fact(self, expr: ast.expr) -> Fact:
        """The fact about `expr` at the node being replaced: its types, rank, shape and owner."""
        return self.facts.of(expr)

    def resolve(self, expr: ast.expr) -> object | None:
        """The object that a name or dotted name refers to outside of the function; None for a
        local.
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

    def returned(self, name: str | None = None) -> int:
        """How many times the node being replaced, or `name`, is the result of the function or a
        part of it.
        """
        if not isinstance(self.within, ast.Return):
            return 0
        waiting, count = [self.within.value], 0
        while waiting:
            e = waiting.pop()
            if isinstance(e, (ast.Tuple, ast.List, ast.Dict)):
                waiting += e.values if isinstance(e, ast.Dict) else e.elts
            count += e is self.at if name is None else isinstance(e, ast.Name) and e.id == name
        return count

    def ask(self, e: ast.expr) -> None:
        """Guard the specialisation by the current value of `e`, if it is an argument, a free name,
        or an attribute of one.
        """
        root = e
        while isinstance(root, ast.Attribute):
            root = root.value
        given = {a.arg for a in walk_nodes(self.tree.args) if isinstance(a, ast.arg)}
        if isinstance(root, ast.Name) and (root.id in given or root.id not in self._local):
            line = copy_location(ast.Expr(e), self.at)
            self._asked.setdefault(tree_key(e), line)

    def constants(self, display: ast.expr) -> ast.expr:
        """A name for a display of constants, which is made once, before everything else."""
        key = tree_key(display)
        if key not in self._asked:
            name = self.fresh("list")
            self.facts.fix(name, display)
            (line,) = self.code("NAME = E", NAME=name, E=display)
            self._asked[key] = line
        line = self._asked[key]
        assert isinstance(line, ast.Assign)
        assert isinstance(line.targets[0], ast.Name)
        return self.expr("NAME", NAME=line.targets[0].id)

    def means(self, *names: str) -> bool:
        """Whether each of `names` is the builtin it looks like."""
        return all(
            self.resolve(ast.Name(n, ast.Load())) is getattr(builtins, n) for n in names
        )

    def builtin(self, node: ast.AST) -> str:
        """The name of the builtin that `node` calls, "" if it is not a call of one."""
        match node:
            case ast.Call(func=ast.Name(id=name)) if hasattr(builtins, name) and self.means(name):
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
