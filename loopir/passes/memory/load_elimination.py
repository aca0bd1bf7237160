"""Loop load elimination: what the previous iteration stored is carried in a scalar."""
from __future__ import annotations

from collections.abc import Mapping

from ...algebra.index_builder import index_add, index_sub, is_nonempty
from ...algebra.rewrite_rules import rewrite
from ...analysis.integers.affine import affine_form
from ...analysis.mod_ref import AliasInfo
from ...dtypes import INDEX
from ...ir_names import FreshNames, bound_names, names_read, substitute
from ...ir_traversal import bottom_up, counted_range, walk
from ...lazy_dataclass import replace
from ...nodes import Accum, Assign, Check, Expr, If, Interval, Kernel, Load, Loop, Stmt, Store, Var
from ...statement_blocks import map_statements

__all__ = ["load_elimination"]


def load_elimination(kernel: Kernel) -> Kernel:
    """Replace a load of the element that the previous iteration stored by an accumulator: a value
    in a register has a shorter latency than one that goes through memory. For the first iteration
    the element is loaded before the loop. `_stores_and_reloads` finds such pairs. Before::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            for i in loop(0, x.shape[0] - 1):
                y[i + 1] = y[i] + x[i + 1]

    after::

        def k(x: f64[::1], y: mut(f64[::1])):
            disjoint(x, y)
            if 0 < x.shape[0] - 1:
                y_1 = y[0]
                for i in loop(0, x.shape[0] - 1, y_2=y_1):
                    y_3 = y_2 + x[i + 1]
                    y[i + 1] = y_3
                    y_2 = step(y_3)
    """
    memory, fresh = AliasInfo(kernel), FreshNames(kernel)

    def edit(s: Stmt) -> Stmt:
        """`s` with the reloaded elements in accumulators."""
        pairs = _stores_and_reloads(s, memory) if isinstance(s, Loop) else {}
        return _with_accumulators(s, pairs, fresh) if isinstance(s, Loop) and pairs else s

    return map_statements(kernel, edit, Loop)


def _stores_and_reloads(loop: Loop, memory: AliasInfo) -> dict[tuple[int, Load], int]:
    """Loads of elements that a store of the iteration before has written, each with the number of
    its statement, and that of the store. Another statement may load what is stored in between::

        y[i + 1] = y[i] + x[i]                   y[i]
        a[k, j + 1] = e; …; o = a[k, j] * 2.0    a[k, j], if no other store is to a[k, j + 1]

    Every iteration makes the store, and no store between it and the load touches the element. Empty
    unless `loop` is a counted loop of straight-line code without accumulators; branches in it may
    only choose values.
    """
    is_straight_line = all(
        isinstance(s, Assign | Check | Store) or (isinstance(s, If) and not s.then and not s.orelse)
        for s in loop.body
    )
    if not is_straight_line or loop.accs or counted_range(loop) is None:
        return {}
    found: dict[tuple[int, Load], int] = {}
    for own, store in enumerate(loop.body):
        if not isinstance(store, Store) or store.mask is not None or _varies(store.index, loop):
            continue
        for place, s in enumerate(loop.body):
            loads = (n for n in walk(s) if isinstance(n, Load) and n.array == store.array)
            reloads = [n for n in loads if _reads_previous_store(store, n, loop.var)]
            if reloads and _is_kept(store, own, place, loop, memory):
                found.update(((place, n), own) for n in reloads if (place, n) not in found)
    return found


def _is_kept(store: Store, own: int, place: int, loop: Loop, memory: AliasInfo) -> bool:
    """Whether no other store touches the element that `store`, which is statement number `own`,
    writes in an iteration, until statement number `place` of the next one.
    """
    for k, other in enumerate(loop.body):
        if not isinstance(other, Store) or k == own:
            continue
        if not memory.shared(other.array, store.array):
            continue
        if other.array != store.array:
            return False
        if k > own and not _differ(other.index, store.index, loop.var, later=False):
            return False
        if k < place and not _differ(other.index, store.index, loop.var, later=True):
            return False
    return True


def _differ(
    other: tuple[Expr, ...], index: tuple[Expr, ...], var: str, *, later: bool
) -> bool:
    """Whether the subscripts `other`, of the same iteration, or if ``later`` of the next one, are
    not all equal to `index`: those of some axis differ by a number.
    """
    following = {var: index_add(Var(var, INDEX), 1)} if later else {}
    for a, b in zip(other, index, strict=True):
        p, q = affine_form(substitute(a, following), (var,)), affine_form(b, (var,))
        if p is not None and q is not None and (p - q).number not in (None, 0):
            return True
    return False


def _varies(index: tuple[Expr, ...], loop: Loop) -> bool:
    """Whether subscripts depend on more than the loop variable and invariants."""
    assigned = bound_names(*loop.body)
    return any(names_read(e) & assigned or any(isinstance(n, Load) for n in walk(e)) for e in index)


def _reads_previous_store(store: Store, load: Load, var: str) -> bool:
    """Whether `load` reads the element that `store` wrote one iteration before."""
    previous = {var: index_sub(Var(var, INDEX), 1)}
    pairs = list(zip(store.index, load.index, strict=True))
    forms = [
        (affine_form(substitute(a, previous), (var,)), affine_form(b, (var,))) for a, b in pairs
    ]
    store_forms = [affine_form(a, (var,)) for a, _ in pairs]
    is_same_element = all(a is not None and a == b for a, b in forms)
    return is_same_element and any(m is not None and m.coefficient(var) for m in store_forms)


def _with_accumulators(
    loop: Loop, pairs: Mapping[tuple[int, Load], int], fresh: FreshNames
) -> If:
    """`loop` with each of the loads replaced by an accumulator of the value that its store writes;
    the accumulator starts as a load before the loop.
    """
    assert isinstance(loop.range, Interval)
    stores = {load: own for (_, load), own in pairs.items()}
    first, accs = (
        {load: Var(fresh.name(load.array), load.dtype) for load in stores} for _ in range(2)
    )
    stored = {own: Var(fresh.name(load.array), load.dtype) for load, own in stores.items()}

    body: list[Stmt] = []
    for place, s in enumerate(loop.body):
        def with_accs(n: object, place: int = place) -> object:
            """The accumulator, for a load of this statement that has one."""
            return accs[n] if isinstance(n, Load) and (place, n) in pairs else n

        new = bottom_up(s, with_accs)
        if place in stored and isinstance(new, Store):
            value = stored[place]
            body += [Assign(value.name, new.value, span=s.span), replace(new, value=value)]
        else:
            body.append(new)
    starts: list[Stmt] = []
    for load in stores:
        index = (substitute(e, {loop.var: loop.range.lo}) for e in load.index)
        simplified = tuple(bottom_up(e, rewrite) for e in index)
        starts.append(Assign(first[load].name, replace(load, index=simplified)))
    carried = tuple(
        Accum(accs[load].name, first[load], stored[own], span=loop.body[own].span)
        for load, own in stores.items()
    )
    new_loop = replace(loop, body=tuple(body), accs=carried)
    return If(is_nonempty(loop.range), (*starts, new_loop), span=loop.span)
