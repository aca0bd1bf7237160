"""Loop versioning by dependence direction: a loop that may read ahead of its writes has vectors.

A comparison before the loop tells whether it does, by the distance of the two accesses.
LLVM: runtime checks of LoopAccessAnalysis, which compare addresses of arrays; here both accesses
are of one array, at subscripts whose difference is not known before the call.
"""
from __future__ import annotations

from collections.abc import Iterator, Set
from functools import reduce
from typing import TypeGuard

from ...algebra.constant_folding import index_const
from ...algebra.index_builder import index_sub, logical_and
from ...algebra.rewrite_rules import rewrite
from ...analysis.access import Access, accesses
from ...analysis.dependence import dependences
from ...analysis.integers.affine import Affine, AffineForm, affine_form
from ...analysis.mod_ref import arrays_read
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, expand_names, multiply_bound_names, names_read
from ...ir_traversal import is_innermost, walk, walk_statements
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
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
    Yield,
)
from ...statement_blocks import map_statements
from .if_convert import flatten_loop
from .vectorize_legality import vectorization_obstacle

__all__ = ["version_dependences"]


def version_dependences(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Copy an innermost loop that could be vectorised if no iteration read what an earlier one has
    written. The copy (`Loop.ivdep`), without branches, runs where a comparison before the loop
    tells so: accesses of one array are evenly apart, by a distance that the loop does not change,
    so that its sign decides. Before::

        def k(x: mut(f64[::1]), d: i64):
            for i in loop(0, 100):
                if x[i + d] > x[i]:
                    x[i] = x[i + d]

    after::

        def k(x: mut(f64[::1]), d: i64):
            if d >= 0:
                for i_1 in ivdep_loop(0, 100):
                    x[i_1] = where(x[i_1 + d] > x[i_1], x[i_1 + d])
            else:
                for i_2 in loop(0, 100):
                    if x[i_2 + d] > x[i_2]:
                        x[i_2] = x[i_2 + d]
    """
    fresh = FreshNames(kernel)
    ordered_versions = {id(n.orelse[0]) for n in walk(kernel) if _is_versions(n)}

    def edit(s: Stmt) -> Stmt:
        """`s` in two versions, if it is a loop that can be vectorised in one of them."""
        if not isinstance(s, Loop) or s.ivdep or not is_innermost(s) or id(s) in ordered_versions:
            return s
        flat = flatten_loop(s, kernel, fresh) or s
        obstacle = vectorization_obstacle(flat, kernel, reassociate=reassociate)
        if obstacle is None or obstacle.code != "VECTOR_DEPENDENCE":
            return s
        blended, in_bounds = _with_narrow_blends(flat, kernel)
        conditions = _conditions(flat, kernel)
        if not conditions or in_bounds is None:
            return s
        conditions += in_bounds
        fast = replace(blended, ivdep=True)
        if vectorization_obstacle(fast, kernel, reassociate=reassociate):
            return s
        reads_ahead = reduce(logical_and, conditions)
        if isinstance(reads_ahead, Const):
            return fast if reads_ahead.value else s
        fast, ordered = fresh.copy(fast), fresh.copy(s)
        yields = tuple(
            Yield(a.name, p.current, q.current)
            for a, p, q in zip(s.accs, fast.accs, ordered.accs, strict=True)
        )
        return If(reads_ahead, (fast,), (ordered,), yields, span=s.span)

    return map_statements(kernel, edit, Loop)


def _is_versions(s: Node) -> TypeGuard[If]:
    """Whether `s` chooses between the versions of a loop."""
    match s:
        case If(then=(Loop(ivdep=True),), orelse=(Loop(ivdep=False),)):
            return True
    return False


def _with_narrow_blends(loop: Loop, kernel: Kernel) -> tuple[Loop, list[Expr] | None]:
    """`loop` without masked stores of small elements to arrays that it does not load from: most
    targets store these lane by lane, which takes longer than the branch. Each is a store of all
    lanes, some of which keep the element that is there::

        b[i] = where(m, True)    →    b[i] = select(m, True, b[i])

    Second, the conditions under which all these elements exist, also those where the mask is false:
    comparisons before the loop. None if an array is not the call's own (another thread may store to
    the element meanwhile), or if no comparison before the loop tells.
    """
    masked = [s for s in loop.body if isinstance(s, Store) and s.mask is not None]
    narrow = {s.array for s in masked if DTYPES[s.value.dtype].bits < 32} - arrays_read((loop,))
    if not narrow:
        return loop, []
    if not narrow <= {p.name for p in kernel.params if p.owned}:
        return loop, None
    conditions = _in_bounds(loop, narrow)
    blended = replace(loop, body=tuple(
        _blended(s) if isinstance(s, Store) and s.array in narrow else s for s in loop.body
    ))
    return blended, conditions


def _blended(s: Store) -> Store:
    """`s` without its mask: where that is false, it stores the element that is there."""
    if s.mask is None:
        return s
    old = Load(s.array, s.index, s.value.dtype)
    return replace(s, value=Call("select", (s.mask, s.value, old), s.value.dtype), mask=None)


def _in_bounds(loop: Loop, arrays: Set[str]) -> list[Expr] | None:
    """Comparisons that hold only if all stores of `loop` to `arrays` are in bounds in each of its
    iterations, even if it does not make them in all; None if there are no such comparisons.
    """
    if not isinstance(loop.range, Interval):
        return None
    first = affine_form(loop.range.lo)
    last = affine_form(index_sub(loop.range.hi, 1))
    if first is None or last is None:
        return None
    conditions: dict[Expr, None] = {}
    for access in accesses((loop,)):
        if not access.is_write or access.array not in arrays:
            continue
        for axis, form in enumerate(access.index):
            # by steps of 1, so that what lies between two elements that exist does, too
            if form is None or abs(form.coefficient(loop.var)) > 1:
                return None
            for i in (first, last) if form.coefficient(loop.var) else (first,):
                subscript = form.substitute(loop.var, i)
                if subscript.variables:
                    return None
                e, length = subscript.expr(), Dim(access.array, axis)
                conditions[rewrite(Call("ge", (e, index_const(0)), "bool"))] = None
                conditions[rewrite(Call("lt", (e, length), "bool"))] = None
    if not names_read(*conditions).isdisjoint(bound_names(loop)):
        return None
    return list(conditions)


def _conditions(loop: Loop, kernel: Kernel) -> list[Expr]:
    """The comparisons that must hold before `loop` so that its dependences of no constant distance
    are all of reads that come before the writes; none if that cannot be told by comparisons.
    """
    conditions: dict[Expr, None] = {}
    inside, products = bound_names(loop), _products(kernel)
    for d in dependences(loop, kernel):
        if d.distance is not None:
            continue
        read, write = (d.source, d.sink) if d.sink.is_write else (d.sink, d.source)
        ahead = None if read.is_write else next(_steps_ahead(read, write, loop.var), None)
        if ahead is None:
            return []
        for name in ahead.variables:
            ahead = ahead.substitute(name, AffineForm({Var(name, INDEX): 1}))
        steps = expand_names(ahead.expr(), products) or ahead.expr()
        known = affine_form(steps)
        condition = rewrite(Call("ge", (known.expr() if known else steps, index_const(0)), "bool"))
        if not names_read(condition).isdisjoint(inside):
            return []
        conditions[condition] = None
    return list(conditions)


def _products(kernel: Kernel) -> dict[str, Expr]:
    """The values of names of integer products. Of a distance such as ``rows * m - v``, with the
    name `v` for the same product, they show that it is 0.
    """
    repeated = multiply_bound_names(kernel)
    assigned = (s for s in walk_statements(kernel) if isinstance(s, Assign))
    return {
        s.name: s.value for s in assigned
        if isinstance(s.value, Call) and s.value.op == "mul" and s.value.dtype == INDEX
        and s.name not in repeated and not arrays_read((s.value,))
    }


def _steps_ahead(read: Access, write: Access, var: str) -> Iterator[Affine]:
    """Forms that are at least 0 where no iteration of the loop over `var` reads an element that an
    earlier one has written. One for each axis along which both accesses advance evenly::

        x[i + d], x[i]       d
        x[n - i], x[k - i]   k - n
    """
    if len(read.index) != len(write.index):
        return
    for p, q in zip(read.index, write.index, strict=True):
        if p is None or q is None:
            continue
        step = p.coefficient(var)
        if step and step == q.coefficient(var):
            yield (p - q) * (1 if step > 0 else -1)
