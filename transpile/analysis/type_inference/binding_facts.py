"""Facts about bound names: assignment, unpacking, and the targets of loops and comprehensions."""
from __future__ import annotations

import ast
import functools
from typing import TypeAlias

from ...frontend.ast_names import bound_names
from .tuple_types import item_names, items_of_tuple
from .type_facts import Facts
from .type_lattice import INT, SCALAR, UNKNOWN, Fact, join_facts

__all__ = ["add_constant_tuple", "bind_each", "fact_or_items", "item_fact", "set_each", "set_fact"]

_Element: TypeAlias = "Fact | tuple[_Element, ...]"
"""What is known of an item of an iterable: of a tuple with known items, the facts about these."""


def item_fact(facts: Facts, e: ast.ListComp | ast.GeneratorExp) -> Fact:
    """The fact about every item that a comprehension yields."""
    with facts.tentatively():
        for g in e.generators:
            bind_each(facts, g.target, g.iter)
        return facts.of(e.elt)


def bind_each(facts: Facts, target: ast.expr, iterable: ast.expr) -> None:
    """Updates the facts for `target`, which is bound to each element of `iterable` in turn."""
    set_each(facts, target, _element_fact(facts, iterable))


def _element_fact(facts: Facts, e: ast.expr) -> _Element:
    """What is known of every element of the iterable `e`: ``range``, ``enumerate``, ``zip`` and
    ``reversed`` by name, a display by its items, others as ``e[0]``.
    """
    match e:
        case ast.Tuple(elts=[_, *_] as elts) | ast.List(elts=[_, *_] as elts):
            return functools.reduce(_join_elements, [fact_or_items(facts, x) for x in elts])
        case ast.Call(func=func) if facts.resolve(func) is range:
            return INT
        case ast.Call(func=func, args=[a, *start]) if facts.resolve(func) is enumerate:
            count = INT if all(facts.of(s).is_int for s in start) else SCALAR
            return (count, _element_fact(facts, a))
        case ast.Call(func=func, args=args) if facts.resolve(func) is zip:
            return tuple(_element_fact(facts, a) for a in args)
        case ast.Call(func=func, args=[a]) if facts.resolve(func) is reversed:
            return _element_fact(facts, a)
    return facts.of(ast.Subscript(e, ast.Constant(0), ast.Load()))


def _join_elements(a: _Element, b: _Element) -> _Element:
    """What holds of two elements: tuples of one length are joined item by item."""
    if isinstance(a, Fact) or isinstance(b, Fact):
        return join_facts(a, b) if isinstance(a, Fact) and isinstance(b, Fact) else UNKNOWN
    return tuple(map(_join_elements, a, b)) if len(a) == len(b) else UNKNOWN


def fact_or_items(facts: Facts, e: ast.expr) -> _Element:
    """What is known of `e`; for a tuple of known items, of these."""
    items = items_of_tuple(facts, e)
    return facts.of(e) if items is None else tuple(map(lambda e: fact_or_items(facts, e), items))


def set_each(facts: Facts, target: ast.expr, element: _Element) -> None:
    """Updates the facts for the names in `target`, which is bound to, or unpacks, `element`."""
    if isinstance(element, Fact):
        set_fact(facts, target, element)
    elif isinstance(target, ast.Name) and target.id in facts.scalarizable:
        names = item_names(facts, target.id, len(element))
        facts.known[target.id] = Fact(None, items=names)
        for name, part in zip(names, element, strict=True):
            set_each(facts, ast.Name(name, ast.Store()), part)
    elif isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(element):
        for t, e in zip(target.elts, element, strict=True):
            set_each(facts, t, e)
    else:
        facts.forget(bound_names(target))


def set_fact(facts: Facts, target: ast.expr, fact: Fact) -> None:
    """Updates the facts for `target`, which is bound to, or unpacks, a value of this fact. What is
    known of an array or list is known of each of its items: of ``x, y = P[i] - P[0]``, that `x` and
    `y` are numbers.
    """
    if isinstance(target, ast.Name):
        facts.known[target.id] = fact
    elif isinstance(target, (ast.Tuple, ast.List)) and fact.rank:
        facts.known[name := "$unpacked"] = fact
        item = facts.of(ast.Subscript(ast.Name(name, ast.Load()), ast.Constant(0), ast.Load()))
        del facts.known[name]
        for part in target.elts:
            set_fact(facts, part, item)
    else:
        facts.forget(bound_names(target))


def add_constant_tuple(facts: Facts, name: str, display: ast.expr) -> None:
    """Makes `name`, which the compiler binds to the display of constants `display`, known at
    every statement. Nothing is known of it unless it is a tuple of scalars of one type.
    """
    fact = facts.of(display) if isinstance(display, ast.Tuple) else UNKNOWN
    if fact.list_type is not None:
        facts.constant_tuples[name] = fact
