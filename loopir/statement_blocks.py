"""Statement blocks: the statements of a body with its result expressions, and maps over blocks.

A block is the body of a loop with its steps, or one side of a branch with its yields. Its
statements may be loops and branches, which have blocks of their own.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import is_
from typing import Any

from .ir_names import names_read
from .ir_traversal import contains, map_children, memoized_per_node, range_bounds
from .lazy_dataclass import record, replace
from .nodes import (
    Append,
    Assign,
    Bits,
    Break,
    Check,
    Expr,
    If,
    Kernel,
    Local,
    Loop,
    Node,
    PredLoop,
    Prefix,
    Return,
    Scan,
    Stmt,
    Store,
    VecLoop,
    While,
    Zip,
    assert_never,
)

__all__ = [
    "Block", "evaluated_by", "nested_blocks", "map_blocks", "map_nested_blocks", "map_evaluated",
    "map_statements", "backward_slice",
]


@record(frozen=True, slots=True)
class Block:
    """``stmts``, after which ``results`` are evaluated: a loop's steps or a branch's yields.

    ``until`` is a loop's early-exit condition; it reads names of the block, and the new values of
    accumulators.
    """

    stmts: tuple[Stmt, ...]
    results: tuple[Expr, ...] = ()
    until: Expr | None = None


def nested_blocks(s: Stmt) -> tuple[Block, ...]:
    """The blocks directly in `s`: both branches of an If, the body of a loop."""
    return () if type(s) in _WITHOUT_BLOCKS else _blocks_in(s)


@memoized_per_node
def _blocks_in(s: Stmt) -> tuple[Block, ...]:
    """As `nested_blocks`. One object as long as `s` is not rewritten: what a pass keeps of a block
    (`memoized_per_node`) serves later passes, too.
    """
    match s:
        case If():
            return (
                Block(s.then, tuple(y.then for y in s.yields)),
                Block(s.orelse, tuple(y.orelse for y in s.yields)),
            )
        case Loop() | Zip() | While() | VecLoop() | PredLoop():
            until = s.until if isinstance(s, (Loop, VecLoop)) else None
            return (Block(s.body, tuple(a.step for a in s.accs), until),)
        case _:
            return ()


_WITHOUT_BLOCKS = frozenset(
    (Assign, Store, Append, Prefix, Check, Break, Return, Local, Bits, Scan)
)


def map_nested_blocks(s: Stmt, edit: Callable[[Block], Block]) -> Stmt:
    """`s` with `edit` applied to each of ``nested_blocks(s)``."""
    if not (old := nested_blocks(s)):
        return s
    new = tuple(map(edit, old))
    if all(map(is_, old, new)):
        return s
    match s:
        case If():
            results = zip(s.yields, *(b.results for b in new), strict=True)
            yields = tuple(replace(y, then=a, orelse=b) for y, a, b in results)
            return replace(s, then=new[0].stmts, orelse=new[1].stmts, yields=yields)
        case _:
            return _with_body(s, new[0])


def _with_body(s: Any, block: Block) -> Stmt:
    """The loop `s` with statements, steps and exit condition of `block`."""
    steps = zip(s.accs, block.results, strict=True)
    accs = tuple(a if a.step is e else replace(a, step=e) for a, e in steps)
    new: Stmt = replace(s, body=block.stmts, accs=accs)
    if isinstance(new, (Loop, VecLoop)) and block.until is not new.until:
        return replace(new, until=block.until)
    return new


def map_blocks(
    kernel: Kernel, edit: Callable[[Block], Block], *, vectors: bool = True, around: Any = None
) -> Kernel:
    """`kernel` with `edit` applied to every block, inner before outer; ``vectors=False`` skips the
    bodies of vector loops. ``around``: types of statements; a loop or branch that contains none of
    them is skipped with its blocks (None: none is skipped).
    """

    def in_statement(s: Stmt) -> Stmt:
        """`s` with its nested blocks edited."""
        if type(s) in _WITHOUT_BLOCKS or (around is not None and not contains(s, around)):
            return s
        is_vector = isinstance(s, (VecLoop, PredLoop))
        return s if is_vector and not vectors else map_nested_blocks(s, in_block)

    def in_block(b: Block) -> Block:
        """`b` edited, after the blocks in it."""
        stmts = tuple(map(in_statement, b.stmts))
        return edit(b if all(map(is_, stmts, b.stmts)) else replace(b, stmts=stmts))

    new = in_block(Block(kernel.body))
    return kernel if new.stmts is kernel.body else replace(kernel, body=new.stmts)


def map_statements(
    kernel: Kernel, f: Callable[[Stmt], Stmt | tuple[Stmt, ...]], of: Any = None
) -> Kernel:
    """`kernel` with each statement of the types `of` (None: each statement) replaced by
    ``f(statement)``, inner before outer.

    Statements in vector loops are left unchanged.
    """

    def edit(b: Block) -> Block:
        """`b` with each statement of these types replaced."""
        new = [f(s) if of is None or isinstance(s, of) else s for s in b.stmts]
        if all(map(is_, new, b.stmts)):
            return b
        stmts = tuple(x for a in new for x in (a if isinstance(a, tuple) else (a,)))
        return replace(b, stmts=stmts)

    return map_blocks(kernel, edit, vectors=False, around=of)


def backward_slice(body: Iterable[Stmt], *code: Node) -> tuple[Assign, ...]:
    """The assignments of `body`, in order, that `code`, evaluated after `body`, depends on. What
    other statements bind, such as yields and accumulators, is not traced further.
    """
    names = set(names_read(*code))
    needed: list[Assign] = []
    for s in reversed(tuple(body)):
        if isinstance(s, Assign) and s.name in names:
            names |= names_read(s.value)
            needed.append(s)
    return tuple(reversed(needed))


def evaluated_by(s: Stmt) -> tuple[Expr, ...]:
    """The expressions that `s` itself evaluates, once, without those of nested blocks."""
    match s:
        case Assign():
            return (s.value,)
        case Store():
            return (*s.index, s.value, *((s.mask,) if s.mask else ()))
        case Append():
            return (s.value, *((s.mask,) if s.mask else ()))
        case Prefix():
            return (s.value, *((s.factor,) if s.factor else ()))
        case Check() | Break() | If():
            return (s.cond,)
        case Return() | Local() | Bits():
            return ()
        case While():
            return tuple(a.init for a in s.accs)
        case Scan():
            return (*range_bounds(s.range), s.init)
        case Loop() | Zip() | VecLoop() | PredLoop():
            return (*range_bounds(s.range), *(a.init for a in s.accs))
        case _:
            return assert_never(s)


def map_evaluated(s: Stmt, f: Callable[[Expr], Expr]) -> Stmt:
    """`s` with `f` applied to each expression of ``evaluated_by(s)``."""
    match s:
        case Assign() | Store() | Append() | Prefix() | Check() | Break():
            return map_children(s, f)
        case If():
            cond = f(s.cond)
            return s if cond is s.cond else replace(s, cond=cond)
        case Return() | Local() | Bits():
            return s
        case While() | Loop() | Zip() | VecLoop() | PredLoop():
            return _map_head(s, f)
        case Scan():
            rng, init = map_children(s.range, f), f(s.init)
            return s if rng is s.range and init is s.init else replace(s, range=rng, init=init)
        case _:
            return assert_never(s)


def _map_head(s: Any, f: Callable[[Expr], Expr]) -> Stmt:
    """A loop with `f` applied to its bounds and to the initial values of its accumulators."""
    rng = None if isinstance(s, While) else map_children(s.range, f)
    inits = [f(a.init) for a in s.accs]
    accs = tuple(
        a if e is a.init else replace(a, init=e) for a, e in zip(s.accs, inits, strict=True)
    )
    if any(a is not b for a, b in zip(accs, s.accs, strict=True)):
        s = replace(s, accs=accs)
    new: Stmt = s if rng is None or rng is s.range else replace(s, range=rng)
    return new
