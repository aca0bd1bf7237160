"""Which array elements a piece of code touches: loads and stores with affine subscripts."""
from __future__ import annotations

from collections.abc import Iterable

from ..exhaustive import unhandled
from ..nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Check,
    Expr,
    If,
    Interval,
    Load,
    Local,
    Loop,
    Node,
    Param,
    PredLoop,
    Prefix,
    Range,
    Return,
    Scan,
    Span,
    Stmt,
    Store,
    VecLoop,
    While,
    Zip,
)
from ..record import record
from ..tree import children, counters, ends, kept
from .affine import Affine, Bindings, affine, constant, unclipped, variable

__all__ = ["Access", "accesses", "advance", "subscripted", "unit_stride"]


@record(frozen=True, slots=True)
class Access:
    """One load or store in the text of some code.

    ``index`` has None where a subscript is opaque: it may be any element. ``position`` counts in
    order of evaluation. ``conditional``: under a branch, not in every iteration. ``loops``: the
    variables of the loops around it, outermost first; ``spans``: the first and the last value of
    those for which they are affine, and of which one that has no iteration has no access.
    """

    array: str
    index: tuple[Affine | None, ...]
    is_write: bool
    position: int
    conditional: bool
    loops: tuple[str, ...]
    span: Span | None = None
    spans: tuple[tuple[str, Affine, Affine], ...] = ()

    def __str__(self) -> str:
        return subscripted(self.array, self.index)


def subscripted(array: str, index: Iterable[Affine | None]) -> str:
    """An element as text."""
    return f"{array}[{', '.join('…' if f is None else str(f) for f in index)}]"


def accesses(
    stmts: Iterable[Stmt], loop_vars: Iterable[str] = (), bindings: Bindings | None = None
) -> list[Access]:
    """The loads and stores of `stmts`, in order of evaluation.

    `loop_vars`: variables of the loops outside; `bindings`: what names bound outside stand for.
    """
    stmts = tuple(stmts)
    counts = frozenset(c for s in stmts for c in counters(s))
    walk = _Walk(tuple(loop_vars), {**(bindings or {}), **dict.fromkeys(counts)})
    walk.block(stmts)
    return walk.found


def advance(access: Access, var: str) -> tuple[int, int] | None:
    """The one subscript that moves with `var`, and by how much: ``(axis, step)``.

    None where no subscript moves, several do, or one is opaque.
    """
    moves = [
        (axis, form.coefficient(var) if form else None) for axis, form in enumerate(access.index)
    ]
    moving = [(axis, step) for axis, step in moves if step != 0]
    if len(moving) != 1:
        return None
    axis, step = moving[0]
    return None if step is None else (axis, step)


def unit_stride(access: Access, param: Param, var: str) -> bool:
    """Whether consecutive iterations of `var` touch consecutive elements of memory."""
    return param.unit is not None and advance(access, var) == (param.unit, 1)


class _Walk:
    """A walk in order of evaluation that knows what each name stands for."""

    def __init__(self, loops: tuple[str, ...], bindings: Bindings) -> None:
        self.found: list[Access] = []
        self.loops = loops
        self.spans: dict[str, tuple[Affine, Affine]] = {}
        self.known = {**bindings, **{v: variable(v) for v in loops}}
        self.conditional = False

    def block(self, stmts: Iterable[Stmt]) -> None:
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        match s:
            case Assign():
                self.reads(s.value)
                self.known[s.name] = affine(s.value, (), self.known)
            case Store():
                self.reads(*s.index, s.value, s.mask)
                self.touch(s.array, self.forms(s.index), True, s.span)
            case Append():
                self.reads(s.value, s.mask)
                self.touch(s.array, (None,), True, s.span)
            case Prefix():
                self.reads(s.value, s.factor)
                self.known.update({s.name: None, **({s.before: None} if s.before else {})})
            case Check() | Break():
                self.reads(s.cond)
            case Return() | Local() | Bits():
                pass
            case If():
                self.branch(s)
            case While():
                self.loop(s, None)
            case Loop() | Zip() | VecLoop() | PredLoop():
                self.loop(s, s.var)
            case Scan():
                self.scan(s)
            case _:
                unhandled(s)

    def branch(self, s: If) -> None:
        self.reads(s.cond)
        outer, self.conditional = self.conditional, True
        self.block(s.then)
        self.reads(*(y.then for y in s.yields))
        self.block(s.orelse)
        self.reads(*(y.orelse for y in s.yields))
        self.conditional = outer
        self.known.update((y.name, None) for y in s.yields)

    def loop(self, s: Loop | Zip | VecLoop | PredLoop | While, var: str | None) -> None:
        if not isinstance(s, While):
            self.reads(*ends(s.range))
            self.enter(s.var, s.range)
        self.reads(*(a.init for a in s.accs))
        self.known.update((a.name, None) for a in s.accs)
        with_var = (*self.loops, var) if var else self.loops
        outer, self.loops = self.loops, with_var
        if var:
            self.known[var] = variable(var)
        match s:
            case Zip():
                for stream in s.streams:
                    self.touch(stream.array, (variable(s.var),), False, s.span)
                    self.known[stream.name] = None
            case While():
                self.reads(s.cond)
            case PredLoop():
                self.reads(s.pred)
        self.block(s.body)
        self.reads(*(a.step for a in s.accs))
        if isinstance(s, Loop | VecLoop):
            self.reads(s.until)
        self.loops = outer

    def scan(self, s: Scan) -> None:
        self.reads(*ends(s.range), s.init)
        self.enter(s.var, s.range)
        outer, self.loops = self.loops, (*self.loops, s.var)
        self.known.update({s.var: variable(s.var), s.acc: None})
        self.reads(s.value)
        self.touch(s.array, (variable(s.var),), True, s.span)
        self.loops = outer

    def enter(self, var: str, r: Range) -> None:
        self.spans.pop(var, None)
        if span := _span(r, self.known):
            self.spans[var] = span

    def reads(self, *exprs: Expr | None) -> None:
        for load in (n for e in exprs if e is not None for n in _loads(e)):
            forms = self.forms(load.index) if load.lanes == 1 else (None,) * len(load.index)
            self.touch(load.array, forms, False, load.span)

    def forms(self, index: tuple[Expr, ...]) -> tuple[Affine | None, ...]:
        return tuple(affine(e, (), self.known) for e in index)

    def touch(
        self, array: str, index: tuple[Affine | None, ...], is_write: bool, span: Span | None
    ) -> None:
        position = len(self.found)
        spans = tuple((v, *self.spans[v]) for v in self.loops if v in self.spans)
        self.found.append(
            Access(array, index, is_write, position, self.conditional, self.loops, span, spans)
        )


def _span(r: Range, known: Bindings) -> tuple[Affine, Affine] | None:
    """The first and the last value of the variable of a loop over `r`, if there is any."""
    if not isinstance(r, Interval):
        return None
    lo, hi = affine(r.lo, (), known), affine(unclipped(r), (), known)
    return (lo, hi - constant(1)) if lo and hi else None


@kept
def _loads(e: Node) -> tuple[Load, ...]:
    """What `e` loads, subscripts before the elements that they name."""
    inner = tuple(load for child in children(e) for load in _loads(child))
    return (*inner, e) if isinstance(e, Load) else inner
