"""Population counts: a loop that counts the bits of an integer one by one becomes one operation.

LLVM: `LoopIdiomRecognize`, which knows the form that clears the lowest bit.
"""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import is_constant, literal
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo
from ...dtypes import DTYPES
from ...ir_names import expand_names, multiply_bound_names
from ...ir_traversal import walk
from ...lazy_dataclass import record, replace
from ...nodes import Accum, Assign, Call, Check, Expr, Kernel, Stmt, Var, While
from ...statement_blocks import Block, map_blocks

__all__ = ["popcount_loops"]


def popcount_loops(kernel: Kernel) -> Kernel:
    """Count the bits of an integer by `popcount`, where a loop counts them: while it is not 0 (or
    greater than 0), the loop clears its lowest bit and adds 1, or adds its lowest bit and shifts it
    to the right. The loop around has then no inner loop, and can be vectorised.

    A negative number has no end of such bits in Python: the call is replayed. Before::

        def k(x: i64[::1], out: mut(i64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                v = x[i]
                while loop(go, c=0, v_1=v, go=v != 0):
                    check(v_1 >= -9223372036854775807, "over")
                    v_2 = v_1 & v_1 - 1
                    c = step(c + 1)
                    v_1 = step(v_2)
                    go = step(v_2 != 0)
                out[i] = c

    after::

        def k(x: i64[::1], out: mut(i64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                v = x[i]
                check(v >= 0, "over")
                c = popcount(v)
                v_1 = 0
                go = False
                out[i] = c
    """
    ambiguous, memory = multiply_bound_names(kernel), AliasInfo(kernel)

    def edit(b: Block) -> Block:
        """`b` with its loops that count bits replaced."""
        stmts: list[Stmt] = []
        values: dict[str, Expr] = {}
        for s in b.stmts:
            counted = _bit_count(s, values) if isinstance(s, While) else None
            stmts += counted or (s,)
            values = {name: e for name, e in values.items() if not memory.crosses(e, (s,))}
            if isinstance(s, Assign) and s.name not in ambiguous:
                values[s.name] = s.value
        return b if tuple(stmts) == b.stmts else replace(b, stmts=tuple(stmts))

    return map_blocks(kernel, edit, vectors=False)


@record(frozen=True, slots=True)
class _Roles:
    """What the accumulators of a loop are: the number, whether it goes on, and the counts."""

    number: Accum
    flag: Accum
    counts: tuple[Accum, ...]


def _bit_count(loop: While, values: Mapping[str, Expr]) -> tuple[Stmt, ...] | None:
    """The statements that replace `loop`, if it counts bits; ``values``: those of the names bound
    before it.
    """
    if not all(isinstance(s, Assign | Check) for s in loop.body):
        return None
    inner = {s.name: s.value for s in loop.body if isinstance(s, Assign)}
    accs = [replace(a, step=expand_names(a.step, inner) or a.step) for a in loop.accs]
    roles = _roles(loop, accs)
    if roles is None:
        return None
    n, counts = roles.number, roles.counts
    start = n.init
    term = _counted_term(n)
    go = roles.flag.init
    goes_on = values.get(go.name, go) if isinstance(go, Var) else go
    while_positive = _is_test(goes_on, start, ("gt",))
    if term is None or not (while_positive or _is_test(goes_on, start, ("ne",))):
        return None
    if not _is_test(roles.flag.step, n.step, ("gt",) if while_positive else ("ne",)):
        return None
    if not all(_is_count(c, counts, term) for c in counts):
        return None
    checks = [s for s in loop.body if isinstance(s, Check)]
    conditions = [expand_names(c.cond, inner) or c.cond for c in checks]
    names = {c.name for c in counts}
    if not all(_is_implied(c, n.name) or _is_overflow_of(c, names) for c in conditions):
        return None
    is_signed = DTYPES[start.dtype].kind == "i"
    if is_signed and not while_positive and not checks:
        return None
    has_rest = is_signed and while_positive
    zero = literal(0, start.dtype)
    new: list[Stmt] = []
    bits: Expr = Call("popcount", (start,), start.dtype)
    if has_rest:
        bits = Call("select", (Call("gt", (start, zero), "bool"), bits, zero), start.dtype)
    elif is_signed:
        new.append(replace(checks[0], cond=Call("ge", (start, zero), "bool")))
    for c in counts:
        more = bits if c.init.dtype == bits.dtype else Call("cast", (bits,), c.init.dtype)
        for check, cond in zip(checks, conditions, strict=True):
            if _is_overflow_of(cond, {c.name}):
                over = Call("add_over", (c.init, more), "bool")
                new.append(replace(check, cond=rewrite(Call("not", (over,), "bool"))))
        total = rewrite(Call("add", (c.init, more), c.init.dtype))
        new.append(Assign(c.name, total, span=loop.span))
    rest = rewrite(Call("min", (start, zero), start.dtype)) if has_rest else zero
    flag = Assign(roles.flag.name, literal(False, "bool"), span=loop.span)
    return (*new, Assign(n.name, rest, span=loop.span), flag)


def _roles(loop: While, accs: list[Accum]) -> _Roles | None:
    """The roles of the accumulators `accs` of `loop`; None if there are others."""
    flag = next((a for a in accs if loop.cond == Var(a.name, "bool")), None)
    number = next((a for a in accs if _counted_term(a) is not None), None)
    counts = tuple(a for a in accs if a is not flag and a is not number)
    are_ints = all(DTYPES[c.init.dtype].kind in "iu" for c in counts)
    return _Roles(number, flag, counts) if flag and number and counts and are_ints else None


def _counted_term(a: Accum) -> Expr | None:
    """What an iteration adds to a count, if `a` loses its lowest bit that is set (1), or is shifted
    to the right by one bit (its lowest bit); else None.
    """
    dtype = a.init.dtype
    number = Var(a.name, dtype)
    if DTYPES[dtype].kind not in "iu":
        return None
    match a.step:
        case Call("bitand", (x, y)) if number in (x, y):
            match y if x == number else x:
                case Call("sub", (z, one)) if z == number and is_constant(one, 1):
                    return literal(1, dtype)
        case Call("shr" | "floordiv" as op, (x, by)) if x == number:
            if is_constant(by, 1 if op == "shr" else 2):
                return Call("bitand", (number, literal(1, dtype)), dtype)
    return None


def _is_test(cond: Expr, number: Expr, ops: tuple[str, ...]) -> bool:
    """Whether `cond` compares `number` with 0 by one of `ops`."""
    match cond:
        case Call(op, (a, b)) if op in ops:
            return a == number and is_constant(b, 0)
    return False


def _is_count(c: Accum, counts: tuple[Accum, ...], term: Expr) -> bool:
    """Whether `c` is greater by `term` after each iteration than it, or one that starts as it does,
    was before.
    """
    match c.step:
        case Call("add", (Var(name), more)) if any(
            k.name == name and k.init == c.init for k in counts
        ):
            while isinstance(more, Call) and more.op == "cast":
                more = more.args[0]
            return more == term or (is_constant(term, 1) and is_constant(more, 1))
    return False


def _is_implied(cond: Expr, number: str) -> bool:
    """Whether `cond` is a lower bound of the number that holds for all that are greater than 0."""
    match cond:
        case Call("ge", (Var(name), bound)) if name == number:
            return any(is_constant(bound, k) for k in (0, 1)) or is_constant(
                bound, DTYPES[bound.dtype].low + 1
            )
    return False


def _is_overflow_of(cond: Expr, counts: set[str]) -> bool:
    """Whether `cond` tells that adding to one of `counts` does not overflow."""
    match cond:
        case Call("not", (Call("add_over", (Var(name), _)),)):
            reads = [n for n in walk(cond) if isinstance(n, Var) and n.name == name]
            return name in counts and len(reads) == 1
    return False
