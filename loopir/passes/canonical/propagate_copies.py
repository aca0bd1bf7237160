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
    Node,
    Stmt,
    Var,
    VecLoop,
    Zip,
)
from ...statement_blocks import Block, evaluated_by, map_nested_blocks

__all__ = ["propagate_copies", "block_copy_propagation"]

_MAX_DEPTH = 64
"""Depth limit of a moved expression: recursive passes and C compilers fail at some hundreds."""


def propagate_copies(kernel: Kernel) -> Kernel:
    """Replace names by copies and by values that are used once; remove unused assignments.

    Unused arithmetic stays where it may raise a flag. A value with a load never moves past a store
    that may alias it, into a loop or into a branch. Before::

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
    body = tuple(_propagated(s, memory, changing & names_read(s)) for s in kernel.body)
    new = _propagated_here(Block(body), memory, changing).stmts
    is_unchanged = len(new) == len(kernel.body) and all(map(is_, new, kernel.body))
    return kernel if is_unchanged else replace(kernel, body=new)


def block_copy_propagation(kernel: Kernel) -> Callable[[Block], Block]:
    """`propagate_copies` for a single block of `kernel`."""
    return partial(_propagated_here, memory=AliasInfo(kernel), changing=_changing_names(kernel))


def _changing_names(kernel: Kernel) -> frozenset[str]:
    """Names that may stand for another value where they are read later on."""
    return advanced_accums(kernel) | multiply_bound_names(kernel)


@memoized_by
def _propagated(s: Stmt, memory: AliasInfo, changing: frozenset[str]) -> Stmt:
    """`s` after copy propagation in the blocks in it; ``changing``: those that it reads."""

    def within(b: Block) -> Block:
        """`b` after copy propagation, inner blocks first."""
        stmts = tuple(_propagated(x, memory, changing & names_read(x)) for x in b.stmts)
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
    """`s` without the names that nothing reads; None where nothing of it remains."""
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
    """`s` without accumulators that nothing reads; None if nothing of it remains."""
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
    """Copy propagation in one block.

    ``uses``: how often each name that the block assigns is read; ``level``: of these, outside
    nested blocks; ``pinned``: names that the exit condition reads; ``moved``: the values that
    replace names.
    """

    def __init__(self, block: Block, memory: AliasInfo, changing: frozenset[str]) -> None:
        self.block_in, self.memory, self.changing = block, memory, changing
        self.assigned = frozenset(s.name for s in block.stmts if isinstance(s, Assign))
        self.uses: Counter[str] = Counter()
        self.level: Counter[str] = Counter()
        self.last: dict[str, int] = {}  # index of the last statement with a use in `level`
        for at, s in enumerate(block.stmts):
            self.count(at, s, evaluated_by(s))
        for e in block.results:
            self.count(len(block.stmts), e, (e,))
        self.pinned = names_read(block.until)
        self.moved: dict[str, Expr] = {}

    def count(self, at: int, code: Node, evaluated: Iterable[Expr]) -> None:
        """Count the uses in `code`, which is statement number `at`; `evaluated` is the part of it
        outside nested blocks.
        """
        mentions = _mentions(code)
        if not (used := self.assigned & mentions.keys()):
            return
        for name in used:
            self.uses[name] += mentions[name]
        for e in evaluated:
            mentions = _mentions(e)
            for name in used & mentions.keys():
                self.level[name] += mentions[name]
                self.last[name] = at

    def block(self) -> Block:
        """The block with movable values in place of names."""
        stmts: list[Stmt] = []
        for at, s in enumerate(self.block_in.stmts):
            new = substitute(s, self.moved)
            if isinstance(new, Assign) and self.can_move(new, at):
                self.moved[new.name] = new.value
            else:
                stmts.append(new)
        if not self.moved:
            return self.block_in
        results = tuple(substitute(e, self.moved) for e in self.block_in.results)
        return replace(self.block_in, stmts=tuple(stmts), results=results)

    def can_move(self, s: Assign, at: int) -> bool:
        """Whether the value of statement number `at` may replace its name. In this order:

        - not if the value reads a name that changes, or the name is pinned or unread;
        - constants, lengths and names may always;
        - not if it is too deep, has a use in a nested block (in a loop the work would be repeated),
          or several uses and is not just a widening cast;
        - not if a store before its last use may change what it loads.
        """
        if names_read(s.value) & self.changing or s.name in self.pinned or not self.uses[s.name]:
            return False
        if isinstance(s.value, Const | Dim | Var):
            return True
        if tree_depth(s.value) > _MAX_DEPTH:
            return False
        if self.uses[s.name] != self.level[s.name]:
            return False
        if self.uses[s.name] > 1 and not _is_widening(s.value):
            return False
        between = self.block_in.stmts[at + 1 : self.last[s.name]]
        return not self.memory.crosses(s.value, between)


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
