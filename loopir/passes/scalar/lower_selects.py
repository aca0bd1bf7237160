"""Select lowering: a select of a loop-carried value becomes a bitwise blend without a branch."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...algebra.constant_folding import literal, neutral_element
from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import changed_names, names_read
from ...ir_traversal import is_innermost, map_children, walk
from ...nodes import Assign, Call, Const, Expr, Kernel, Loop, Stmt, Var, While
from ...statement_blocks import map_statements
from .if_convert_scalar import FLOAT_DTYPES, carried_values, depends_on_elements, value_origins

__all__ = ["lower_selects"]

BLENDED_DTYPES = FLOAT_DTYPES | {"i64", "i32", "u64", "u32"}
_COMPARISON_OPERANDS = {
    "lt": ("lt", 0, 1), "le": ("le", 0, 1), "gt": ("lt", 1, 0), "ge": ("le", 1, 0),
    "eq": ("eq", 0, 1), "ne": ("ne", 0, 1),
}
"""Each comparison by one of the four that have a bitwise form, with the order of operands."""


def lower_selects(kernel: Kernel) -> Kernel:
    """Turn a select of a value that the loop carries into a bitwise blend, where its condition
    depends on array elements (`_selects_on_path`), and one of two floats that the loop does not
    change.

    A C compiler is free to compile ``c ? a : b`` to a branch, and does so here. A branch whose
    condition is data is often mispredicted. A blend, ``(a & m) | (b & ~m)``, is not compiled to a
    branch. A float that is selected by its own comparison, which has a name since other values
    depend on it as well, is an extremum: ``m = v > s; s = step(select(m, v, s))`` becomes
    ``s = step(max(s, v))``, one instruction. The pass is near the end of the pass list, since no
    other pass matches a blend. Before::

        def k(x: f64[::1], n: mut(i64[()]), most: mut(i64[()])):
            for i in loop(0, x.shape[0], s=0, r=0):
                t = select(x[i] > 0.0, s + 1, 0)
                s = step(t)
                r = step(max(r, t))
            n[()] = s
            most[()] = r

    after::

        def k(x: f64[::1], n: mut(i64[()]), most: mut(i64[()])):
            for i in loop(0, x.shape[0], s=0, r=0):
                t = blend(0.0 < x[i], s + 1, 0)
                s = step(t)
                r = step(max(r, t))
            n[()] = s
            most[()] = r
    """
    memory = AliasInfo(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with blends, if it is an innermost loop."""
        if not isinstance(s, Loop | While) or not is_innermost(s):
            return s
        return _with_blends(s, memory)

    return map_statements(kernel, edit, Loop | While)


def _with_blends(loop: Loop | While, memory: AliasInfo) -> Loop | While:
    """`loop` with the selects of its critical paths as blends. A comparison is repeated as the
    operand of the blend, which is faster than converting a bool; not one of elements that `loop`
    stores, which may be others by then.
    """
    nodes = loop.body if isinstance(loop, Loop) else [n for s in loop.body for n in walk(s)]
    assigned = (s for s in nodes if isinstance(s, Assign))
    definitions = {s.name: s.value for s in assigned if not memory.crosses(s.value, loop.body)}
    if isinstance(loop, Loop):
        selects = {n for a in loop.accs for n in _selects_on_path(loop, a.name, a.step, memory)}
        calls = (n for n in walk(loop) if isinstance(n, Call))
        changed = changed_names(loop)
        selects |= {n for n in calls if _is_of_invariants(n, definitions, changed)}
    else:
        selects = set(_carried_selects(loop))

    def edit(n: Any) -> Any:
        """`n` with the selects in it replaced."""
        if isinstance(n, Call) and (choice := _as_choice(n, selects)) is not None:
            selects.add(choice)
            n = choice
        new = map_children(n, edit)
        if isinstance(n, Call) and (extremum := _named_extremum(new, definitions)):
            return extremum
        if not isinstance(n, Call) or n not in selects:
            return new
        cond, *values = new.args
        comparison = definitions.get(cond.name) if isinstance(cond, Var) else cond
        if (
            isinstance(comparison, Call)
            and comparison.op in _COMPARISON_OPERANDS
            and comparison.args[0].dtype in BLENDED_DTYPES
        ):
            op, first, second = _COMPARISON_OPERANDS[comparison.op]
            cond = Call(op, (comparison.args[first], comparison.args[second]), "bool")
        return Call("blend", (cond, *values), n.dtype)

    return map_children(loop, edit)


def _carried_selects(loop: While) -> Iterator[Call]:
    """The selects of integers by array elements that `loop` carries as they are (`carried_values`):
    where to go on in a tree, or in which half.
    """
    carried = carried_values(loop)
    for s in (n for x in loop.body for n in walk(x)):
        match s:
            case Assign(name, Call("select", (cond, _, _), "i64", 1) as value) if name in carried:
                if arrays_read(value_origins(loop, [cond])):
                    yield value


def _as_choice(n: Call, selects: Collection[Call]) -> Call | None:
    """``n // 2 ^ select(c, a, 0)`` as ``select(c, n // 2 ^ a, n // 2)``, if the select is one of
    `selects` and waits for its condition alone: the operation is then done before the condition is
    known. None for other expressions, and for operands that would be long to repeat.
    """
    match n:
        case Call("add" | "sub" | "bitxor" | "bitor", (value, Call("select", (c, a, unit)) as arm)):
            neutral = literal(0, n.dtype) if n.op == "sub" else neutral_element(n.op, n.dtype)
            is_short = sum(isinstance(e, Call) for e in walk(value)) <= 1
            if arm in selects and unit == neutral and n.dtype not in FLOAT_DTYPES and is_short:
                return Call("select", (c, Call(n.op, (value, a), n.dtype), value), n.dtype)
    return None


def _named_extremum(n: Call, definitions: Mapping[str, Expr]) -> Expr | None:
    """The extremum that `n` is, if it selects one of two floats by the name of their comparison."""
    match n:
        case Call("select", (Var(name), a, b)) if n.dtype in FLOAT_DTYPES and name in definitions:
            return select_to_extremum(Call("select", (definitions[name], a, b), n.dtype))
    return None


def _is_of_invariants(
    n: Call, definitions: Mapping[str, Expr], changed: Collection[str]
) -> bool:
    """Whether `n` selects one of two floats that are constants, or names that the loop does not
    have in `changed`, by an order of floats: a C compiler chooses their bits among integers, and
    moves these to a float register, in three times the time.
    """
    if n.op != "select" or n.dtype not in FLOAT_DTYPES:
        return False
    cond, *values = n.args
    comparison = definitions.get(cond.name) if isinstance(cond, Var) else cond
    return (
        all(isinstance(v, Const) or (isinstance(v, Var) and v.name not in changed) for v in values)
        and isinstance(comparison, Call)
        and comparison.op in ("lt", "le", "gt", "ge")
        and comparison.args[0].dtype == n.dtype
    )


def _selects_on_path(loop: Loop, name: str, step: Expr, memory: AliasInfo) -> set[Call]:
    """The selects on the dependence path from the accumulator `name` to its `step`, those that the
    next iteration waits for, if their condition depends on array elements.

    ``t = select(x[i] > 0.0, s + 1, 0); s = step(t)``: the select is on the path of s, and the
    condition is data. Left out is a float select whose condition depends on the accumulator itself:
    a blend would wait for the comparison, where a predicted branch goes on.
    """
    selects, stores = set(), arrays_written(loop.body)
    for n in (n for e in value_origins(loop, [step]) for n in walk(e)):
        if isinstance(n, Call) and n.op == "select" and n.dtype in BLENDED_DTYPES:
            is_float = n.dtype in FLOAT_DTYPES
            operands = n.args[1:] if is_float else n.args
            is_on_path = name in names_read(*value_origins(loop, operands))
            is_slow = {name: is_float}
            if is_on_path and depends_on_elements(loop, [n.args[0]], is_slow, stores, memory):
                selects.add(n)
    return selects
