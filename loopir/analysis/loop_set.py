"""Loop set: a loop nest as a graph of operations, with the loops each depends on, and their cost.

    for m in loop(0, M):                            v0 = start            | m n
        for n in loop(0, N):                        v1 = load A[m, k]     | m k
            for k in loop(0, K, s=0.0):             v2 = load B[k, n]     | n k
                s = step(s + A[m, k] * B[k, n])  →  v3 = mul(v1, v2)      | m n k
            C[m, n] = s                             v4 = add(v0, v3)      | m n k
                                                    v5 = result(v4)       | m n
                                                    v6 = store C[m, n](v5) | m n

`loop_set` builds the graph in one walk with value numbering: equal loads between two stores are one
operation. `LoopSet.cost` prices an order of the loops and a choice of vector loops: an operation
runs once for each iteration of the loops in which it varies, a contiguous access is divided by the
number of lanes, a gather is not. The passes `permute_loops` and `vectorize_outer` take the order
and the vector loop with the least cost. The model is from LoopVectorization.jl.

Upper bounds of trip counts (`constant_max_trips`, `max_trips`) are here, too, for all passes.
"""
from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from math import prod

from ..dtypes import DTYPES, INDEX
from ..ir_names import values_assigned_once
from ..ir_traversal import children, declared_params, memoized_per_node
from ..lazy_dataclass import record, replace
from ..nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Call,
    Check,
    Const,
    Dim,
    Expr,
    If,
    Interval,
    Kernel,
    Load,
    Local,
    Loop,
    LoopLike,
    Node,
    Param,
    PredLoop,
    Prefix,
    Range,
    Return,
    Scan,
    Stmt,
    Store,
    Var,
    VecLoop,
    While,
    Zip,
    assert_never,
)
from ..op_table import OPS
from ..process.signal_exceptions import failures
from .access import Access, element_text, has_unit_stride
from .dependence import affine_trip_count
from .integers.affine import Affine, affine_form, variable_form

__all__ = [
    "constant_max_trips", "index_definitions", "LoopSetBuilder", "NestOperation",
    "ElementReference", "LoopSet", "loop_set", "max_trips", "show_loop_set",
]


@memoized_per_node
def index_definitions(kernel: Kernel) -> Mapping[str, Expr]:
    """The values of the index names that `kernel` assigns exactly once."""
    values = values_assigned_once(kernel)
    return {name: value for name, value in values.items() if value.dtype == INDEX}


def constant_max_trips(r: Interval, definitions: Mapping[str, Expr]) -> int | None:
    """A constant upper bound of the trip count over `r`, if affine arithmetic on its ends gives
    one; else None. The most general of such bounds; `passes.loop_splitting.max_trips_of_strip` is
    the quick one for strips. By way of `max_trips`, `parallelize` and the work estimate ask it.

        [i, min(i + 64, n))    →    64
        [0, end)               →    1, if `definitions` has end = min(n, 1)

    `definitions` gives the values of names in the bounds.
    """
    difference = _max_difference(r.hi, r.lo, definitions)
    return None if difference is None else max(difference, 0)


def max_trips(r: Range, definitions: Mapping[str, Expr]) -> int | None:
    """As `constant_max_trips`, of a range with any step."""
    if isinstance(r, Interval):
        return constant_max_trips(r, definitions)
    first, last = (r.start, r.end) if r.step > 0 else (r.end, r.start)
    distance = constant_max_trips(Interval(first, last), definitions)
    return None if distance is None else -(-distance // abs(r.step))


def _max_difference(a: Expr, b: Expr, definitions: Mapping[str, Expr]) -> int | None:
    """An upper bound of ``a - b``, if one is a constant; else None.

    Cases, in this order: the affine difference is a constant; ``min`` in `a` and ``max`` in `b`:
    one bounded operand is enough; ``max`` in `a` and ``min`` in `b`: each operand must be bounded;
    a name is replaced by its definition.
    """
    is_atom = isinstance(a, Dim) or (isinstance(a, Var) and a.name not in definitions)
    if is_atom and isinstance(b, Const):  # from 0 to a length: most loops
        return None
    form = affine_form(Call("sub", (a, b), INDEX))
    if form is not None and form.number is not None:
        return form.number
    match a, b:
        case Call("min", parts), _:
            return _min_of_known([_max_difference(x, b, definitions) for x in parts])
        case _, Call("max", parts):
            return _min_of_known([_max_difference(a, x, definitions) for x in parts])
        case Call("max", parts), _:
            return _max_if_all_known([_max_difference(x, b, definitions) for x in parts])
        case _, Call("min", parts):
            return _max_if_all_known([_max_difference(a, x, definitions) for x in parts])
        case Var(name), _ if name in definitions:
            return _max_difference(definitions[name], b, definitions)
        case _, Var(name) if name in definitions:
            return _max_difference(a, definitions[name], definitions)
    return None


def _min_of_known(bounds: list[int | None]) -> int | None:
    """The least of `bounds`, those that are None ignored; None if all are None."""
    return min((n for n in bounds if n is not None), default=None)


def _max_if_all_known(bounds: list[int | None]) -> int | None:
    """The greatest of `bounds`; None if one of them is None."""
    known = [n for n in bounds if n is not None]
    return max(known) if len(known) == len(bounds) else None


@record(frozen=True, slots=True)
class ElementReference:
    """The element that a load or store accesses."""

    array: str
    index: tuple[Affine | None, ...]  # None: a subscript that is not affine
    unit: str | None  # the enclosing loop along which the access has unit stride

    def __str__(self) -> str:
        return element_text(self.array, self.index)


@record(frozen=True, slots=True)
class NestOperation:
    """One operation of the graph.

    ``op`` is a row of ``op_table.OPS``, or ``"load"``, ``"store"``, ``"append"``, ``"check"``; or,
    of an accumulator, ``"start"`` (initial value), ``"step"`` or ``"result"`` (final value).
    """

    op: str
    dtype: str
    loops: tuple[str, ...]  # the loops that the value varies with, outermost first
    parents: tuple[int, ...] = ()  # the operations that compute the operands, by index
    ref: ElementReference | None = None  # of a load, store or append
    around: tuple[str, ...] = field(default=(), compare=False)  # the loops around the statement

    @property
    def flops(self) -> float:
        """Floating-point work, in additions."""
        is_work = self.op in OPS and DTYPES[self.dtype].kind == "f" and self.op != "cast"
        return OPS[self.op].weight if is_work else 0.0

    @property
    def bytes(self) -> int:
        """Bytes moved between memory and registers."""
        return DTYPES[self.dtype].bytes if self.op in ("load", "store", "append") else 0


@record(frozen=True, slots=True)
class _ExprOperations:
    """The operations that compute an expression, and the loops that it varies with."""

    operations: tuple[int, ...] = ()  # indices in `LoopSetBuilder.operations`
    loops: frozenset[str] = frozenset()


class LoopSetBuilder:
    """A walk in order of evaluation that numbers the operations of a nest (value numbering).

    Each method that takes a statement appends its operations; each that takes an expression also
    returns the operations that compute it, with the loops that its value varies with. These loops
    are found from the leaves up: a loop variable varies with its own loop, a load with the loops of
    its subscripts, a call with the loops of its operands, and an accumulator with the loop that
    advances it.
    """

    def __init__(
        self, params: Mapping[str, Param], definitions: Mapping[str, Expr] | None = None
    ) -> None:
        self.params, self.definitions = params, definitions or {}
        self.order: list[str] = []  # all loops so far, outermost first
        self.trips: dict[str, int] = {}  # constant upper bounds of trip counts
        self.around: list[str] = []  # the loops around the current statement
        self.operations: list[NestOperation] = []
        self.values: dict[str, _ExprOperations] = {}  # what computes each name
        self.forms: dict[str, Affine | None] = {}  # affine form of each name, None if not affine
        self.available: dict[NestOperation, _ExprOperations] = {}  # may be shared; until a store

    # -- statements

    def block(self, stmts: Iterable[Stmt]) -> None:
        """Append the operations of `stmts`."""
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        """Append the operations of `s`. Raises ValueError for a statement that is not scalar and
        counted.
        """
        match s:
            case Assign():
                self.values[s.name] = self.expr(s.value)
                self.forms[s.name] = affine_form(s.value, (), self.forms)
            case Store():
                ref, address = self.reference(s.array, s.index)
                operands = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                self.add("store", s.value.dtype, [*operands, address], ref=ref)
                self.available.clear()
            case Append():
                operands = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                address = _ExprOperations(loops=frozenset(self.around))
                ref = ElementReference(s.array, (None,), None)
                self.add("append", s.value.dtype, [*operands, address], ref=ref)
                self.available.clear()
            case Check() | Break():
                self.add("check", "bool", [self.expr(s.cond)])
            case If():
                self.branch(s)
            case Loop():
                self.loop(s)
            case Return():
                pass
            case Zip() | VecLoop() | PredLoop() | Scan() | While() | Prefix() | Local() | Bits():
                raise ValueError(f"a LoopSet has no {type(s).__name__}")
            case _:
                assert_never(s)

    def branch(self, s: If) -> None:
        """Append both sides of `s`, as if both ran, and a select for each yield."""
        cond = self.expr(s.cond)
        self.block((*s.then, *s.orelse))
        for y in s.yields:
            operands = [cond, self.expr(y.then), self.expr(y.orelse)]
            self.values[y.name] = self.add("select", y.then.dtype, operands)
            self.forms[y.name] = None

    def loop(self, s: Loop) -> None:
        """Append the nest `s`: starts of its accumulators, body, steps, results. No operation
        inside is shared with one outside.

            for j in loop(0, n, s=0.0):      v0 = start         | i       inside a loop over i
                s = step(s + x[i, j])    →   v1 = load x[i, j]  | i j
                                             v2 = add(v0, v1)   | i j
                                             v3 = result(v2)    | i       what s is after it
        """
        outer_loops = frozenset(self.around)
        self.available.clear()
        for a in s.accs:
            self.values[a.name] = self.add("start", a.init.dtype, [self.expr(a.init)], outer_loops)
            self.forms[a.name] = None
        self.around.append(s.var)
        if s.var not in self.order:
            self.order.append(s.var)
        if (trips := self.max_trips(s.range)) is not None:
            self.trips[s.var] = trips
        self.forms[s.var] = variable_form(s.var)
        self.values[s.var] = _ExprOperations(loops=frozenset((s.var,)))
        self.block(s.body)
        steps = [(a, self.step(a.step, s.var)) for a in s.accs]
        self.around.pop()
        self.available.clear()
        for a, step in steps:
            self.values[a.name] = self.add("result", a.init.dtype, [step], step.loops - {s.var})

    def max_trips(self, r: Range) -> int | None:
        """The trip count of a loop over `r`, or a bound of it, if one is constant; else None."""
        trip_count = affine_trip_count(r)
        if trip_count is not None and trip_count.number is not None:
            return max(trip_count.number, 0)
        return constant_max_trips(r, self.definitions) if isinstance(r, Interval) else None

    def step(self, e: Expr, var: str) -> _ExprOperations:
        """The operation that computes the accumulator step `e`. Its value varies with the loop
        `var`, whatever `e` reads.
        """
        value = self.expr(e)
        loops = value.loops | {var}
        if isinstance(e, Call) and value.operations:
            [number] = value.operations
            self.operations[number] = replace(self.operations[number], loops=self.ordered(loops))
            return _ExprOperations((number,), loops)
        return self.add("step", e.dtype, [value], loops)

    # -- expressions

    def expr(self, e: Node) -> _ExprOperations:
        """The operations that compute `e`, appended where they are not available."""
        match e:
            case Var():
                return self.values.get(e.name, _ExprOperations())
            case Load():
                ref, address = self.reference(e.array, e.index)
                return self.add("load", e.dtype, [address], ref=ref)
            case Call():
                return self.add(e.op, e.dtype, [self.expr(a) for a in e.args])
        operands = [self.expr(c) for c in children(e)]
        return _ExprOperations(
            _join_operations(operands), frozenset(v for p in operands for v in p.loops)
        )

    def reference(
        self, array: str, index: tuple[Expr, ...]
    ) -> tuple[ElementReference, _ExprOperations]:
        """The accessed element, and the operations that compute its subscripts that are not affine.
        """
        forms = tuple(affine_form(e, (), self.forms) for e in index)
        access = Access(array, forms, False, 0, False, tuple(self.around))
        param = self.params[array]
        unit = next((v for v in self.around if has_unit_stride(access, param, v)), None)
        computed = [self.expr(e) for e, f in zip(index, forms, strict=True) if f is None]
        loops: frozenset[str] = frozenset()
        loops = loops.union(*(f.variables for f in forms if f), *(v.loops for v in computed))
        return ElementReference(array, forms, unit), _ExprOperations(
            _join_operations(computed), loops
        )

    def add(
        self,
        op: str,
        dtype: str,
        operands: Iterable[_ExprOperations],
        loops: frozenset[str] | None = None,
        ref: ElementReference | None = None,
    ) -> _ExprOperations:
        """Append an operation, or reuse an available equal one. `loops`: the loops with which its
        value varies, by default those of its `operands`; `ref`: the element that it accesses.
        """
        operands = tuple(operands)
        if loops is None:
            loops = frozenset(v for p in operands for v in p.loops)
        new = NestOperation(
            op, dtype, self.ordered(loops), _join_operations(operands), ref, tuple(self.around)
        )
        if new in self.available:
            return self.available[new]
        self.operations.append(new)
        value = _ExprOperations((len(self.operations) - 1,), loops)
        if op in OPS or op == "load":
            self.available[new] = value
        return value

    def ordered(self, loops: frozenset[str]) -> tuple[str, ...]:
        """`loops` from the outermost to the innermost."""
        return tuple(v for v in self.order if v in loops)


def _join_operations(operands: Iterable[_ExprOperations]) -> tuple[int, ...]:
    """The operations of all `operands`, each once, in order."""
    return tuple(dict.fromkeys(k for p in operands for k in p.operations))


_ASSUMED_TRIPS = 32  # of a loop whose trip count has no constant bound
_ASSUMED_LANES = 8  # fixed, so that the choice is the same on every machine
_GATHER_COST = 2.0  # of each element of a gather, in additions
_SCATTER_COST = 2.5  # of each element of a scatter: each store takes a line of the cache for itself
_LANE_SUM_COST = 8.0  # of a horizontal reduction of one vector, in additions


@record(frozen=True, slots=True)
class LoopSet:
    """A nest of scalar loops as a directed acyclic graph of operations."""

    loops: tuple[str, ...]  # outermost first
    operations: tuple[NestOperation, ...]  # in order of evaluation: operands come first
    trips: Mapping[str, int] = field(default_factory=dict, hash=False)  # constant upper bounds

    def flops(self, loop: str) -> float:
        """Floating-point work of one iteration of `loop`, without what is invariant in it."""
        return sum(o.flops for o in self.operations if loop in o.loops)

    def bytes(self, loop: str) -> int:
        """Bytes that one iteration of `loop` moves, without what is invariant in it."""
        return sum(o.bytes for o in self.operations if loop in o.loops)

    def cost(self, lanes: Collection[str]) -> float:
        """Estimated time of the nest with vectors along the loops `lanes`, in additions; no
        `lanes`: as scalar code. Each operation counts as often as it runs (`_execution_count`).

            for i: for j: y[i, j] = x[i, j] * a[i]     32 iterations each, where it is not known

            scalar     3104: 1024 times a load, a product and a store, and 32 loads of a[i]
            along j     388: all of that is shared by 8 lanes
            along i    4740: x[i, j] is gathered, at 2 for each lane, and y[i, j] scattered, at 2.5

        `permute_loops` and `vectorize_outer.best_vector_loops` take the cheapest choice. The lanes
        and costs are fixed numbers, not those of the machine: the choice decides the order of
        folds, and a result must have the same bits on every machine.
        """
        return sum(
            self._execution_count(o) * self._cost_per_execution(o, lanes) for o in self.operations
        )

    def _execution_count(self, o: NestOperation) -> int:
        """How often `o` runs in all: the product of the trip counts of the loops around it, from
        the outermost to the innermost in which it varies. It is hoisted out of the loops inside
        that one.
        """
        depth = max((o.around.index(v) + 1 for v in o.loops if v in o.around), default=0)
        return prod(self.trips.get(v, _ASSUMED_TRIPS) for v in o.around[:depth])

    def _cost_per_execution(self, o: NestOperation, lanes: Collection[str]) -> float:
        """The cost of one execution of `o` with vectors along the loops `lanes`. Cases, in this
        order:

        - the result of an accumulator: a horizontal reduction if its loop is in `lanes`, else
          nothing;
        - outside of `lanes`: the weight of the operation;
        - a load or store that varies with the vector loop without unit stride: a gather or scatter;
        - else the weight, shared by the lanes.
        """
        vector_loop = next((v for v in o.around if v in lanes), None)
        weight = OPS[o.op].weight if o.op in OPS else float(o.bytes > 0)
        if o.op == "result":
            reduced_loops = {v for p in o.parents for v in self.operations[p].around[-1:]}
            return 0.0 if reduced_loops.isdisjoint(lanes) else _LANE_SUM_COST
        if vector_loop is None:
            return weight
        if o.ref is not None and vector_loop in o.loops and o.ref.unit != vector_loop:
            return _SCATTER_COST if o.op == "store" else _GATHER_COST
        return weight / _ASSUMED_LANES

    def gathers_along(self, loop: str) -> bool:
        """Whether vectors along `loop` are gathered by some load."""
        loads = (o for o in self.operations if o.ref is not None and o.op != "store")
        return any(loop in o.loops and o.ref.unit != loop for o in loads if o.ref is not None)

    def __str__(self) -> str:
        lines = (
            f"v{k} = {_operation_text(o)} | {' '.join(o.loops)}"
            for k, o in enumerate(self.operations)
        )
        return "\n".join(line.rstrip(" |") for line in lines)


def loop_set(loop: Loop, kernel: Kernel) -> LoopSet:
    """`loop` of `kernel` as a LoopSet. Equal loads between two stores are one operation. (Example:
    the top of this module.) `permute_loops` and `vectorize_outer` ask for the cost of a nest in
    several orders; `nest_plans` shows it.

    Raises ValueError where the nest contains a loop or statement that is not scalar and counted.
    """
    builder = LoopSetBuilder(declared_params(kernel), index_definitions(kernel))
    builder.stmt(loop)
    return LoopSet(tuple(builder.order), tuple(builder.operations), builder.trips)


def show_loop_set(nest: LoopLike, kernel: Kernel) -> Iterator[str]:
    """Text of a nest of `kernel`: its loops, its operations, the elements it accesses and their
    loops.
    """
    try:
        graph = loop_set(nest, kernel) if isinstance(nest, Loop) else None
    except failures(ValueError):
        graph = None  # a loop of another kind within
    if graph is None:
        yield "a nest that is no LoopSet: not all of its loops count"
        return
    yield f"loops {' '.join(graph.loops)}"
    yield str(graph)
    for ref in dict.fromkeys(o.ref for o in graph.operations if o.ref):
        varying = dict.fromkeys(v for form in ref.index if form for v in form.variables)
        stride_text = f"unit stride along {ref.unit}" if ref.unit else "no unit stride"
        computed_text = ", computed subscripts" if None in ref.index else ""
        loops = " ".join(v for v in graph.loops if v in varying) or "-"
        yield f"{ref}: {loops}; {stride_text}{computed_text}"


def _operation_text(o: NestOperation) -> str:
    """``load A[m, k]`` or ``mul(v1, v2)``."""
    operand_text = f"({', '.join(f'v{p}' for p in o.parents)})" if o.parents else ""
    return f"{o.op} {o.ref}{operand_text}" if o.ref else f"{o.op}{operand_text}"
