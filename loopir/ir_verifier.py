"""IR verifier: which kernels are well-formed at each stage. Tests run it after every pass.

Expressions are checked for names, dtypes, lanes and subscripts; loops for the scopes that they
open; statements for what they may write and leave.
"""
from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal, TypeAlias

from . import nodes as ir
from .analysis.parallelism import parallel_obstacle
from .analysis.undoable_stores import undo_obstacle
from .dtypes import DTYPES, INDEX, MAX_RANK, converts_directly
from .ir_printer import show
from .ir_traversal import advanced_accums, children, range_bounds
from .nodes import assert_never
from .op_table import OPS
from .status_bits import STATUS

__all__ = ["Stage", "VerifyError", "verify"]

Stage: TypeAlias = Literal["scalar", "vector", "legal"]


class VerifyError(AssertionError):
    """A kernel is not well-formed: a bug in the pass that produced it."""


def _require(condition: object, node: ir.Node, reason: str) -> None:
    """Raise VerifyError with `reason` and the text of `node`, unless `condition` is true."""
    if not condition:
        raise VerifyError(f"{reason}: {show(node)}")


def verify(kernel: ir.Kernel, stage: Stage) -> None:
    """Raise VerifyError, with the reason and the text of the node, where `kernel` is not
    well-formed at `stage`: a bug in the pass that made it.

    At every stage:

    - a name is bound before it is read, and once in its scope;
    - operands and results have the dtypes of `op_table.OPS`, and equally many lanes;
    - an access has one subscript for each axis, and only a ``mut`` array is stored to;
    - what a loop is marked with holds: of a ``parallel`` loop, that its iterations are independent
      (`parallel_obstacle`); of one that ``undoes``, that it can (`undo_obstacle`).

    ``"scalar"``, before `vectorize`: no vectors. ``"vector"``, after it: vector loops, of width
    ``W`` or a number. ``"legal"``, after the target's legalization: each width is a number, each
    predicated loop has a mask form, and nothing is computed in a storage-only dtype.

    The pipeline calls this after each stage under ``TRANSPILE_CHECK`` (`pipeline.run_stages`).
    """
    _verify_params(kernel)
    verifier = _Verifier(kernel, stage)
    for guard in kernel.guards:
        verifier.guard(guard)
    _require(set(kernel.strict) <= set(STATUS), kernel, "strict has a name that is not in STATUS")
    verifier.block(kernel.body)


def _verify_params(kernel: ir.Kernel) -> None:
    """Require consistent parameters: rank, unit axis and strides."""
    names = {p.name for p in kernel.params}
    _require(len(names) == len(kernel.params), kernel, "two parameters have one name")
    for p in kernel.params:
        _require(p.dtype in DTYPES, p, "no such dtype")
        if p.rank is None:
            _require(p.unit is None and not p.written, p, "a scalar has no axes and is not written")
        else:
            _require(p.rank in range(MAX_RANK + 1), p, f"an array has at most {MAX_RANK} axes")
            _require(p.unit is None or p.unit in range(p.rank), p, "the unit axis is no axis")
            _require(p.written or not p.owned, p, "what is owned may be written")
            _require(len(p.steps) in (0, p.rank), p, "one step for each axis, or none at all")
            known = [step for step in p.steps if step is not None]
            _require(bool(known) == bool(p.steps) and min(known, default=2) > 1, p,
                 "known steps are larger than one")


class _Verifier:
    """Checks the expressions, loops and statements of a kernel against the names in scope."""

    def __init__(self, kernel: ir.Kernel, stage: Stage) -> None:
        self.kernel, self.stage = kernel, stage
        self.arrays = {p.name: p for p in kernel.params if p.rank is not None}
        self.names: dict[str, tuple[str, ir.Lanes]] = {
            p.name: (p.dtype, 1) for p in kernel.params if p.rank is None
        }
        self.width: ir.Lanes | None = None  # lanes of the enclosing vector loop, if any
        self.loops = 0  # enclosing scalar loops within the kernel or the vector loop
        self.counts: set[str] = set()  # accumulators in scope that may count appends

    def scalar(self, e: ir.Expr, dtype: str, what: str) -> None:
        """Require `e` to be well-formed, scalar and of `dtype`."""
        self.expr(e)
        _require(e.lanes == 1 and e.dtype == dtype, e, f"{what} must be one {dtype}")

    def expr(self, e: ir.Expr) -> None:
        """Require `e` and its operands to be well-formed."""
        for child in children(e):
            self.expr(child)  # type: ignore[arg-type]  # below expressions are expressions
        match e:
            case ir.Const():
                _require(_constant_fits(e), e, f"the constant is no {e.dtype}")
            case ir.Var(name, dtype, lanes):
                bound = self.names.get(name)
                _require(bound, e, "the name is not bound here")
                _require(bound == (dtype, lanes), e, f"the name is {bound}, not {dtype, lanes}")
            case ir.Dim(array, axis):
                _require(axis in range(self.array(e, array).rank or 0), e, "no such axis")
            case ir.Load(array, index, dtype, lanes, axis, step):
                _require(self.array(e, array).dtype == dtype, e, f"the load is not of {dtype}")
                self.subscripts(e, array, index, lanes, axis, step)
            case ir.Call():
                self.call(e)
            case ir.Broadcast(value, lanes):
                _require(value.lanes == 1, e, "only a scalar is broadcast")
                _require(lanes == self.width, e, self.misfit(lanes))
            case ir.Ramp(base, _, lanes):
                integer = base.lanes == 1 and _dtype_kind(base) in "iu"
                _require(integer, e, "a ramp starts at an integer scalar")
                _require(lanes == self.width, e, self.misfit(lanes))
            case ir.HReduce(op, value, place):
                _require(op in OPS and OPS[op].reduces, e, "the operation has no neutral element")
                _require(value.lanes != 1 or self.stage == "legal", e, "only vectors are reduced")
                self.call(ir.Call(op, (value, value), value.dtype, value.lanes))
                if place is not None:
                    fits = place.lanes == value.lanes and _dtype_kind(place) == "i"
                    fits &= DTYPES[place.dtype].bits == DTYPES[value.dtype].bits
                    _require(fits, e, "places are integers as wide as the values")
                    _require(op in ("min", "max"), e, "only an extremum has a place")
            case _:
                assert_never(e)

    def array(self, node: ir.Node, name: str) -> ir.Param:
        """The parameter of the array `name`, which must exist."""
        _require(name in self.arrays, node, f"{name} is not an array parameter")
        return self.arrays[name]

    def subscripts(
        self,
        node: ir.Node,
        array: str,
        index: Iterable[ir.Expr],
        lanes: ir.Lanes,
        axis: int,
        step: int,
    ) -> None:
        """Require one scalar index for each axis, and of a vector access a valid axis, step and
        width.
        """
        index = tuple(index)
        _require(len(index) == self.array(node, array).rank, node, "a subscript for each axis")
        scalars = all(i.lanes == 1 and i.dtype == INDEX for i in index)
        _require(scalars, node, f"a subscript is one {INDEX}")
        if lanes != 1 or self.width == 1:
            _require(lanes == 1 or lanes == self.width, node, self.misfit(lanes))
            _require(
                axis in range(max(len(index), 1)) and step != 0, node, "no such axis, or no step"
            )
        else:
            _require((axis, step) == (0, 1), node, "only lanes go along an axis")

    def misfit(self, lanes: ir.Lanes) -> str:
        """The reason for a number of lanes that is not the width of the loop."""
        return f"{lanes} lanes in a loop of width {self.width}"

    def call(self, e: ir.Call) -> None:
        """Require the operands and the result to match the signature of the operation."""
        _require(e.op in OPS, e, "no such operation")
        op = OPS[e.op]
        _require(len(e.args) == op.arity, e, f"{op.arity} operands are needed")
        _require(all(x.lanes == e.lanes for x in e.args), e, "operands and result differ in lanes")
        if self.stage == "legal":
            is_storage_only = any(DTYPES[x.dtype].wide for x in (e, *e.args))
            is_conversion = e.op == "cast" and converts_directly(e.args[0].dtype, e.dtype)
            _require(is_conversion or not is_storage_only, e, "the dtype is for storage only")
        common = {x.dtype for x, letter in zip(e.args, op.operands, strict=True) if letter == "a"}
        _require(len(common) <= 1, e, f"operands differ in dtype: {sorted(common)}")
        for x, letter in zip(e.args, op.operands, strict=True):
            _require(
                x.dtype == "bool" if letter == "m" else op.accepts(x.dtype),
                x,
                f"no operand of {op.name}",
            )
        result_dtypes = {"m": {"bool"}, "a": common or {e.dtype}}[op.result]
        _require(
            e.dtype in result_dtypes and e.dtype in DTYPES,
            e,
            f"the result is {result_dtypes}, not {e.dtype}",
        )

    def value(self, e: ir.Expr) -> None:
        """Require `e` to be well-formed, and scalar or as wide as the enclosing vector loop."""
        self.expr(e)
        _require(e.lanes in (1, self.width), e, self.misfit(e.lanes))

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope: names bound inside are unbound at its end."""
        saved = self.names, self.arrays, self.width, self.loops, self.counts
        self.names, self.counts = dict(self.names), set(self.counts)
        yield
        self.names, self.arrays, self.width, self.loops, self.counts = saved

    def bind(self, node: ir.Node, name: str, dtype: str, lanes: ir.Lanes = 1) -> None:
        """Add a name to the scope; it must be unbound."""
        self.unbound(node, name)
        self.names[name] = dtype, lanes

    def unbound(self, node: ir.Node, name: str) -> None:
        """Require `name` to be unbound."""
        is_bound = name in self.names or name in self.arrays
        _require(not is_bound, node, f"{name} is bound already")

    def loop(self, s: ir.LoopLike) -> None:
        """Require a loop of any kind to be well-formed; its accumulators stay in scope."""
        if isinstance(s, ir.Loop | ir.VecLoop | ir.PredLoop) and s.parallel:
            reason = parallel_obstacle(s, self.kernel)
            _require(reason is None, s, f"the loop is not parallel: {reason}")
        if isinstance(s, ir.Loop | ir.VecLoop) and s.undoes:
            reason = undo_obstacle(s, self.kernel) if s.parallel else "it is not parallel"
            _require(reason is None, s, f"the loop cannot be undone: {reason}")
        match s:
            case ir.Loop():
                self.range(s.range)
                self.scalar_loop(s, {s.var: INDEX})
            case ir.Zip():
                self.range(s.range)
                _require(s.streams, s, "a zip has streams")
                for x in s.streams:
                    p = self.array(s, x.array)
                    _require((p.rank, p.dtype) == (1, x.dtype), s, f"{x.array} is not {x.dtype}[:]")
                self.scalar_loop(s, {s.var: INDEX, **{x.name: x.dtype for x in s.streams}})
            case ir.While():
                self.scalar_loop(s, {})
            case ir.Scan():
                self.scan(s)
            case ir.VecLoop() | ir.PredLoop():
                self.vector_loop(s)
            case _:
                assert_never(s)

    def range(self, r: ir.Range) -> None:
        """Require scalar ends and a step that is not 0."""
        for e in range_bounds(r):
            self.scalar(e, INDEX, "an end of a range")
        _require(isinstance(r, ir.Interval) or r.step != 0, r, "a range has a step")

    def scalar_loop(self, s: ir.Loop | ir.Zip | ir.While, body_names: dict[str, str]) -> None:
        """Check a scalar loop whose body also has the names `body_names`."""
        for a in s.accs:
            self.value(a.init)
        with self.scope():
            for name, dtype in body_names.items():
                self.bind(s, name, dtype)
            self.accs(s, {a.name: a.init.lanes for a in s.accs})
            self.loops += 1
            if isinstance(s, ir.While):
                self.scalar(s.cond, "bool", "a loop's condition")
            self.block(s.body)
            self.steps(s)
            if isinstance(s, ir.Loop) and s.until:
                self.scalar(s.until, "bool", "an early exit")
        self.accs(s, {a.name: a.init.lanes for a in s.accs})

    def accs(
        self, s: ir.Loop | ir.Zip | ir.While | ir.VecLoop | ir.PredLoop, lanes: dict[str, ir.Lanes]
    ) -> None:
        """Bind the accumulators with these lanes."""
        for a in s.accs:
            self.bind(s, a.name, a.init.dtype, lanes[a.name])
            if (a.init.dtype, lanes[a.name]) == (INDEX, 1):
                self.counts.add(a.name)

    def steps(self, s: ir.Loop | ir.Zip | ir.While | ir.VecLoop | ir.PredLoop) -> None:
        """Require each step to have the dtype and lanes of its accumulator."""
        for a in s.accs:
            self.expr(a.step)
            carried = a.step.dtype, a.step.lanes
            _require(
                carried == self.names[a.name], s, f"{a.name} starts and steps as different types"
            )

    def scan(self, s: ir.Scan) -> None:
        """Check a scan: scalar, an operation that reduces, and a written array of rank 1."""
        _require(self.width is None, s, "a scan in a vector loop")
        self.range(s.range)
        self.scalar(s.init, s.value.dtype, "a scan's start")
        with self.scope():
            self.bind(s, s.var, INDEX)
            self.scalar(s.value, s.init.dtype, "a scan's value")
            self.call(ir.Call(s.op, (s.value, s.value), s.value.dtype))
            _require(OPS[s.op].reduces, s, "the operation is no reduction")
            p = self.array(s, s.array)
            is_result = (p.rank, p.dtype, p.written) == (1, s.value.dtype, True)
            _require(is_result, s, "a scan writes a mut array of rank 1 and its dtype")
        self.bind(s, s.acc, s.init.dtype)

    def vector_loop(self, s: ir.VecLoop | ir.PredLoop) -> None:
        """Check a vector loop: vectors are in scope in its body only, and accumulators have the
        lanes of the group after it.
        """
        self.shape(s)
        self.range(s.range)
        for a in s.accs:
            self.scalar(a.init, a.init.dtype, "a start")
        counts = advanced_accums(s)
        lanes_inside: dict[str, ir.Lanes] = {
            a.name: 1 if a.name in counts else s.width for a in s.accs
        }
        lanes_after = {
            n: lanes if n in counts else s.group or s.width for n, lanes in lanes_inside.items()
        }
        with self.scope():
            self.width, self.loops = s.width, 0
            self.names = {n: t for n, t in self.names.items() if t[1] == 1}  # vectors are hidden
            self.bind(s, s.var, INDEX)
            self.accs(s, lanes_inside)
            if isinstance(s, ir.PredLoop):
                self.value(s.pred)
                mask = (s.pred.dtype, s.pred.lanes) == ("bool", s.width)
                _require(mask, s, "the predicate is a bool for each lane")
            self.block(s.body)
            self.steps(s)
        self.accs(s, lanes_after)
        if isinstance(s, ir.VecLoop) and s.until:
            self.scalar(s.until, "bool", "an early exit")

    def shape(self, s: ir.VecLoop | ir.PredLoop) -> None:
        """Check width, group and mask form of a vector loop."""
        _require(self.stage != "scalar", s, "no vectors yet")
        _require(self.width is None, s, "a vector loop in a vector loop")
        _require(isinstance(s.range, ir.Interval), s, "a vector loop has step 1")
        _require(s.width == "W" or _power_of_two(s.width), s, "a width is W or a power of two")
        _require(s.group is None or _power_of_two(s.group), s, "a group is a power of two")
        folds = any(a.name not in advanced_accums(s) for a in s.accs)
        _require(s.group or not folds, s, "an accumulator needs a group")
        if self.stage == "legal":
            _require(isinstance(s.width, int), s, "the width is not chosen")
            _require(not s.group or s.group % int(s.width) == 0, s, "a group is whole registers")
            _require(not isinstance(s, ir.PredLoop) or s.form, s, "the mask form is not chosen")

    def guard(self, g: ir.Guard | ir.Disjoint) -> None:
        """Require the condition of a guard, or the two arrays of a `Disjoint`."""
        match g:
            case ir.Guard(cond):
                self.scalar(cond, "bool", "a guard")
            case ir.Disjoint(a, b):
                are_two = a != b and {a, b} <= set(self.arrays)
                _require(are_two, g, "two array parameters are needed")
            case _:
                assert_never(g)

    def block(self, body: Iterable[ir.Stmt]) -> None:
        """Require the statements of a block to be well-formed, in order."""
        for s in body:
            self.stmt(s)

    def stmt(self, s: ir.Stmt) -> None:
        """Require `s` to be well-formed, and bind the names that it binds."""
        match s:
            case ir.Assign(name, value):
                self.value(value)
                self.bind(s, name, value.dtype, value.lanes)
            case ir.Local(name, dtype, length, lanes):
                _require(dtype in DTYPES and length > 0, s, "rows of some dtype are needed")
                _require(lanes is None or lanes == self.width, s, "rows are as wide as vectors")
                self.unbound(s, name)
                self.arrays = {**self.arrays, name: s.param}
            case ir.Bits(name, array):
                p = self.array(s, array)
                _require(p.owned and p.dtype == "bool", s, f"{array} is not own(bool[...])")
                self.unbound(s, name)
                self.arrays = {**self.arrays, name: p}
            case ir.Store(array, index, value, _, axis, step):
                self.stored(s, array)
                for i in index:
                    self.expr(i)
                self.subscripts(s, array, index, value.lanes, axis, step)
            case ir.Append(array, count):
                self.stored(s, array)
                p = self.arrays[array]
                _require(p.rank == 1, s, "appends go to arrays of rank 1")
                is_dense = p.unit == 0 or s.value.lanes == 1
                _require(is_dense, s, "lanes are appended to arrays of unit stride")
                _require(count in self.counts, s, f"{count} is no {INDEX} accumulator around")
            case ir.Prefix():
                self.prefix(s)
            case ir.Check(cond, code):
                self.value(cond)
                _require(cond.dtype == "bool", s, "a check is a bool")
                _require(code in STATUS, s, "no such status")
            case ir.If():
                self.branches(s)
            case ir.Break(cond):
                _require(self.loops, s, "no loop to leave")
                self.scalar(cond, "bool", "a break's condition")
            case ir.Return():
                _require(self.width is None, s, "a vector loop runs to its end")
            case _:
                self.loop(s)

    def stored(self, s: ir.Store | ir.Append, array: str) -> None:
        """Require a value and mask that may be stored to `array`, by every lane of the loop."""
        self.value(s.value)
        _require(self.array(s, array).written, s, f"{array} is not mut")
        _require(self.arrays[array].dtype == s.value.dtype, s, f"{array} holds another dtype")
        _require(s.value.lanes == (self.width or 1), s, "each lane of a loop stores, or none")
        if s.mask:
            self.value(s.mask)
            is_mask = s.mask.dtype == "bool" and s.mask.lanes == s.value.lanes
            _require(is_mask, s, "a mask is a bool for each lane")

    def prefix(self, s: ir.Prefix) -> None:
        """Check a `Prefix` and bind its results."""
        self.value(s.value)
        _require(self.width is not None and s.value.lanes == self.width, s, "a prefix is of lanes")
        _require(self.names.get(s.acc) == (s.value.dtype, 1), s, f"{s.acc} is no accumulator of it")
        self.call(ir.Call(s.op, (s.value, s.value), s.value.dtype, s.value.lanes))
        _require(OPS[s.op].reduces, s, "the operation is no reduction")
        if s.factor is not None:
            self.value(s.factor)
            same_type = (s.factor.dtype, s.factor.lanes) == (s.value.dtype, s.value.lanes)
            is_sum = s.op == "add" and DTYPES[s.value.dtype].kind == "f"
            _require(same_type and is_sum, s, "factors are floats like the values that are added")
        for name in (s.name, s.before) if s.before else (s.name,):
            self.bind(s, name, s.value.dtype, s.value.lanes)

    def branches(self, s: ir.If) -> None:
        """Check both sides of `s` in their own scopes, and bind its yields."""
        self.scalar(s.cond, "bool", "a condition")
        for body, results in (
            (s.then, [y.then for y in s.yields]),
            (s.orelse, [y.orelse for y in s.yields]),
        ):
            with self.scope():
                self.block(body)
                for e in results:
                    self.value(e)
        for y in s.yields:
            same_type = (y.then.dtype, y.then.lanes) == (y.orelse.dtype, y.orelse.lanes)
            _require(same_type, s, f"the branches differ in what {y.name} is")
            self.bind(s, y.name, y.then.dtype, y.then.lanes)


def _dtype_kind(e: ir.Expr) -> str:
    return DTYPES[e.dtype].kind


def _constant_fits(c: ir.Const) -> bool:
    """Whether the value is one of its dtype."""
    if c.dtype not in DTYPES:
        return False
    d = DTYPES[c.dtype]
    if d.kind == "f":
        return isinstance(c.value, (int, float))
    return math.isfinite(c.value) and c.value == int(c.value) and d.low <= c.value <= d.high


def _power_of_two(n: object) -> bool:
    return isinstance(n, int) and n > 0 and n & (n - 1) == 0
