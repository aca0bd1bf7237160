"""Common subexpression elimination by value numbering, within a block and its nested blocks.

`_Naming` walks a block twice in the same order. The first walk numbers each value: expressions with
the same number have the same value (`_ValueNumbering`); a store gives later loads of its array new
numbers. The second gives a name to each number that occurs more than once.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, TypeAlias

from ...analysis.mod_ref import AliasInfo, arrays_written
from ...dtypes import DTYPES
from ...ir_names import FreshNames
from ...ir_traversal import (
    advanced_accums,
    children,
    map_children,
    memoized_per_node,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Broadcast,
    Call,
    Const,
    Dim,
    Expr,
    HReduce,
    If,
    Kernel,
    Load,
    Node,
    Ramp,
    Stmt,
    Var,
    assert_never,
)
from ...statement_blocks import (
    Block,
    evaluated_by,
    map_blocks,
    map_evaluated,
    map_nested_blocks,
    nested_blocks,
)

__all__ = ["common_subexpressions", "name_shared_values"]

ValueKey: TypeAlias = "tuple[Any, ...]"


def common_subexpressions(kernel: Kernel) -> Kernel:
    """Compute a value once that is computed twice in a block, or in it and in blocks nested in it;
    it is named before its first use.

    A value counts only if the block itself computes it: one of a branch alone might never be
    needed, or raise a flag that Python does not. A load is the same value as long as no store in
    between may alias it. Subscripts are left as they are, since dependence tests read them as
    affine forms. An integer quotient is computed where the remainder of the same operands is, since
    one instruction gives both. Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                out[i] = sqrt(x[i] * x[i]) + x[i] * x[i]

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                v = x[i]
                v_1 = v * v
                out[i] = sqrt(v_1) + v_1
    """
    return map_blocks(kernel, _naming(kernel, FreshNames(kernel)))


def name_shared_values(s: Stmt, kernel: Kernel, fresh: FreshNames) -> Stmt:
    """The same in the blocks of `s`, a statement of `kernel` without nested loops."""
    return map_nested_blocks(s, _naming(kernel, fresh))


def _naming(kernel: Kernel, fresh: FreshNames) -> Callable[[Block], Block]:
    """A function that names what a block of `kernel` computes twice."""
    memory = AliasInfo(kernel)

    def edit(b: Block) -> Block:
        return _Naming(b, memory, fresh).block() if _computes_twice(b) else b

    return edit


@memoized_per_node
def _computes_twice(b: Block) -> bool:
    """Whether a call or load that the block computes occurs once more, in it or in blocks nested in
    it. A quick test, so that `_Naming` walks few blocks: it ignores stores in between, after which
    the second load may have another value.
    """
    computed: set[Node] = set()
    in_subscripts: list[Node] = []
    for e in (*(e for s in b.stmts for e in evaluated_by(s)), *b.results):
        outside, inside = _operands(e)
        for n in outside:
            if n in computed:
                return True
            computed.add(n)
            if (other := _other_division(n)) is not None:
                computed.add(other)
        in_subscripts += inside
    if not computed.isdisjoint(in_subscripts):
        return True
    return any(not computed.isdisjoint(_operands_in_blocks(s)) for s in b.stmts)


def _other_division(n: Node) -> Call | None:
    """Of ``a % b`` of scalar integers the quotient ``a // b``, and the other way around; None for
    all else, and for constant divisors, by which nothing is divided.
    """
    match n:
        case Call("mod" | "floordiv" as op, (_, b), dtype, 1) if (
            DTYPES[dtype].kind in "iu" and not isinstance(b, Const)
        ):
            return replace(n, op="floordiv" if op == "mod" else "mod")
    return None


def _operands(e: Any) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """The calls and loads in `e`, with `e` itself, as two tuples: those outside of subscripts, and
    those that are parts of a subscript. A whole subscript is in neither: it is left as it is.

        x[2 * i + 1] + y    →    (x[2 * i + 1] + y, x[2 * i + 1]), (2 * i,)
    """
    return _NONE if type(e) in (Var, Const, Dim) else _operands_of_tree(e)


@memoized_per_node
def _operands_of_tree(e: Expr) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
    """As `_operands`, of an expression that is no leaf."""
    outside, in_subscripts = list[Node](), list[Node]()
    for c in children(e):
        operands, inner = _operands(c)
        if isinstance(e, Load):
            in_subscripts += operands[1:] if isinstance(c, Call | Load) else operands
        else:
            outside += operands
        in_subscripts += inner
    return (e, *outside) if isinstance(e, (Call, Load)) else tuple(outside), tuple(in_subscripts)


_NONE: tuple[tuple[Node, ...], tuple[Node, ...]] = (), ()


@memoized_per_node
def _operands_in_blocks(s: Stmt) -> frozenset[Node]:
    """The calls and loads that blocks in `s` compute."""
    found = set[Node]()
    for b in nested_blocks(s):
        found.update(*(_operands_in_blocks(inner) for inner in b.stmts))
        for e in (*(e for inner in b.stmts for e in evaluated_by(inner)), *b.results):
            found.update(*_operands(e))
    return frozenset(found) if found else _NOTHING


_NOTHING: frozenset[Node] = frozenset()


class _ValueNumbering:
    """Value numbers, in a walk along a block: expressions with equal numbers have equal values."""

    def __init__(self, memory: AliasInfo) -> None:
        self.memory = memory
        self.of: dict[ValueKey, int] = {}
        self.parts: list[tuple[int, ...]] = []  # the operands of each number
        self.remainders: dict[int, ValueKey] = {}  # those of integers: their keys, but for the name
        # what a load or a counter reads: the number of the latest write to each array, each counter
        self.stores: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.writes = count(1)
        self.assigned: dict[str, int] = {}  # the numbers of the values of assigned names

    def assign(self, name: str, number: int) -> None:
        """`name` is assigned the value of this number: ``t = x; y = t + 1`` computes ``x + 1``."""
        self.assigned[name] = number

    def _leave(self, b: Block) -> None:
        """Called after a nested block, whose names another block may bind again."""
        for s in b.stmts:
            if isinstance(s, Assign):
                self.assigned.pop(s.name, None)

    def write(self, s: Stmt) -> None:
        """Invalidate what `s` may write: later loads of it get new numbers."""
        if isinstance(s, Assign):
            return
        self.stores |= dict.fromkeys(arrays_written((s,)), next(self.writes))
        self.counts |= dict.fromkeys(advanced_accums(s), next(self.writes))

    def in_blocks(self, s: Stmt) -> Iterator[Block]:
        """The blocks of `s`, each with the state in which it begins. If `s` is a loop, an earlier
        iteration may have written what `s` writes, so loads of it get new numbers. What one side of
        a branch writes, the other one does not see.
        """
        if not isinstance(s, If):
            self.write(s)
        stores, counts = self.stores, self.counts
        for b in nested_blocks(s):
            self.stores, self.counts = {**stores}, {**counts}
            yield b
            self._leave(b)

    def number(self, e: Expr, operands: tuple[int, ...]) -> int:
        """The number of `e`, whose operands have these numbers."""
        if isinstance(e, Var) and e.name in self.assigned:
            return self.assigned[e.name]
        number = self.of.setdefault((*self._kind(e), *operands), len(self.of))
        if number == len(self.parts):
            if isinstance(e, Call) and e.op == "mod" and _other_division(e) is not None:
                self.remainders[number] = (*self._kind(e)[1:], *operands)
            self.parts.append(() if isinstance(e, Load) else operands)
        return number

    def tree(self, e: Any) -> int:
        """The number of `e`, after those of all its subexpressions."""
        return self.number(e, tuple(self.tree(c) for c in children(e)))

    def divisions(self) -> dict[int, int]:
        """The remainders whose quotient is computed, too, each with the number of the quotient."""
        quotients = {n: self.of.get(("floordiv", *rest)) for n, rest in self.remainders.items()}
        return {n: quotient for n, quotient in quotients.items() if quotient is not None}

    def _kind(self, e: Expr) -> ValueKey:
        """The key of `e` without its operands; of a load, also when its array may have been written
        last.
        """
        match e:
            case Call():
                return (e.op, e.dtype, e.lanes)
            case Load():
                shared = (n for w, n in self.stores.items() if self.memory.shared(e.array, w))
                return (e.array, e.lanes, e.axis, e.step, max(shared, default=0))
            case Var():
                return (e, self.counts.get(e.name, 0))
            case Const() | Dim():
                return (e,)
            case Broadcast() | Ramp():
                return (type(e), e.lanes, getattr(e, "step", 0))
            case HReduce():
                return (HReduce, e.op)
            case _:
                return assert_never(e)


class _Naming:
    """One block: counts the uses of each value (`count`), then names the values that are used twice
    (`renamed`). Values of nested blocks are counted, too, and get a name if the block has one for
    them (``in_block``: the walk is in the block itself, not in a nested one).

    ``numbers``: for each expression in order of evaluation, the numbers of its nodes in postorder,
    of a load only its own. The second walk over the block reads them again.
    """

    def __init__(self, block: Block, memory: AliasInfo, fresh: FreshNames) -> None:
        self.source, self.fresh = block, fresh
        self.numbering = _ValueNumbering(memory)
        self.numbers: list[list[int]] = []
        self.divided: dict[int, int] = {}  # the number of the quotient, by that of the remainder
        self.uses: Counter[int] = Counter()  # of each number
        self.own_numbers: set[int] = set()  # numbers that the block computes, not only nested ones
        self.nameable: set[int] = set()  # numbers that may be replaced
        self.names: dict[int, Var] = {}
        self.pending: list[Stmt] = []  # assignments to insert before the current statement

    def block(self) -> Block:
        """The block with its common values named."""
        self.count(self.source, True)
        self.divided = self.numbering.divisions()
        # Each distinct value uses its operands once: in two equal sqrt(x * x) only the sqrt occurs
        # twice, and x * x gets no name.
        for operands in self.numbering.parts:
            self.uses.update(operands)
        for remainder, quotient in self.divided.items():
            if not self.own_numbers.isdisjoint((remainder, quotient)):
                self.own_numbers.add(quotient)
                self.uses[quotient] += self.uses[remainder]
        repeated = {n for n in self.own_numbers if self.uses[n] > 1}
        if not repeated:
            return self.source
        self.nameable |= repeated | self.divided.keys()
        self.waiting = iter(self.numbers)
        return self.renamed(self.source, True)

    def count(self, b: Block, in_block: bool) -> None:
        """Number and count the values of `b`, which is the block itself (`in_block`) or a nested
        one.
        """
        for s in b.stmts:
            for e in evaluated_by(s):
                self.root(e, in_block)
            if isinstance(s, Assign):
                self.numbering.assign(s.name, self.numbers[-1][-1])
                if in_block:
                    self.nameable.add(self.numbers[-1][-1])
            for inner in self.numbering.in_blocks(s):
                self.count(inner, False)
            self.numbering.write(s)
        for e in b.results:
            self.root(e, in_block)

    def root(self, e: Expr, in_block: bool) -> None:
        """Number and count the value of a whole expression."""
        numbers: list[int] = []
        self.uses[self.computed(e, in_block, numbers)] += 1
        self.numbers.append(numbers)

    def computed(self, e: Any, in_block: bool, numbers: list[int]) -> int:
        """The number of `e`; the numbers of its nodes are appended to `numbers`."""
        if isinstance(e, Load):
            number = self.numbering.tree(e)
        else:
            operands = tuple([self.computed(c, in_block, numbers) for c in children(e)])
            number = self.numbering.number(e, operands)
        if in_block and isinstance(e, (Call, Load)) and not _is_neighbour(e):
            self.own_numbers.add(number)
        numbers.append(number)
        return number

    # -- rewriting, in the same order

    def renamed(self, b: Block, in_block: bool) -> Block:
        """`b` with names in place of common values; new ones are assigned before the first use."""
        stmts: list[Stmt] = []
        for s in b.stmts:
            new = self.stmt(s, in_block)
            stmts += [*self.pending, new] if in_block else [new]
            if in_block:
                self.pending.clear()
        results = tuple(self.value(e, in_block) for e in b.results)
        return replace(b, stmts=(*stmts, *(self.pending if in_block else ())), results=results)

    def stmt(self, s: Stmt, in_block: bool) -> Stmt:
        """`s` with names in place of common values."""
        if in_block and isinstance(s, Assign):
            return self.assign(s)
        new = map_evaluated(s, lambda e: self.value(e, in_block))
        return map_nested_blocks(new, lambda b: self.renamed(b, False))

    def assign(self, s: Assign) -> Assign:
        """Reuse the name of an assigned value for later occurrences."""
        number, value = self.parts(s.value, iter(next(self.waiting)), True)
        if number in self.names:
            return replace(s, value=self.names[number])
        if isinstance(value, Call | Load):
            self.names[number] = Var(s.name, value.dtype, value.lanes)
        return replace(s, value=value)

    def value(self, e: Expr, in_block: bool) -> Expr:
        """`e` with names in place of values that have one, or now get one."""
        numbers = next(self.waiting)
        if self.nameable.isdisjoint(numbers):
            return e
        return self.named(*self.parts(e, iter(numbers), in_block), in_block)

    def parts(self, e: Any, numbers: Iterator[int], in_block: bool) -> tuple[int, Any]:
        """The number of `e`, and `e` with its operands replaced by names."""
        if isinstance(e, Load):
            return next(numbers), e
        operand_parts = [self.parts(c, numbers, in_block) for c in children(e)]
        number = next(numbers)
        operands = iter([self.named(n, c, in_block) for n, c in operand_parts])
        new = map_children(e, lambda _: next(operands))
        is_divided = number in self.divided and number not in self.names
        if is_divided and isinstance(new, Call):  # an instruction gives both; a name has its value
            self.named(self.divided[number], replace(new, op="floordiv"), in_block)
        return number, new

    def named(self, number: int, e: Expr, in_block: bool) -> Expr:
        """The name of a value, made if the value occurs again in the block; or else `e`."""
        if number in self.names:
            return self.names[number]
        if isinstance(e, Var):
            return e
        if not (in_block and self.uses[number] > 1 and number in self.own_numbers):
            return e
        name = Var(self.fresh.name("v"), e.dtype, e.lanes)
        self.names[number] = name
        self.pending.append(Assign(name.name, e))
        return name


def _is_neighbour(e: Expr) -> bool:
    """Whether `e` is an index ``i + 1`` or ``i - 1``, which costs nothing in a subscript, and tells
    dependence tests more than its name.
    """
    match e:
        case Call("add" | "sub", (Var(dtype="i64", lanes=1), Const())):
            return True
    return False
