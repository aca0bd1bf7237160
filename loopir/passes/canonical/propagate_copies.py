"""Copy propagation and dead code elimination: single-use values move to their use.

Each block is handled by itself: unused assignments are removed, then a forward walk decides for
each assignment (`_CopyPropagation.can_move`) whether its value replaces the name, then again unused
code is removed. An unused value is still computed if it may raise a floating-point flag.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from operator import is_

from ...algebra.constant_folding import is_lossless_cast
from ...algebra.may_raise import may_raise_flags
from ...analysis.mod_ref import AliasInfo
from ...ir_names import multiply_bound_names, names_read, substitute
from ...ir_traversal import (
    EXPRESSIONS,
    advanced_accums,
    children,
    contains,
    memoized_by,
    memoized_per_node,
    tree_depth,
    walk,
)
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Dim,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    LoopLike,
    Node,
    Stmt,
    Var,
    VecLoop,
    Zip,
)
from ...statement_blocks import Block, evaluated_by, map_nested_blocks, nested_blocks

__all__ = ["propagate_copies", "block_copy_propagation"]

_MAX_DEPTH = 64
"""Depth limit of a moved expression: recursive passes and C compilers fail at some hundreds."""


def propagate_copies(kernel: Kernel) -> Kernel:
    """Replace names by copies and by values that are used once; remove unused assignments.

    Lowering names every intermediate value; the passes after this one match whole expressions.
    Which value moves to its use, `_CopyPropagation.can_move` decides: one with a load never moves
    past a store that may alias it, into a loop or into a branch. An unused value stays if computing
    it may raise a float flag, which Python would show as a warning. Before::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                v = x[i]
                w = v * 2.0
                unused = abs(v)
                out[i] = w

    after::

        def k(x: f64[::1], out: mut(f64[::1])):
            disjoint(x, out)
            for i in loop(0, x.shape[0]):
                out[i] = x[i] * 2.0
    """
    memory, changing = AliasInfo(kernel), _changing_names(kernel)
    body = tuple(_propagated(s, memory, changing) for s in kernel.body)
    new = _propagated_here(Block(body), memory, changing).stmts
    is_unchanged = len(new) == len(kernel.body) and all(map(is_, new, kernel.body))
    return kernel if is_unchanged else replace(kernel, body=new)


def block_copy_propagation(kernel: Kernel) -> Callable[[Block], Block]:
    """`propagate_copies` for a single block of `kernel`."""
    return partial(_propagated_here, memory=AliasInfo(kernel), changing=_changing_names(kernel))


def _changing_names(kernel: Kernel) -> frozenset[str]:
    """Names that may have another value at a later place: counters that an append advances, and
    names that are bound in several places.
    """
    return advanced_accums(kernel) | multiply_bound_names(kernel)


def _propagated(s: Stmt, memory: AliasInfo, changing: frozenset[str]) -> Stmt:
    """`s` after copy propagation in the blocks in it."""
    if not nested_blocks(s):
        return s
    return _propagated_in_blocks(s, memory, changing and changing & names_read(s))


@memoized_by
def _propagated_in_blocks(s: Stmt, memory: AliasInfo, changing: frozenset[str]) -> Stmt:
    """As `_propagated`, memoised. ``changing``: only those of the changing names that `s` reads."""

    def within(b: Block) -> Block:
        """`b` after copy propagation, inner blocks first."""
        stmts = tuple(_propagated(x, memory, changing) for x in b.stmts)
        is_unchanged = all(map(is_, stmts, b.stmts))
        return _propagated_here(b if is_unchanged else replace(b, stmts=stmts), memory, changing)

    return map_nested_blocks(s, within)


def _propagated_here(b: Block, memory: AliasInfo, changing: frozenset[str]) -> Block:
    """`b` after copy propagation in its own statements."""
    done = _without_unused(b)
    if any(isinstance(s, Assign) for s in done.stmts):
        done = _CopyPropagation(done, memory, changing).block()
    return done if done is b else _without_unused(done)


# -- dead code


def _without_unused(b: Block) -> Block:
    """`b` without assignments, yields and accumulators that nothing reads."""
    if not any(isinstance(s, _BINDERS) for s in b.stmts):
        return b
    live = set(names_read(*b.results, b.until))
    used_statements: list[Stmt] = []
    changed = False
    for s in reversed(b.stmts):
        new = _without_unused_names(s, live)
        changed |= new is not s
        if new is not None:
            live |= names_read(new)
            used_statements.append(new)
    return replace(b, stmts=tuple(reversed(used_statements))) if changed else b


_BINDERS = (Assign, If, Loop, Zip, VecLoop)


def _without_unused_names(s: Stmt, live: set[str]) -> Stmt | None:
    """`s` without the names that are not `live`, as nothing after it reads them; None where nothing
    of it remains.
    """
    match s:
        case Assign():
            return s if s.name in live or may_raise_flags(s) else None
        case If():
            yields = tuple(y for y in s.yields if y.name in live or may_raise_flags(y))
            if not (yields or s.then or s.orelse):
                if not may_raise_flags(s.cond):
                    return None
                return Assign(s.yields[0].name, s.cond, span=s.span) if s.yields else s
            return s if len(yields) == len(s.yields) else replace(s, yields=yields)
        case Loop() | Zip():
            return _used_accumulators(s, live)
        case VecLoop(body=(), accs=()):
            return None
        case _:
            return s


def _used_accumulators(s: Loop | Zip, live: set[str]) -> Loop | Zip | None:
    """`s` without accumulators that neither it nor later code (`live`) reads; None if nothing of it
    remains.
    """
    read = names_read(*s.body, getattr(s, "until", None)) | live
    used = tuple(
        a
        for a in s.accs
        if a.name in read
        or may_raise_flags(a.step)
        or any(a.name in names_read(b.step) for b in s.accs if b is not a)
    )
    if not used and not s.body:
        return None
    return s if len(used) == len(s.accs) else replace(s, accs=used)


# -- copies and single uses


class _CopyPropagation:
    """Copy propagation in one block: `block` walks it, `can_move` decides on each assignment."""

    def __init__(self, block: Block, memory: AliasInfo, changing: frozenset[str]) -> None:
        self.block_in, self.memory = block, memory
        self.changing = changing  # names that may stand for another value at a later use
        self.assigned = frozenset(s.name for s in block.stmts if isinstance(s, Assign))
        self.uses: Counter[str] = Counter()  # how often each assigned name is read
        self.direct_uses: Counter[str] = Counter()  # those outside of nested blocks
        self.last_direct_use: dict[str, int] = {}  # the index of the statement
        for at, s in enumerate(block.stmts):
            if used := self.count(s):
                self.count_direct(at, evaluated_by(s), used)
        for e in block.results:
            if used := self.count(e):
                self.count_direct(len(block.stmts), (e,), used)
        self.pinned = names_read(block.until)  # an exit condition is no statement of the block
        self.moved: dict[str, Expr] = {}  # the values that replace names

    def count(self, code: Node) -> frozenset[str]:
        """Count the uses in `code`; returns the names that it uses."""
        mentions = _mentions(code)
        used = self.assigned & mentions.keys()
        for name in used:
            self.uses[name] += mentions[name]
        return used

    def count_direct(self, at: int, evaluated: Iterable[Expr], used: frozenset[str]) -> None:
        """Count the uses of the names ``used`` in `evaluated`, the part of statement number `at`
        outside nested blocks.
        """
        for e in evaluated:
            mentions = _mentions(e)
            for name in used & mentions.keys():
                self.direct_uses[name] += mentions[name]
                self.last_direct_use[name] = at

    def block(self) -> Block:
        """The block with movable values in place of names."""
        stmts: list[Stmt] = []
        for at, s in enumerate(self.block_in.stmts):
            new = substitute(s, self.moved)
            if isinstance(new, Assign) and self.can_move(new, at):
                self.moved[new.name] = new.value
            elif isinstance(new, Assign) and (term := self.term_of_step(new)) is not None:
                term_name = Var(new.name, term.dtype, term.lanes)
                self.moved[new.name] = _with_operand(new.value, term, term_name)
                stmts.append(replace(new, value=term))
            else:
                stmts.append(new)
        if not self.moved:
            return self.block_in
        results = tuple(substitute(e, self.moved) for e in self.block_in.results)
        return replace(self.block_in, stmts=tuple(stmts), results=results)

    def can_move(self, s: Assign, at: int) -> bool:
        """Whether the value of `s`, statement number `at` of the block, may replace the name at its
        uses, so that the assignment is dropped. `block` asks for each assignment in order.

            a = b; y[i] = a + a                 yes: a copy costs nothing, at any number of uses
            t = x[i] * 2.0; y[i] = t + 1.0      yes: the only use, directly in this block
            t = f64(x[i]); y[i] = t * t         yes: a widening cast is cheap to repeat
            t = exp(v); y[i] = t * t            no: it would be computed twice
            t = exp(v); for …: y[i] = t         no: a loop would repeat it; a branch, skip its flags
            t = x[i]; x[i] = 0.0; y[i] = t      no: a store between changes what it loads

        Besides, a value does not move if it reads a name in `changing`, which may have another
        value at the use; if the exit condition of the loop reads its name; or if it is nested
        deeper than `_MAX_DEPTH`.
        """
        name, value = s.name, s.value
        if name in self.pinned or not self.uses[name]:
            return False
        if names_read(value) & self.changing:
            return False  # at its use it might be another value
        if isinstance(value, (Const, Dim, Var)):
            return True  # costs nothing, wherever and however often it is used
        if tree_depth(value) > _MAX_DEPTH:
            return False
        if self.uses[name] != self.direct_uses[name]:
            return False  # a loop would repeat the work, a branch might skip its flags
        if self.uses[name] > 1 and not _is_widening(value):
            return False
        # a store before the last use must not change what the value loads, nor a store in a loop
        # whose range is the last use: passes evaluate ranges again
        last = self.last_direct_use[name]
        is_in_range = any(isinstance(x, LoopLike) for x in self.block_in.stmts[last : last + 1])
        between = self.block_in.stmts[at + 1 : last + is_in_range]
        return not self.memory.crosses(value, between)

    def term_of_step(self, s: Assign) -> Expr | None:
        """The term that `s` adds to an accumulator, multiplies it with, or compares it with for an
        extremum, if the result is used once, as a step, and only the term has loads, which a store
        behind `s` keeps here::

            v = acc + abs(x[i]); x[i] = 0.0; acc = step(v)
            →   v = abs(x[i]); x[i] = 0.0; acc = step(acc + v)

        So the step of a reduction can be told to be one. None if `s` is anything else.
        """
        match s.value:
            case Call("sub", (Var() as acc, term)):
                pass
            case Call(op, (Var() as acc, term)) if op in _COMMUTATIVE:
                pass
            case Call(op, (term, Var() as acc)) if op in _COMMUTATIVE:
                pass
            case _:
                return None
        is_step = self.last_direct_use.get(s.name) == len(self.block_in.stmts)
        is_used_once = self.uses[s.name] == self.direct_uses[s.name] == 1
        if not is_step or not is_used_once or s.name in self.pinned or acc.name in self.assigned:
            return None
        if acc.name in self.changing or not contains(term, Load):
            return None
        return term


_COMMUTATIVE = ("add", "mul", "min", "max", "minimum", "maximum")
"""Operations of folds whose operands may stand in any order, apart from ties and NaNs."""


def _with_operand(e: Expr, old: Expr, new: Var) -> Expr:
    """The operation `e` on `new` in place of its operand `old`."""
    assert isinstance(e, Call)
    return replace(e, args=tuple(new if a is old else a for a in e.args))


@memoized_per_node
def _mentions(code: Node) -> dict[str, int]:
    """How often `code` mentions each name as a value."""
    counts: dict[str, int] = {}
    if isinstance(code, EXPRESSIONS):
        for n in walk(code):
            if type(n) is Var:
                counts[n.name] = counts.get(n.name, 0) + 1
    else:
        for c in children(code):
            _add_counts(counts, _mentions(c))
    return counts


def _add_counts(total: dict[str, int], counts: dict[str, int]) -> None:
    """Add the counts `counts` to `total`."""
    for name, count in counts.items():
        total[name] = total.get(name, 0) + count


def _is_widening(e: Expr) -> bool:
    """Whether `e` is a lossless cast of a name or an element: cheap to repeat, and often folded."""
    match e:
        case Call(op="cast", args=(Var() | Load() as x,), lanes=1):
            return is_lossless_cast(x.dtype, e.dtype)
        case _:
            return False
