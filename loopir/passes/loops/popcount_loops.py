"""Population counts: a loop that counts the bits of an integer one by one becomes one operation.

LLVM: `LoopIdiomRecognize`, which knows the form that clears the lowest bit.
"""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.constant_folding import constant_trip_count, is_constant, literal
from ...algebra.rewrite_rules import rewrite
from ...analysis.mod_ref import AliasInfo
from ...dtypes import DTYPES
from ...ir_names import bound_names, expand_names, multiply_bound_names, names_read
from ...ir_traversal import walk
from ...lazy_dataclass import record, replace
from ...nodes import (
    Accum,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Interval,
    Kernel,
    Loop,
    Stmt,
    Var,
    While,
)
from ...statement_blocks import Block, map_blocks

__all__ = ["popcount_loops"]


def popcount_loops(kernel: Kernel) -> Kernel:
    """Count the bits of an integer by `popcount`, where a loop counts them: while it is not 0 (or
    greater than 0), the loop clears its lowest bit and adds 1, or adds its lowest bit and shifts it
    to the right. The loop around has then no inner loop, and can be vectorised.

    So is a loop over positions of bits, from one constant to another, that adds the bit at each.

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
            counted: tuple[Stmt, ...] | None = None
            if isinstance(s, While):
                counted = _bit_count(s, values)
            elif isinstance(s, Loop):
                counted = _count_of_positions(s)
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
    has_rest = is_signed and while_positive
    zero = literal(0, start.dtype)
    new: list[Stmt] = []
    bits: Expr = Call("popcount", (start,), start.dtype)
    if has_rest:
        bits = Call("select", (Call("gt", (start, zero), "bool"), bits, zero), start.dtype)
    elif is_signed:
        # of a negative number the loop does not end: Python runs it
        never_ends = checks[0] if checks else Check(zero, "replay", cause="GUARD_INT_RANGE")
        new.append(replace(never_ends, cond=Call("ge", (start, zero), "bool"), span=loop.span))
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
            more = _lowest_bit_of(_without_casts(more))
            return more == term or (is_constant(term, 1) and is_constant(more, 1))
    return False


def _without_casts(e: Expr) -> Expr:
    """What `e` is cast from."""
    while isinstance(e, Call) and e.op == "cast":
        e = e.args[0]
    return e


def _lowest_bit_of(e: Expr) -> Expr:
    """``x % 2`` as ``x & 1``, which is the same for negative numbers, too; other values as they
    are.
    """
    match e:
        case Call("mod", (x, two)) if DTYPES[e.dtype].kind in "iu" and is_constant(two, 2):
            return Call("bitand", (x, literal(1, e.dtype)), e.dtype)
    return e


def _is_implied(cond: Expr, number: str) -> bool:
    """Whether `cond` is a lower bound of the number that holds for all that are greater than 0."""
    match cond:
        case Call("ge", (Var(name), bound)) if name == number:
            return any(is_constant(bound, k) for k in (0, 1)) or is_constant(
                bound, DTYPES[bound.dtype].low + 1
            )
        case Call("not", (Call("sub_over", (Var(name), one)),)) if name == number:
            return is_constant(one, 1)
    return False


def _is_overflow_of(cond: Expr, counts: set[str]) -> bool:
    """Whether `cond` tells that adding to one of `counts` does not overflow."""
    match cond:
        case Call("not", (Call("add_over", (Var(name), _)),)):
            reads = [n for n in walk(cond) if isinstance(n, Var) and n.name == name]
            return name in counts and len(reads) == 1
    return False


# -- Loops over positions of bits


def _count_of_positions(loop: Loop) -> tuple[Stmt, ...] | None:
    """The statements that replace `loop`, if each of its accumulators counts the bits of a number
    at the positions ``lo <= k < hi`` of the loop variable ``k``: ``c += x >> k & 1``.
    """
    trips = loop.range if isinstance(loop.range, Interval) else None
    if loop.until is not None or not loop.accs or trips is None or not constant_trip_count(trips):
        return None
    inner: dict[str, Expr] = {}
    checked: dict[str, tuple[Check, Expr]] = {}
    for s in loop.body:
        match s:
            case Assign(name, value):
                inner[name] = value
            case If(cond, (), (), yields):
                inner |= {
                    y.name: Call("select", (cond, y.then, y.orelse), y.then.dtype) for y in yields
                }
            case Check(Call("not", (Call("add_over", (Var(name), more)),))) if name not in checked:
                checked[name] = s, more
            case _:
                return None
    if not checked.keys() <= {c.name for c in loop.accs}:
        return None
    new: list[Stmt] = []
    for c in loop.accs:
        bit = _added_bit(expand_names(c.step, inner) or c.step, c.current)
        number = _number_of_bit(bit, loop.var) if bit is not None else None
        count = _bits_between(number, trips) if number is not None else None
        if count is None or names_read(count) & bound_names(loop):
            return None
        more = count if c.init.dtype == count.dtype else Call("cast", (count,), c.init.dtype)
        if c.name in checked:
            check, added = checked[c.name]
            if _number_of_bit(expand_names(added, inner) or added, loop.var) != number:
                return None
            over = Call("add_over", (c.init, more), "bool")
            new.append(replace(check, cond=rewrite(Call("not", (over,), "bool"))))
        total = rewrite(Call("add", (c.init, more), c.init.dtype))
        new.append(Assign(c.name, total, span=loop.span))
    return tuple(new)


def _added_bit(step: Expr, c: Var) -> Expr | None:
    """What `step` adds to the count `c`: a number, or a condition under which it adds 1."""
    match step:
        case Call("add", (first, more)) if first == c:
            return more
        case Call("select", (cond, Call("add", (first, one)), same)) if first == same == c:
            return cond if is_constant(one, 1) else None
    return None


def _number_of_bit(bit: Expr, var: str) -> Expr | None:
    """The number whose bit at the position `var` is `bit`, as 0 or 1, or as a condition."""
    bit = _lowest_bit_of(_without_casts(bit))
    match bit:
        case Call("ne" | "gt", (Call("bitand") as masked, zero)) if is_constant(zero, 0):
            match masked:
                case Call("bitand", (number, power)) if _is_power_at(power, var):
                    return number if bit.op == "ne" else None
                case Call("bitand", (power, number)) if _is_power_at(power, var):
                    return number if bit.op == "ne" else None
            return _number_of_bit(masked, var)
        case Call("ne" | "gt", (Call("mod") as rest, zero)) if is_constant(zero, 0):
            return _number_of_bit(rest, var)
        case Call("eq", (x, one)) if is_constant(one, 1):
            return _number_of_bit(x, var)
        case Call("select", (cond, one, zero)) if is_constant(one, 1) and is_constant(zero, 0):
            return _number_of_bit(cond, var)
        case Call("bitand", (Call("shr", (number, by)), one)) if is_constant(one, 1):
            return number if _is_variable(by, var) else None
    return None


def _is_variable(e: Expr, var: str) -> bool:
    """Whether `e` is the loop variable `var`, of whatever dtype."""
    e = _without_casts(e)
    return isinstance(e, Var) and e.name == var


def _is_power_at(e: Expr, var: str) -> bool:
    """Whether `e` is 2 to the power of the loop variable `var`."""
    match e:
        case Call("shl", (one, by)):
            return is_constant(one, 1) and _is_variable(by, var)
    return False


def _bits_between(number: Expr, trips: Interval) -> Expr | None:
    """How many bits of `number` are set at the positions `trips`, whose bounds are constants. None
    if there are positions below 0, or such in which a negative number has bits beyond its dtype.
    """
    dtype = DTYPES[number.dtype]
    lo, hi = (int(e.value) for e in (trips.lo, trips.hi) if isinstance(e, Const))
    if dtype.kind not in "iu" or lo < 0 or (dtype.kind == "i" and hi > dtype.bits):
        return None
    hi = min(hi, dtype.bits)
    mask = (1 << hi) - (1 << min(lo, hi))
    if dtype.kind == "i" and mask > dtype.high:
        mask -= 1 << dtype.bits
    masked = rewrite(Call("bitand", (number, literal(mask, number.dtype)), number.dtype))
    return Call("popcount", (masked,), number.dtype)
