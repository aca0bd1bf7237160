"""Binding guards: names that macros replaced must be bound to the same objects at each call.

``for k, v in enumerate(x)`` becomes a loop over a range, in which `enumerate` does not occur any
more. If the program binds that name to another object later, the compiled loop is wrong. So the
call plan gets an identity guard for each function, type, number and tuple that the original source
names. A number or an array that the kernel reads as a parameter (`Captured`) gets none: its value
is passed at each call, and only its type is assumed. A macro that looks at such a value guards it
(`Context.resolve`). The guards are added by a stage of the pipeline after lowering.
"""
from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import BuiltinMethodType

from loopir.lazy_dataclass import replace

from ..call_plan import Captured, IdentityGuard, Plan
from ..frontend.ast_names import bound_names
from ..frontend.ast_walk import child_nodes, walk_nodes
from ..frontend.name_resolution import Scope
from ..host_nodes import HostAttribute, HostExpr, HostName, from_ast

__all__ = ["with_binding_guards"]


def with_binding_guards(plan: Plan, tree: ast.FunctionDef, scope: Scope) -> Plan:
    """`plan` with an identity guard for each name or dotted name in `tree` that is bound outside of
    the function to a callable (a function or class), an int, float or bool, or a tuple:

        math.sqrt(np.sum(x))    →    math.sqrt is <function sqrt>, np.sum is <function sum>

    At each call it must be the same object as at compile time; else the call does not fit, and the
    dispatcher compiles another variant (`Variant.applies`). `tree` is the function before macros,
    which replace such names, and after inlining: the stage ``capture`` guards the functions that
    were inlined. Left out are:

    - what the plan guards already, since lowering or a macro has looked at the object; also a
      function that is only called, and whose code is guarded, since it was inlined;
    - globals that the kernel reads as parameters (`Captured`): their values are passed. So a number
      is guarded here only if the kernel does not read it, as where a macro has replaced it;
    - arguments, which are part of the signature, and names that a comprehension or lambda binds.

    Called by the stage ``guard_bindings`` of the pipeline, after ``lower``.
    """
    captured = {b.name for b in plan.bindings if isinstance(b, Captured)}
    guarded = {guard.expr for guard in plan.identity_guards} | {HostName(name) for name in captured}
    called = {id(node.func) for node in walk_nodes(tree) if isinstance(node, ast.Call)}
    chains = {
        expr: chain for expr, chain in _attribute_chains(tree)
        if expr not in guarded
        and not (id(chain) in called and HostAttribute(expr, "__code__") in guarded)
    }
    guards = (_identity_guard(expr, chain, scope) for expr, chain in chains.items())
    found = (g for g in guards if g is not None)
    return replace(plan, identity_guards=(*plan.identity_guards, *found))


def _attribute_chains(tree: ast.FunctionDef) -> Iterator[tuple[HostExpr, ast.expr]]:
    """The names and chains of attributes, such as ``np.linalg.norm``, in `tree`: as host
    expressions and as nodes. Not those in a comprehension or lambda that binds the root itself.
    """
    for node in _outside_of_own_scopes(tree.body, frozenset()):
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and isinstance(node, (ast.Name, ast.Attribute)):
            yield from_ast(node), node


def _outside_of_own_scopes(nodes: Iterable[ast.AST], bound: frozenset[str]) -> Iterator[ast.AST]:
    """`nodes` and what is in them, without names that a comprehension or lambda around them binds;
    `bound`: those of the scopes around `nodes`.
    """
    for node in nodes:
        inner = bound
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                inner = bound | bound_names(*(g.target for g in node.generators))
            case ast.Lambda(args=arguments):
                inner = bound | {a.arg for a in walk_nodes(arguments) if isinstance(a, ast.arg)}
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not (isinstance(root, ast.Name) and root.id in bound):
            yield node
        yield from _outside_of_own_scopes(child_nodes(node), inner)


def _identity_guard(expr: HostExpr, chain: ast.expr, scope: Scope) -> IdentityGuard | None:
    """A guard that `chain`, which the runtime evaluates as `expr` at a call, is bound to the same
    object. None for an object that is neither callable nor an int, float, bool or tuple; and for a
    class method of a builtin type, such as ``dict.fromkeys``: Python makes a new object each time
    that one is read, so its identity tells nothing.
    """
    value = scope.resolve(chain)
    is_new_each_time = isinstance(value, BuiltinMethodType) and isinstance(value.__self__, type)
    can_guard = type(value) in (int, float, bool, tuple) or (
        callable(value) and not is_new_each_time
    )
    return IdentityGuard(expr, value) if can_guard else None
