"""Demanded bits: no check for overflow of integers of which only low bits are used.

    s = (1103515245 * s + 12345) & 0x7fffffff      a random number of the C library
    h = (h * 33 ^ c) & 0xffffffff                  a hash

Python's integers have no bounds, so lowering checks that no sum or product leaves 64 bits, and
Python replays the call if one does. Where all that is used of it is masked, the 64 bits that are
left of it give the same (LLVM's analysis of this name asks which bits are used).
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...analysis.integers.implied_conditions import disjuncts
from ...dtypes import INDEX
from ...ir_traversal import children
from ...nodes import (
    Assign,
    Call,
    Check,
    Const,
    Expr,
    If,
    Kernel,
    Loop,
    PredLoop,
    Scan,
    Stmt,
    Var,
    VecLoop,
    While,
)
from ...statement_blocks import Block, evaluated_by, map_blocks, nested_blocks

__all__ = ["demanded_bits"]

_OVERFLOWS = {"add_over": "add", "sub_over": "sub", "mul_over": "mul"}
"""The operation whose overflow each predicate tells."""

_LONG = {INDEX, "u64"}
"""The dtypes of Python's ints: the bits of one are those of the other."""

_LOW_BITS_OF_LOW_BITS = frozenset(
    ("add", "sub", "mul", "neg", "bitand", "bitor", "bitxor", "invert")
)
"""Operations whose low bits depend on as many low bits of their operands."""


def demanded_bits(kernel: Kernel) -> Kernel:
    """Drop the checks that sums, differences and products of Python's integers fit in 64 bits, if
    each use of them leads to a mask with a constant that is not negative, or a remainder by a power
    of two, through operations whose low bits depend on low bits alone. Before::

        def k(n: i64, seed: i64, out: mut(i64[::1])):
            for i in loop(0, n, s=seed):
                check(~mul_over(s, 1103515245), "replay")
                t = s * 1103515245
                check(~add_over(t, 12345), "replay")
                s_1 = t + 12345 & 2147483647
                check(~add_over(s_1, s_1), "replay")
                out[i] = s_1 + s_1
                s = step(s_1)

    after::

        def k(n: i64, seed: i64, out: mut(i64[::1])):
            for i in loop(0, n, s=seed):
                t = s * 1103515245
                s_1 = t + 12345 & 2147483647
                check(~add_over(s_1, s_1), "replay")
                out[i] = s_1 + s_1
                s = step(s_1)

    It runs before all passes that conclude anything from a check.
    """
    demand = _Demand(kernel)

    def edit(b: Block) -> Block:
        kept = tuple(s for s in b.stmts if not (isinstance(s, Check) and demand.is_idle(s)))
        return b if len(kept) == len(b.stmts) else Block(kept, b.results, b.until)

    return map_blocks(kernel, edit, around=Check) if demand.masked else kernel


class _Demand:
    """What is used of the integers of a kernel. ``names``, ``values``: those of which more than low
    bits are used; ``masked``: sums, differences and products of which low bits are used.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.names: set[str] = set()
        self.values: set[Expr] = set()
        self.masked: set[Expr] = set()
        self.checks: list[Check] = []
        blocks = [Block(kernel.body), *_blocks_within(kernel.body)]
        known = -1
        while known != len(self.names) + len(self.values):  # they are made of others
            known = len(self.names) + len(self.values)
            self.checks.clear()
            for b in blocks:
                for s in b.stmts:
                    self.statement(s)
            for check in self.checks:
                if not self.is_idle(check):
                    self.use(check.cond, False)

    def statement(self, s: Stmt) -> None:
        """Notes what `s` uses; the statements in it are noted by themselves."""
        match s:
            case Assign(name, value):
                self.use(value, name not in self.names)
            case Check(code="replay") if any(_checked(s)):
                self.checks.append(s)
            case If():
                self.use(s.cond, False)
                for y in s.yields:
                    self.use(y.then, y.name not in self.names)
                    self.use(y.orelse, y.name not in self.names)
            case _:
                self.other(s)

    def other(self, s: Stmt) -> None:
        """Notes what `s` uses, a loop or a statement that binds no integer."""
        accs = getattr(s, "accs", ())
        evaluated = evaluated_by(s)
        for e in evaluated[: len(evaluated) - len(accs)]:
            self.use(e, False)
        for a in accs:
            self.use(a.init, a.name not in self.names)
            self.use(a.step, a.name not in self.names)
        match s:
            case While(cond) | Loop(until=cond) | VecLoop(until=cond) | Scan(value=cond):
                self.use(cond, False)
            case PredLoop(pred=cond):
                self.use(cond, False)

    def use(self, e: Any, is_masked: bool) -> None:
        """Notes a use of `e`, of its low bits alone if ``is_masked``."""
        match e:
            case None:
                return
            case Var(name=name):
                if not is_masked:
                    self.names.add(name)
            case Call("bitand", (x, Const(value=mask)) | (Const(value=mask), x), dtype) if (
                dtype in _LONG and mask >= 0
            ):
                self.use(x, True)
            case Call("mod", (x, Const(value=n)), dtype) if (
                dtype in _LONG and n > 0 and int(n) & (int(n) - 1) == 0
            ):
                self.use(x, True)
            case Call("cast", (x,), dtype) if is_masked and {x.dtype, dtype} <= _LONG:
                self.use(x, True)
            case Call(op, args, dtype) if is_masked and dtype in _LONG and (
                op in _LOW_BITS_OF_LOW_BITS
            ):
                self.masked.add(e)
                for x in args:
                    self.use(x, True)
            case _:
                if isinstance(e, Call):
                    self.values.add(e)
                for operand in children(e):
                    self.use(operand, False)

    def is_idle(self, s: Check) -> bool:
        """Whether `s` checks nothing but what is masked wherever it is used."""
        checked = [*_checked(s)] if s.code == "replay" else []
        return bool(checked) and all(e in self.masked and e not in self.values for e in checked)


def _checked(s: Check) -> Iterator[Expr]:
    """The values of which `s` checks that they fit, in a term of its condition."""
    for term in disjuncts(s.cond):
        match term:
            case Call("not", (Call(op, args),)) if op in _OVERFLOWS and args[0].dtype in _LONG:
                yield Call(_OVERFLOWS[op], args, args[0].dtype)


def _blocks_within(body: tuple[Stmt, ...]) -> Iterator[Block]:
    """All blocks in statements of `body`, at any depth."""
    for b in (b for s in body for b in nested_blocks(s)):
        yield b
        yield from _blocks_within(b.stmts)
