"""Divergent inner loops: lanes run a ``while`` together until each has left it.

A lane that has left keeps its values; its loads are proved to be in bounds.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce

from ...algebra.constant_folding import constant_trip_count
from ...algebra.index_builder import index_add, index_less, logical_and, logical_not, logical_or
from ...algebra.may_raise import is_replay_check, possible_flags
from ...algebra.rewrite_rules import rewrite
from ...analysis.conditions import conjuncts
from ...analysis.dependence import dependences
from ...analysis.difference_bounds import IntegerFacts
from ...analysis.mod_ref import arrays_read, arrays_written
from ...analysis.refine_facts import assume_condition, assume_difference_at_most
from ...analysis.uniformity import Uniformity
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...machine_model import DEFAULT_MACHINE, Machine
from ...nodes import (
    Accum,
    Assign,
    Broadcast,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    Guard,
    HReduce,
    If,
    Interval,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
)
from ...op_table import STATUS
from ...statement_blocks import map_statements
from .if_convert import flatten_branches
from .reduction_fission import reduction_fission
from .vectorize_legality import MIN_TRIPS
from .widen import WIDTH, Widener

__all__ = ["as_lockstep_while", "lane_loads_in_bounds", "DivergentWidener", "vectorize_divergent"]


def as_lockstep_while(s: Loop | While, fresh: FreshNames) -> While | None:
    """`s` as a straight-line ``while`` on one bool; None where lanes cannot run it in lockstep.

    Its checks apply only to lanes that have not left.
    """
    below = [n for part in s.body for n in walk(part) if isinstance(n, Stmt)]
    if any(map(_may_divide_by_zero, walk(s))):
        return None
    if isinstance(s, Loop):
        plain = all(isinstance(n, Assign | If) for n in below)
        return (
            _counted_as_while(replace(s, body=tuple(_both_sides_computed(s.body))), fresh)
            if plain
            else None
        )
    if not all(_is_straight_line(n) for n in below):
        return None
    cond = s.cond
    if not isinstance(cond, Var) or all(a.name != cond.name for a in s.accs):
        return None
    return replace(s, body=tuple(_both_sides_computed(s.body, logical_not(cond))))


def _is_straight_line(n: Stmt) -> bool:
    return isinstance(n, Assign | If) or is_replay_check(n)


def _may_divide_by_zero(n: Node) -> bool:
    """Whether `n` is an integer division whose divisor may be zero in a lane that has left."""
    match n:
        case Call("floordiv" | "mod", (_, divisor), dtype) if DTYPES[dtype].kind in "iu":
            return not (isinstance(divisor, Const) and divisor.value)
        case _:
            return False


def _both_sides_computed(stmts: Iterable[Stmt], inactive: Expr | None = None) -> Iterator[Stmt]:
    """`stmts` with both sides of each branch computed. A check is true in `inactive` lanes."""
    for s in stmts:
        match s:
            case Check(cond) if inactive is not None:
                yield replace(s, cond=logical_or(inactive, cond))
            case If():
                for cond, side in ((logical_not(s.cond), s.then), (s.cond, s.orelse)):
                    yield from _both_sides_computed(
                        side, None if inactive is None else logical_or(inactive, cond)
                    )
                for y in s.yields:
                    chosen = Call("select", (s.cond, y.then, y.orelse), y.then.dtype)
                    yield Assign(y.name, bottom_up(chosen, rewrite), span=s.span)
            case _:
                yield s


def _counted_as_while(body: Loop, fresh: FreshNames) -> While | None:
    """A counted loop with an exit, as a ``while`` until the exit or the end of its range."""
    until = body.until
    if not isinstance(body.range, Interval) or not isinstance(until, Var):
        return None
    lo, hi = body.range.lo, body.range.hi
    left = next((a for a in body.accs if a.name == until.name), None)
    if left is None or left.name in names_read(*body.body, *(a.step for a in body.accs)):
        return None
    k, go = Var(body.var, INDEX), Var(fresh.name("go"), "bool")
    on = index_add(k, 1)
    stays = logical_and(logical_not(left.step), index_less(on, hi))
    accs = (*body.accs, Accum(go.name, index_less(lo, hi), stays), Accum(k.name, lo, on))
    return While(go, body.body, accs, span=body.span)


_ZERO = Const(0, INDEX)


def lane_loads_in_bounds(loop: Loop, kernel: Kernel, varying: Uniformity) -> bool:
    """Whether the loads of the inner loops in `loop` are in bounds in every lane, also in lanes
    that have left. Loads that are uniform need no proof: active lanes load the same element.
    """
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    own = [n for s in inner for n in walk(s) if isinstance(n, Load)]
    moving = [n for n in own if varying.moves(n) != (0, 0)]
    taken = {(n.array, varying.index(n)) for n in _unconditional_accesses(loop.body)}
    if all((n.array, varying.index(n)) in taken for n in moving):
        return True
    f = _facts_before(loop, kernel)
    return all(_is_in_bounds(n, f, varying) for n in moving)


def _unconditional_accesses(body: Iterable[Stmt]) -> list[Load | Store]:
    """The accesses that every iteration executes."""
    plain = (s for s in body if isinstance(s, Assign | Store))
    return [n for s in plain for n in walk(s) if isinstance(n, Load | Store)]


def _facts_before(loop: Loop, kernel: Kernel) -> IntegerFacts:
    """The integer facts in the body of `loop`."""
    assert isinstance(loop.range, Interval)
    f, i = IntegerFacts(), Var(loop.var, INDEX)
    for s in kernel.body:
        if isinstance(s, Assign):
            f.bind(Var(s.name, s.value.dtype, s.value.lanes), s.value)
    assume_difference_at_most(f, loop.range.lo, loop.range.hi, -1)
    assume_difference_at_most(f, loop.range.lo, i, 0)
    assume_difference_at_most(f, i, loop.range.hi, -1)
    for g in kernel.guards:
        if isinstance(g, Guard):
            assume_condition(f, g.cond)
    return f


def _is_in_bounds(n: Load, f: IntegerFacts, varying: Uniformity) -> bool:
    moving = ((k, e) for k, e in enumerate(varying.index(n)) if varying.differs(e))
    return all(
        f.gap(_ZERO, e) <= 0 and f.gap(e, Dim(n.array, k)) < 0 for k, e in moving
    )


_TRUE = Const(True, "bool")


class DivergentWidener(Widener):
    """A Widener that also widens a ``while``: a lane that has left keeps its values (selects)."""

    def __init__(
        self, loop: Loop, kept: Iterable[str], varying: Uniformity, fresh: FreshNames
    ) -> None:
        super().__init__(loop, {name: name for name in kept}, varying)
        self.fresh = fresh

    def stmt(self, s: Stmt) -> Stmt:
        if not isinstance(s, While):
            return super().stmt(s)
        go = self.expr(s.cond)
        assert isinstance(go, Var)
        accs, body = [self._acc(a) for a in s.accs], [*self.block(s.body)]
        after: dict[str, Expr] = {}
        for k, a in enumerate(accs):
            old = Var(a.name, a.step.dtype, WIDTH)
            if a.step.lanes != 1 and a.step != old and old != go:
                name = self.fresh.name(a.name)
                body.append(Assign(name, Call("select", (go, a.step, old), old.dtype, WIDTH)))
                accs[k] = replace(a, step=replace(old, name=name))
                if isinstance(a.step, Var):
                    after[a.step.name] = accs[k].step
        [condition] = [a.step for a in accs if a.name == go.name]
        steps = [substitute(e, after) for e in conjuncts(condition)]
        more = Var(self.fresh.name("more"), "bool")
        shared = [e.value if isinstance(e, Broadcast) else e for e in steps if _is_uniform(e)]
        own: list[Expr] = [go, *(e for e in steps if not _is_uniform(e))]
        stays = reduce(_conjunction, own)
        accs = [replace(a, step=stays) if a.name == go.name else a for a in accs]
        cond: Expr = HReduce("or", go)
        if shared:
            accs.append(Accum(more.name, _TRUE, reduce(_conjunction, shared)))
            cond = _conjunction(cond, more)
        return While(cond, tuple(body), tuple(accs), span=s.span)


def _is_uniform(e: Expr) -> bool:
    """Whether `e` is the same in all lanes."""
    return e.lanes == 1 or isinstance(e, Broadcast)


def _conjunction(a: Expr, b: Expr) -> Expr:
    return Call("and", (a, b), "bool", a.lanes)


_MIN_REGISTER_BYTES = (
    32  # smaller registers check 64-bit lanes more slowly than scalar code
)


def vectorize_divergent(kernel: Kernel, *, machine: Machine = DEFAULT_MACHINE) -> Kernel:
    """Run the inner ``while`` of a loop in vector lanes, until every lane has left it.

    A lane that has left keeps its values. It continues to compute, and may raise flags that Python
    does not, so the kernel becomes strict in these. This is no PredLoop: the predicate of a
    PredLoop is computed once per register, before its body; here each iteration has another mask,
    which is loop-carried. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                v = x[i]
                while loop(go, r=v, go=v > 1.0):
                    h = r / 2.0
                    r = step(h)
                    go = step(h > 1.0)
                y[i] = r

    after::

        @strict("divide", "over", "under", "invalid")
        @stops
        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in vec(0, x.shape[0], width=W):
                v = x[i:W]
                while loop(hreduce("or", go), r=v, go=v > broadcast(1.0, W)):
                    h = r / broadcast(2.0, W)
                    r_1 = select(go, h, r)
                    r = step(r_1)
                    go = step(go & (r_1 > broadcast(1.0, W)))
                y[i:W] = r
    """
    fresh, strict = FreshNames(kernel), set(kernel.strict)
    again = arrays_read(kernel.body).isdisjoint(arrays_written(kernel.body))

    def lanes(s: Loop) -> Loop | VecLoop:
        made = _with_lockstep_while(s, fresh)
        if made is None:
            return s
        flags = possible_flags(*(n for n in made.body if isinstance(n, While)))
        if (flags and not again) or not _can_run_side_by_side(made, kernel):
            return s
        strict.update(flags)
        return _as_divergent_vector_loop(made, fresh)

    few = machine.bytes < _MIN_REGISTER_BYTES
    done = map_statements(kernel, lambda s: _vectorized_or_fissioned(s, lanes, fresh, few))
    if done is kernel:
        return kernel
    stops = kernel.stops or strict != set(kernel.strict)
    return replace(done, strict=tuple(c for c in STATUS if c in strict), stops=stops)


def _vectorized_or_fissioned(
    s: Stmt, lanes: Callable[[Loop], Loop | VecLoop], fresh: FreshNames, few: bool
) -> Stmt:
    """`s` rewritten by `lanes`, after `reduction_fission` if it has folds; unchanged if registers
    are too small (``few``) for its checked 64-bit integers.
    """
    if not isinstance(s, Loop) or (few and _is_checked_int64_only(s)):
        return s
    strips = reduction_fission(s, fresh)
    if strips is None:
        return lanes(s)
    *places, first, second = strips.body
    assert isinstance(first, Loop)
    done = lanes(first)
    return s if done is first else replace(strips, body=(*places, done, second))


def _is_checked_int64_only(loop: Loop) -> bool:
    """Whether `loop` has checks and computes with 64-bit integers only. Integer lanes have the same
    bits as scalars, so this choice may depend on the machine.
    """
    inside = [*walk(loop)]
    floats = any(DTYPES[n.dtype].kind == "f" for n in inside if isinstance(n, Expr))
    waits = (n for n in inside if isinstance(n, While))
    return not floats and any(isinstance(n, Check) for w in waits for n in walk(w))


# -- the inner loop


def _with_lockstep_while(loop: Loop, fresh: FreshNames) -> Loop | None:
    """`loop` with its only inner loop as a straight-line ``while`` on one bool; else None."""
    inner = [s for s in loop.body if isinstance(s, Loop | While)]
    below = [n for s in loop.body if s not in inner for n in walk(s) if isinstance(n, Stmt)]
    if len(inner) != 1 or loop.accs or loop.until is not None:
        return None
    if not all(isinstance(s, Assign | Store | Check | If) for s in below):
        return None
    made = as_lockstep_while(inner[0], fresh)
    if made is None:
        return None
    at = loop.body.index(inner[0])
    before = flatten_branches(loop.body[:at], fresh, *loop.body[at:])
    after = flatten_branches(loop.body[at + 1 :], fresh)
    return replace(loop, body=(*before, _without_dead_accums(made, after), *after))


def _without_dead_accums(s: While, after: Iterable[Stmt]) -> While:
    """`s` without accumulators that nothing reads."""
    read = names_read(s.cond, *s.body, *after)
    needed = [a for a in s.accs if a.name in read | _is_read_by_others(a, s.accs)]
    return replace(s, accs=tuple(needed))


def _is_read_by_others(acc: Accum, accs: Iterable[Accum]) -> frozenset[str]:
    return names_read(*(a.step for a in accs if a is not acc))


# -- legality and rewriting


def _can_run_side_by_side(loop: Loop, kernel: Kernel) -> bool:
    """Whether iterations of `loop` may run in lanes; not if there are provably few."""
    if not isinstance(loop.range, Interval):
        return False
    count = constant_trip_count(loop.range)
    if count is not None and count < MIN_TRIPS:
        return False
    varying = Uniformity(loop)
    inner = next(s for s in loop.body if isinstance(s, While))
    assert isinstance(inner.cond, Var)
    if inner.cond.name not in varying.names:
        return False
    places = [n for s in loop.body for n in walk(s) if isinstance(n, Load | Store)]
    moves = [(n, varying.moves(n)) for n in places]
    if any(m is None or (m == (0, 0) and isinstance(n, Store)) for n, m in moves):
        return False
    if not _stores_after_checks(loop.body) or not lane_loads_in_bounds(loop, kernel, varying):
        return False
    return all(d.distance == 0 for d in dependences(loop, kernel))


def _stores_after_checks(body: Iterable[Stmt]) -> bool:
    """Whether no store precedes a check: a failing check must leave memory as it was."""
    kinds = [type(n) for s in body for n in walk(s) if isinstance(n, Store | Check)]
    return Check not in kinds[kinds.index(Store) :] if Store in kinds else True


def _as_divergent_vector_loop(loop: Loop, fresh: FreshNames) -> VecLoop:
    varying = Uniformity(loop)
    at = next(k for k, s in enumerate(loop.body) if isinstance(s, While))
    inner = loop.body[at]
    assert isinstance(inner, While)
    after = names_read(*loop.body[at + 1 :])
    kept = {a.name for a in inner.accs if a.name in after} | varying.names
    lift = DivergentWidener(loop, kept, varying, fresh)
    return VecLoop(loop.var, loop.range, WIDTH, lift.block(loop.body), span=loop.span)
