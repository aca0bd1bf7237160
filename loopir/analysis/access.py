"""Array accesses: loads and stores with affine subscripts, and their stride in a loop."""
from __future__ import annotations

from collections.abc import Iterable

from ..dtypes import INDEX
from ..ir_names import names_read, substitute_bounded, used_names
from ..ir_printer import show
from ..ir_traversal import (
    advanced_accums,
    children,
    contains,
    memoized_by,
    memoized_per_node,
    range_bounds,
)
from ..lazy_dataclass import record
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
    assert_never,
)
from .affine import (
    Affine,
    AffineBindings,
    affine_form,
    constant_form,
    form_of,
    unclamped_end,
    variable_form,
)

__all__ = ["Access", "accesses", "moving_axis", "element_text", "has_unit_stride", "LoopSubscripts"]


@record(frozen=True, slots=True)
class Access:
    """One load or store in the text of some code.

    ``index`` has None where a subscript is not affine: it may be any element. ``position`` counts
    in order of evaluation. ``conditional``: under a branch, not in every iteration. ``loops``:
    variables of the enclosing loops, outermost first. ``spans``: first and last value of those
    variables for which they are affine (a loop without iterations has no accesses).
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
        return element_text(self.array, self.index)


def element_text(array: str, index: Iterable[Affine | None]) -> str:
    """``array[i, j + 1]``, with ``…`` for a subscript that is not affine."""
    return f"{array}[{', '.join('…' if f is None else str(f) for f in index)}]"


def accesses(
    stmts: Iterable[Stmt], loop_vars: Iterable[str] = (), bindings: AffineBindings | None = None
) -> list[Access]:
    """The loads and stores of `stmts`, in order of evaluation.

    `loop_vars`: variables of the loops around `stmts`; `bindings`: affine forms of names bound
    outside, None for a name whose value varies.
    """
    stmts, loops = tuple(stmts), tuple(loop_vars)
    if len(stmts) != 1:
        return _collected(stmts, loops, bindings or {})
    [s] = stmts
    if bindings:  # of those that `s` does not read, nothing depends
        known = tuple((name, bindings[name]) for name in used_names(s) if name in bindings)
    else:
        known = ()
    return [*_accesses_of_one(s, loops, known)]


@memoized_by
def _accesses_of_one(
    s: Stmt, loops: tuple[str, ...], bindings: tuple[tuple[str, Affine | None], ...]
) -> list[Access]:
    return _collected((s,), loops, dict(bindings))


def _collected(
    stmts: tuple[Stmt, ...], loops: tuple[str, ...], bindings: AffineBindings
) -> list[Access]:
    counts = frozenset(c for s in stmts for c in advanced_accums(s))
    walk = _AccessCollector(loops, {**bindings, **dict.fromkeys(counts)})
    walk.block(stmts)
    return walk.found


def moving_axis(access: Access, var: str) -> tuple[int, int] | None:
    """The one subscript that changes with `var`, and its change per iteration: ``(axis, step)``.

    None where no subscript changes, several do, or one is not affine.
    """
    moves = [
        (axis, form.coefficient(var) if form else None) for axis, form in enumerate(access.index)
    ]
    moving = [(axis, step) for axis, step in moves if step != 0]
    if len(moving) != 1:
        return None
    axis, step = moving[0]
    return None if step is None else (axis, step)


def has_unit_stride(access: Access, param: Param, var: str) -> bool:
    """Whether consecutive iterations of `var` access consecutive elements in memory."""
    return param.unit is not None and moving_axis(access, var) == (param.unit, 1)


class _AccessCollector:
    """A walk in order of evaluation that tracks the affine form of each name."""

    def __init__(self, loops: tuple[str, ...], bindings: AffineBindings) -> None:
        self.found: list[Access] = []
        self.loops = loops
        self.spans: dict[str, tuple[Affine, Affine]] = {}
        self.forms_by_name = {**bindings, **{v: variable_form(v) for v in loops}}
        self.conditional = False

    def block(self, stmts: Iterable[Stmt]) -> None:
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        match s:
            case Assign():
                self.reads(s.value)
                self.forms_by_name[s.name] = form_of(s.value, self.forms_by_name)
            case Store():
                self.reads(*s.index, s.value, s.mask)
                self.touch(s.array, self.forms(s.index), True, s.span)
            case Append():
                self.reads(s.value, s.mask)
                self.touch(s.array, (None,), True, s.span)
            case Prefix():
                self.reads(s.value, s.factor)
                self.forms_by_name.update({s.name: None, **({s.before: None} if s.before else {})})
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
                assert_never(s)

    def branch(self, s: If) -> None:
        self.reads(s.cond)
        outer, self.conditional = self.conditional, True
        self.block(s.then)
        self.reads(*(y.then for y in s.yields))
        self.block(s.orelse)
        self.reads(*(y.orelse for y in s.yields))
        self.conditional = outer
        self.forms_by_name.update((y.name, None) for y in s.yields)

    def loop(self, s: Loop | Zip | VecLoop | PredLoop | While, var: str | None) -> None:
        if not isinstance(s, While):
            self.reads(*range_bounds(s.range))
            self.enter(s.var, s.range)
        self.reads(*(a.init for a in s.accs))
        self.forms_by_name.update((a.name, None) for a in s.accs)
        with_var = (*self.loops, var) if var else self.loops
        outer, self.loops = self.loops, with_var
        if var:
            self.forms_by_name[var] = variable_form(var)
        match s:
            case Zip():
                for stream in s.streams:
                    self.touch(stream.array, (variable_form(s.var),), False, s.span)
                    self.forms_by_name[stream.name] = None
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
        self.reads(*range_bounds(s.range), s.init)
        self.enter(s.var, s.range)
        outer, self.loops = self.loops, (*self.loops, s.var)
        self.forms_by_name.update({s.var: variable_form(s.var), s.acc: None})
        self.reads(s.value)
        self.touch(s.array, (variable_form(s.var),), True, s.span)
        self.loops = outer

    def enter(self, var: str, r: Range) -> None:
        self.spans.pop(var, None)
        if span := _loop_var_range(r, self.forms_by_name):
            self.spans[var] = span

    def reads(self, *exprs: Expr | None) -> None:
        for load in (n for e in exprs if e is not None for n in _loads(e)):
            forms = self.forms(load.index) if load.lanes == 1 else (None,) * len(load.index)
            self.touch(load.array, forms, False, load.span)

    def forms(self, index: tuple[Expr, ...]) -> tuple[Affine | None, ...]:
        return tuple([form_of(e, self.forms_by_name) for e in index])

    def touch(
        self, array: str, index: tuple[Affine | None, ...], is_write: bool, span: Span | None
    ) -> None:
        position = len(self.found)
        spans = tuple((v, *self.spans[v]) for v in self.loops if v in self.spans)
        self.found.append(
            Access(array, index, is_write, position, self.conditional, self.loops, span, spans)
        )


def _loop_var_range(r: Range, forms_by_name: AffineBindings) -> tuple[Affine, Affine] | None:
    """First and last value of the variable of a loop over `r`; None where they are not affine."""
    if not isinstance(r, Interval):
        return None
    lo, hi = form_of(r.lo, forms_by_name), form_of(unclamped_end(r), forms_by_name)
    return (lo, hi - constant_form(1)) if lo and hi else None


@memoized_per_node
def _loads(e: Node) -> tuple[Load, ...]:
    """The loads in `e`, those in subscripts before the load that they index."""
    inner = tuple(load for child in children(e) for load in _loads(child))
    return (*inner, e) if isinstance(e, Load) else inner


class LoopSubscripts:
    """The subscripts in a loop whose body is straight-line code.

    Names that the body binds are replaced by their values, so that a subscript reads only the loop
    variable and loop-invariant names.
    """

    def __init__(self, loop: Loop) -> None:
        self.var = loop.var
        self.accs = frozenset(a.name for a in loop.accs)
        self.values: dict[str, Expr] = {}
        for s in loop.body:
            if isinstance(s, Assign) and s.value.dtype == INDEX:
                self.values[s.name] = substitute_bounded(s.value, self.values)
        self.body = frozenset(s.name for s in loop.body if isinstance(s, Assign))

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of `n` over names bound outside the body."""
        return tuple(substitute_bounded(e, self.values) for e in n.index)

    def moves(self, n: Load | Store) -> tuple[int, int] | None:
        """The axis along which `n` advances and its step in elements, ``(0, 0)`` where it is
        invariant.

        None where a subscript is not affine, or several advance.
        """
        steps = [self._step(e) for e in self.index(n)]
        if None in steps:
            return None
        moving = [(axis, step) for axis, step in enumerate(steps) if step]
        return moving[0] if len(moving) == 1 else (0, 0) if not moving else None

    def _step(self, e: Expr) -> int | None:
        if names_read(e) & (self.accs | self.body) or contains(e, Load):
            return None
        form = affine_form(e, (self.var,))
        return None if form is None else form.coefficient(self.var)

    def obstacle(self, n: Load | Store) -> str | None:
        """Why the lanes of `n` have no constant stride (for a rejection); None where they have one.
        """
        moves = self.moves(n)
        if moves is None:
            return f"the place of `{self.element(n)}` does not advance evenly with the loop"
        if isinstance(n, Store) and moves == (0, 0):
            return f"every iteration writes the same `{self.element(n)}`"
        return None

    def element(self, n: Load | Store) -> str:
        """`n` as text."""
        return f"{n.array}[{', '.join(map(show, n.index))}]"
