"""Tuple types: which expressions are tuples of a known length, and what their items are.

The basis for scalar replacement of tuples (`frontend.language.tuple_replacement`): a local tuple of
which only known items are used becomes a name for each item, ``t = i, j`` → ``t_0 = i; t_1 = j``.
`items_of_tuple` gives the items of an expression; `unscalarizable_names` the names that cannot be
scalarized; `tuple_lists` the lists whose items are all tuples of one length.
"""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from ...frontend.ast_names import binding_pairs, rename_names
from ...frontend.ast_walk import integer_constant, walk_nodes
from ...frontend.core_nodes import copy_location
from ...types.value_types import ListType, ScalarType
from .type_facts import Facts
from .type_lattice import UNKNOWN, Fact

__all__ = [
    "MAX_TUPLE_ITEMS", "appended_items", "appended_by", "constant_slice", "display_fact",
    "is_repeatable",
    "is_scalarized_value", "item_names", "item_of_tuple", "items_of_tuple", "scalarized_tuples",
    "popped_width", "tuple_display", "tuple_lists", "unscalarizable_names", "tuple_width",
]

MAX_TUPLE_ITEMS = 16
"""The maximal number of items of a tuple that is scalarized."""


def items_of_tuple(facts: Facts, e: ast.expr) -> list[ast.expr] | None:
    """An expression for each item of the tuple `e`, in the order of their evaluation. None if
    `e` is no tuple of known items, or has none, or more than `MAX_TUPLE_ITEMS`.
    """
    items = _all_items(facts, e)
    return items if items is not None and 0 < len(items) <= MAX_TUPLE_ITEMS else None


def item_of_tuple(facts: Facts, e: ast.expr, index: ast.expr) -> ast.expr | None:
    """The item of the tuple `e` that the constant `index` selects; None if not known."""
    items, position = items_of_tuple(facts, e), integer_constant(index, None)
    if items is None or position is None or not -len(items) <= position < len(items):
        return None
    return items[position]


def display_fact(facts: Facts, e: ast.List | ast.Tuple, items: list[ast.expr]) -> Fact:
    """The fact about the display `e` of these `items`, if all are scalars; of a tuple, which stays
    as it is, also the type of an item, if all have one.
    """
    known = [facts.of(x) for x in items]
    if not all(fact.rank == 0 for fact in known):
        return UNKNOWN
    types = {t for fact in known for t in fact.types or (None,)}
    (item,) = types if len(types) == 1 else (None,)
    if isinstance(e, ast.Tuple) and isinstance(item, ScalarType):
        return Fact(1, list_type=ListType(item, (tuple,)))
    return Fact(1)


def item_names(facts: Facts, name: str, count: int) -> tuple[str, ...]:
    """The names of the items of the scalarized tuple `name` where it has `count` items. Fresh
    at the first call; they can be scalarized in turn.
    """
    key = name, count
    if key not in facts.tuple_names:
        facts.tuple_names[key] = tuple(facts.fresh(f"{name}_{k}") for k in range(count))
        facts.scalarizable.update(facts.tuple_names[key])
    return facts.tuple_names[key]


def scalarized_tuples(facts: Facts) -> set[str]:
    """The names of the tuples that were scalarized."""
    return {name for name, _ in facts.tuple_names}


def is_scalarized_value(facts: Facts, name: str, value: ast.expr) -> bool:
    """Whether `value` is already what ``name = value`` is rewritten to: the display of the
    names of the items of `name`, or a constant that the name is known to be.
    """
    match value:
        case ast.Name(id=other):
            return other == name
        case ast.Constant(value=None | str() as constant):
            known = facts.of(ast.Name(name, ast.Load())).constant
            return known is not None and known.value == constant
        case ast.Tuple(elts=elts):
            names = item_names(facts, name, len(elts))
            return all(is_scalarized_value(facts, n, e) for n, e in zip(names, elts, strict=True))
    return False


def _all_items(facts: Facts, e: ast.expr) -> list[ast.expr] | None:
    """As `items_of_tuple`, of any length. By the form of `e`: a display (also with ``*t``), a
    scalarized name, ``x.shape``, ``x.strides``, an item of a list of tuples, a constant slice of a
    tuple, ``tuple(E for v in t)``, and the concatenation of two tuples.
    """
    match e:
        case ast.Tuple(elts=elts):
            parts = [
                _all_items(facts, x.value) if isinstance(x, ast.Starred) else [x] for x in elts
            ]
            return None if None in parts else [item for part in parts for item in part or ()]
        case ast.Name() if names := facts.of(e).items:
            return [copy_location(ast.Name(n, ast.Load()), e) for n in names]
        case ast.Attribute(attr="shape" | "strides", value=ast.Name() as array):
            fact = facts.of(array)
            return [_item(e, k) for k in range(fact.rank)] if fact.rank and fact.types else None
        case ast.Subscript(value=ast.Name(id=name), slice=index) if (
            name in facts.tuple_lists and _is_place(facts, index)
        ):
            return [_item(e, k) for k in range(facts.tuple_lists[name])]
        case ast.Subscript(value=value, slice=ast.Slice() as cut):
            bounds, items = constant_slice(cut), _all_items(facts, value)
            if bounds is None or items is None or not all(map(is_repeatable, items)):
                return None
            return items[bounds]
        case ast.Call(
            func=func,
            args=[ast.GeneratorExp(elt, [each]) | ast.ListComp(elt, [each])], keywords=[],
        ) if facts.resolve(func) is tuple:
            return _comprehension_items(facts, elt, each)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            first, second = _all_items(facts, left), _all_items(facts, right)
            return None if first is None or second is None else first + second
    return None


def popped_width(facts: Facts, e: ast.expr) -> int:
    """The number of items of the tuple that `e`, a call of ``pop`` of a list of tuples, takes from
    the list; 0 if it is no such call.
    """
    match e:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop")):
            return facts.tuple_lists.get(name, 0)
    return 0


def _comprehension_items(facts: Facts, elt: ast.expr, generator: ast.comprehension
) -> list[ast.expr] | None:
    """The items of ``tuple(E for v in T)`` or ``tuple(E for v, w in zip(T, U))``: E for each
    item of T. None if T has unknown items or ones that cannot be evaluated again, if there is
    an ``if``, or if E binds names.
    """
    match generator.iter:
        case ast.Call(func=func, args=[_, *_] as tuples, keywords=[]) if (
            facts.resolve(func) is zip
        ):
            zipped = [_all_items(facts, t) for t in tuples]
            target = generator.target
            targets = target.elts if isinstance(target, ast.Tuple) else []
        case iterable:
            zipped, targets = [_all_items(facts, iterable)], [generator.target]
    names = [t.id for t in targets if isinstance(t, ast.Name)]
    known = [items for items in zipped if items is not None and all(map(is_repeatable, items))]
    all_known = len({*names}) == len(targets) == len(known) == len(zipped)
    if generator.ifs or generator.is_async or not all_known:
        return None
    if any(isinstance(n, _NAME_BINDERS) for n in walk_nodes(elt)):
        return None
    rows = zip(*known, strict=False)
    return [rename_names(elt, dict(zip(names, row, strict=True))) for row in rows]

_NAME_BINDERS = ast.NamedExpr, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


def is_repeatable(e: ast.expr) -> bool:
    """Whether `e` can be evaluated several times instead of once: a constant, a name, a tuple of
    these, ``x.shape[k]``, or ``x.strides[k]``.
    """
    match e:
        case ast.Constant() | ast.Name() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elts):
            return all(map(is_repeatable, elts))
        case ast.Subscript(value=ast.Attribute(attr="shape" | "strides", value=ast.Name())):
            return True
    return False


def _is_place(facts: Facts, e: ast.expr) -> bool:
    """Whether `e` is a place in a list that can be computed several times instead of once: from
    constants, names, and their lengths.
    """
    match e:
        case ast.BinOp(left=left, right=right):
            return _is_place(facts, left) and _is_place(facts, right)
        case ast.Call(func=func, args=[ast.Name()], keywords=[]):
            return facts.resolve(func) is len
    return isinstance(e, (ast.Constant, ast.Name)) or integer_constant(e, None) is not None


def tuple_display(items: Sequence[ast.expr], at: ast.AST) -> ast.expr:
    """The tuple display of `items`, at the position of `at`."""
    return copy_location(ast.Tuple([*items], ast.Load()), at)


def _item(e: ast.expr, k: int) -> ast.expr:
    """The expression ``e[k]``."""
    return copy_location(ast.Subscript(e, ast.Constant(k), ast.Load()), e)


def constant_slice(cut: ast.Slice) -> slice | None:
    """The ``slice`` object that `cut`, a slice in a subscript, makes, if its bounds are constants;
    else None.
    """
    bounds = cut.lower, cut.upper, cut.step
    values = [e and integer_constant(e, None) for e in bounds]
    if values[2] == 0 or any(e and n is None for e, n in zip(bounds, values, strict=True)):
        return None
    return slice(*values)


def unscalarizable_names(tree: ast.AST, nodes: Iterable[ast.AST] = ()) -> set[str]:
    """The names in `tree` that must stay tuples, if they are tuples, since some use needs the tuple
    itself, not its items one by one. `Facts` leaves them out of ``scalarizable``, the names that
    `tuple_assignment` takes.

        t[i]               a computed index selects among the items at run time
        t += (1,)          the length changes
        def g(): … t …     an inner function, class or lambda reads the name, not those of the items
        global t           other functions read the name

    ``nodes``: those of `tree`, where the caller has them.
    """
    names: set[str] = set()
    for n in nodes or walk_nodes(tree):
        match n:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if not isinstance(index, ast.Slice) and integer_constant(index, None) is None:
                    names.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.FunctionDef(body=[*inner]) | ast.ClassDef(body=[*inner]) if n is not tree:
                names.update(x.id for s in inner for x in walk_nodes(s) if isinstance(x, ast.Name))
            case ast.Lambda(body=body):
                names.update(x.id for x in walk_nodes(body) if isinstance(x, ast.Name))
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names


def tuple_lists(tree: ast.FunctionDef, nodes: Iterable[ast.AST]) -> dict[str, int]:
    """The local lists of `tree` whose items are all tuples of one length, with that length;
    ``nodes``: those of `tree`.

    Such a list is bound to list displays and comprehensions only, its items are stored one at a
    time, and it has no methods but ``append``, ``clear`` and ``pop``. Its tuples are displays
    without starred items, items of such lists, or names that are bound to nothing else; they have
    from 1 to `MAX_TUPLE_ITEMS` items.
    """
    if not any(isinstance(n, (ast.List, ast.ListComp)) for n in nodes):
        return {}
    nodes = [*walk_nodes(tree)]  # breadth first, which is the order of the result
    values, items, stores = _bound_values_and_items(nodes)
    excluded = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    for n in nodes:
        match n:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                attr not in ("append", "clear", "pop")
            ):
                excluded.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
                n not in stores
            ):
                excluded.add(name)
    names = (n for n in nodes if isinstance(n, ast.Name))
    bindings = Counter(n.id for n in names if not isinstance(n.ctx, ast.Load))
    candidates = {
        name: given for name, given in values.items()
        if bindings[name] == len(given) and name not in excluded
    }
    lists = []
    for name, given in candidates.items():
        shown = [
            v.elts if isinstance(v, ast.List) else [v.elt]
            for v in given if isinstance(v, (ast.List, ast.ListComp))
        ]
        if len(shown) == len(given):
            lists.append(name)
            candidates[name] = [*(e for elts in shown for e in elts), *items.get(name, ())]
    widths = _common_widths(candidates, lists)
    return {name: widths[name] for name in lists if 0 < widths.get(name, 0) <= MAX_TUPLE_ITEMS}


def _bound_values_and_items(
    nodes: Iterable[ast.AST],
) -> tuple[dict[str, list[ast.expr]], dict[str, list[ast.expr]], set[ast.expr]]:
    """For each name the values that `nodes` bind it to; for each list the items that are appended
    or stored one at a time; and the targets of these stores.
    """
    values: dict[str, list[ast.expr]] = {}
    items: dict[str, list[ast.expr]] = {}
    stores = set[ast.expr]()
    for n in nodes:
        for to, value in binding_pairs(n):
            match to:
                case ast.Name(id=name):
                    values.setdefault(name, []).append(value)
                case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                    not isinstance(index, ast.Slice)
                ):
                    items.setdefault(name, []).append(value)
                    stores.add(to)
        for name, added in appended_by(n):
            items.setdefault(name, []).extend(added)
    return values, items, stores


def _common_widths(
    values: Mapping[str, Sequence[ast.expr]], lists: Collection[str]
) -> dict[str, int]:
    """The number of items of the tuples that each name of ``values`` stands for, or that are the
    items of each of ``lists``; 0 where these are not tuples of one length. A name whose tuples all
    come from names like it is left out. The least fixed point, from knowing of no tuple.
    """
    widths: dict[str, int] = {}

    def width(e: ast.expr) -> int | None:
        match e:
            case ast.Name(id=name) if name in values and name not in lists:
                return widths.get(name)
            case (
                ast.Subscript(value=ast.Name(id=name), slice=index)
                | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="pop" as index))
            ) if name in lists and not isinstance(index, ast.Slice):
                return widths.get(name)
        return tuple_width(e)

    before = None
    while before != widths:
        before = dict(widths)
        for name, given in values.items():
            found = {w for e in given if (w := width(e)) is not None}
            if found:
                widths[name] = found.pop() if len(found) == 1 else 0
    return widths


def appended_items(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """The items that are appended to the list `name`."""
    for n in walk_nodes(tree):
        for of, items in appended_by(n):
            yield from items if of == name else ()


def appended_by(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The name of the list and the items, if `n` appends to a list: ``l.append(e)``,
    ``l.extend([e])`` or ``l += [e]``; else nothing.
    """
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[e]):
            yield name, [e]
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[ast.List(elts=items)]
        ) | ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=items)):
            yield name, items


def tuple_width(item: ast.expr) -> int:
    """The number of items of a tuple display; 0 for other expressions and for starred items."""
    items = item.elts if isinstance(item, ast.Tuple) else []
    return 0 if any(isinstance(e, ast.Starred) for e in items) else len(items)
