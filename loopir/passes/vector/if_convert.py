"""If-conversion: branches of a loop that can then be vectorised become selects and masks.

`MaskedRewriter` rewrites code that every lane evaluates so that it raises float flags only where
the mask is true.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...algebra.constant_folding import fold_constants, literal, neutral_element
from ...algebra.index_builder import logical_not
from ...algebra.may_raise import call_may_raise
from ...algebra.rewrite_rules import rewrite
from ...ir_names import FreshNames, names_read
from ...ir_traversal import bottom_up, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Append,
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Kernel,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
)
from ...op_table import OPS
from ...statement_blocks import map_nested_blocks, map_statements
from ..canonical.propagate_copies import block_copy_propagation
from .vectorize_legality import STRAIGHT_LINE, vectorization_obstacle

__all__ = [
    "MaskedRewriter", "select_masked", "select_common_operation", "flatten_branches", "if_convert",
    "flatten_loop",
]


class MaskedRewriter:
    """Rewrites expressions of code that runs where ``mask`` is true (None: everywhere).

    In other (inactive) lanes an operand of an operation that may raise a flag is replaced by 1, on
    which no op of the table raises one. ``inactive`` maps names to their values in inactive lanes,
    where these are constants.
    """

    def __init__(self, mask: Expr | None) -> None:
        self.mask = mask
        self.inactive: dict[str, Const] = {}

    def __call__(self, e: Expr) -> Expr:
        return e if self.mask is None else self.guarded(e)[0]

    def under(self, cond: Expr) -> MaskedRewriter:
        """The rewriter of code that runs where `cond` is also true."""
        return MaskedRewriter(self.mask_with(cond))

    def mask_with(self, cond: Expr | None) -> Expr | None:
        if self.mask is None or cond is None:
            return cond or self.mask
        return rewrite(Call("and", (self.mask, cond), "bool"))

    def bind(self, name: str, e: Expr) -> Expr:
        """`e` guarded, as the value of `name`, whose value in inactive lanes is recorded."""
        if self.mask is None:
            return e
        value, inactive = self.guarded(e)
        if inactive is not None:
            self.inactive[name] = inactive
        return value

    def guarded(self, e: Expr) -> tuple[Expr, Const | None]:
        """`e` so that it raises no flag in inactive lanes; its value there if it is a constant."""
        match e:
            case Const():
                return e, e
            case Call(op="select", args=(mask, a, b)) if mask == self.mask:
                value, inactive = self.guarded(b)
                return Call("select", (mask, self(a), value), e.dtype), inactive
            case Call():
                return self.call(e)
            case _:
                return e, self.inactive.get(getattr(e, "name", ""))

    def call(self, e: Call) -> tuple[Expr, Const | None]:
        parts = [self.guarded(a) for a in e.args]
        args, inactive = [a for a, _ in parts], [v for _, v in parts]
        value = _constant_result(e, inactive)
        if value is None and call_may_raise(e):
            unknown = [k for k, v in enumerate(inactive) if v is None]
            if len({args[k] for k in unknown}) == 1:  # one operand decides
                inactive = [v or literal(1, e.args[k].dtype) for k, v in enumerate(inactive)]
                value = _constant_result(e, inactive)
            for k in OPS[e.op].guards if value is None else unknown:
                args[k] = self.one(args[k])
        return Call(e.op, tuple(args), e.dtype), value

    def one(self, e: Expr) -> Expr:
        """`e`, with 1 in inactive lanes."""
        assert self.mask is not None
        return Call("select", (self.mask, e, literal(1, e.dtype)), e.dtype)


def _constant_result(e: Call, args: list[Const | None]) -> Const | None:
    known = tuple(a for a in args if a is not None)
    return fold_constants(e.op, known, e.dtype) if len(known) == len(args) else None


def select_masked(
    cond: Expr, a: Expr, b: Expr, then: MaskedRewriter, orelse: MaskedRewriter
) -> Expr:
    """``a`` where `cond` is true, else ``b``; a common operation is computed once for both.

    ``s + x`` or ``s`` → ``s + select(cond, x, -0.0)``, so that a fold remains a fold.
    """
    shared = select_common_operation(cond, a, b, then, orelse)
    return shared or rewrite(Call("select", (cond, then(a), orelse(b)), a.dtype))


def select_common_operation(
    cond: Expr, a: Expr, b: Expr, then: MaskedRewriter, orelse: MaskedRewriter
) -> Expr | None:
    """As `select_masked`, but None where the two have no operation in common."""
    if a == b:
        return a
    a, b = _as_addition(a, b), _as_addition(b, a)
    if isinstance(a, Call) and isinstance(b, Call) and (a.op, a.dtype) == (b.op, b.dtype):
        differ = [k for k, (x, y) in enumerate(zip(a.args, b.args, strict=True)) if x != y]
        if len(differ) == 1 and a.args[differ[0]].dtype == b.args[differ[0]].dtype:
            (k,) = differ
            arm = select_masked(cond, a.args[k], b.args[k], then, orelse)
            return Call(a.op, (*a.args[:k], arm, *a.args[k + 1 :]), a.dtype)
    for whole, part, flip in ((a, b, False), (b, a, True)):
        step = _split_reduction(whole, part)
        if step is not None:
            op, value, none = step
            taken, other = (none, value) if flip else (value, none)
            chosen = select_masked(cond, taken, other, then, orelse)
            return Call(op, (part, chosen), part.dtype)
    return None


def _as_addition(e: Expr, other: Expr) -> Expr:
    """``s - x`` → ``s + -x``, if `other` adds to `s`."""
    match e, other:
        case Call(op="sub", args=(s, x)), Call(op="add", args=(t, _)) if s == t:
            return Call("add", (s, rewrite(Call("neg", (x,), x.dtype))), e.dtype)
        case _:
            return e


def _split_reduction(whole: Expr, part: Expr) -> tuple[str, Expr, Const] | None:
    """Match ``whole`` as ``op(part, value)``: (op, value, neutral value); None if it is not."""
    if not isinstance(whole, Call) or len(whole.args) != 2 or whole.dtype != part.dtype:
        return None
    a, b = whole.args
    none = literal(0, whole.dtype) if whole.op == "sub" else neutral_element(whole.op, whole.dtype)
    if none is None or OPS[whole.op].result != OPS[whole.op].operands[0]:
        return None
    if a == part:
        return whole.op, b, none
    return (whole.op, a, none) if b == part and whole.op != "sub" else None


def if_convert(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Turn branches into straight-line code, in loops that can be vectorised after that.

    Both sides are evaluated in every iteration: loads are in bounds on both (lowering ensures
    that), and operations that may raise a floating-point flag get harmless operands where their
    side is not taken. Before::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0):
                v = x[i]
                if v > 0.0:
                    r = sqrt(v)
                    out[i] = r
                    t = give(s + r)
                else:
                    t = give(s)
                s = step(t)
            total[()] = s

    after::

        def k(x: f64[::1], out: mut(f64[::1]), total: mut(f64[()])):
            disjoint(x, out)
            for i in loop(0, x.shape[0], s=0.0):
                v = x[i]
                m = v > 0.0
                r = sqrt(select(m, v, 1.0))
                out[i] = where(m, r)
                s = step(s + select(m, r, -0.0))
            total[()] = s
    """
    fresh = FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        flat = flatten_loop(s, kernel, fresh) if isinstance(s, Loop) else None
        return (
            s
            if flat is None or vectorization_obstacle(flat, kernel, reassociate=reassociate)
            else flat
        )

    return map_statements(kernel, edit)


def flatten_loop(loop: Loop, kernel: Kernel, fresh: FreshNames) -> Loop | None:
    """`loop` as straight-line code; None if it is already, or cannot be converted."""
    if not _is_convertible(loop):
        return None
    flat = replace(loop, body=flatten_branches(loop.body, fresh, *(a.step for a in loop.accs)))
    tidied = map_nested_blocks(bottom_up(flat, rewrite), block_copy_propagation(kernel))
    made: Loop = bottom_up(tidied, rewrite)
    return made


def flatten_branches(stmts: Iterable[Stmt], fresh: FreshNames, *others: Node) -> tuple[Stmt, ...]:
    """`stmts` without branches; nested loops are left alone. `others` read their names."""
    flattening = _Flattening(fresh)
    flat = [bottom_up(s, rewrite) for s in flattening.block(stmts, MaskedRewriter(None))]
    unread = flattening.merged - names_read(*flat, *others)
    return tuple(s for s in flat if not (isinstance(s, Assign) and s.name in unread))


def _is_convertible(loop: Loop) -> bool:
    """Whether the body has branches, and only straight-line code in and around them."""
    branches = [n for n in walk(loop) if isinstance(n, If)]
    bodies = (loop.body, *(b for s in branches for b in (s.then, s.orelse)))
    flat = all(isinstance(s, (*STRAIGHT_LINE, If)) for body in bodies for s in body)
    return bool(branches) and flat


class _Flattening:
    """Turns blocks into straight-line code under a mask.

    ``given``: the values of yielded names. ``merged``: those names whose operation was merged into
    a yield of the enclosing branch.
    """

    def __init__(self, fresh: FreshNames) -> None:
        self.fresh = fresh
        self.given: dict[Expr, Expr] = {}
        self.merged: set[str] = set()

    def block(self, stmts: Iterable[Stmt], masked: MaskedRewriter) -> Iterator[Stmt]:
        for s in stmts:
            yield from self.stmt(s, masked)

    def stmt(self, s: Stmt, masked: MaskedRewriter) -> Iterator[Stmt]:
        match s:
            case Assign():
                yield replace(s, value=masked.bind(s.name, s.value))
            case Store() | Append():
                yield replace(s, value=masked(s.value), mask=masked.mask_with(s.mask))
            case Check() if masked.mask is not None:
                cond = Call("or", (logical_not(masked.mask), masked(s.cond)), "bool")
                yield replace(s, cond=rewrite(cond))
            case If():
                yield from self.branch(s, masked)
            case _:
                yield s

    def branch(self, s: If, masked: MaskedRewriter) -> Iterator[Stmt]:
        cond = masked(s.cond)
        if not isinstance(cond, Var):
            name = self.fresh.name("m")
            yield Assign(name, cond, span=s.span)
            cond = Var(name, "bool")
        then, orelse = masked.under(cond), masked.under(logical_not(cond))
        yield from self.block(s.then, then)
        yield from self.block(s.orelse, orelse)
        for y in s.yields:
            a, b = (self.given.get(e, e) for e in (y.then, y.orelse))
            value = select_common_operation(cond, a, b, then, orelse)
            if value is None:
                value = select_masked(cond, y.then, y.orelse, then, orelse)
            else:
                self.merged |= names_read(y.then, y.orelse) - names_read(value)
            self.given[Var(y.name, value.dtype)] = value
            yield Assign(y.name, value, span=s.span)
