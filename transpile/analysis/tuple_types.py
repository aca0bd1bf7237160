"""Tuple types: which expressions are tuples of a known length, and what their items are."""
from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from ..frontend.ast_names import binding_pairs, rename_names
from ..frontend.ast_walk import walk_nodes
from ..frontend.core_nodes import copy_location
from ..frontend.int_exprs import integer_constant
from .type_facts import Probe

__all__ = [
    "MOST", "TupleFacts", "appended_items", "appended_by", "constant_slice", "is_repeatable",
    "tuple_display", "tuple_lists", "whole_tuple_names", "tuple_width",
]

MOST = 16
"""Items of a tuple that is taken apart."""


class TupleFacts(Probe):
    """The items of tuples; a local tuple has a name for each item. ``tuple_lists``: the lists of
    tuples, with the number of items of these.
    """

    apart: set[str]
    whole: set[str]
    tuple_lists: dict[str, int]
    fresh: Callable[[str], str]
    _names: dict[tuple[str, int], tuple[str, ...]]

    def item_names(self, name: str, count: int) -> tuple[str, ...]:
        """The names of the items of the tuple `name`, which has `count` items wherever it is bound.
        """
        key = name, count
        if key not in self._names:
            self._names[key] = tuple(self.fresh(f"{name}_{k}") for k in range(count))
            self.apart.update(self._names[key])
        return self._names[key]

    @property
    def taken_apart(self) -> set[str]:
        """The names of tuples whose items have names of their own (scalar replacement)."""
        return {name for name, _ in self._names}

    def is_apart(self, name: str, value: ast.expr) -> bool:
        """Whether `value` is the display of the names of the items of `name`."""
        match value:
            case ast.Name(id=other):
                return other == name
            case ast.Constant(value=None | str() as constant):  # what the name is known to be
                known = self.of(ast.Name(name, ast.Load())).constant
                return known is not None and known.value == constant
            case ast.Tuple(elts=elts):
                names = self.item_names(name, len(elts))
                return all(map(self.is_apart, names, elts))
        return False

    def items(self, e: ast.expr) -> list[ast.expr] | None:
        """The items of a tuple, in the order of their evaluation; None where they are not known."""
        found = self._items(e)
        return found if found is not None and 0 < len(found) <= MOST else None

    def item(self, e: ast.expr, index: ast.expr) -> ast.expr | None:
        """The item that a constant subscript of a named tuple reads."""
        items, at = self.items(e), integer_constant(index, None)
        found = items is not None and at is not None and -len(items) <= at < len(items)
        return items[at] if items is not None and at is not None and found else None

    def _items(self, e: ast.expr) -> list[ast.expr] | None:
        match e:
            case ast.Tuple(elts=elts):
                parts = [self._items(x.value) if isinstance(x, ast.Starred) else [x] for x in elts]
                return None if None in parts else [item for part in parts for item in part or ()]
            case ast.Name() if names := self.of(e).items:
                return [copy_location(ast.Name(n, ast.Load()), e) for n in names]
            case ast.Attribute(attr="shape", value=ast.Name() as array):
                fact = self.of(array)
                return [_at(e, k) for k in range(fact.rank)] if fact.rank and fact.types else None
            case ast.Subscript(value=ast.Name(id=name), slice=index) if (
                name in self.tuple_lists and is_repeatable(index)
            ):
                return [_at(e, k) for k in range(self.tuple_lists[name])]
            case ast.Subscript(value=value, slice=ast.Slice() as cut):
                bounds, items = constant_slice(cut), self._items(value)
                if bounds is None or items is None or not all(map(is_repeatable, items)):
                    return None
                return items[bounds]
            case ast.Call(
                func=func,
                args=[ast.GeneratorExp(elt, [each]) | ast.ListComp(elt, [each])], keywords=[],
            ) if self.resolve(func) is tuple:
                return self._mapped(elt, each)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                first, second = self._items(left), self._items(right)
                return None if first is None or second is None else first + second
        return None


    def _mapped(self, elt: ast.expr, each: ast.comprehension) -> list[ast.expr] | None:
        """Of ``tuple(E for v in T)`` with tuples that are known, maybe zipped, each ``E``."""
        match each.iter:
            case ast.Call(func=func, args=[_, *_] as tuples, keywords=[]) if (
                self.resolve(func) is zip
            ):
                several = [self._items(t) for t in tuples]
                targets = each.target.elts if isinstance(each.target, ast.Tuple) else []
            case of:
                several, targets = [self._items(of)], [each.target]
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        known = [items for items in several if items is not None and all(map(is_repeatable, items))]
        if each.ifs or each.is_async or not len({*names}) == len(targets) == len(known) == len(
            several
        ):
            return None
        if any(isinstance(n, _WITHIN) for n in ast.walk(elt)):
            return None  # with names of their own
        rows = zip(*known, strict=False)
        return [rename_names(elt, dict(zip(names, row, strict=True))) for row in rows]


_WITHIN = ast.NamedExpr, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp


def is_repeatable(e: ast.expr) -> bool:
    """Whether evaluating `e` again gives the same value with the same items."""
    match e:
        case ast.Constant() | ast.Name() | ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
            return True
        case ast.Tuple(elts=elts):
            return all(map(is_repeatable, elts))
        case ast.Subscript(value=ast.Attribute(attr="shape", value=ast.Name())):
            return True
    return False


def tuple_display(items: Sequence[ast.expr], at: ast.AST) -> ast.expr:
    """The display of `items`, in the place of `at`."""
    return copy_location(ast.Tuple([*items], ast.Load()), at)


def _at(e: ast.expr, k: int) -> ast.expr:
    return copy_location(ast.Subscript(e, ast.Constant(k), ast.Load()), e)


def constant_slice(cut: ast.Slice) -> slice | None:
    """The slice object of a slice with constant bounds; None for others."""
    given = cut.lower, cut.upper, cut.step
    known = [e and integer_constant(e, None) for e in given]
    if known[2] == 0 or any(e and n is None for e, n in zip(given, known, strict=True)):
        return None
    return slice(*known)


def whole_tuple_names(tree: ast.AST) -> set[str]:
    """The names of tuples that must stay whole: those read at a computed index, added to in place,
    or captured by an inner function.
    """
    names: set[str] = set()
    for n in walk_nodes(tree):
        match n:
            case ast.Subscript(value=ast.Name(id=name), slice=index):
                if not isinstance(index, ast.Slice) and integer_constant(index, None) is None:
                    names.add(name)
            case ast.AugAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.FunctionDef(body=[*inner]) | ast.ClassDef(body=[*inner]) if n is not tree:
                names.update(x.id for s in inner for x in ast.walk(s) if isinstance(x, ast.Name))
            case ast.Lambda(body=body):
                names.update(x.id for x in ast.walk(body) if isinstance(x, ast.Name))
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                names.update(several)
    return names


def tuple_lists(tree: ast.FunctionDef) -> dict[str, int]:
    """The lists made in `tree` that only ever hold tuples of one length, with that length."""
    made: dict[str, list[ast.List | ast.ListComp]] = {}
    if not any(isinstance(n, (ast.List, ast.ListComp)) for n in walk_nodes(tree)):
        return {}
    nodes = [*ast.walk(tree)]  # in the order in which they are found
    put = {to: value for n in nodes for to, value in binding_pairs(n)
           if isinstance(to, ast.Subscript) and isinstance(value, ast.Tuple)}
    others = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    for n in nodes:
        for to, value in binding_pairs(n):
            if isinstance(to, ast.Name) and isinstance(value, (ast.List, ast.ListComp)):
                made.setdefault(to.id, []).append(value)
        match n:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if (
                attr not in ("append", "clear", "pop")
            ):
                others.add(name)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()) if (
                n not in put or isinstance(n.slice, ast.Slice)
            ):
                others.add(name)
    names = (n for n in nodes if isinstance(n, ast.Name))
    stores = Counter(n.id for n in names if not isinstance(n.ctx, ast.Load))
    out: dict[str, int] = {}
    for name, values in made.items():
        items = [e for v in values for e in (v.elts if isinstance(v, ast.List) else [v.elt])]
        items += (e for to, e in put.items() if getattr(to.value, "id", "") == name)
        widths = {tuple_width(e) for e in (*items, *appended_items(tree, name))}
        known = stores[name] == len(values) and name not in others and len(widths) == 1
        if known and 0 < (length := widths.pop()) <= MOST:
            out[name] = length
    return out


def appended_items(tree: ast.AST, name: str) -> Iterator[ast.expr]:
    """The items that are appended to the list `name`."""
    for n in walk_nodes(tree):
        for of, items in appended_by(n):
            yield from items if of == name else ()


def appended_by(n: ast.AST) -> Iterator[tuple[str, list[ast.expr]]]:
    """The list and the item, if `n` is an append; else None."""
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[e]):
            yield name, [e]
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id=name), attr="extend"), args=[ast.List(elts=items)]
        ) | ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=items)):
            yield name, items


def tuple_width(item: ast.expr) -> int:
    """The number of items of a tuple display; 0 for other expressions and for starred items."""
    shown = item.elts if isinstance(item, ast.Tuple) else []
    return 0 if any(isinstance(e, ast.Starred) for e in shown) else len(shown)
