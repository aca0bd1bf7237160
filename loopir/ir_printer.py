"""Printer of the IR text; ``parse(show(kernel)) == kernel``. The text is Python syntax.

`loopir/README.md` describes the text by examples; `ir_parser` reads it. `show` gives the text of
any node, `text_lines` that of a kernel with the node of each line.
"""
from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import NamedTuple

from . import nodes as ir
from .dtypes import DTYPES
from .ir_parser import OPERATORS, OPTIONS, parse
from .nodes import assert_never

__all__ = ["TextLine", "text_lines", "parse", "show"]

ATOM = 9  # precedence of an atom; lower values follow Python's precedence
_SYMBOL_OF = {op: symbol for symbol, (_, ops) in OPERATORS.items() for op in ops}


def show(n: ir.Node) -> str:
    """`n` as text: a kernel or any node in it. ``Call("add", (x, Const(1, "i64")), "i64")`` is
    ``x + 1``.

    ``parse(show(kernel)) == kernel`` for every well-formed kernel, so the text has each type, and
    each float with its bits. Traces, reports, dumps and error messages show nodes by it.
    """
    match n:
        case ir.Kernel():
            return "".join(f"{line.text}\n" for line in text_lines(n))
        case ir.Param():
            return f"{n.name}: {_type(n)}"
        case ir.Guard(cond, code):
            return f'guard({show(cond)}, "{code}")'
        case ir.Disjoint(a, b, or_same):
            return f"{'disjoint_or_same' if or_same else 'disjoint'}({a}, {b})"
        case ir.Accum(name, init) | ir.VecAccum(name, init):
            return f"{name}={show(init)}"
        case ir.Yield(name, then, orelse):
            return f"{name} = give({show(then)} | {show(orelse)})"
        case ir.Stream(name, array):
            return f"{name} in {array}"
        case ir.Interval(lo, hi):
            return f"{show(lo)}, {show(hi)}"
        case ir.RangeDesc(start, end, step):
            return f"range({show(start)}, {show(end)}, {step})"
        case ir.Const() | ir.Var() | ir.Dim() | ir.Load() | ir.Call():
            return _expr(n, 0)
        case ir.Broadcast() | ir.Ramp() | ir.HReduce():
            return _expr(n, 0)
        case _:
            return "\n".join(line.text for line in _stmt(n))


# -- expressions


def _expr(e: ir.Expr, needed: int) -> str:
    """The text of `e`, in parentheses where its precedence is below `needed`."""
    text, precedence = _with_precedence(e)
    return text if precedence >= needed else f"({text})"


def _with_precedence(e: ir.Expr) -> tuple[str, int]:
    """The text of `e` and the precedence of its outermost operator."""
    match e:
        case ir.Const():
            text = _const(e)
            return text, OPERATORS["u-"][0] if text.startswith("-") else ATOM
        case ir.Var(name):
            return name, ATOM
        case ir.Dim(array, axis):
            return f"{array}.shape[{axis}]", ATOM
        case ir.Load(array, index, _, lanes, axis, step):
            return f"{array}[{_index(index, lanes, axis, step)}]", ATOM
        case ir.Broadcast(value, lanes):
            return f"broadcast({show(value)}, {lanes})", ATOM
        case ir.Ramp(base, step, lanes):
            return f"ramp({show(base)}, {step}, {lanes})", ATOM
        case ir.HReduce(op, value, place):
            operands = [value] if place is None else [value, place]
            return f'hreduce("{op}", {", ".join(map(show, operands))})', ATOM
        case ir.Call():
            return _call(e)
        case _:
            return assert_never(e)


def _call(e: ir.Call) -> tuple[str, int]:
    """The text of a call, and its precedence: a cast, an operator, or a function call."""
    symbol = _SYMBOL_OF.get(e.op)
    match e.args:
        case (ir.Const() as x,) if e.op == "cast":  # f32(0.5) is a constant
            return f"cast({show(x)}, {e.dtype})", ATOM
        case (x,) if e.op == "cast":
            return f"{e.dtype}({show(x)})", ATOM
        case (x,) if symbol and not (e.op == "neg" and isinstance(x, ir.Const)):  # -3 is a constant
            precedence, _ = OPERATORS[symbol]
            return symbol[-1] + _expr(x, precedence), precedence
        case (a, b) if symbol:
            precedence, _ = OPERATORS[symbol]
            left_precedence = precedence + (symbol == "**" or precedence == OPERATORS["<"][0])
            return f"{_expr(a, left_precedence)} {symbol} {_expr(b, precedence + 1)}", precedence
        case args:
            return f"{e.op}({_commas(args)})", ATOM


def _const(c: ir.Const) -> str:
    """A literal whose text has its dtype: bool, i64 and finite f64 are plain, others like
    ``f32(0.5)``.
    """
    match c.dtype:
        case "bool":
            return repr(bool(c.value))
        case "i64":
            return repr(int(c.value))
        case "f64" if math.isfinite(c.value):
            return repr(float(c.value))
        case dtype if dtype in DTYPES and DTYPES[dtype].kind == "f":
            return f"{c.dtype}({_float(float(c.value))})"
        case dtype:
            return f"{dtype}({int(c.value)})"


def _float(x: float) -> str:
    """A literal for any float; a NaN with other bits than Python's default is written as its 64
    bits.
    """
    if math.isfinite(x):
        return repr(x)
    bits = struct.pack("<d", x)
    plain = not math.isnan(x) or bits == struct.pack("<d", math.nan)
    return f'"{x!r}"' if plain else f'"{int.from_bytes(bits, "little"):#x}"'


def _index(index: tuple[ir.Expr, ...], lanes: ir.Lanes, axis: int, step: int) -> str:
    """Subscripts; a vector one as ``i:lanes:step``."""
    parts = [show(x) for x in index]
    if lanes != 1 or (axis, step) != (0, 1):
        parts[axis] = f"{_expr(index[axis], 1)}:{lanes}" + (f":{step}" if step != 1 else "")
    return ", ".join(parts) or "()"


def _commas(nodes: Iterable[ir.Node]) -> str:
    return ", ".join(map(show, nodes))


# -- statements, each a list of lines


class TextLine(NamedTuple):
    """A line of a kernel's text, and the node that it shows or starts."""

    text: str
    of: ir.Node


def text_lines(k: ir.Kernel) -> list[TextLine]:
    """The lines of ``show(k)``."""
    words = ", ".join(f'"{w}"' for w in k.strict)
    heads = [f"@strict({words})"] if words else []
    heads += ["@stops"] if k.stops else []
    heads.append(f"def {k.name}({_commas(k.params)}):")
    guards = [TextLine("    " + show(g), g) for g in k.guards]
    body = _block(k, k.body) if k.body or not guards else []
    return [*(TextLine(text, k) for text in heads), *guards, *body]


def _stmt(s: ir.Stmt) -> list[TextLine]:
    """The lines of a statement."""
    match s:
        case ir.If():
            return _if(s)
        case ir.Assign() | ir.Local() | ir.Bits() | ir.Store() | ir.Append() | ir.Prefix():
            return [TextLine(_write(s), s)]
        case ir.Check(cond, code):
            return [TextLine(f'check({show(cond)}, "{code}")', s)]
        case ir.Break(cond):
            return [TextLine(f"if {show(cond)}: break", s)]
        case ir.Return():
            return [TextLine("return", s)]
        case _:
            return _loop(s)


def _write(s: ir.Stmt) -> str:
    """The text of a statement that binds or stores, in one line."""
    match s:
        case ir.Assign(name, value):
            return f"{name} = {show(value)}"
        case ir.Local(name, dtype, length, lanes):
            row = "" if lanes is None else f", {lanes}"
            return f"{name} = local({dtype}, {length}{row})"
        case ir.Bits(name, array):
            return f"{name} = bits({array})"
        case ir.Store(array, index, value, mask, axis, step):
            subscripts = _index(index, value.lanes, axis, step)
            return f"{array}[{subscripts}] = {_masked(value, mask)}"
        case ir.Append(array, count, value, mask, only, blank):
            options = (", only=True" if only else "") + (", blank=True" if blank else "")
            return f"append({array}, {count}, {_masked(value, mask)}{options})"
        case ir.Prefix(name, op, acc, value, before, factor):
            names = name if before is None else f"{name}, {before}"
            factor_text = "" if factor is None else f", {show(factor)}"
            return f'{names} = prefix("{op}", {acc}, {show(value)}{factor_text})'
        case _:
            raise AssertionError(f"writes nothing: {s!r}")


def _masked(value: ir.Expr, mask: ir.Expr | None) -> str:
    return show(value) if mask is None else f"where({show(mask)}, {show(value)})"


def _if(s: ir.If) -> list[TextLine]:
    """The lines of a branch; each side ends with its yields."""
    then = [TextLine(f"{y.name} = give({show(y.then)})", y.then) for y in s.yields]
    orelse = [TextLine(f"{y.name} = give({show(y.orelse)})", y.orelse) for y in s.yields]
    lines = [TextLine(f"if {show(s.cond)}:", s), *_block(s, s.then, then)]
    if s.orelse or s.yields:
        lines += [TextLine("else:", s), *_block(s, s.orelse, orelse)]
    return lines


def _loop(s: ir.LoopLike) -> list[TextLine]:
    """The lines of a loop: its head and its body."""
    parallel = "parallel_" if getattr(s, "parallel", False) else ""
    parallel += "undo_" if getattr(s, "undoes", False) else ""
    parallel += "ivdep_" if getattr(s, "ivdep", False) else ""
    match s:
        case ir.Loop(var, rng, _, accs):
            head = f"for {var} in {parallel}loop({_head((rng,), accs)}):"
        case ir.Zip(var, streams, rng, _, accs):
            names = ", ".join([var, *(x.name for x in streams)])
            arguments = ", ".join([show(rng), *(x.array for x in streams), *map(show, accs)])
            head = f"for {names} in zip({arguments}):"
        case ir.VecLoop(var, rng, width, _, accs, group=group):
            arguments = _head((rng,), accs, width=width, group=group)
            head = f"for {var} in {parallel}vec({arguments}):"
        case ir.PredLoop(var, rng, width, pred, _, accs, form, group, skips):
            mask_options = {"form": form.value if form else None, "skips": skips or None}
            arguments = _head(
                (rng,), accs, width=width, group=group, **mask_options, where=show(pred)
            )
            head = f"for {var} in {parallel}pred({arguments}):"
        case ir.Scan(var, rng, op, acc, init, value, array):
            step = ir.Call(op, (ir.Var(acc, value.dtype), value), value.dtype)
            head = f"for {var} in scan({show(rng)}, {acc}={show(init)}):"
            return [TextLine(head, s), TextLine(f"    {array}[{var}] = {acc} = {show(step)}", s)]
        case ir.While(cond, _, accs):
            head = f"while loop({_head((cond,), accs)}):"
        case _:
            return assert_never(s)
    until = s.until if isinstance(s, (ir.Loop, ir.VecLoop)) else None
    return [TextLine(head, s), *_block(s, s.body, _last_lines(s.accs, until))]


def _head(first: Iterable[ir.Node], accs: Iterable[ir.Node], **options: object) -> str:
    """The arguments of a loop. An unset option is printed only if an accumulator has its name."""
    acc_names = {a.name for a in accs if isinstance(a, (ir.Accum, ir.VecAccum))}
    assert set(options) <= set(OPTIONS)
    set_options = [f"{k}={v}" for k, v in options.items() if v is not None or k in acc_names]
    return ", ".join([*map(show, first), *set_options, *map(show, accs)])


def _last_lines(accs: Iterable[ir.Accum | ir.VecAccum], until: ir.Expr | None) -> list[TextLine]:
    """The accumulator steps that change a value, then the ``until`` condition."""
    steps = [
        TextLine(f"{a.name} = step({show(a.step)})", a.step)
        for a in accs
        if not _keeps_its_value(a)
    ]
    return steps + ([TextLine(f"until({show(until)})", until)] if until else [])


def _keeps_its_value(a: ir.Accum | ir.VecAccum) -> bool:
    return isinstance(a.step, ir.Var) and a.step.name == a.name


def _block(of: ir.Node, body: Iterable[ir.Stmt], ending: Iterable[TextLine] = ()) -> list[TextLine]:
    """The indented lines of `body` and `ending`; ``pass``, for the node `of`, if there are none."""
    lines = [*(line for s in body for line in _stmt(s)), *ending] or [TextLine("pass", of)]
    return [TextLine("    " + text, n) for text, n in lines]


# -- types


def _type(p: ir.Param) -> str:
    """The type of a parameter, such as ``mut(f64[:, ::1])`` or ``unaligned(f64[:])``."""
    if p.rank is None:
        return p.dtype
    steps = map(p.step, range(p.rank))
    axes = ", ".join(":" if step is None else f"::{step}" for step in steps) or "()"
    qualifier = "own" if p.owned else "mut" if p.written else ""
    text = f"{qualifier}({p.dtype}[{axes}])" if qualifier else f"{p.dtype}[{axes}]"
    return text if p.aligned else f"unaligned({text})"
