"""If-conversion: branches of a loop that can then be vectorised become selects and masks.

`_Flattening` walks the body in order: assignments of both sides are executed in every iteration,
stores get the condition as their mask, checks hold only under it (``not mask or cond``), and a
yield becomes a select. What is computed where its side is not taken must not raise a floating-point
flag, which the user would see as a warning: `MaskedRewriter` gives such operations harmless
operands there. `_is_convertible` says which loops qualify: only straight-line code in and around
the branches. The loop is converted only if `vectorization_obstacle` accepts the result.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...algebra.constant_folding import fold_constants, literal, neutral_element, worst_value
from ...algebra.index_builder import logical_not
from ...algebra.may_raise import call_may_raise, may_only_underflow
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.implied_conditions import conjuncts
from ...dtypes import DTYPES
from ...ir_names import FreshNames, names_read
from ...ir_traversal import bottom_up, contains, walk_statements
from ...lazy_dataclass import record, replace
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
from ...op_table import OPS, Op
from ...statement_blocks import map_nested_blocks, map_statements
from ..canonical.propagate_copies import block_copy_propagation
from .vectorize_legality import STRAIGHT_LINE, vectorization_obstacle

__all__ = [
    "MaskedRewriter", "select_masked", "select_common_operation", "flatten_branches", "if_convert",
    "flatten_loop",
]


_EXTREMA = frozenset(("min", "max", "minimum", "maximum"))
_MAX_DEPTH = 24
"""Branches inside of one another, as a chain of ``elif`` has them, beyond which a loop keeps them:
straight-line code computes all sides, and the size of the masks grows with the square of that."""


@record(frozen=True, slots=True)
class _WithoutFlags:
    """An expression that raises no floating-point flag in inactive lanes."""

    expr: Expr
    inactive: Const | None  # its value in inactive lanes; None: not known, or no constant


class MaskedRewriter:
    """Rewrites expressions of a branch, which runs where ``mask`` is true (None: everywhere), so
    that they can be computed in all lanes: in the inactive ones they raise no floating-point flag.

        if m:                      y = select(m, sqrt(select(m, v, 1.0)), 0.0)
            y = sqrt(v)      →
        (else y = 0.0)             the inactive lanes compute sqrt(1.0), which raises nothing

    An operand of an operation that may raise a flag is replaced by `Op.safe` in inactive lanes (1
    for most operations), unless its value there is known to be harmless: ``inactive`` maps names to
    their values in inactive lanes, where these are constants. An expression that can only underflow
    is left as it is (``(v - 0.3) * 0.2``): lowering notes underflows in loops as silent.

    A rewriter is called with the expressions of the branch in their order, `bind` with those that
    are assigned to names. `under` makes the rewriter of a branch inside. `_Flattening` uses it, and
    `vectorize.predicate_loop`, for a loop whose whole body has one mask.
    """

    def __init__(self, mask: Expr | None) -> None:
        self.mask = mask
        self.inactive: dict[str, Const] = {}
        self._conjuncts: frozenset[Expr] | None = None  # of the mask

    def __call__(self, e: Expr) -> Expr:
        return self.rewritten(e).expr

    def under(self, cond: Expr) -> MaskedRewriter:
        """The rewriter of code that runs where `cond` is also true."""
        return MaskedRewriter(self.mask_with(cond))

    def mask_with(self, cond: Expr | None) -> Expr | None:
        """The mask and `cond`; None where both are None."""
        if self.mask is None or cond is None:
            return cond or self.mask
        return rewrite(Call("and", (self.mask, cond), "bool"))

    def bind(self, name: str, e: Expr) -> Expr:
        """`e` without flags, as the value of `name`, whose value in inactive lanes is recorded."""
        new = self.rewritten(e)
        if new.inactive is not None:
            self.inactive[name] = new.inactive
        return new.expr

    def rewritten(self, e: Expr) -> _WithoutFlags:
        """`e` so that it raises no flag in inactive lanes, or only that of an underflow."""
        is_silent = self.mask is None or may_only_underflow(e)
        return _WithoutFlags(e, None) if is_silent else self.without_flags(e)

    def without_flags(self, e: Expr) -> _WithoutFlags:
        """`e` so that it raises no flag in inactive lanes."""
        match e:
            case Const():
                return _WithoutFlags(e, e)
            case Call(op="select", args=(mask, a, b)) if self.is_off_with(mask):
                other = self.without_flags(b)
                select = Call("select", (mask, self(a), other.expr), e.dtype)
                return _WithoutFlags(select, other.inactive)
            case Call():
                return self.call_without_flags(e)
            case _:
                return _WithoutFlags(e, self.inactive.get(getattr(e, "name", "")))

    def is_off_with(self, mask: Expr) -> bool:
        """Whether `mask` is false in all inactive lanes: it is that of this rewriter, or of a
        branch inside of its branch.
        """
        if mask == self.mask:
            return True
        if not isinstance(mask, Call) or mask.op != "and":
            return False
        if self._conjuncts is None:
            self._conjuncts = frozenset(conjuncts(self.mask)) if self.mask else frozenset()
        return self._conjuncts <= frozenset(conjuncts(mask))

    def call_without_flags(self, e: Call) -> _WithoutFlags:
        """The call so that it raises no flag in inactive lanes.

        An operand is known if it has one value in all inactive lanes. The first case that applies:

        - all are known, and the call raises nothing on them: nothing is replaced;
        - all that are unknown are one expression (``x * x``), and the call raises nothing with
          `Op.safe` for it: that is replaced, and the call's value in inactive lanes is known, too;
        - else the operands of `Op.masked_operands` are replaced; the call's value is unknown.

        Before → after, under the mask ``m``::

            sqrt(x)          →  sqrt(select(m, x, 1.0))              # 1.0 in inactive lanes
            x / 0.3          →  select(m, x, 1.0) / 0.3              # 1.0 / 0.3 there
            x / y            →  x / select(m, y, 1.0)                # unknown there
            exp(x * 2.0)     →  exp(select(m, x, 1.0) * 2.0)         # exp of 2.0, a known operand
            atanh(x)         →  atanh(select(m, x, 0.0))             # 0.0: atanh has a pole at 1.0
        """
        operands = [self.without_flags(a) for a in e.args]
        args, known = [a.expr for a in operands], [a.inactive for a in operands]
        value = _constant_result(e, known)
        if value is not None or not call_may_raise(e):
            return _WithoutFlags(Call(e.op, tuple(args), e.dtype), value)
        row = OPS[e.op]
        unknown = [k for k, v in enumerate(known) if v is None]
        if len({args[k] for k in unknown}) == 1:  # ``x * x`` too: one select for both
            value = _constant_result(
                e, [v or literal(row.safe, a.dtype) for v, a in zip(known, e.args, strict=True)]
            )
        for k in row.masked_operands if value is None else unknown:
            args[k] = self.safe_if_inactive(args[k], row)
        return _WithoutFlags(Call(e.op, tuple(args), e.dtype), value)

    def safe_if_inactive(self, e: Expr, row: Op) -> Expr:
        """`e`, an operand of the operation `row`, with its safe value in inactive lanes."""
        assert self.mask is not None
        return Call("select", (self.mask, e, literal(row.safe, e.dtype)), e.dtype)


def _constant_result(e: Call, args: list[Const | None]) -> Const | None:
    """The value of the call `e` on these operands; None if one of them is unknown."""
    constants = tuple(a for a in args if a is not None)
    return fold_constants(e.op, constants, e.dtype) if len(constants) == len(args) else None


def select_masked(
    cond: Expr, a: Expr, b: Expr, then: MaskedRewriter, orelse: MaskedRewriter
) -> Expr:
    """``a`` where `cond` is true, else ``b``; a common operation is computed once for both.

    ``s + x`` or ``s`` → ``s + select(cond, x, -0.0)``, so that a reduction remains a reduction.
    ``then`` and ``orelse`` rewrite the operands of each side, which the other lanes compute, too.
    """
    shared = select_common_operation(cond, a, b, then, orelse)
    return shared or rewrite(Call("select", (cond, then(a), orelse(b)), a.dtype))


def select_common_operation(
    cond: Expr, a: Expr, b: Expr, then: MaskedRewriter, orelse: MaskedRewriter
) -> Expr | None:
    """As `select_masked`, but None where the two have no operation in common. Cases, in this order:

    - equal: one of them;
    - one operation, of which one operand differs: a select of that operand;
    - one is an operation on the other: the operation on a select of its operand and its neutral
      element.
    """
    if a == b:
        return a
    a, b = _as_addition(a, b), _as_addition(b, a)
    if isinstance(a, Call) and isinstance(b, Call) and (a.op, a.dtype) == (b.op, b.dtype):
        differing = [k for k, (x, y) in enumerate(zip(a.args, b.args, strict=True)) if x != y]
        if len(differing) == 1 and a.args[differing[0]].dtype == b.args[differing[0]].dtype:
            (k,) = differing
            operand_select = select_masked(cond, a.args[k], b.args[k], then, orelse)
            return Call(a.op, (*a.args[:k], operand_select, *a.args[k + 1 :]), a.dtype)
    for longer, shorter, swapped in ((a, b, False), (b, a, True)):
        step = _split_reduction(longer, shorter)
        if step is not None:
            op, value, neutral = step
            if_true, if_false = (neutral, value) if swapped else (value, neutral)
            operand = select_masked(cond, if_true, if_false, then, orelse)
            return Call(op, (shorter, operand), shorter.dtype)
    return None


def _as_addition(e: Expr, other: Expr) -> Expr:
    """``s - x`` → ``s + -x``, if `other` adds to `s`; else `e`."""
    match e, other:
        case Call(op="sub", args=(s, x)), Call(op="add", args=(t, _)) if s == t:
            return Call("add", (s, rewrite(Call("neg", (x,), x.dtype))), e.dtype)
        case _:
            return e


def _split_reduction(longer: Expr, shorter: Expr) -> tuple[str, Expr, Const] | None:
    """Match `longer` as ``op(shorter, value)``: (op, value, neutral element of op); None if it is
    not.
    """
    if not isinstance(longer, Call) or len(longer.args) != 2 or longer.dtype != shorter.dtype:
        return None
    a, b = longer.args
    neutral = _right_neutral_element(longer.op, longer.dtype)
    if neutral is None or OPS[longer.op].result != OPS[longer.op].operands[0]:
        return None
    if a == shorter:
        return longer.op, b, neutral
    is_two_sided = longer.op != "sub" and (
        longer.op not in _EXTREMA or DTYPES[longer.dtype].kind in "iu"
    )
    return (longer.op, a, neutral) if b == shorter and is_two_sided else None


def _right_neutral_element(op: str, dtype: str) -> Const | None:
    """The right operand with which `op` gives its left one, whatever that is; None if there is
    none. An extremum of floats has one on the right alone: ``max(nan, -inf)`` is NaN, but
    ``max(-inf, nan)`` is not.
    """
    if op == "sub":
        return literal(0, dtype)
    return worst_value(op, dtype) if op in _EXTREMA else neutral_element(op, dtype)


def if_convert(kernel: Kernel, *, reassociate: bool = True) -> Kernel:
    """Turn the branches of a loop into straight-line code, if it can be vectorised after that
    (`vectorization_obstacle`); else the branches are kept, as they are cheaper in scalar code.
    The cost of both sides does not count: `legalize._with_skip_branch` later branches around an
    expensive body.

    Both sides are evaluated in every iteration. That is allowed, since lowering makes loads be in
    bounds on both sides; and an operation that may raise a floating-point flag gets an operand on
    which it raises none, where its side is not taken (`MaskedRewriter.call_without_flags`).
    Before::

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
        """`s` flattened if it is a loop that is vectorised after that; else `s`."""
        flat = flatten_loop(s, kernel, fresh) if isinstance(s, Loop) else None
        if flat is None or vectorization_obstacle(flat, kernel, reassociate=reassociate):
            return s
        return flat

    return map_statements(kernel, edit, Loop)


def flatten_loop(loop: Loop, kernel: Kernel, fresh: FreshNames) -> Loop | None:
    """`loop` as straight-line code; None if it is already, or cannot be converted."""
    if not _is_convertible(loop):
        return None
    flat = replace(loop, body=flatten_branches(loop.body, fresh, *(a.step for a in loop.accs)))
    propagated = map_nested_blocks(bottom_up(flat, rewrite), block_copy_propagation(kernel))
    converted: Loop = bottom_up(propagated, rewrite)
    return converted


def flatten_branches(stmts: Iterable[Stmt], fresh: FreshNames, *others: Node) -> tuple[Stmt, ...]:
    """`stmts` without branches; nested loops are left alone. `others`: other code that may read the
    names that `stmts` bind; an assignment of a merged name that nothing reads is left out.
    """
    flattening = _Flattening(fresh)
    flat = [bottom_up(s, rewrite) for s in flattening.block(stmts, MaskedRewriter(None))]
    unread = flattening.merged - names_read(*flat, *others)
    return tuple(s for s in flat if not (isinstance(s, Assign) and s.name in unread))


def _is_convertible(loop: Loop) -> bool:
    """Whether the body has branches, and only straight-line code in and around them."""
    if not contains(loop, If):
        return False
    branches = [n for n in walk_statements(loop) if isinstance(n, If)]
    bodies = (loop.body, *(b for s in branches for b in (s.then, s.orelse)))
    if not all(isinstance(s, (*STRAIGHT_LINE, If)) for body in bodies for s in body):
        return False
    return _depth(loop.body) <= _MAX_DEPTH


def _depth(body: Iterable[Stmt]) -> int:
    """How many branches are inside of one another in `body`."""
    return max(
        (1 + max(_depth(s.then), _depth(s.orelse)) for s in body if isinstance(s, If)), default=0
    )


class _Flattening:
    """Turns blocks into straight-line code under a mask.

        if c: y[i] = v               →    store y[i] = v under the mask c
        else: y[i] = w                    store y[i] = w under the mask not c

    ``yielded``: the value of each name that a branch has yielded. A branch around it that yields
    this name compares the value: where both sides have one operation, `select_common_operation`
    computes it once, on selected operands. The name may then be unread: it goes into ``merged``,
    and `flatten_branches` removes its assignment if nothing else reads it.
    """

    def __init__(self, fresh: FreshNames) -> None:
        self.fresh = fresh
        self.yielded: dict[Expr, Expr] = {}
        self.merged: set[str] = set()

    def block(self, stmts: Iterable[Stmt], masked: MaskedRewriter) -> Iterator[Stmt]:
        """`stmts` flattened."""
        for s in stmts:
            yield from self.stmt(s, masked)

    def stmt(self, s: Stmt, masked: MaskedRewriter) -> Iterator[Stmt]:
        """`s` under the mask of `masked`."""
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
        """Both sides of `s`, each under its condition, then the yields as selects."""
        cond = masked(s.cond)
        if not isinstance(cond, Var):
            name = self.fresh.name("m")
            yield Assign(name, cond, span=s.span)
            cond = Var(name, "bool")
        then, orelse = masked.under(cond), masked.under(logical_not(cond))
        yield from self.block(s.then, then)
        yield from self.block(s.orelse, orelse)
        for y in s.yields:
            then_value, else_value = (self.yielded.get(e, e) for e in (y.then, y.orelse))
            value = select_common_operation(cond, then_value, else_value, then, orelse)
            if value is None:
                value = select_masked(cond, y.then, y.orelse, then, orelse)
            else:
                self.merged |= names_read(y.then, y.orelse) - names_read(value)
            self.yielded[Var(y.name, value.dtype)] = value
            yield Assign(y.name, value, span=s.span)
