"""Assemble the plan of a lowered function: its kernel, guards, results and the arrays it writes.

The last step of lowering, called by `lower_function.py`. `assemble_plan` decides:

- which pairs of array parameters need a guard that they do not overlap (`alias_guards`): each pair
  of which one array is written, unless one of them is memory of the call's own: allocated by the
  function, a converted list, or the slot of a result;
- whether a failed check stops the kernel (`Kernel.stops`). Python then replays the call and writes
  again what the kernel has written so far. That is not possible if the kernel overwrites what it
  reads, or if a NumPy operation, which writes nothing where it raises, may fail after its loop has
  written (`BufferState.needs_snapshot`). The arrays that it writes are then copied before the call;
- when the caller's arrays that the kernel writes are copied (the first row that applies):

  ==================== ===========================================================================
  never                the kernel writes none of them
  always               it may fail after it has written and Python cannot write the same again, or
                       it may have to show a warning whose message only Python knows
                       (`Plan.snapshot`)
  never                it has no operation that may raise a float condition (`Plan.sources`)
  errstate observable  a float condition may raise, call back, or warn each time, as the error state
                       and the warning filters are at the call (`errors_observable`); or it may be
                       an underflow that the error state does not ignore, and for which there may
                       be no warning to show
  small enough         it overwrites what it reads (`Plan.rewrites`, or two arguments are one
                       array), and writes arrays of at most `Plan.copied_up_to` bytes
  never                in all other calls
  ==================== ===========================================================================

  `with_copies_decided` refines the plan by the final kernel;
  `python_wrapper._snapshot` makes the conditions of a call.
"""
from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from loopir.analysis.mod_ref import arrays_read
from loopir.analysis.work_estimate import copies_are_cheap
from loopir.dtypes import MAX_PARAMS
from loopir.ir_traversal import bottom_up, walk
from loopir.lazy_dataclass import replace
from loopir.nodes import Append, Check, Const, Disjoint, Expr, Kernel, Load, Param, Stmt, Store
from loopir.passes.checks.hoist_checks import assume_checks_hold, checks_before_writing
from loopir.status_bits import STATUS

from ..call_plan import (
    CHEAP_COPY_BYTES,
    NO_COPY_LIMIT,
    Argument,
    Captured,
    Field,
    ItemFlags,
    ListItems,
    ObjectMember,
    Plan,
)
from ..frontend.refusal import refuse
from ..result_spec import ComplexResult, ResultSpec, SelectResult
from ..types.value_types import ArgType
from .state.float_exceptions import sources_for_plan
from .state.ir_builder import IRBuilder

__all__ = ["alias_guards", "assemble_plan", "with_copies_decided"]


def alias_guards(
    params: Sequence[Param], unaliased: set[str], body: Sequence[Stmt],
    reshaped: Mapping[str, str],
) -> Iterator[Disjoint]:
    """The run-time alias checks: a `Disjoint` guard for each pair of array parameters that must not
    overlap. Called by `assemble_plan` when the body is lowered.

        for i in range(n): y[i] = 2.0 * x[i]      →    disjoint_or_same(x, y): may be one array
        for i in range(n): z[i] = x[n - 1 - i]    →    disjoint(x, z): a store to z[i] would change
                                                       an x[j] that is read in a later iteration
                                                  →    disjoint_or_same(y, z): no loop has both

    - No guard if neither array is written: reads in any order give the same.
    - No guard if one is in `unaliased`, memory of the call's own: arrays that the function
      allocates, converted lists, and slots of results.
    - For passes (`dependence.alias_relation`) the two arrays of a pair without a guard are
      disjoint; those of a guard with ``or_same`` are disjoint, or they are the same array.
    - ``or_same`` is set if the code stays correct for one array passed twice, which is frequent
      (``f(x, x)``): each loop nest that accesses both has one subscript for all of these accesses
      (`_same_elements`). With both statements above in one loop, x would have two subscripts there,
      and the guard would be ``disjoint(x, y)``.
    - ``or_same`` is not set for a reshaped view or the array it was made of (`reshaped`, from view
      to array): `reshape` may have copied, so equal addresses do not tell whether both are the same
      array.
    - ``or_same`` is dropped later where the code relies on two arrays after all: where a fusion
      reorders accesses (`tighten` of `fuse_loops.py`), or stores move past checks (`legalize`).
    """
    reshaped_or_base = {*reshaped, *reshaped.values()}
    arrays = [p.name for p in params if p.rank is not None]
    written = {n.array for s in body for n in walk(s) if isinstance(n, (Store, Append))}
    for k, a in enumerate(arrays):
        for c in arrays[k + 1 :]:
            if {a, c} & unaliased or not {a, c} & written:
                continue
            or_same = not {a, c} & reshaped_or_base and _same_elements(a, c, body)
            yield Disjoint(a, c, or_same=or_same)


def _same_elements(a: str, c: str, body: Sequence[Stmt]) -> bool:
    """Whether the code stays correct if the arrays `a` and `c` are one:

    - in each statement of `body` (a loop nest) that accesses both, all subscripts are the same, or
      have different constants on some axis;
    - and no nest appends to either of them (`Append`, which has no subscript to compare).
    """
    for nest in body:
        accesses = {
            (n.array, n.index)
            for n in walk(nest)
            if isinstance(n, (Load, Store)) and n.array in (a, c)
        }
        if any(isinstance(n, Append) and n.array in (a, c) for n in walk(nest)):
            return False
        indices = {index for _, index in accesses}
        if {array for array, _ in accesses} == {a, c} and any(
            i != j and not _differ_in_constant_axis(i, j) for i in indices for j in indices
        ):
            return False
    return True


def _differ_in_constant_axis(i: Sequence[Expr], j: Sequence[Expr]) -> bool:
    """Whether two subscripts have different constants on some axis, such as the axis of the real
    and imaginary parts: they are never the same element.
    """
    axes = zip(i, j, strict=False)
    return any(isinstance(p, Const) and isinstance(q, Const) and p != q for p, q in axes)


def assemble_plan(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], b: IRBuilder, returned: ResultSpec
) -> Plan:
    """The call plan of `tree`: the kernel that `b` has built, with the result `returned`.
    ``types``: those of the arguments and their named members.

    Decides what happens to the caller's arrays if Python has to replay a call. The module's
    docstring has the table; what it depends on is computed here, and refined after all passes by
    `with_copies_decided`:

    - ``writes``: the caller's arrays that the kernel writes. Other arrays need no care: the next
      call makes new ones;
    - ``rewrites``: the kernel also reads one of them, so Python cannot run on the changed array;
    - ``may_fail_midway``: a check, or a strict floating-point condition, can lead to a replay after
      the kernel has written;
    - ``stops``: it may fail midway, and Python can write the same again, so the kernel ends at once
      and nothing is put back;
    - ``snapshot``: every call copies ``writes`` first, since the kernel may fail midway and Python
      cannot write the same again, or since only Python knows the message of a warning.

    Both are false for a kernel that writes none of the caller's arrays.

    Raises Refused where the kernel needs too many parameters, writes to an array that it also reads
    in another shape, or may write memory that it has copied (`_refuse_shared_bytearrays`).
    """
    written = {n.array for s in b.block for n in walk(s) if isinstance(n, (Store, Append))}
    read = {n.array for s in b.block for n in walk(s) if isinstance(n, Load)}
    _refuse_written_reshaped(b, written, tree)
    temporaries = frozenset(
        b.buffers.fresh - _returned_names(returned) - {b.warnings.raised_array or ""}
    )
    params = _parameters(b, written, temporaries, tree)
    copied_lists, caller_arrays = _memory_of_parameters(b)
    _refuse_shared_bytearrays(b, {p.name for p in params if p.rank} & caller_arrays, written, tree)
    writes = tuple(sorted(written & caller_arrays))
    rewrites = bool(written & read & caller_arrays)
    may_fail_midway = bool(b.strict) or any(
        isinstance(n, Check) and n.code == "replay" for s in b.block for n in walk(s)
    )
    can_write_again = not (rewrites or b.buffers.needs_snapshot)
    stops = may_fail_midway and bool(writes) and can_write_again

    sources, needs_copies = sources_for_plan(b, rewrites=rewrites)  # adds to `b.guards`
    slots = {p.name for p in params if p.rank == 0 and p.written and p.name not in types}
    unaliased = b.buffers.fresh | copied_lists | slots
    guards = (*b.guards, *alias_guards(params, unaliased, b.block, b.buffers.reshaped))
    strict = tuple(c for c in STATUS if c in b.strict)
    kernel = Kernel(tree.name, params, _kernel_body(b, stops), guards, strict, stops)
    plan = Plan(
        kernel=kernel,
        bindings=tuple(b.bindings[p.name] for p in params),
        returned=returned,
        writes=writes,
        rewrites=rewrites,
        temporaries=temporaries,
        zeros=tuple((array, *made) for array, made in b.buffers.zeros.items()),
        blank=frozenset(b.buffers.blank),
        sources=sources,
        copied_up_to=NO_COPY_LIMIT if needs_copies else 0,
        raised_order=b.warnings.raised_array,
        rounds_otherwise=b.rounds_otherwise,
    )
    always_copies = plan.has_unknown_messages or (may_fail_midway and not stops)
    return replace(plan, snapshot=bool(writes) and always_copies)


def _parameters(
    b: IRBuilder, written: set[str], temporaries: frozenset[str], tree: ast.FunctionDef
) -> tuple[Param, ...]:
    """The kernel's parameters. Two facts about arrays are known only now: which ones the kernel
    writes (`written`), and which of the owned ones are `temporaries` that it writes and that nobody
    else sees: only these stay ``owned``. Raises Refused for more than `MAX_PARAMS` parameters.
    """
    params = tuple(
        replace(p, written=p.name in written, owned=p.owned and p.name in temporaries & written)
        if p.rank is not None else p
        for p in b.params.values()
    )
    if len(params) > MAX_PARAMS:
        message = f"{len(params)} arrays and numbers are needed at once, {MAX_PARAMS} are the most"
        refuse("LOWER_UNSUPPORTED", message, tree, help="compute with fewer of them at a time")
    return params


def _memory_of_parameters(b: IRBuilder) -> tuple[set[str], set[str]]:
    """Two sets of kernel parameters: copies of the items of lists, which are the call's own memory;
    and what has memory of the caller's: arguments, captured values, fields, members of objects, and
    the arrays of a memoryview or an array.array, which share its memory.
    """
    items = {n: k for n, k in b.bindings.items() if isinstance(k, ListItems)}
    copied = {n for n, k in items.items() if k.type.memory is None}
    copied |= {n for n, k in b.bindings.items() if isinstance(k, ItemFlags)}
    from_caller = (Argument, Captured, Field, ObjectMember)
    callers = {n for n, binding in b.bindings.items() if isinstance(binding, from_caller)}
    return copied, callers | (items.keys() - copied)


def _refuse_written_reshaped(b: IRBuilder, written: set[str], tree: ast.FunctionDef) -> None:
    """Raises Refused if an array or a reshaped view of it is among the `written` arrays: NumPy may
    have made a copy for the view, so a write need not show in both.
    """
    for view, base in b.buffers.reshaped.items():
        if {view, base} & written:
            message = f"`{base}` is written, and read in another shape"
            refuse("LOWER_UNSUPPORTED", message, tree)


def _refuse_shared_bytearrays(
    b: IRBuilder, caller_arrays: set[str], written: set[str], tree: ast.FunctionDef
) -> None:
    """Raises Refused if the function takes a bytearray, whose items are copied before the kernel,
    and arrays of the caller (`caller_arrays`), and the bytearray or any of these arrays is
    `written`. An array may be a view of the bytearray's memory, and the copy would not show that.
    """
    converted = {n: items for n, items in b.bindings.items() if isinstance(items, ListItems)}
    for name, items in converted.items() if caller_arrays else ():
        if items.type.kinds == (bytearray,) and ({name} | caller_arrays) & written:
            message = f"an array may share the memory of the bytearray `{items.of}`"
            refuse("LOWER_TYPE", message, tree)


def _kernel_body(b: IRBuilder, stops: bool) -> tuple[Stmt, ...]:
    """The statements of the kernel. In one that ``stops`` at a failed check, the loops whose checks
    were hoisted do not check again.
    """
    if not (stops and b.hoisted_loops):
        return tuple(b.block)
    return tuple(
        bottom_up(s, lambda n: assume_checks_hold(n) if n in b.hoisted_loops else n)
        for s in b.block
    )


def _returned_names(returned: ResultSpec) -> set[str]:
    """The kernel parameters that `returned` refers to."""
    if isinstance(returned, SelectResult):
        return {returned.flag} | _returned_names(returned.then) | _returned_names(returned.orelse)
    if isinstance(returned, ComplexResult):
        return _returned_names(returned.re) | _returned_names(returned.im)
    items = getattr(returned, "items", None)
    if items is not None:
        return {name for item in items for name in _returned_names(item)}
    return {getattr(returned, "name", None) or "", getattr(returned, "flags", None) or ""} - {""}


def with_copies_decided(plan: Plan, kernel: Kernel, fused: Kernel) -> Plan:
    """`plan` with three fields decided anew by what is left after all passes: `kernel` is the final
    kernel, `fused` the one before the passes. The table at the top has these fields, too.
    `python_wrapper._snapshot` makes the condition of a call from them, and `judge_and_restore` puts
    the copies back.

    - ``rewrites``: False if the kernel reads none of ``plan.writes`` any more, so that Python can
      run on what it has written;
    - ``snapshot``: False if all checks come before the first write (`checks_before_writing`),
      unless a warning has a message that only Python knows;
    - ``copied_up_to``: raised if several operations may warn (``plan.sources``), since only a
      replay shows which of them warns first. It becomes `NO_COPY_LIMIT` if copies cost little
      compared with the work of the kernel (`copies_are_cheap` of `fused`, whose scalar loops show
      the work), and for a recording kernel, which only runs in calls that warn; else
      `CHEAP_COPY_BYTES`. A call obeys it only if the kernel reads what it writes (`_snapshot`).
    """
    rewrites = plan.rewrites and not arrays_read(kernel.body).isdisjoint(plan.writes)
    snapshot = plan.snapshot and (plan.has_unknown_messages or not checks_before_writing(kernel))
    copied_up_to = plan.copied_up_to
    if len(plan.sources) > 1 and plan.writes:
        is_cheap = plan.raised_order is not None or copies_are_cheap(fused, plan.writes)
        copied_up_to = max(copied_up_to, NO_COPY_LIMIT if is_cheap else CHEAP_COPY_BYTES)
    return replace(plan, rewrites=rewrites, snapshot=snapshot, copied_up_to=copied_up_to)
