"""Legal IR to a C translation unit: guards, body, status flags, and the definitions that it uses.

`emit` writes two functions: ``tp_body`` does the work, ``tp_kernel`` tests the guards, calls it,
and reads the hardware's floating-point flags. Then `definitions` finds all functions and types that
the text uses, by their names, and puts their definitions before it.
"""
from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from loopir import nodes as ir
from loopir.analysis.mod_ref import arrays_read
from loopir.dtypes import DTYPES
from loopir.ir_traversal import contains, kernel_header, walk
from loopir.nodes import assert_never
from loopir.op_table import OPS
from loopir.status_bits import GUARD_SHIFT, STATUS

from ..isa.target import Target
from ..region_costs import WORTH
from .c_expressions import element_type, expr
from .c_reductions import define_reduction
from .c_scans import define_prefix, define_recurrence
from .c_scope import Scope
from .c_statements import emit_block, is_thread_local, line_comment
from .c_text import indented
from .fp_exceptions import name_raising_conditions, overwritten_stores, unread_raising_names
from .headers import read_header
from .interrupt_polls import declarations, polls_of, tallies_of
from .vector_math import one_lane_function, vector_math_source
from .vector_ops import define_vector_op, parse_vector_type

__all__ = ["definitions", "emit_body", "emit", "emit_entry", "translation_unit"]

_DEFINED_NAME = re.compile(
    r"tp_\w+_\w+|[fiu]\d+x\d+(?:_u)?|[fiu]\d+_u|c8x\d+|q64x\d+|m(?:8|16|32|64)"
)
_WORD = re.compile(r"\w+")
_BLANKS = {k: " " for k in range(128) if not _WORD.match(chr(k))}
"""A table for ``str.translate`` that makes a blank of each ASCII character that is in no word."""


def definitions(text: str, target: Target) -> str:
    """The definitions of all types and functions that `text` uses, and of those that these use in
    turn: types first, each function after those that it calls.

    They are found by their names alone: ``tp_exp_f64x8`` says which function on which type it is,
    and `_define` asks the modules that can define it. So code that prints a use has nothing to
    register. What stands in ``abi.h`` and other headers matches no such name, or has no definition.
    """
    by_name: dict[str, str] = {}
    for name in _defined_names(text):
        _collect(name, target, by_name)
    types = [d for d in by_name.values() if d.startswith("typedef")]
    functions = [d for d in by_name.values() if not d.startswith("typedef")]
    return "\n".join(types + functions)


def _defined_names(text: str) -> list[str]:
    """The names in `text` that may have a definition, each once, in their order."""
    # a search for words takes three times as long as to split at the other characters
    words = text.translate(_BLANKS).split() if text.isascii() else _WORD.findall(text)
    return [*filter(_DEFINED_NAME.fullmatch, dict.fromkeys(words))]


def _collect(name: str, target: Target, by_name: dict[str, str]) -> None:
    """Add the definition of `name` after those that it uses."""
    if name in by_name:
        return
    text, used = _definition_and_uses(name, target)
    if text is None:
        return
    for other in used:
        _collect(other, target, by_name)
    by_name[name] = text


@lru_cache(maxsize=4096)
def _definition_and_uses(name: str, target: Target) -> tuple[str | None, tuple[str, ...]]:
    """The definition of `name`, and the other names in it that may have one. Memoized: kernels for
    a target share most of theirs.
    """
    text = _define(name, target)
    return text, tuple(other for other in _defined_names(text or "") if other != name)


def _define(name: str, target: Target) -> str | None:
    """The definition of the function or type `name`; None for a name of the headers."""
    if name.startswith("tp_"):
        text = (
            define_reduction(name, target) or define_prefix(name, target) or define_recurrence(name)
        )
        return text or _math_function(name, target) or define_vector_op(name, target)
    return _typedef(name)


def _math_function(name: str, target: Target) -> str | None:
    """The source of a function of the vector math library; None for any other name."""
    op, _, suffix = name.removeprefix("tp_").rpartition("_")
    if op.startswith("lane_"):
        return one_lane_function(op.removeprefix("lane_"), suffix, target)
    v = parse_vector_type(suffix)
    return vector_math_source(op, v.dtype, v.lanes, target) if v else None


def _typedef(name: str) -> str:
    """The definition of a vector, mask or element type; ``_u``: one that may be unaligned and alias
    other types.
    """
    if name.startswith("m"):
        return f"typedef uint{name[1:]}_t {name};"
    if name[0] in "cq":
        kind, size = {"c": ("char", 1), "q": ("long long", 8)}[name[0]]
        size *= int(name.split("x")[1])
        return f"typedef {kind} {name} __attribute__((vector_size({size})));"
    if (scalar := DTYPES.get(name.removesuffix("_u"))) is not None:
        return f"typedef {scalar.c} {name} __attribute__((may_alias, aligned(1)));"
    v = parse_vector_type(name.removesuffix("_u"))
    assert v
    attributes = f", may_alias, aligned({DTYPES[v.dtype].bytes})" if name.endswith("_u") else ""
    c, size = DTYPES[v.dtype].c, v.bits // 8
    return f"typedef {c} {name} __attribute__((vector_size({size}){attributes}));"


def emit(
    kernel: ir.Kernel, target: Target, *, threads: int = 0, portable: bool = False
) -> str:
    """The C translation unit of a legal kernel::

        headers, types and functions that the rest uses                  translation_unit
        static int64_t tp_body(arrays, scalars) { the loops }            emit_body
        int64_t tp_kernel(arrays, scalars) { guards, tp_body, flags }    emit_entry

    ``tp_kernel`` is the entry point; its arguments are described in ``abi.h``. It returns a status:
    0, bits of `status_bits.STATUS`, or ``(i + 1) << GUARD_SHIFT`` if guard i failed, before
    anything was written. ``threads``: how many its parallel loops may use; 0: no bound.
    ``portable``: math functions of numbers have the bits of vectors. The stage ``emit`` calls
    `kernel_selection.emit_translation_unit`, which puts a hand-written kernel beside it.
    """
    body = emit_body(kernel, target, threads=threads, portable=portable)
    text = body + "\n" + emit_entry(kernel, target)
    return f"/* {kernel.name}, {target.name} */\n{translation_unit(text, target)}"


def translation_unit(text: str, target: Target) -> str:
    """`text` after the headers and definitions that it uses."""
    heads = read_header("abi.h") + (read_header("undo.h") if "tp_keep" in text else "")
    heads += read_header("stop.h") if "tp_clock" in text else ""
    if "tp_run_loop" in text:
        worth = f"#ifndef TP_WORTH\n#define TP_WORTH {WORTH}\n#endif\n"
        heads += read_header("parallel.h") + worth
        heads += read_header("parallel_search.h") if "tp_hit" in text else ""
        heads += read_header("parallel_undo.h") if "tp_undo" in text else ""
        heads += read_header("parallel_totals.h") if "tp_totals" in text else ""
    return f"{heads}\n{definitions(text, target)}\n\n{text}"


def emit_body(
    kernel: ir.Kernel, target: Target, *,
    marked: bool = False, threads: int = 0, portable: bool = False,
) -> str:
    """The function ``tp_body``, which does the work and returns the status of its checks; before it
    those of parallel loops, which may use so many ``threads`` (0: any number).

    `marked`: with comments of the Python source lines. ``portable``: math functions of numbers have
    the bits of vectors, and so the same on every target that has a fused multiply-add.
    """
    kernel = name_raising_conditions(kernel)
    frame = _Frame(kernel, target, marked)
    frame.scope.threads, frame.scope.params, frame.scope.kernel = threads, kernel.params, kernel
    frame.scope.portable = portable and target.has_fma
    statements = [
        *emit_block(kernel.body, frame.scope),
        *line_comment(None, frame.scope),
        "return status;",
    ]
    head = f"static __attribute__((noinline)) int64_t tp_body{_PARAMETERS}"
    clocks = declarations(frame.scope.polls, "\n".join(statements))
    lines = [*frame.locals(), "int64_t status = 0;", *clocks, *statements]
    return "\n".join([*frame.scope.functions, _c_function(head, lines)])


def emit_entry(kernel: ir.Kernel, target: Target, *, marked: bool = False) -> str:
    """The function ``tp_kernel``, by which a kernel is called, with the kernel's array parameters
    in their order as ``arrays``, and the others as ``scalars``. It returns the status::

        if (!(n == m)) return 256;                      guard 0: its number from 1, << GUARD_SHIFT
        if (!tp_disjoint(&arrays[0], …)) return 512;    guard 1
        tp_flags_clear();
        int64_t status = tp_body(arrays, scalars);      bits of failed checks
        return status | tp_flags();                     bits of the float flags that were raised

    The flags are left out if no operation of the kernel can raise one; code that puts arrays back
    is added in a kernel that stops (`_undo_code`), and code that lets Python run a call during
    another one (`_ALONE`). `marked`: with comments of the source lines.
    """
    frame = _Frame(kernel_header(kernel), target, marked)
    lines = [
        line for k, g in enumerate(kernel.guards)
        for line in (*line_comment(g, frame.scope), *_guard_code(g, k, frame.scope))
    ]
    lines += (*line_comment(None, frame.scope), *_run_body(kernel, frame.scope))
    return _c_function(f"int64_t tp_kernel{_PARAMETERS}", [*frame.locals(), *lines])


_PARAMETERS = "(const tp_array *arrays, const tp_scalar *scalars)"


def _run_body(kernel: ir.Kernel, s: Scope) -> list[str]:
    """The lines of ``tp_kernel`` that call the body. If it may raise floating-point flags, the
    hardware's flags are cleared before and read after it; code that puts arrays back is around it
    (`_undo_code`).
    """
    flagged = any(_raises_flag(n) for n in walk(kernel))
    before, after = _undo_code(kernel, s) if kernel.stops else ([], [])
    if _shares_memory_with_nested_calls(kernel):
        before = [*_ALONE, *before, "tp_is_running = 1;"]
        after = ["tp_is_running = 0;", *after]
    if not flagged and not before:
        return ["return tp_body(arrays, scalars);"]
    if flagged:
        before.append("tp_flags_clear();")
    run = "int64_t status = tp_body(arrays, scalars);"
    if not after:
        return [*before, run, "return status | tp_flags();"]
    return [*before, run, *(["status |= tp_flags();"] if flagged else []), *after, "return status;"]


_ALONE = (
    "static _Thread_local int tp_is_running;",
    f"if (tp_is_running) return {STATUS['replay']};",
)
"""C lines at the start of a kernel whose calls must not nest in one thread: the inner call returns
at once, with the status on which Python runs it."""


def _shares_memory_with_nested_calls(kernel: ir.Kernel) -> bool:
    """Whether a call of the kernel may begin during another one, in the same thread, and overwrite
    its local arrays: these are thread-local (`is_thread_local`), and the kernel polls, so that a
    signal handler runs, which may call anything.
    """
    has_shared = any(isinstance(n, ir.Local) and is_thread_local(n) for n in walk(kernel))
    return has_shared and bool(polls_of(kernel.body))


def _in_place_arrays(kernel: ir.Kernel, s: Scope) -> dict[str, str]:
    """The written arrays that the caller may have passed for another parameter, too, each with the
    condition in C that this is so. After the guards two arrays are disjoint or the same, so they
    are the same if they are not disjoint.
    """
    conditions: dict[str, list[str]] = {}
    for g in kernel.guards:
        if isinstance(g, ir.Disjoint) and g.or_same:
            is_same = f"!{_are_disjoint(g.a, g.b, s, or_same=False)}"
            for name in (g.a, g.b):
                conditions.setdefault(name, []).append(is_same)
    return {
        name: " || ".join(is_same) for name, is_same in conditions.items() if s.arrays[name].written
    }


def _undo_code(kernel: ir.Kernel, s: Scope) -> tuple[list[str], list[str]]:
    """C lines before and after the body of a kernel that stops at a failed check (`Kernel.stops`).

    Python then runs the call again, on arrays that the kernel has partly overwritten, and writes
    the same values: such a kernel reads no array that it writes (`Kernel.stops`). But if a caller
    passes one array for two parameters (`Disjoint.or_same` allows it), the kernel may read through
    one of them what it writes through the other. Such an array is copied before the body, and
    copied back if the status says that the call is replayed::

        char *out_kept = 0;
        if ((!tp_disjoint(out, x)) && !(out_kept = tp_keep(out))) return <replay>;
        ... the body ...
        if (out_kept && status & <replay>) tp_move(out, out_kept, 1);
        __builtin_free(out_kept);

    Without memory for the copy the kernel returns before it has written anything.
    """
    fatal = sum(STATUS[c] for c in ("replay", *kernel.strict))  # the bits that lead to a replay
    before, after = [], []
    for name, is_same in _in_place_arrays(kernel, s).items():
        c, arguments = s.fresh(f"{name}_kept"), _array_arguments(name, s)
        before.append(f"char *{c} = 0;")
        before.append(f"if (({is_same}) && !({c} = tp_keep({arguments}))) return {fatal};")
        after.append(f"if ({c} && status & {fatal}) tp_move({arguments}, {c}, 1);")
        after.append(f"__builtin_free({c});")
    return before, after


def _raises_flag(n: ir.Node) -> bool:
    """Whether the operation of `n` itself (not of the nodes in it) may raise a floating-point flag.
    """
    match n:
        case ir.Call(op, args):
            may_raise = op == "cast" or OPS[op].raises
            return bool(may_raise) and any(DTYPES[a.dtype].kind == "f" for a in args)
        case ir.Prefix(op=op, value=x):
            return bool(OPS[op].raises) and DTYPES[x.dtype].kind == "f"
        case ir.HReduce(op) | ir.Scan(op=op):
            return bool(OPS[op].raises)
        case _:
            return False


def _c_function(head: str, lines: Iterable[str]) -> str:
    """A C function, indented."""
    return indented((head, "{", *lines, "}"))


_LARGE = 1000
"""Nodes of a kernel beyond which short C is preferred to the fastest (`Scope.is_large`). The C text
of smaller kernels has up to 50,000 characters, and the C compiler takes up to 0.3 s for it."""


class _Frame:
    """The parameters of a kernel as C locals, and the outermost scope of its code.

    Only those that the code uses are declared, by `locals`.
    """

    def __init__(self, kernel: ir.Kernel, target: Target, marked: bool) -> None:
        arrays = {p.name: p for p in kernel.params if p.rank is not None}
        read = arrays_read((kernel,))
        flagging = unread_raising_names(kernel)
        stops = kernel.stops or contains(kernel, ir.While)
        overwriting = frozenset(overwritten_stores(kernel.body))
        polls = polls_of(kernel.body)
        self.scope = Scope(
            target, arrays, {}, set(), set(), read, flagging, overwriting, stops, marked=marked,
            polls=polls, tallies=tallies_of(kernel.body, polls),
            is_large=sum(1 for _ in walk(kernel)) > _LARGE,
        )
        self._values = self.scope.parameters
        numbers = [0, 0]
        for p in kernel.params:
            index = numbers[p.rank is None]
            numbers[p.rank is None] += 1
            self._declare(p, index)

    def _declare(self, p: ir.Param, index: int) -> None:
        """Bind `p`, with its lengths and strides, to C names, and note their declarations. `index`:
        its index among the arrays or among the scalars. A known stride is a constant.
        """
        c = self.scope.bind(p.name)
        kind = element_type(p)
        if p.rank is None:
            member = "u8" if p.dtype == "bool" else p.dtype
            self._values[p.name] = f"const {kind} {c} = scalars[{index}].{member};"
            return
        self._values[p.name] = f"{kind} *const {c} = ({kind} *)arrays[{index}].data;"
        for axis in range(p.rank):
            for letter, member in (("n", "dims"), ("s", "strides")):
                name, value = f"{p.name}.{letter}{axis}", f"arrays[{index}].{member}[{axis}]"
                if letter == "s" and (step := p.step(axis)):
                    self.scope.names[name] = str(step * DTYPES[p.dtype].bytes)
                    continue
                local = self.scope.names[name] = self.scope.fresh(f"{c}_{letter}{axis}")
                self._values[name] = f"const int64_t {local} = {value};"

    def locals(self) -> list[str]:
        """The declarations of the parameters, lengths and strides that the code uses."""
        return [text for name, text in self._values.items() if name in self.scope.used]


def _guard_code(g: ir.Guard | ir.Disjoint, number: int, s: Scope) -> list[str]:
    """The test of the guard `g`, a statement at the start of ``tp_kernel``. If it fails, the kernel
    returns the guard's number, from 1, shifted by `GUARD_SHIFT`, before anything is written;
    `status_bits.FIRST_GUARD_STATUS` says what each status means.

        guard(n >= 1)     →    if (!(n >= 1)) return 256;                               (number 0)
        disjoint(x, y)    →    if (!tp_disjoint(&arrays[0], 2, 8, &arrays[1], 2, 8, 0)) return 512;

    `emit_entry` calls this for each guard, in their order.
    """
    failed = f"return {(number + 1) << GUARD_SHIFT};"
    match g:
        case ir.Guard(cond):
            return [f"if (!{expr(cond, s)}) {failed}"]
        case ir.Disjoint(a, b, or_same):
            return [f"if (!{_are_disjoint(a, b, s, or_same=or_same)}) {failed}"]
        case _:
            return assert_never(g)


def _are_disjoint(a: str, b: str, s: Scope, *, or_same: bool) -> str:
    """The test, in C, whether two arrays share no byte; with `or_same`, or are the same array: a
    call of a function of ``headers/abi.h``, with each array's descriptor, rank and element size.
    Two one-dimensional arrays without gaps have a shorter test, of their address ranges alone.
    """
    if all(s.arrays[x].rank == 1 and s.arrays[x].step(0) == 1 for x in (a, b)):
        (a, a_size), (b, b_size) = (_descriptor(x, s) for x in (a, b))
        return f"tp_disjoint_runs({a}, {a_size}, {b}, {b_size}, {int(or_same)})"
    return f"tp_disjoint({_array_arguments(a, s)}, {_array_arguments(b, s)}, {int(or_same)})"


def _descriptor(array: str, s: Scope) -> tuple[str, int]:
    """The address of an array's `tp_array`, in C, and the bytes of an element."""
    index = list(s.arrays).index(array)
    return f"&arrays[{index}]", DTYPES[s.arrays[array].dtype].bytes


def _array_arguments(array: str, s: Scope) -> str:
    """The C arguments that describe an array: its descriptor, rank and element size."""
    address, size = _descriptor(array, s)
    return f"{address}, {s.arrays[array].rank}, {size}"
