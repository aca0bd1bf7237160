"""Simplification (instcombine): exact rewrites of expressions; statements without effect removed.

`rewrite_rules.rewrite` has the rules for expressions, `_simplified_node` those for statements.
"""
from __future__ import annotations

from typing import Any, TypeGuard

from ...algebra.constant_folding import constant_trip_count
from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import rewrite
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import advanced_accums, children, contains, map_children, memoized_per_node
from ...lazy_dataclass import replace
from ...nodes import (
    Append,
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
)
from .propagate_copies import propagate_copies

__all__ = ["simplify"]

_ROUNDS = 8  # at most; two or three are the rule


def simplify(kernel: Kernel) -> Kernel:
    """Fold constants, apply the rewrite rules to each expression, inner before outer, remove what
    has no effect, and propagate copies (`propagate_copies`); again, until nothing changes.

    The pass list has it several times, after passes that leave constants or unused code behind. It
    is exact: no value changes, and no floating-point flag is lost or added. Before::

        def k(x: f32[::1], out: mut(f32[::1]), n: i64):
            disjoint(x, out)
            for i in loop(0, n + 0):
                v = f64(x[i] * f32(1.0))
                big = v > 0.5 * 2.0
                out[i] = f32(select(big, v, 0.0))

    after::

        def k(x: f32[::1], out: mut(f32[::1]), n: i64):
            disjoint(x, out)
            for i in loop(0, n):
                out[i] = select(x[i] > f32(1.0), x[i], f32(0.0))
    """
    for _ in range(_ROUNDS):
        before = kernel
        kernel = _simplified_once(kernel)
        if kernel is before:
            break
    return kernel


@memoized_per_node
def _simplified_once(kernel: Kernel) -> Kernel:
    """One round. Memoized: the pass is run again on kernels that no other pass has changed."""
    return propagate_copies(_name_empty_branch_conditions(_simplified(kernel)))


def _name_empty_branch_conditions(kernel: Kernel) -> Kernel:
    """Replace each branch without statements and yields by an assignment of its condition, which
    may raise a flag (else `_simplified_branch` has removed it).
    """

    def visit(n: Any) -> Any:
        """`n` with its empty branches replaced."""
        n = map_children(n, visit)
        return Assign(fresh.name("cond"), n.cond, span=n.span) if _is_empty_branch(n) else n

    if not _contains_empty_branch(kernel):
        return kernel
    fresh = FreshNames(kernel)
    return visit(kernel)  # type: ignore[no-any-return]  # a Kernel gives a Kernel


@memoized_per_node
def _contains_empty_branch(n: Node) -> bool:
    """Whether there is a branch without effect in `n`."""
    if not contains(n, If):
        return False
    return _is_empty_branch(n) or any(map(_contains_empty_branch, children(n)))


def _is_empty_branch(n: Node) -> TypeGuard[If]:
    """Whether `n` is a branch without effect."""
    return isinstance(n, If) and not (n.then or n.orelse or n.yields)


def _simplified(n: Any) -> Any:
    """`n` with every descendant simplified, inner before outer."""
    return n if type(n) in (Var, Const, Dim) else _simplified_tree(n)


@memoized_per_node
def _simplified_tree(n: Node) -> Any:
    """As `_simplified`, of a node that is no leaf."""
    n = map_children(n, _simplified)
    return rewrite(n) if isinstance(n, Call) else _simplified_node(n)


def _simplified_node(n: Any) -> Any:
    """The node that replaces `n`, or a tuple of statements."""
    match n:
        case Check(cond=Const(value=1)) | Store(mask=Const(value=0)) | Append(mask=Const(value=0)):
            return ()
        case Store(mask=Const()) | Append(mask=Const()):
            return replace(n, mask=None)
        case If():
            return _simplified_branch(n)
        case Loop(range=Interval(lo, hi) as r) if constant_trip_count(r) == 0 or _has_no_effect(n):
            never = rewrite(Call("ge", (lo, hi), "bool"))
            checks = (replace(s, cond=never) for s in n.body if isinstance(s, Check))
            return (
                *(checks if constant_trip_count(r) != 0 else ()),
                *(Assign(a.name, a.init) for a in n.accs),
            )
        case Loop() if constant := _constant_accumulators(n):
            kept = replace(n, accs=tuple(a for a in n.accs if a.name not in constant))
            return substitute(kept, constant), *(Assign(k, e) for k, e in constant.items())
        case _:
            return n


def _constant_accumulators(s: Loop) -> dict[str, Expr]:
    """The accumulators of `s` that step to what they start as, each with that value."""
    if all(a.step != a.init or isinstance(a.init, Load) for a in s.accs):
        return {}
    bound, fixed = bound_names(s), advanced_accums(s) | names_read(s.until)
    return {
        a.name: a.init for a in s.accs
        if a.step == a.init and not contains(a.init, Load) and not may_raise_flags(a.init)
        and bound.isdisjoint(names_read(a.init)) and a.name not in fixed
    }


def _has_no_effect(s: Loop) -> bool:
    """Whether the iterations of `s` do nothing, or only fail a check."""
    fails = all(isinstance(c, Check) and c.cond == Const(False, "bool") for c in s.body)
    return fails and all(isinstance(a.step, Var) and a.step.name == a.name for a in s.accs)


def _simplified_branch(s: If) -> If | tuple[Stmt, ...]:
    """Simplify a branch with a constant condition, without effect, or with an empty ``then``; and
    one with a negated condition, whose sides change places, unless only ``then`` has statements.
    """
    if isinstance(s.cond, Const):
        taken = s.then if s.cond.value else s.orelse
        yields = (Assign(y.name, y.then if s.cond.value else y.orelse) for y in s.yields)
        return (*taken, *yields)
    if not (s.then or s.orelse or s.yields):
        return s if may_raise_flags(s.cond) else ()
    if not s.then and s.orelse and not s.yields:
        return replace(s, cond=rewrite(Call("not", (s.cond,), "bool")), then=s.orelse, orelse=())
    match s.cond:
        case Call("not", (cond,)) if (s.orelse or s.yields) and (s.orelse or not s.then):
            swapped = tuple(replace(y, then=y.orelse, orelse=y.then) for y in s.yields)
            return replace(s, cond=cond, then=s.orelse, orelse=s.then, yields=swapped)
    return s
