"""Legal IR → C: the kernel's frame. No decision is left to take here."""
from __future__ import annotations

from collections.abc import Iterable

from loopir import nodes as ir
from loopir.exhaustive import unhandled
from loopir.ops import OPS, STATUS
from loopir.tree import walk
from loopir.types import DTYPES

from ..target import Target
from .definitions import definitions
from .expressions import expr
from .flagging import names_that_flag, overwriting, with_named_conditions
from .headers import header
from .scope import Scope
from .statements import block, mark

__all__ = ["body", "emit", "entry", "unit"]


def emit(kernel: ir.Kernel, target: Target) -> str:
    """The C translation unit of a legal kernel, with the entry ``tp_kernel`` (see abi.h).

    It returns 0; or bits of ``ops.STATUS`` that came up; or ``(i + 1) << 8`` when guard i failed,
    and then nothing was done.
    """
    text = body(kernel, target) + "\n" + entry(kernel, target)
    return f"/* {kernel.name}, {target.name} */\n{unit(text, target)}"


def unit(text: str, target: Target) -> str:
    """Functions with what they need before them."""
    heads = header("abi.h") + (header("undo.h") if "tp_keep" in text else "")
    heads += header("stop.h") if "tp_stopped" in text else ""
    return f"{heads}\n{definitions(text, target)}\n\n{text}"


def body(kernel: ir.Kernel, target: Target, *, marked: bool = False) -> str:
    """The function ``tp_body``, which does the work and returns the status of the checks.
    ``marked``: with the lines of Python that its lines come of.
    """
    kernel = with_named_conditions(kernel)
    frame = _Frame(kernel, target, marked)
    work = [*block(kernel.body, frame.scope), *mark(None, frame.scope), "return status;"]
    head = f"static __attribute__((noinline)) int64_t tp_body{_GIVEN}"
    turns = ["uint64_t tp_turns = 0;"] if any(isinstance(n, ir.While) for n in walk(kernel)) else []
    return _function(head, [*frame.locals(), "int64_t status = 0;", *turns, *work])


def entry(kernel: ir.Kernel, target: Target, *, marked: bool = False) -> str:
    """The function ``tp_kernel``: the guards, then ``tp_body``, then the hardware's flags."""
    head = _Frame(kernel, target, marked)
    lines = [
        line for k, g in enumerate(kernel.guards)
        for line in (*mark(g, head.scope), *_guard(g, k, head.scope))
    ]
    lines += (*mark(None, head.scope), *_call(kernel, head.scope))
    return _function(f"int64_t tp_kernel{_GIVEN}", [*head.locals(), *lines])


_GIVEN = "(const tp_array *arrays, const tp_scalar *scalars)"


def _call(kernel: ir.Kernel, s: Scope) -> list[str]:
    """Runs the body; where it may raise flags, between clearing and reading the hardware's."""
    flagged = any(_flagged(n) for n in walk(kernel))
    before, after = _undoing(kernel, s) if kernel.stops else ([], [])
    if not flagged and not before:
        return ["return tp_body(arrays, scalars);"]
    if flagged:
        before.append("tp_flags_clear();")
    run = "int64_t status = tp_body(arrays, scalars);"
    if not after:
        return [*before, run, "return status | tp_flags();"]
    return [*before, run, *(["status |= tp_flags();"] if flagged else []), *after, "return status;"]


def _kept_in_place(kernel: ir.Kernel, s: Scope) -> dict[str, str]:
    """The arrays to put aside where they are one with another, and that as a condition."""
    found: dict[str, list[str]] = {}
    for g in kernel.guards:
        if isinstance(g, ir.Disjoint) and g.or_same:
            same = f"!tp_apart({_whole(g.a, s)}, {_whole(g.b, s)}, 0)"
            for name in (g.a, g.b):
                found.setdefault(name, []).append(same)
    return {name: " || ".join(same) for name, same in found.items() if s.arrays[name].written}


def _undoing(kernel: ir.Kernel, s: Scope) -> tuple[list[str], list[str]]:
    """What comes before the body and after it, so that work in place is undone for Python."""
    fatal = sum(STATUS[c] for c in ("replay", *kernel.strict))
    before, after = [], []
    for name, same in _kept_in_place(kernel, s).items():
        c, whole = s.fresh(f"{name}_kept"), _whole(name, s)
        before.append(f"char *{c} = 0;")
        before.append(f"if (({same}) && !({c} = tp_keep({whole}))) return {fatal};")
        after.append(f"if ({c} && status & {fatal}) tp_move({whole}, {c}, 1);")
        after.append(f"__builtin_free({c});")

    return before, after


def _flagged(n: ir.Node) -> bool:
    """Whether a node computes with floats in a way that may raise a flag."""
    match n:
        case ir.Call(op, args):
            risky = op == "cast" or OPS[op].raises
            return bool(risky) and any(DTYPES[a.dtype].kind == "f" for a in args)
        case ir.Prefix(op=op, value=x):
            return bool(OPS[op].raises) and DTYPES[x.dtype].kind == "f"
        case ir.HReduce(op) | ir.Scan(op=op):
            return bool(OPS[op].raises)
        case _:
            return False


def _function(head: str, lines: Iterable[str]) -> str:
    """A C function, indented."""
    depth, out = 0, []
    for line in (head, "{", *lines, "}"):
        depth -= line.startswith("}")
        if line:
            out.append("    " * depth + line)
        depth += line.endswith("{")
    return "\n".join(out) + "\n"


class _Frame:
    """Parameters as C locals; only those declared that are used."""

    def __init__(self, kernel: ir.Kernel, target: Target, marked: bool) -> None:
        arrays = {p.name: p for p in kernel.params if p.rank is not None}
        read = frozenset(n.array for n in walk(kernel) if isinstance(n, ir.Load))
        flagging = names_that_flag(kernel)
        stops = kernel.stops or any(isinstance(n, ir.While) for n in walk(kernel))
        again = frozenset(overwriting(kernel.body))
        self.scope = Scope(
            target, arrays, {}, set(), set(), read, flagging, again, stops, marked=marked
        )
        self._values: dict[str, str] = {}
        numbers = [0, 0]
        for p in kernel.params:
            which = numbers[p.rank is None]
            numbers[p.rank is None] += 1
            self._declare(p, which)

    def _declare(self, p: ir.Param, which: int) -> None:
        c = self.scope.bind(p.name)
        kind = DTYPES[p.dtype].c
        if p.rank is None:
            member = "u8" if p.dtype == "bool" else p.dtype
            self._values[p.name] = f"const {kind} {c} = scalars[{which}].{member};"
            return
        self._values[p.name] = f"{kind} *const {c} = ({kind} *)arrays[{which}].data;"
        for axis in range(p.rank):
            for letter, member in (("n", "dims"), ("s", "strides")):
                name, value = f"{p.name}.{letter}{axis}", f"arrays[{which}].{member}[{axis}]"
                if letter == "s" and (step := p.step(axis)):
                    self.scope.names[name] = str(step * DTYPES[p.dtype].bytes)
                    continue
                local = self.scope.names[name] = self.scope.fresh(f"{c}_{letter}{axis}")
                self._values[name] = f"const int64_t {local} = {value};"

    def locals(self) -> list[str]:
        return [text for name, text in self._values.items() if name in self.scope.used]


def _guard(g: ir.Guard | ir.Disjoint, number: int, s: Scope) -> list[str]:
    failed = f"return {(number + 1) << 8};"
    match g:
        case ir.Guard(cond):
            return [f"if (!{expr(cond, s)}) {failed}"]
        case ir.Disjoint(a, b, or_same):
            given = ", ".join(_whole(x, s) for x in (a, b))
            return [f"if (!tp_apart({given}, {int(or_same)})) {failed}"]
        case _:
            return unhandled(g)


def _whole(array: str, s: Scope) -> str:
    p = s.arrays[array]
    return f"&arrays[{list(s.arrays).index(array)}], {p.rank}, {DTYPES[p.dtype].bytes}"
