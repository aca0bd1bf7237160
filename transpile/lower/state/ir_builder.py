"""The IR builder: the kernel under construction and what is known of its values; trials.

Lowering emits statements into `IRBuilder.block` and records facts in the `*State` records of the
builder. Several analyses lower code tentatively, such as a loop body whose carried types are only
a guess. They do it in a trial::

    with b.trial() as trial:
        ...                       # emits statements, adds parameters, records facts
        trial.keep = succeeded    # False, the default: the builder is as it was before

A trial restores every field of the builder and of its `*State` records (`_RESTORED`). Containers
are restored in place, so references to them stay valid.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, fields
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from loopir.analysis.integers.affine import LinearForm
from loopir.analysis.integers.intervals import Bounds
from loopir.ir_names import expand_names
from loopir.ir_traversal import walk
from loopir.lazy_dataclass import record, replace
from loopir.nodes import (
    Assign,
    Call,
    Check,
    Const,
    Dim,
    Disjoint,
    Expr,
    Guard,
    Load,
    Loop,
    Node,
    Param,
    Span,
    Stmt,
    Store,
    Var,
)

from ...call_plan import Allocated, Binding, ItemFlags, ListItems, StatusSource
from ...diagnostics import Refused
from ...host_nodes import HostExpr
from ...types.typed_values import Num
from ...types.value_types import PARTS, ArrayType
from .symbol_values import ArrayRef, LoopFrame, Value

__all__ = [
    "BufferState", "BuilderSnapshot", "ComplexState", "IRBuilder", "NumberState", "PathState",
    "RangeState", "Required", "SilentException", "Trial", "WarningState", "kernel_param",
]

_Container: TypeAlias = "list[Any] | dict[Any, Any] | set[Any]"


@record
class Trial:
    """A tentative piece of lowering. ``keep``: whether its effects on the builder stay."""

    keep: bool = False


@record
class RangeState:
    """Facts about integer expressions.

    ``intervals``: an interval that contains the value of the expression.
    ``deltas``: for an accumulator or a phi ``v``, the pair ``(base, interval)`` such that ``v -
    base`` lies in the interval; ``base`` is another integer expression. What an iteration adds to
    an accumulator is found by them (`loop_carried.growth_from`).
    ``linear_bounds``: for an expression ``e``, two linear forms ``(low, high)`` with ``low <= e <=
    high``, such as 0 and ``n - 1`` for ``k % n``. They prove that ``x[k % n]`` is in bounds, which
    no interval of numbers does (`path_conditions.loop_extremum`). As ``e`` need not reach either of
    them, no guard is made of them. `integer_arithmetic._remainder_by_length` records them.
    ``assumed_params``: int64 parameters of which an analysis has assumed that they lie in
    `int_limits.ARGUMENT`; the kernel needs a guard for each.
    """

    intervals: dict[Expr, Bounds] = field(default_factory=dict)
    deltas: dict[Expr, tuple[Expr, Bounds]] = field(default_factory=dict)
    linear_bounds: dict[Expr, tuple[LinearForm, LinearForm]] = field(default_factory=dict)
    assumed_params: set[str] = field(default_factory=set)


class Required(NamedTuple):
    """What a guard requires: `cond`, unless one of the trip counts in `unless_empty` is <= 0."""

    cond: Expr
    unless_empty: frozenset[Expr]


@record
class PathState:
    """The loops and branches around the expression that is being lowered.

    ``frames``: the enclosing loops, outermost first. ``branches``: the number of enclosing ``if``
    branches. ``used_where``: a bool; where it is false, the value of the expression is computed but
    not used (speculation). None: the value is used everywhere.
    ``facts``: linear forms that are >= 0 wherever the expression is evaluated.
    ``while_facts``: linear forms that are >= 0 because the condition of an enclosing ``while``
    holds. They may only prove something about ``while_names``, the accumulators of those loops.
    ``equalities``: expressions, each with the linear form that it equals, by a guard or in an
    iteration of the enclosing loops. No linear form has an atom that is a key.
    ``guarded``: linear forms that are >= 0 by a guard, in those iterations. They prove that another
    guard is not needed, and nothing else. ``requirements``: what guards require there (`Required`).
    """

    frames: list[LoopFrame] = field(default_factory=list)
    branches: int = 0
    used_where: Expr | None = None
    facts: tuple[LinearForm, ...] = ()
    while_facts: tuple[LinearForm, ...] = ()
    while_names: frozenset[Expr] = frozenset()
    equalities: Mapping[Expr, LinearForm] = field(default_factory=lambda: MappingProxyType({}))
    guarded: tuple[LinearForm, ...] = ()
    requirements: tuple[Required, ...] = ()


@record(frozen=True, slots=True)
class SilentException:
    """An operation that may raise the floating-point flag of `status` without a NumPy warning.

    ``raised``: the condition under which it does; None where that is not known. ``span``: the
    operation in the source.
    """

    status: str
    raised: Expr | None = None
    span: Span | None = None


@record
class WarningState:
    """Operations that may raise a floating-point exception.

    ``sources``: those of which NumPy warns, in the order of lowering. ``silent``: those of which
    nobody warns, though they may raise a flag. ``raised_array``: in a recording kernel, the array
    that tells which sources have raised; None in other kernels.
    """

    sources: list[StatusSource] = field(default_factory=list)
    silent: list[SilentException] = field(default_factory=list)
    raised_array: str | None = None


@record
class NumberState:
    """Facts about scalar values.

    ``accumulators``: the loop-carried values of the enclosing loops.
    ``python_values``: for a variable that is a Python or a NumPy scalar, by the path: the Python
    scalar, of which the variable, of another dtype, may hold a rounded value (`as_python_scalar`).
    ``python_constants``: likewise, for variables whose Python scalar is one constant.
    ``zero_trip``: bools that hold where a loop had no iteration. A scalar that is Python's only
    there is required to be NumPy's if the two cannot be compiled (`as_numpy_if_loops_ran`).
    ``phis``: for the name of a number that an ``if`` merges, and of the flag that tells whether it
    is a Python scalar, the values at the end of both branches.
    ``upper_bounds``: for an integer expression, another one that is at least as large; the capacity
    of an array is found by it (`capacity_bounds`).
    """

    accumulators: set[Expr] = field(default_factory=set)
    python_values: dict[Expr, Num] = field(default_factory=dict)
    python_constants: dict[Expr, Num] = field(default_factory=dict)
    zero_trip: set[Expr] = field(default_factory=set)
    phis: dict[str, tuple[Expr, Expr]] = field(default_factory=dict)
    upper_bounds: dict[Expr, Expr] = field(default_factory=dict)


@record
class ComplexState:
    """Facts about complex variables, each of which `complex_split` has split into two variables.

    ``non_simple``: variables that were assigned a Python number other than 0 and 1. Some operations
    are compiled for the others only, which have the same value in any type (`ComplexPair.simple`).
    ``doubtful``: variables that were assigned a real and a complex number, and nothing tells at run
    time which one they hold. ``surely_complex``: variables of imaginary parts, as exceptions from
    it: the number that was assigned together with the part is complex.
    """

    non_simple: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)
    surely_complex: set[Expr] = field(default_factory=set)


@record
class BufferState:
    """Arrays that the caller allocates for the kernel, and views of arguments.

    ``fresh``: names of the arrays that are allocated for each call, which no caller sees before.
    ``blank``: those of ``fresh`` that `np.empty` or `np.empty_like` makes.
    ``reshaped``: array parameters that are reshaped views of an argument, with that argument.
    ``of_sibling_branch``: while the second branch of an ``if`` is lowered, the arrays that the
    first one has allocated, by the Python name that is bound to them.
    ``overallocated``: arrays whose allocation may be larger than the shape that Python sees.
    ``truncated``: arrays that are cut to their length on the first axis when they are returned.
    ``zeros``: those of ``fresh`` that are allocated as zeros, each with its lengths, and with the
    expression that allocates it without a fill.
    ``arrays_of_call``: the arrays that one allocating call of the source has made; there are
    several where the call is lowered more than once.
    ``empty_axis_conditions``: bounds conditions of subscripts into an axis whose length may be 0.
    No clamped subscript is safe there, so the element is loaded inside a branch.
    ``needed_room``: how many items the buffer of a dynamic list needs, for each place where the
    list grows, by the list's name; None where that is not known before the kernel.
    ``needs_snapshot``: a whole-array statement may fail after it has written, so the arguments
    that it writes are copied before the call.
    """

    fresh: set[str] = field(default_factory=set)
    blank: set[str] = field(default_factory=set)
    reshaped: dict[str, str] = field(default_factory=dict)
    of_sibling_branch: dict[str, ArrayRef] = field(default_factory=dict)
    overallocated: set[str] = field(default_factory=set)
    truncated: set[str] = field(default_factory=set)
    zeros: dict[str, tuple[tuple[Expr, ...], HostExpr]] = field(default_factory=dict)
    arrays_of_call: dict[ast.Call, tuple[ArrayRef, ...]] = field(default_factory=dict)
    empty_axis_conditions: set[Expr] = field(default_factory=set)
    needed_room: dict[str, tuple[Expr | None, ...]] = field(default_factory=dict)
    needs_snapshot: bool = False


@record(frozen=True, slots=True)
class BuilderSnapshot:
    """The state of a builder at one moment: `IRBuilder.snapshot` takes it, `restore` puts it back.

    ``values``: the value of each field of `_RESTORED`. ``contents``: each list, dict or set among
    them, with a copy of its items. The same container is filled again, since other code holds
    references to it.
    """

    values: tuple[Any, ...]
    contents: tuple[tuple[_Container, _Container], ...]


@record
class IRBuilder:
    """The kernel under construction: its statements, parameters and guards, and facts about them.

    ``names``: all names that the kernel uses. ``subscript_params``: int parameters that the
    function uses as subscripts only. ``block``: the innermost block, to which statements are
    emitted. ``values``: for each name that `bind` has assigned, the expression that it holds.
    ``current_span``: the source position of the statement that is being lowered.
    ``env``: the value of each Python name at this point of the program.
    ``params``: the kernel's parameters, by name; ``bindings``: where the caller gets each of them.
    ``guards``: conditions that must hold before the kernel starts; ``required_by``: what each of
    them requires, by its condition. ``strict``: as `Kernel.strict`.
    ``forbids_unions``: a value whose type depends on the data is refused, not made a union.
    ``forbidding_mattered``: without ``forbids_unions`` something else might have been built, or
    less been refused (see `allows_unions`). No trial undoes it.
    ``array_version_depth``: how many of the enclosing statements are lowered once for each array
    that a name may be bound to (`lower_statements._lower_for_each_array`).
    ``rounds_otherwise``: some operation has other last bits than Python's or NumPy's, though the
    kernel looks like any other: a power that became a product or a root (`exact_sizes`). No trial
    undoes it.
    ``hoisted_loops``: loops whose checks are also tested before the loop (`emit_for`).
    ``observed_types``: pairs of a Python name and the text of a type that it has had, in order.
    """

    names: set[str] = field(default_factory=set)
    subscript_params: frozenset[str] = frozenset()
    block: list[Stmt] = field(default_factory=list)
    values: dict[str, Expr] = field(default_factory=dict)
    current_span: Span | None = None
    env: dict[str, Value] = field(default_factory=dict)
    params: dict[str, Param] = field(default_factory=dict)
    bindings: dict[str, Binding] = field(default_factory=dict)
    guards: list[Guard | Disjoint] = field(default_factory=list)
    required_by: dict[Expr, Required] = field(default_factory=dict)
    strict: set[str] = field(default_factory=set)
    forbids_unions: bool = False
    forbidding_mattered: bool = False
    array_version_depth: int = 0
    rounds_otherwise: bool = False
    hoisted_loops: set[Loop] = field(default_factory=set)
    observed_types: dict[tuple[str, str], None] = field(default_factory=dict)
    ranges: RangeState = field(default_factory=RangeState)
    path: PathState = field(default_factory=PathState)
    warnings: WarningState = field(default_factory=WarningState)
    numbers: NumberState = field(default_factory=NumberState)
    complex: ComplexState = field(default_factory=ComplexState)
    buffers: BufferState = field(default_factory=BufferState)

    def snapshot(self) -> BuilderSnapshot:
        """The state of the builder now, for `restore`."""
        contents = tuple([(c, c.copy()) for c in _containers(self)])
        return BuilderSnapshot(_restored_values(self), contents)

    def restore(self, before: BuilderSnapshot) -> None:
        """Restores the state of the snapshot `before`. The containers stay the same objects."""
        for container, contents in before.contents:
            if isinstance(container, list):
                container[:] = contents
            else:
                container.clear()
                container.update(contents)
        for (part, name), value in zip(_RESTORED, before.values, strict=True):
            setattr(getattr(self, part) if part else self, name, value)

    @contextmanager
    def trial(self) -> Iterator[Trial]:
        """A context that undoes all effects on the builder when it ends, also by an exception,
        unless ``keep`` of the trial was set.
        """
        before, trial = self.snapshot(), Trial()
        try:
            yield trial
        finally:
            if not trial.keep:
                self.restore(before)

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undoes all effects of its body on the builder if the body raises Refused, and raises it
        again.
        """
        before = self.snapshot()
        try:
            yield
        except Refused:
            self.restore(before)
            raise

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[None]:
        """A context in which emitted statements are appended to `block`."""
        outer, self.block = self.block, block
        try:
            yield
        finally:
            self.block = outer

    def name(self, hint: str) -> str:
        """A name that the kernel does not use yet, made of `hint`: without leading ``_`` and ``#``,
        with ``v`` in front if no letter is first then, and with a number behind if it is in use.
        """
        base = hint.lstrip("_#") or "t"
        base = base if base[0].isalpha() else f"v{base}"
        out, k = base, 0
        while out in self.names:
            k += 1
            out = f"{base}_{k}"
        self.names.add(out)
        return out

    @property
    def allows_unions(self) -> bool:
        """Whether a value of several types may be made a union.

        Records in ``forbidding_mattered`` that ``forbids_unions`` has decided something. So it may
        only be read where the answer decides what is built: code for which it was never read is
        the same in both modes, and need not be lowered again.
        """
        self.forbidding_mattered |= self.forbids_unions
        return not self.forbids_unions

    def emit(self, stmt: Stmt) -> None:
        self.block.append(stmt)

    def bind(self, e: Expr, hint: str = "t") -> Expr:
        """Assigns `e` to a new name and returns that name, so that several uses compute `e` once.
        A constant, a name or a length is returned as it is.
        """
        if isinstance(e, (Const, Var, Dim)):
            return e
        name = self.name(hint)
        is_unplaced_call = isinstance(e, Call) and e.span is None
        value = replace(e, span=self.current_span) if is_unplaced_call else e
        self.emit(Assign(name, value, span=self.current_span))
        self.values[name] = e
        return Var(name, e.dtype)

    def bind_or_reuse(self, e: Expr, hint: str) -> Expr:
        """As `bind`, but returns an existing name of `e` if one was assigned in this block with
        only assignments, checks and stores since. Never reuses a name if `e` contains a load.
        """
        has_load = any(isinstance(n, Load) for n in walk(e))
        for s in () if has_load else reversed(self.block):
            match s:
                case Assign(name=name, value=value) if value == e:
                    return Var(name, e.dtype)
                case Assign() | Check() | Store():
                    continue
            break
        return self.bind(e, hint)

    def allocate(self, name: str, expr: HostExpr, ty: ArrayType, *, blank: bool = True) -> None:
        """Adds an array parameter that the caller allocates for each call by evaluating `expr`.
        ``blank``: `expr` gives it no values that the kernel may rely on, as ``np.empty`` does; such
        a parameter is `Param.owned`. False for ``np.full`` and others that fill the array.
        """
        self.params[name] = replace(kernel_param(name, ty), owned=blank)
        self.bindings[name] = Allocated(name, expr, ty)
        self.buffers.fresh.add(name)

    def add_list_param(self, binding: ListItems | ItemFlags, ty: ArrayType) -> None:
        """Adds an array parameter, of type `ty`, with the items of a list, or with their types."""
        self.params[binding.name] = kernel_param(binding.name, ty)
        self.bindings[binding.name] = binding

    def note_constant(self, n: Num, *operands: Num) -> Num:
        """Returns `n`, which is one of the two `operands`, depending on the data. If `n` may be a
        Python or a NumPy scalar, and is the same constant wherever it is a Python scalar, that
        constant is recorded in `NumberState.python_constants`: 0.0 for ``0.0 if c else x[i]``.
        """
        constants = self.numbers.python_constants
        python = [constants.get(m.ir, m) for m in operands if m.weak is not None]
        if n.either and len({m.ir for m in python}) == 1 and isinstance(python[0].ir, Const):
            constants[n.ir] = python[0]
        return n

    def known_at_entry(self, e: Expr) -> bool:
        """Whether `e` can be evaluated at kernel entry: it consists of constants, lengths,
        operations and parameters, and contains neither loads nor local names.
        """
        return all(map(self._is_entry_node, walk(e)))

    def _is_entry_node(self, n: Node) -> bool:
        """Whether the node `n` itself, without its operands, can be evaluated at kernel entry."""
        plain = isinstance(n, (Const, Dim, Call))
        return plain or (isinstance(n, Var) and n.name in self.params)

    def is_param(self, name: str, value: Value) -> bool:
        """Whether `value` of the Python name `name` is the kernel parameter of that name, rather
        than a local value that shadows it.
        """
        return name in self.params and not (
            isinstance(value, Num) and value.ir != Var(name, value.dtype)
        )

    def at_entry(self, e: Expr) -> Expr | None:
        """`e` with the names that `bind` assigned replaced by their values, if the result can be
        evaluated at kernel entry (see `known_at_entry`); else None.
        """
        worklist, expanded = [e], set[str]()
        while worklist:
            for n in walk(worklist.pop()):
                if isinstance(n, Var) and n.name in self.values:
                    worklist += [self.values[n.name]] if n.name not in expanded else []
                    expanded.add(n.name)
                elif not self._is_entry_node(n):
                    return None
        return expand_names(e, self.values)


_STATE_RECORDS: dict[str, type[Any]] = {
    "ranges": RangeState, "path": PathState, "warnings": WarningState, "numbers": NumberState,
    "complex": ComplexState, "buffers": BufferState,
}

_KEPT = {"forbidding_mattered", "rounds_otherwise"}
"""Fields that no trial undoes: they are read after a trial, to learn what happened in it."""

_FIELDS = {
    **{("", f.name): f for f in fields(IRBuilder) if f.name not in {*_STATE_RECORDS, *_KEPT}},
    **{(part, f.name): f for part, kind in _STATE_RECORDS.items() for f in fields(kind)},
}
_RESTORED = tuple(_FIELDS)
"""All fields that `IRBuilder.restore` restores: the record of the builder that has it ("": the
builder itself), and the name of the field.
"""
_restored_values = attrgetter(*(f"{part}.{name}".lstrip(".") for part, name in _RESTORED))
_containers = attrgetter(*(
    f"{part}.{name}".lstrip(".") for (part, name), f in _FIELDS.items()
    if f.default_factory in (list, dict, set)
))


def kernel_param(name: str, ty: ArrayType) -> Param:
    """The kernel's parameter for an array of type `ty`.

    A complex array gets another last axis of length 2, for the real and the imaginary part; its
    strides are then counted in floats, twice as many.
    """
    if ty.dtype not in PARTS:
        return Param(name, ty.dtype, ty.rank, ty.unit, steps=ty.steps, aligned=ty.aligned)
    strides = ty.steps or (None,) * ty.rank
    complex_strides = tuple(1 if axis == ty.unit else step for axis, step in enumerate(strides))
    steps = (*(step and 2 * step for step in complex_strides), None)
    return Param(
        name, PARTS[ty.dtype], ty.rank + 1, ty.rank if ty.aligned else None,
        steps=steps if any(steps) else (), aligned=ty.aligned)
