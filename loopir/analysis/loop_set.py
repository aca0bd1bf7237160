"""Loop set: a loop nest as a graph of operations, with the loops each depends on, and their cost.

    for m in loop(0, M):                            v0 = start            | m n
        for n in loop(0, N):                        v1 = load A[m, k]     | m k
            for k in loop(0, K, s=0.0):             v2 = load B[k, n]     | n k
                s = step(s + A[m, k] * B[k, n])  →  v3 = mul(v1, v2)      | m n k
            C[m, n] = s                             v4 = add(v0, v3)      | m n k
                                                    v5 = result(v4)       | m n
                                                    v6 = store C[m, n](v5) | m n

`permute_loops` and `vectorize_outer` choose loop orders and vector loops by `LoopSet.cost`.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import field
from math import prod

from ..dtypes import DTYPES, INDEX
from ..ir_traversal import children, memoized_per_node, walk
from ..lazy_dataclass import record, replace
from ..nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Call,
    Check,
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
from .access import Access, element_text, has_unit_stride
from .affine import Affine, affine_form, variable_form
from .dependence import affine_trip_count

__all__ = [
    "named_ends", "max_trips_of_named", "LoopSetBuilder", "NestOperation", "ElementReference",
    "LoopSet", "loop_set", "show_loop_set",
]


@memoized_per_node
def named_ends(kernel: Kernel) -> Mapping[str, Expr]:
    """The index values of names that are assigned exactly once."""
    named = [n for n in walk(kernel) if isinstance(n, Assign)]
    times = Counter(n.name for n in named)
    return {n.name: n.value for n in named if times[n.name] == 1 and n.value.dtype == INDEX}


def max_trips_of_named(r: Interval, names: Mapping[str, Expr]) -> int | None:
    """An upper bound of the trip count over `r`, if it is a constant: 1 over ``[0, end)``, where
    ``end = min(n, 1)``.
    """
    found = _max_difference(r.hi, r.lo, names)
    return None if found is None else max(found, 0)


def _max_difference(a: Expr, b: Expr, names: Mapping[str, Expr]) -> int | None:
    """An upper bound of ``a - b``, if it is a constant."""
    form = affine_form(Call("sub", (a, b), INDEX))
    if form is not None and form.number is not None:
        return form.number
    match a, b:
        case Call("min", parts), _:
            return _smallest_known([_max_difference(x, b, names) for x in parts])
        case _, Call("max", parts):
            return _smallest_known([_max_difference(a, x, names) for x in parts])
        case Call("max", parts), _:
            return _largest_known([_max_difference(x, b, names) for x in parts])
        case _, Call("min", parts):
            return _largest_known([_max_difference(a, x, names) for x in parts])
        case Var(name), _ if name in names:
            return _max_difference(names[name], b, names)
        case _, Var(name) if name in names:
            return _max_difference(a, names[name], names)
    return None


def _smallest_known(some: list[int | None]) -> int | None:
    return min((n for n in some if n is not None), default=None)


def _largest_known(some: list[int | None]) -> int | None:
    known = [n for n in some if n is not None]
    return max(known) if len(known) == len(some) else None


@record(frozen=True, slots=True)
class ElementReference:
    """The element that a load or store accesses; ``unit``: the loop along which it has unit stride.
    """

    array: str
    index: tuple[Affine | None, ...]
    unit: str | None

    def __str__(self) -> str:
        return element_text(self.array, self.index)


@record(frozen=True, slots=True)
class NestOperation:
    """One operation: a row of ``op_table.OPS``, or load, store, append, check, start, step, result.

    ``loops``: the loops that its value varies with, outermost first. ``parents``: indices of its
    operands. ``around``: the enclosing loops in the text.
    """

    op: str
    dtype: str
    loops: tuple[str, ...]
    parents: tuple[int, ...] = ()
    ref: ElementReference | None = None
    around: tuple[str, ...] = field(default=(), compare=False)

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

    operations: tuple[int, ...] = ()
    loops: frozenset[str] = frozenset()


class LoopSetBuilder:
    """A walk in order of evaluation that numbers the operations (value numbering)."""

    def __init__(
        self, params: Mapping[str, Param], names: Mapping[str, Expr] | None = None
    ) -> None:
        self.params, self.names = params, names or {}
        self.order: list[str] = []  # all loops so far, outermost first
        self.trips: dict[str, int] = {}  # constant upper bounds of trip counts
        self.around: list[str] = []  # the loops around the current statement
        self.operations: list[NestOperation] = []
        self.values: dict[str, _ExprOperations] = {}
        self.known: dict[str, Affine | None] = {}
        self.seen: dict[NestOperation, _ExprOperations] = {}

    # -- statements

    def block(self, stmts: Iterable[Stmt]) -> None:
        for s in stmts:
            self.stmt(s)

    def stmt(self, s: Stmt) -> None:
        match s:
            case Assign():
                self.values[s.name] = self.expr(s.value)
                self.known[s.name] = affine_form(s.value, (), self.known)
            case Store():
                ref, place = self.reference(s.array, s.index)
                parts = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                self.add("store", s.value.dtype, [*parts, place], ref=ref)
                self.seen.clear()
            case Append():
                parts = [self.expr(e) for e in (s.value, s.mask) if e is not None]
                place = _ExprOperations(loops=frozenset(self.around))
                ref = ElementReference(s.array, (None,), None)
                self.add("append", s.value.dtype, [*parts, place], ref=ref)
                self.seen.clear()
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
        cond = self.expr(s.cond)
        self.block((*s.then, *s.orelse))
        for y in s.yields:
            parts = [cond, self.expr(y.then), self.expr(y.orelse)]
            self.values[y.name] = self.add("select", y.then.dtype, parts)
            self.known[y.name] = None

    def loop(self, s: Loop) -> None:
        outside = frozenset(self.around)
        self.seen.clear()
        for a in s.accs:
            self.values[a.name] = self.add("start", a.init.dtype, [self.expr(a.init)], outside)
            self.known[a.name] = None
        self.around.append(s.var)
        if s.var not in self.order:
            self.order.append(s.var)
        count = affine_trip_count(s.range)
        if count is not None and count.number is not None:
            self.trips[s.var] = max(count.number, 0)
        elif (
            isinstance(s.range, Interval)
            and (most := max_trips_of_named(s.range, self.names)) is not None
        ):
            self.trips[s.var] = most
        self.known[s.var] = variable_form(s.var)
        self.values[s.var] = _ExprOperations(loops=frozenset((s.var,)))
        self.block(s.body)
        steps = [(a, self.step(a.step, s.var)) for a in s.accs]
        self.around.pop()
        self.seen.clear()
        for a, step in steps:
            self.values[a.name] = self.add("result", a.init.dtype, [step], step.loops - {s.var})

    def step(self, e: Expr, var: str) -> _ExprOperations:
        """The last operation of a step, whose value varies with the loop `var`."""
        value = self.expr(e)
        loops = value.loops | {var}
        if isinstance(e, Call) and value.operations:
            [number] = value.operations
            self.operations[number] = replace(self.operations[number], loops=self.ordered(loops))
            return _ExprOperations((number,), loops)
        return self.add("step", e.dtype, [value], loops)

    # -- expressions

    def expr(self, e: Node) -> _ExprOperations:
        match e:
            case Var():
                return self.values.get(e.name, _ExprOperations())
            case Load():
                ref, place = self.reference(e.array, e.index)
                return self.add("load", e.dtype, [place], ref=ref)
            case Call():
                return self.add(e.op, e.dtype, [self.expr(a) for a in e.args])
        parts = [self.expr(c) for c in children(e)]
        return _ExprOperations(
            _join_operations(parts), frozenset(v for p in parts for v in p.loops)
        )

    def reference(
        self, array: str, index: tuple[Expr, ...]
    ) -> tuple[ElementReference, _ExprOperations]:
        """An element, and the operations that compute its non-affine subscripts."""
        forms = tuple(affine_form(e, (), self.known) for e in index)
        access = Access(array, forms, False, 0, False, tuple(self.around))
        param = self.params[array]
        unit = next((v for v in self.around if has_unit_stride(access, param, v)), None)
        opaque = [self.expr(e) for e, f in zip(index, forms, strict=True) if f is None]
        moving: frozenset[str] = frozenset()
        moving = moving.union(*(f.variables for f in forms if f), *(v.loops for v in opaque))
        return ElementReference(array, forms, unit), _ExprOperations(
            _join_operations(opaque), moving
        )

    def add(
        self,
        op: str,
        dtype: str,
        parts: Iterable[_ExprOperations],
        loops: frozenset[str] | None = None,
        ref: ElementReference | None = None,
    ) -> _ExprOperations:
        """A new operation or an existing equal one; `loops` defaults to those of `parts`."""
        parts = tuple(parts)
        if loops is None:
            loops = frozenset(v for p in parts for v in p.loops)
        new = NestOperation(
            op, dtype, self.ordered(loops), _join_operations(parts), ref, tuple(self.around)
        )
        if new in self.seen:
            return self.seen[new]
        self.operations.append(new)
        value = _ExprOperations((len(self.operations) - 1,), loops)
        if op in OPS or op == "load":
            self.seen[new] = value
        return value

    def ordered(self, loops: frozenset[str]) -> tuple[str, ...]:
        return tuple(v for v in self.order if v in loops)


def _join_operations(parts: Iterable[_ExprOperations]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(k for p in parts for k in p.operations))


_ASSUMED_TRIPS = 32  # of a loop without a constant trip count
_ASSUMED_LANES = 8  # fixed, so that the choice is the same on every machine
_GATHER_COST = 2.0  # an element of a gather or scatter
_LANE_SUM_COST = 8.0  # a horizontal reduction of one vector


@record(frozen=True, slots=True)
class LoopSet:
    """A nest of scalar loops as a directed acyclic graph of operations.

    ``loops``: all loops, outermost first. ``trips``: upper bounds of trip counts, where they are
    constants.
    """

    loops: tuple[str, ...]
    operations: tuple[NestOperation, ...]
    trips: Mapping[str, int] = field(default_factory=dict, hash=False)

    def flops(self, loop: str) -> float:
        """Floating-point work of one iteration of `loop`, without what is invariant in it."""
        return sum(o.flops for o in self.operations if loop in o.loops)

    def bytes(self, loop: str) -> int:
        """Bytes that one iteration of `loop` moves, without what is invariant in it."""
        return sum(o.bytes for o in self.operations if loop in o.loops)

    def cost(self, lanes: Collection[str]) -> float:
        """Estimated time of the nest with vectors along the loops `lanes`, in additions.

        It is independent of the machine, since the order of folds (and so the bits of a result)
        depends on it.
        """
        return sum(self._times(o) * self._price(o, lanes) for o in self.operations)

    def _times(self, o: NestOperation) -> int:
        """How often `o` runs, if it is hoisted out of the innermost loops in which it is invariant.
        """
        inside = max((o.around.index(v) + 1 for v in o.loops if v in o.around), default=0)
        return prod(self.trips.get(v, _ASSUMED_TRIPS) for v in o.around[:inside])

    def _price(self, o: NestOperation, lanes: Collection[str]) -> float:
        """The cost of one execution of `o`."""
        along = next((v for v in o.around if v in lanes), None)
        weight = OPS[o.op].weight if o.op in OPS else float(o.bytes > 0)
        if o.op == "result":
            folded = {v for p in o.parents for v in self.operations[p].around[-1:]}
            return 0.0 if folded.isdisjoint(lanes) else _LANE_SUM_COST
        if along is None:
            return weight
        apart = o.ref is not None and along in o.loops and o.ref.unit != along
        return _GATHER_COST if apart else weight / _ASSUMED_LANES

    def __str__(self) -> str:
        lines = (
            f"v{k} = {_operation_text(o)} | {' '.join(o.loops)}"
            for k, o in enumerate(self.operations)
        )
        return "\n".join(line.rstrip(" |") for line in lines)


def loop_set(loop: Loop, kernel: Kernel) -> LoopSet:
    """`loop` of `kernel` as a LoopSet. Equal loads between two stores are one operation.

    Raises ValueError where the nest contains a loop or statement that is not scalar and counted.
    """
    builder = LoopSetBuilder({p.name: p for p in kernel.params}, named_ends(kernel))
    builder.stmt(loop)
    return LoopSet(tuple(builder.order), tuple(builder.operations), builder.trips)


def show_loop_set(nest: LoopLike, kernel: Kernel) -> Iterator[str]:
    """Text of a nest of `kernel`: its loops, its operations, the elements it accesses and their
    loops.
    """
    try:
        found = loop_set(nest, kernel) if isinstance(nest, Loop) else None
    except ValueError:
        found = None  # a loop of another kind within
    if found is None:
        yield "a nest that is no LoopSet: not all of its loops count"
        return
    yield f"loops {' '.join(found.loops)}"
    yield str(found)
    for ref in dict.fromkeys(o.ref for o in found.operations if o.ref):
        moving = dict.fromkeys(v for form in ref.index if form for v in form.variables)
        walked = f"unit stride along {ref.unit}" if ref.unit else "no unit stride"
        opaque = ", computed subscripts" if None in ref.index else ""
        yield f"{ref}: {' '.join(v for v in found.loops if v in moving) or '-'}; {walked}{opaque}"


def _operation_text(o: NestOperation) -> str:
    used = f"({', '.join(f'v{p}' for p in o.parents)})" if o.parents else ""
    return f"{o.op} {o.ref}{used}" if o.ref else f"{o.op}{used}"
