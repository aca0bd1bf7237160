"""Array accesses: loads and stores with affine subscripts, and their stride in a loop.

`accesses` lists the loads and stores of some statements in order of evaluation, each subscript as
an affine form in the variables of the enclosing loops: ``y[i + 1] = x[2 * i]`` gives a read
``x[2 * i]`` and a write ``y[i + 1]``. Dependence analysis, fusion and the loop set compare them.
`LoopSubscripts` gives the stride of an access in one loop with a straight-line body, for the
vectoriser.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..dtypes import INDEX
from ..ir_names import names_read, substitute_bounded
from ..ir_printer import show
from ..ir_traversal import (
    advanced_accums,
    children,
    contains,
    memoized_by,
    memoized_per_node,
    range_bounds,
    walk,
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
    Stream,
    VecLoop,
    While,
    Zip,
    assert_never,
)
from .integers.affine import (
    Affine,
    AffineBindings,
    affine_form,
    affine_form_in,
    constant_form,
    unclamped_end,
    variable_form,
)

__all__ = [
    "Access", "accesses", "moving_axis", "moving_axis_of_steps", "element_text", "has_unit_stride",
    "count_accesses", "count_strided", "LoopSubscripts",
]


@record(frozen=True, slots=True)
class Access:
    """One load or store in the text of some code."""

    array: str
    index: tuple[Affine | None, ...]  # None: not affine, so any element of the axis
    is_write: bool
    position: int  # in order of evaluation
    conditional: bool  # under a branch, so not in every iteration
    loops: tuple[str, ...]  # variables of the enclosing loops, outermost first
    span: Span | None = None  # in the user's file
    loop_ranges: tuple[tuple[str, Affine, Affine], ...] = ()
    """(variable, first value, last value) of the loops whose bounds are affine. A loop without
    iterations has no accesses, so that the last value is at least the first one.
    """

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
        return _collect_accesses(stmts, loops, bindings or {})
    [s] = stmts
    if bindings:  # bindings that `s` does not read are left out: they would split the cache
        relevant = tuple((name, bindings[name]) for name in names_read(s) if name in bindings)
    else:
        relevant = ()
    return [*_accesses_of_statement(s, loops, relevant)]


@memoized_per_node
def count_accesses(s: Stmt) -> int:
    """How many loads and stores `accesses` lists for `s`."""
    return sum(type(n) in _ACCESSING for n in walk(s))


_ACCESSING = frozenset({Append, Load, Scan, Store, Stream})


@memoized_by
def _accesses_of_statement(
    s: Stmt, loops: tuple[str, ...], bindings: tuple[tuple[str, Affine | None], ...]
) -> list[Access]:
    """The accesses of one statement, memoised: passes ask again for statements that did not change.
    """
    return _collect_accesses((s,), loops, dict(bindings))


def _collect_accesses(
    stmts: tuple[Stmt, ...], loops: tuple[str, ...], bindings: AffineBindings
) -> list[Access]:
    """The accesses of `stmts`. Counters that an append advances have no affine form."""
    append_counts = frozenset(c for s in stmts for c in advanced_accums(s))
    collector = _AccessCollector(loops, {**bindings, **dict.fromkeys(append_counts)})
    collector.block(stmts)
    return collector.accesses


def moving_axis(access: Access, var: str) -> tuple[int, int] | None:
    """The one subscript of `access` that changes with the loop variable `var`, and its change per
    iteration: ``(axis, step)``. None where no subscript changes, several do, or one is not affine.
    """
    coefficients = [
        (axis, form.coefficient(var) if form else None) for axis, form in enumerate(access.index)
    ]
    moving = [(axis, step) for axis, step in coefficients if step != 0]
    if len(moving) != 1:
        return None
    axis, step = moving[0]
    return None if step is None else (axis, step)


def moving_axis_of_steps(steps: Sequence[int | None]) -> tuple[int, int] | None:
    """``(axis, step)`` of the one subscript that changes, given the change of each subscript;
    ``(0, 0)`` if none does. None where several do, or one is not affine (its step is None).
    """
    if None in steps:
        return None
    moving = [(axis, step) for axis, step in enumerate(steps) if step]
    return moving[0] if len(moving) == 1 else (0, 0) if not moving else None


def has_unit_stride(access: Access, param: Param, var: str) -> bool:
    """Whether consecutive iterations of `var` access consecutive elements of the array `param` in
    memory.
    """
    return param.unit is not None and moving_axis(access, var) == (param.unit, 1)


def count_strided(accesses: Iterable[Access], params: Mapping[str, Param], var: str) -> int:
    """How many of `accesses` change with the loop variable `var`, or perhaps do (a subscript is not
    affine), but not from one element to its neighbour in memory.
    """
    return sum(
        any(f is None or f.coefficient(var) != 0 for f in a.index)
        and not has_unit_stride(a, params[a.array], var)
        for a in accesses
    )


class _AccessCollector:
    """A walk in order of evaluation that records accesses and tracks the affine form of each name.

    ``loop_ranges``: first and last value of loop variables, where both are affine. ``conditional``:
    the walk is under a branch.
    """

    def __init__(self, loops: tuple[str, ...], bindings: AffineBindings) -> None:
        self.accesses: list[Access] = []
        self.loops = loops
        self.loop_ranges: dict[str, tuple[Affine, Affine]] = {}
        self.forms_by_name = {**bindings, **{v: variable_form(v) for v in loops}}
        self.conditional = False

    def block(self, stmts: Iterable[Stmt]) -> None:
        """Record the accesses of `stmts`."""
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        """Record the accesses of `s` and update the forms of the names that it binds."""
        match s:
            case Assign():
                self.reads(s.value)
                self.forms_by_name[s.name] = affine_form_in(s.value, self.forms_by_name)
            case Store():
                self.reads(*s.index, s.value, s.mask)
                self.record(s.array, self.forms(s.index), True, s.span)
            case Append():
                self.reads(s.value, s.mask)
                self.record(s.array, (None,), True, s.span)
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
        """Record both sides of `s` as conditional."""
        self.reads(s.cond)
        outer, self.conditional = self.conditional, True
        self.block(s.then)
        self.reads(*(y.then for y in s.yields))
        self.block(s.orelse)
        self.reads(*(y.orelse for y in s.yields))
        self.conditional = outer
        self.forms_by_name.update((y.name, None) for y in s.yields)

    def loop(self, s: Loop | Zip | VecLoop | PredLoop | While, var: str | None) -> None:
        """Record bounds, initial values, body and steps of `s`; `var` is its loop variable, None
        for a While.
        """
        if not isinstance(s, While):
            self.reads(*range_bounds(s.range))
            self.set_loop_range(s.var, s.range)
        self.reads(*(a.init for a in s.accs))
        self.forms_by_name.update((a.name, None) for a in s.accs)
        inner_loops = (*self.loops, var) if var else self.loops
        outer, self.loops = self.loops, inner_loops
        if var:
            self.forms_by_name[var] = variable_form(var)
        match s:
            case Zip():
                for stream in s.streams:
                    self.record(stream.array, (variable_form(s.var),), False, s.span)
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
        """Record a scan: reads of its value, and the write of ``array[var]``."""
        self.reads(*range_bounds(s.range), s.init)
        self.set_loop_range(s.var, s.range)
        outer, self.loops = self.loops, (*self.loops, s.var)
        self.forms_by_name.update({s.var: variable_form(s.var), s.acc: None})
        self.reads(s.value)
        self.record(s.array, (variable_form(s.var),), True, s.span)
        self.loops = outer

    def set_loop_range(self, var: str, r: Range) -> None:
        """Record the first and last value of the variable of a loop over `r`."""
        self.loop_ranges.pop(var, None)
        if first_and_last := _loop_var_range(r, self.forms_by_name):
            self.loop_ranges[var] = first_and_last

    def reads(self, *exprs: Expr | None) -> None:
        """Record the loads in `exprs`. A vector load may touch any element."""
        for load in (n for e in exprs if e is not None for n in _loads(e)):
            forms = self.forms(load.index) if load.lanes == 1 else (None,) * len(load.index)
            self.record(load.array, forms, False, load.span)

    def forms(self, index: tuple[Expr, ...]) -> tuple[Affine | None, ...]:
        """The affine forms of subscripts, None for those that are not affine."""
        return tuple([affine_form_in(e, self.forms_by_name) for e in index])

    def record(
        self, array: str, index: tuple[Affine | None, ...], is_write: bool, span: Span | None
    ) -> None:
        """Append one access."""
        position = len(self.accesses)
        loop_ranges = tuple((v, *self.loop_ranges[v]) for v in self.loops if v in self.loop_ranges)
        self.accesses.append(
            Access(
                array, index, is_write, position, self.conditional, self.loops, span, loop_ranges
            )
        )


def _loop_var_range(r: Range, forms_by_name: AffineBindings) -> tuple[Affine, Affine] | None:
    """First and last value of the variable of a loop over `r`; None where they are not affine."""
    if not isinstance(r, Interval):
        return None
    lo, hi = affine_form_in(r.lo, forms_by_name), affine_form_in(unclamped_end(r), forms_by_name)
    return (lo, hi - constant_form(1)) if lo and hi else None


@memoized_per_node
def _loads(e: Node) -> tuple[Load, ...]:
    """The loads in `e`, those in subscripts before the load that they index."""
    inner = tuple(load for child in children(e) for load in _loads(child))
    return (*inner, e) if isinstance(e, Load) else inner


class LoopSubscripts:
    """The subscripts in a loop whose body is straight-line code.

    Names that the body binds are replaced by their values, so that a subscript reads only the loop
    variable and loop-invariant names. `analysis.uniformity.Uniformity` gives the same for the lanes
    of an outer loop.
    """

    def __init__(self, loop: Loop) -> None:
        self.var = loop.var
        self.accs = frozenset(a.name for a in loop.accs)
        self.values: dict[str, Expr] = {}
        for s in loop.body:
            if isinstance(s, Assign) and s.value.dtype == INDEX:
                self.values[s.name] = substitute_bounded(s.value, self.values)
        self.body_names = frozenset(s.name for s in loop.body if isinstance(s, Assign))

    def index(self, n: Load | Store) -> tuple[Expr, ...]:
        """The subscripts of `n` over names bound outside the body."""
        return tuple(substitute_bounded(e, self.values) for e in n.index)

    def lane_axis_and_stride(self, n: Load | Store) -> tuple[int, int] | None:
        """``(axis, step)``: the axis along which `n` advances in an iteration, and by how many
        elements; ``(0, 0)`` where it is invariant.

        None where a subscript is not affine, or several advance.
        """
        return moving_axis_of_steps([self._step(e) for e in self.index(n)])

    def _step(self, e: Expr) -> int | None:
        """The change of the subscript `e` in an iteration; None where it is not affine in the loop
        variable.
        """
        if names_read(e) & (self.accs | self.body_names) or contains(e, Load):
            return None
        form = affine_form(e, (self.var,))
        return None if form is None else form.coefficient(self.var)

    def obstacle(self, n: Load | Store) -> str | None:
        """Why the lanes of `n` have no constant stride (for a rejection); None where they have one.
        """
        place = self.lane_axis_and_stride(n)
        if place is None:
            return f"the place of `{self.element(n)}` does not advance evenly with the loop"
        if isinstance(n, Store) and place == (0, 0):
            return f"every iteration writes to the place of `{self.element(n)}`"
        return None

    def element(self, n: Load | Store) -> str:
        """The element that `n` accesses, as text."""
        return f"{n.array}[{', '.join(map(show, n.index))}]"
