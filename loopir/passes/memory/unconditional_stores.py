"""Unconditional stores: a branch that may overwrite an element stores the old or new value."""
from __future__ import annotations

from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet

from ...algebra.may_raise import may_raise_flags
from ...algebra.rewrite_rules import select_to_extremum
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo, arrays_read, arrays_written
from ...ir_names import FreshNames, names_read, substitute
from ...ir_traversal import advanced_accums, walk
from ...lazy_dataclass import replace
from ...nodes import (
    Assign,
    Call,
    Const,
    Expr,
    If,
    Kernel,
    Load,
    Loop,
    Node,
    Stmt,
    Store,
    Var,
    Yield,
)
from ...statement_blocks import map_statements

__all__ = ["unconditional_stores"]


def unconditional_stores(kernel: Kernel, *, private: Collection[str] = ()) -> Kernel:
    """Replace a branch that does nothing but store to elements which the iteration has loaded by
    stores of either the new value or the loaded one. A value that is chosen, or an extremum, needs
    no branch and no masked store, and `load_elimination` can carry it to a later iteration.

    Only in arrays of the call's own (``private``, and those that the kernel owns), where nobody
    sees that an element was stored to. `_as_chosen_values` has the other conditions. Before::

        def k(x: f64[::1], y: own(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                if y[i] < x[i]:
                    y[i] = x[i]

    after::

        def k(x: f64[::1], y: own(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0]):
                y_1 = max(y[i], x[i])
                y[i] = y_1
    """
    own = {*private, *(p.name for p in kernel.params if p.owned)}
    if not own:
        return kernel
    memory, fresh, counts = AliasInfo(kernel), FreshNames(kernel), advanced_accums(kernel)

    def edit(s: Stmt) -> Stmt:
        """The loop `s` with such branches of its body replaced."""
        if not isinstance(s, Loop) or not any(isinstance(x, If) for x in s.body):
            return s
        body: list[Stmt] = []
        for x in s.body:
            replacement = None
            if isinstance(x, If) and not x.orelse and not x.yields and counts.isdisjoint(
                names_read(*x.then)
            ):
                replacement = _as_chosen_values(x, body, s.var, own, memory, fresh)
            body += [x] if replacement is None else replacement
        return s if tuple(body) == s.body else replace(s, body=tuple(body))

    return map_statements(kernel, edit, Loop)


def _as_chosen_values(
    s: If, before: Iterable[Stmt], var: str, own: AbstractSet[str], memory: AliasInfo,
    fresh: FreshNames,
) -> list[Stmt] | None:
    """Statements that mean the same as the branch `s`, which follows the statements `before` in a
    loop over `var`; None unless

    - its side has only assignments and, after them, stores without a mask to arrays of `own`, at
      subscripts that differ between iterations: else each would wait for the store before it;
    - each element that it may store to was loaded before, whatever the condition is: it exists;
    - what it stores was computed before, too, or is a constant: nothing is computed in vain;
    - no store of it changes what a later one reads.
    """
    computed = _computed((*(x for x in before if isinstance(x, Assign)), Assign("", s.cond)))
    values: dict[str, Expr] = {}
    stores: list[Store] = []
    for x in s.then:
        if isinstance(x, Assign) and not stores:
            values[x.name] = substitute(x.value, values)
        elif isinstance(x, Store) and x.mask is None and x.array in own:
            index = tuple(substitute(e, values) for e in x.index)
            stores.append(replace(x, index=index, value=substitute(x.value, values)))
        else:
            return None
    changed = arrays_written([x for x in before if not isinstance(x, Assign)])
    for k, store in enumerate(stores):
        element = Load(store.array, store.index, store.value.dtype)
        is_known = element in computed and _is_available(store.value, computed)
        if not is_known or not _differs_by_iteration(store, var):
            return None
        if memory.overlap(arrays_read((*store.index, store.value, element)), changed):
            return None
        if memory.overlap(arrays_read((*store.index, store.value)), arrays_written(stores[:k])):
            return None
    if not stores:
        return None
    names = [Var(fresh.name(x.array), x.value.dtype) for x in stores]
    yields = tuple(
        Yield(v.name, x.value, Load(x.array, x.index, x.value.dtype))
        for v, x in zip(names, stores, strict=True)
    )
    chosen = _extrema(s.cond, yields) or [replace(s, then=(), yields=yields)]
    return [*chosen, *(replace(x, value=v) for v, x in zip(names, stores, strict=True))]


def _extrema(cond: Expr, yields: Iterable[Yield]) -> list[Stmt] | None:
    """Assignments of the `yields` of a branch under `cond`, if all of them are extrema of what
    `cond` compares; else None.
    """
    found: list[Stmt] = []
    for y in yields:
        e = select_to_extremum(Call("select", (cond, y.then, y.orelse), y.then.dtype))
        if e is None:
            return None
        found.append(Assign(y.name, e))
    return found


def _differs_by_iteration(store: Store, var: str) -> bool:
    """Whether a subscript of `store` is affine in the loop variable `var`, and depends on it."""
    forms = [affine_form(e, (var,)) for e in store.index]
    return any(m is not None and m.coefficient(var) for m in forms)


def _computed(assigns: Iterable[Assign]) -> AbstractSet[Node]:
    """The expressions that the statements compute, at any depth."""
    return {n for s in assigns for n in walk(s.value)}


def _is_available(e: Expr, computed: AbstractSet[Node]) -> bool:
    """Whether `e` costs nothing, as it was computed before, or next to nothing: a constant, a name,
    a conversion that raises no flags.
    """
    match e:
        case Const() | Var():
            return True
        case Call("cast", (value,)):
            return not may_raise_flags(e) and _is_available(value, computed)
    return e in computed
