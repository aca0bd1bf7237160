"""Back-substitution: several steps of a linear recurrence modulo a power of two are made at once.

Each step of ``s = (a * s + c) % 2**32``, a linear congruential generator, waits for the one before:
for a product, a sum and a mask. But the state after k steps is ``(a_k * s + c_k) % 2**32``, too,
with other constants: so the states after one, two, three and four steps all follow from the first.
(M. Schlansker and V. Kathail, Acceleration of first and higher order recurrences on processors with
instruction level parallelism, LCPC 1993.)
"""
from __future__ import annotations

from ...algebra.constant_folding import literal
from ...algebra.index_builder import index_add, index_floordiv, index_max, index_mul, index_sub
from ...dtypes import DTYPES, INDEX
from ...ir_names import FreshNames, bound_names, rename_names, substitute
from ...ir_traversal import advanced_accums, counted_range, has_early_exit, is_innermost, walk
from ...lazy_dataclass import record, replace
from ...nodes import Assign, Call, Const, Expr, Kernel, Loop, RangeDesc, Stmt, Var
from ...statement_blocks import map_statements

__all__ = ["back_substitution"]

_STEPS = (8, 4)
"""How many steps of a recurrence are made at once: the first number whose copies of the body have
at most `_MAX_NODES` nodes.
"""
_MAX_NODES = 600
_WORD = 64  # bits of the integers in which products are computed


def back_substitution(kernel: Kernel) -> Kernel:
    """Unroll an innermost scalar loop that carries a linear recurrence modulo a power of two, so
    that each copy of the body computes its states from the state before the first one.

    What else the loop carries, loads, checks and stores stays in order. Before::

        def k(seed: i64, out: mut(i64[::1])):
            for i in loop(0, out.shape[0], s=seed):
                t = (s * 5 + 3) % 256
                out[i] = t
                s = step(t)

    after::

        def k(seed: i64, out: mut(i64[::1])):
            whole = out.shape[0] // 8 * 8
            for i_1 in loop(range(0, whole, 8), s_1=seed):
                t_1 = (s_1 * 5 + 3) % 256
                out[i_1] = t_1
                t_2 = s_1 * 25 + 18 & 255
                out[i_1 + 1] = t_2
                t_3 = s_1 * 125 + 93 & 255
                out[i_1 + 2] = t_3
                t_4 = s_1 * 113 + 212 & 255
                out[i_1 + 3] = t_4
                t_5 = s_1 * 53 + 39 & 255
                out[i_1 + 4] = t_5
                t_6 = s_1 * 9 + 198 & 255
                out[i_1 + 5] = t_6
                t_7 = s_1 * 45 + 225 & 255
                out[i_1 + 6] = t_7
                t_8 = s_1 * 225 + 104 & 255
                out[i_1 + 7] = t_8
                s_1 = step(t_8)
            for i in loop(whole, out.shape[0], s=s_1):
                t = (s * 5 + 3) % 256
                out[i] = t
                s = step(t)
    """
    fresh = FreshNames(kernel)
    ranges = (n.range for n in walk(kernel) if isinstance(n, Loop))
    ends = {r.end for r in ranges if isinstance(r, RangeDesc)}  # what follows these is left over

    def edit(s: Stmt) -> Stmt | tuple[Stmt, ...]:
        """`s` in copies of its body, if that shortens what an iteration waits for."""
        if not isinstance(s, Loop) or not is_innermost(s):
            return s
        interval = counted_range(s)
        if interval is None or interval.lo in ends:
            return s
        size = sum(1 for _ in walk(s))
        count = next((k for k in _STEPS if k * size <= _MAX_NODES), 0)
        if not count or has_early_exit(s) or advanced_accums(s):
            return s
        named = _with_named_steps(s, fresh)
        for a in named.accs:
            states = _states(named, a.name)
            if isinstance(a.step, Var) and (last := states.get(a.step.name)) and last.is_slow:
                return _copies(named, a.name, states, count, fresh)
        return s

    return map_statements(kernel, edit, Loop)


@record(frozen=True, slots=True)
class _Linear:
    """The integer ``factor * s + term`` modulo ``2**bits``, as far as its low bits tell; if it
    ``is_exact``, it is that remainder (of 64 bits: it wraps around).
    """

    factor: int
    term: int
    bits: int
    is_exact: bool

    @property
    def is_slow(self) -> bool:
        """Whether it is computed by a product."""
        return self.factor % 2**self.bits not in (0, 1)

    def after(self, state: _Linear) -> _Linear:
        """The same of a state that is itself linear in the first one."""
        factor = self.factor * state.factor
        return replace(self, factor=factor, term=self.factor * state.term + self.term)

    def of(self, state: Var) -> Expr:
        """As an expression of the first state."""
        factor, term = (_wrapped(x, self.bits, state.dtype) for x in (self.factor, self.term))
        product = Call("mul", (state, literal(factor, state.dtype)), state.dtype)
        total = Call("add", (product, literal(term, state.dtype)), state.dtype)
        if self.bits == _WORD:
            return total
        return Call("bitand", (total, literal(2**self.bits - 1, state.dtype)), state.dtype)


def _wrapped(x: int, bits: int, dtype: str) -> int:
    """`x` modulo ``2**bits``, as a number of `dtype`."""
    x %= 2**bits
    return x if x <= DTYPES[dtype].high else x - 2**bits


def _with_named_steps(loop: Loop, fresh: FreshNames) -> Loop:
    """`loop` with a name for each step of an integer that is masked in place."""
    body, accs = [*loop.body], []
    for a in loop.accs:
        if isinstance(a.step, Call) and a.step.op in ("bitand", "mod") and a.step.lanes == 1:
            name = fresh.name(a.name)
            body.append(Assign(name, a.step, span=a.span))
            a = replace(a, step=Var(name, a.init.dtype))
        accs.append(a)
    return replace(loop, body=tuple(body), accs=tuple(accs))


def _states(loop: Loop, acc: str) -> dict[str, _Linear]:
    """The names that the body of `loop` assigns, of those that are linear in the accumulator
    `acc`, modulo a power of two.
    """
    known = {acc: _Linear(1, 0, _WORD, is_exact=True)}
    for s in loop.body:
        if isinstance(s, Assign) and (found := _linear(s.value, known)) is not None:
            known[s.name] = found
    return {n: x for n, x in known.items() if n != acc and x.is_exact and x.bits < _WORD}


def _linear(e: Expr, known: dict[str, _Linear]) -> _Linear | None:
    """`e` as a linear function of the state, by those of names; None if it is none."""
    if e.dtype != INDEX or e.lanes != 1:
        return None
    match e:
        case Const(value=int(value)):
            return _Linear(0, value, _WORD, is_exact=True)
        case Var(name):
            return known.get(name)
        case Call("add" | "sub" | "mul" as op, (x, y)):
            a, b = _linear(x, known), _linear(y, known)
            if a is None or b is None or (op == "mul" and a.factor and b.factor):
                return None
            bits = min(a.bits, b.bits)
            if op == "mul":
                factor = a.factor * b.term + b.factor * a.term
                return _Linear(factor, a.term * b.term, bits, is_exact=bits == _WORD)
            sign = 1 if op == "add" else -1
            factor, term = a.factor + sign * b.factor, a.term + sign * b.term
            return _Linear(factor, term, bits, is_exact=bits == _WORD)
        case Call("bitand", (x, Const(value=int(mask)))) if mask > 0 and not mask & (mask + 1):
            return _masked(_linear(x, known), mask.bit_length())
        case Call("mod", (x, Const(value=int(n)))) if n > 1 and not n & (n - 1):
            return _masked(_linear(x, known), n.bit_length() - 1)
    return None


def _masked(a: _Linear | None, bits: int) -> _Linear | None:
    """The low `bits` of `a`; None if they are not known."""
    if a is None or (bits > a.bits and not a.is_exact):
        return None
    return a if bits > a.bits else replace(a, bits=bits, is_exact=True)


def _copies(
    loop: Loop, acc: str, states: dict[str, _Linear], count: int, fresh: FreshNames
) -> tuple[Stmt, ...]:
    """`loop` as a loop over `count` copies of its body, and the loop over the iterations that are
    left. ``states``: the names that follow from the accumulator `acc`.
    """
    interval = counted_range(loop)
    assert interval is not None
    whole, first = Var(fresh.name("whole"), INDEX), Var(fresh.name(loop.var), INDEX)
    groups = index_floordiv(index_max(index_sub(interval.hi, interval.lo), 0), count)
    end = index_add(interval.lo, index_mul(groups, count))
    names = {a.name: Var(fresh.name(a.name), a.init.dtype) for a in loop.accs}
    (last,) = (states[a.step.name] for a in loop.accs if a.name == acc and isinstance(a.step, Var))
    values: dict[str, Expr] = {**names}
    body: list[Stmt] = []
    before = _Linear(1, 0, _WORD, is_exact=True)
    for k in range(count):
        renaming = {name: fresh.name(name) for name in sorted(bound_names(*loop.body))}
        here = {**values, loop.var: index_add(first, k)}
        for s in loop.body:
            copy: Stmt = rename_names(s, renaming)
            known = states.get(s.name) if k and isinstance(s, Assign) else None
            if isinstance(copy, Assign) and known is not None and known.bits <= before.bits:
                body.append(replace(copy, value=known.after(before).of(names[acc])))
            else:
                body.append(substitute(copy, here))
        for a in loop.accs:
            step = substitute(rename_names(a.step, renaming), here)
            if not isinstance(step, Var):
                name = fresh.name(a.name)
                body.append(Assign(name, step, span=a.span))
                step = Var(name, step.dtype)
            values[a.name] = step
        before = last.after(before)
    accs = tuple(replace(a, name=names[a.name].name, step=values[a.name]) for a in loop.accs)
    copies = Loop(
        first.name, RangeDesc(interval.lo, whole, count), tuple(body), accs, span=loop.span
    )
    rest = tuple(replace(a, init=names[a.name]) for a in loop.accs)
    return (
        Assign(whole.name, end, span=loop.span),
        copies,
        replace(loop, range=replace(interval, lo=whole), accs=rest),
    )
