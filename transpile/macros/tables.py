"""Which names stand for dicts and sets whose keys are data, and nothing else: hash tables."""
from __future__ import annotations

import ast
import builtins
import collections
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from ..below import below, blocks, results
from .context import Context
from .fact import Kind, Table
from .liveness import exposed
from .names import COMPREHENSIONS, bindings, declared, free_of, used

__all__ = ["kind_of", "know_tables", "new_table", "position", "truths"]

_KINDS: dict[object, Kind] = {
    builtins.dict: "dict", builtins.set: "set", collections.Counter: "Counter",
    collections.defaultdict: "defaultdict",
}
_STARTS: dict[object, object] = {builtins.int: 0, builtins.float: 0.0, builtins.bool: False}
"""What a defaultdict of these begins with."""

Look: TypeAlias = Callable[[ast.AST, Context], None]
_Use: TypeAlias = Literal[
    "made", "asked", "set", "removed", "cleared", "walked", "ordered", "counted", "returned",
]

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_VIEWS = ("keys", "values", "items")
_WALKING = ("all", "any", "list", "sum", "tuple")
_ORDERING = ("max", "min", "sorted")


def new_table(
    name: str, kind: Kind, cx: Context, *, width: int = 0, shown: bool = True,
    leaving: bool = False, start: ast.expr | None = None,
) -> Table:
    """A table with names of its own."""
    keys = tuple(cx.fresh(f"{name}_key") for _ in range(max(width, 1)))
    as_they_came = cx.fresh(f"{name}_shown") if shown else ""
    if shown and width:
        cx.facts.tuple_lists[as_they_came] = width
    return Table(
        kind, width, keys,
        shown=as_they_came,
        values=cx.fresh(f"{name}_value") if kind != "set" else "",
        slots=cx.fresh(f"{name}_slot"),
        there=cx.fresh(f"{name}_there") if leaving else "",
        count=cx.fresh(f"{name}_count") if leaving else "",
        start=start,
    )


def know_tables(tree: ast.FunctionDef, cx: Context, visit: Callable[[Look], object]) -> None:
    """Tells `cx` of the tables in `tree`; ``visit`` has something look at each node with what is
    known there, ahead of all macros. What gives a key its first value, ahead of what changes that,
    becomes one with it.
    """
    made_here = {*_made(tree, cx)}
    found: dict[str, _Uses] = {}
    for name in sorted(made_here - _others(tree)) if made_here else ():
        uses = _uses_of(name, tree, cx)
        if uses is not None:
            found[name] = uses
    if not found:
        return
    widths = _widths(found, tree, visit)
    for name, uses in found.items():
        if len(widths[name]) < 2:
            table = new_table(
                name, uses.kind, cx, width=max(widths[name], default=0), shown=uses.shown,
                leaving=uses.leaving, start=uses.start,
            )
            cx.facts.tables[name] = table._replace(whole=uses.whole)
    for n in below(tree):
        for block in blocks(n):
            _begin_at_once(block, cx)


class _Uses(NamedTuple):
    """What becomes of a table; ``whole``: where it is more than its keys and values, see `Table`.
    """

    kind: Kind
    start: ast.expr | None
    shown: bool
    leaving: bool
    whole: frozenset[tuple[int, int]]


def _uses_of(name: str, tree: ast.FunctionDef, cx: Context) -> _Uses | None:
    """None where it is no table, or not always."""
    made = {ast.dump(value): kind_of(value, cx) for value in _given_to(name, *below(*tree.body))}
    kinds = {(k and k[0], k and k[1] and ast.dump(k[1])): k for k in made.values()}
    (kind,) = kinds.values() if len(kinds) == 1 else (None,)
    if kind is None:
        return None
    found: dict[ast.Name, _Use] = {}
    for n in below(*tree.body):
        for of, use in _uses(n, kind[0], cx):
            if isinstance(of, ast.Name) and of.id == name:
                found[of] = use
    named = [n for n in below(*tree.body) if isinstance(n, ast.Name) and n.id == name]
    if any(not isinstance(n.ctx, ast.Load) and n not in found for n in named):
        return None
    if not {*found.values()} & {"asked", "set", "removed"} and not _is_filled(name, tree):
        return None
    leaving = "removed" in found.values()
    unordered = {"walked"} if leaving or kind[0] == "set" else set()
    unordered |= {"returned"} if leaving or _has_factory(name, tree) else set()
    whole = [n for n in named if found.get(n, "walked") in unordered or n not in found]
    whole += (n for loop in below(*tree.body) for n in _grown_under(name, kind[0], loop, cx))
    shown = bool({*found.values()} & {"walked", "ordered", "returned"}) or bool(whole)
    return _Uses(*kind, shown, leaving, frozenset(map(position, whole)))


def position(n: ast.Name) -> tuple[int, int]:
    """Where the name stands in the source: so it is known wherever it is copied to."""
    return n.lineno, n.col_offset


def kind_of(e: ast.expr, cx: Context) -> tuple[Kind, ast.expr | None] | None:
    """The kind of table that `e` makes, and the value of keys that are not there."""
    match e:
        case ast.Dict(keys=keys) if None not in keys:
            return "dict", None
        case ast.DictComp():
            return "dict", None
        case ast.Set() | ast.SetComp():
            return "set", None
        case ast.Call(ast.Attribute(of, "fromkeys"), [_] | [_, _], []) if (
            cx.resolve(of) is builtins.dict
        ):
            return "dict", None
        case ast.Call(func, [] | [_] as args, []):
            kind = _KINDS.get(cx.resolve(func)) if isinstance(func, (ast.Name, ast.Attribute)) else None
            if kind == "defaultdict" and args:
                return _defaultdict(args[0], cx)
            if kind == "Counter":
                return kind, ast.Constant(0)
            return (kind, None) if kind is not None and kind != "defaultdict" else None
    return None


def _defaultdict(factory: ast.expr, cx: Context) -> tuple[Kind, ast.expr] | None:
    match factory:
        case ast.Lambda(args=ast.arguments(args=[], kwonlyargs=[], vararg=None, kwarg=None),
                        body=ast.Constant(value=bool() | int() | float()) as start):
            return "defaultdict", start
        case ast.Name() if (made := cx.resolve(factory)) in _STARTS:
            return "defaultdict", ast.Constant(_STARTS[made])
    return None


def _bound(n: ast.AST) -> Iterator[tuple[ast.Name, ast.expr]]:
    """Names that `n` binds, and to what."""
    match n:
        case ast.AnnAssign(ast.Name() as to, _, ast.expr() as value):
            yield to, value
        case _:
            for to, value in bindings(n):
                if isinstance(to, ast.Name):
                    yield to, value


def _given_to(name: str, *nodes: ast.AST) -> list[ast.expr]:
    """What the name is bound to."""
    return [value for n in nodes for to, value in _bound(n) if to.id == name]


def _made(tree: ast.FunctionDef, cx: Context) -> Iterator[str]:
    for n in below(*tree.body):
        yield from (to.id for to, value in _bound(n) if kind_of(value, cx) is not None)


def _others(tree: ast.FunctionDef) -> set[str]:
    """Names that are given, unbound at first, not the function's own, or bound by inner scopes."""
    names = {a.arg for a in below(tree.args) if isinstance(a, ast.arg)}
    names |= exposed(tree.body) | declared(tree)
    for n in below(*tree.body):
        if isinstance(n, _INNER):
            names |= used(n)
        elif isinstance(n, COMPREHENSIONS):
            names |= {name for g in n.generators for name in used(g.target)}
    return names


def _uses(n: ast.AST, kind: Kind, cx: Context) -> Iterator[tuple[ast.expr, _Use]]:
    """What may be tables that `n` makes use of."""
    yield from ((to, "made") for to, _ in _bound(n))
    match n:
        case ast.Subscript(value=of, ctx=ctx) if kind != "set":
            yield of, _AT[type(ctx)]
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[of]):
            yield of, "asked"
        case ast.Call(ast.Attribute(of, method), args, []) if (
            method in (_OF_SETS if kind == "set" else _OF_DICTS) and len(args) in _METHODS[method]
        ):
            yield of, _METHOD_USES[method]
        case ast.Call(args=args, keywords=keywords):
            said = cx.builtin(n)
            for a in args:
                if said == "len" and len(args) == 1:
                    yield a, "counted"
                elif said in _ORDERING and len(args) == 1 and not keywords:
                    yield _viewed(a, "keys", "values"), "ordered"
                elif said in ("enumerate", "zip"):
                    yield _viewed(a, *_VIEWS), "walked"
                elif said in _WALKING:
                    yield _viewed(a, "keys", "values"), "walked"
            match args, keywords:
                case [ast.Name(id=name)], [ast.keyword("key", ast.Attribute(ast.Name() as of, "get"))]:
                    if of.id == name and said in ("max", "min"):
                        yield of, "walked"
        case ast.For(iter=of) | ast.comprehension(iter=of):
            yield _viewed(of, *_VIEWS), "walked"
        case ast.Return(value=ast.expr() as value):
            yield from ((e, "returned") for e in results(value))
            for e in results(value):
                match e:
                    case ast.Call(args=[of], keywords=[]) if cx.builtin(e) == "dict":
                        yield of, "returned"
        case ast.If(test=of) | ast.While(test=of) | ast.IfExp(test=of) | ast.UnaryOp(
            op=ast.Not(), operand=of
        ):
            yield from ((e, "counted") for e in truths(of))


def truths(test: ast.expr) -> Iterator[ast.expr]:
    """That of which only the truth is asked."""
    if isinstance(test, ast.BoolOp):
        for e in test.values:
            yield from truths(e)
    else:
        yield test


def _viewed(e: ast.expr, *views: str) -> ast.expr:
    """What `e` is a view of, if it is one of these."""
    match e:
        case ast.Call(ast.Attribute(of, view), [], []) if view in views:
            return of
    return e


_AT: dict[type[ast.expr_context], _Use] = {
    ast.Load: "asked", ast.Store: "set", ast.Del: "removed",
}
_METHODS = {
    "get": (1, 2), "setdefault": (2,), "add": (1,), "discard": (1,), "remove": (1,), "pop": (1, 2),
    "clear": (0,),
}
"""Methods, and how many arguments they may have."""
_METHOD_USES: dict[str, _Use] = {
    "get": "asked", "setdefault": "set", "add": "set", "discard": "removed", "remove": "removed",
    "pop": "removed", "clear": "cleared",
}
_OF_SETS = frozenset({"add", "discard", "remove", "clear"})
_OF_DICTS = frozenset({"get", "setdefault", "pop", "clear"})


def _has_factory(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is a defaultdict of a function of the source."""
    made = _given_to(name, *below(*tree.body))
    return any(isinstance(a, ast.Lambda) for e in made if isinstance(e, ast.Call) for a in e.args)


def _is_filled(name: str, tree: ast.FunctionDef) -> bool:
    """Whether it is made of what it holds."""
    made = _given_to(name, *below(*tree.body))
    return any(not isinstance(e, (ast.Dict, ast.Call)) or getattr(e, "args", ()) for e in made)


def _grown_under(name: str, kind: Kind, n: ast.AST, cx: Context) -> list[ast.Name]:
    """The name, where `n` goes over the keys of the table, and may change which these are."""
    match n:
        case ast.For(target=target, iter=over, body=body):
            inside: list[ast.AST] = [*body]
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            over, target = n.generators[0].iter, n.generators[0].target
            inside = [*n.generators[1:], *n.generators[0].ifs, *_given(n)]
        case _:
            return []
    walked = [e for e in below(over) if isinstance(e, ast.Name) and e.id == name]
    if not walked or cx.builtin(over) in ("sorted", "list", "range"):
        return []
    key = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
    kept = key.id if isinstance(key, ast.Name) and not _rebinds(key.id, inside) else None
    changing = {"set", "removed", "cleared", "made"} | ({"asked"} if kind == "defaultdict" else set())
    for part in below(*inside):
        for of, use in _uses(part, kind, cx):
            if not (isinstance(of, ast.Name) and of.id == name) or use not in changing:
                continue
            at = part.slice if isinstance(part, ast.Subscript) else None
            if use == "removed" or not (isinstance(at, ast.Name) and at.id == kept):
                return walked
    return []


def _given(n: ast.AST) -> list[ast.AST]:
    """What a comprehension gives."""
    return [n.key, n.value] if isinstance(n, ast.DictComp) else [getattr(n, "elt", n)]


def _rebinds(name: str, body: Sequence[ast.AST]) -> bool:
    stores = (n for n in below(*body) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in stores)


def _widths(
    names: Collection[str], tree: ast.FunctionDef, visit: Callable[[Look], object]
) -> dict[str, set[int]]:
    """Of each table, how many items the tuples have that are its keys; 0 where they are none."""
    found: dict[str, set[int]] = {name: set() for name in names}
    asked: set[ast.AST] = set()

    def look(node: ast.AST, cx: Context) -> None:
        parts = (node, node.target) if isinstance(node, ast.AugAssign) else (node,)
        for part in parts:
            for name, key in keys_in(part):
                if name in found:
                    asked.add(key)
                    items = cx.facts.items(key)
                    found[name].add(0 if items is None else len(items))

    visit(look)
    for n in below(*tree.body):  # where nothing looks, in comprehensions: as they are written
        for name, key in keys_in(n):
            if name in found and key not in asked and isinstance(key, ast.Tuple):
                found[name].add(len(key.elts))
        for to, value in _bound(n):
            keys = _first_keys(value) if to.id in found else ()
            found.get(to.id, set()).update(len(k.elts) for k in keys if isinstance(k, ast.Tuple))
    return found


def keys_in(n: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What may be tables that `n` asks for keys, and these."""
    match n:
        case ast.Subscript(ast.Name(id=name), key):
            yield name, key
        case ast.Compare(key, [ast.In() | ast.NotIn()], [ast.Name(id=name)]):
            yield name, key
        case ast.Call(ast.Attribute(ast.Name(id=name), method), [key, *_], []) if method in _METHODS:
            yield name, key


def _first_keys(e: ast.expr) -> Iterator[ast.expr]:
    match e:
        case ast.Dict(keys=keys):
            yield from (k for k in keys if k is not None)
        case ast.Set(elts=elts):
            yield from elts
        case ast.DictComp(key=key):
            yield key
        case ast.SetComp(elt=key) | ast.Call(args=[ast.GeneratorExp(elt=key)]):
            yield key


def _begin_at_once(block: list[ast.stmt], cx: Context) -> None:
    """``if k not in d: d[k] = 0`` and ``d[k] += v`` become ``d[k] = d.get(k, 0) + v``."""
    for at, (first, then) in enumerate(zip(block, block[1:], strict=False)):
        begun = _begun(first)
        match then:
            case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if (
                begun is not None and name in cx.facts.tables
                and (name, ast.dump(key)) == (begun[0], ast.dump(begun[1]))
                and free_of(value, [name]) and _is_same_again(key, cx)
            ):
                get = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), "get", ast.Load()),
                               [begun[1], begun[2]], [])
                line = ast.Assign([then.target], ast.BinOp(get, op, value))
                ast.fix_missing_locations(ast.copy_location(line, then))
                block[at : at + 2] = [ast.copy_location(ast.Pass(), first), line]


def _is_same_again(key: ast.expr, cx: Context) -> bool:
    calls = (n for n in below(key) if isinstance(n, (ast.Call, ast.NamedExpr)))
    return all(cx.builtin(n) in ("abs", "int", "len", "max", "min") for n in calls)


def _begun(s: ast.stmt) -> tuple[str, ast.expr, ast.expr] | None:
    """The table, the key and the constant that it begins with."""
    match s:
        case ast.If(
            test=ast.Compare(asked, [ast.NotIn()], [ast.Name(id=name)]),
            body=[ast.Assign([ast.Subscript(ast.Name(id=to), key)], ast.Constant() as start)],
            orelse=[],
        ) if name == to and ast.dump(asked) == ast.dump(key):
            return name, key, start
        case ast.Expr(ast.Call(
            ast.Attribute(ast.Name(id=name), "setdefault"), [key, ast.Constant() as start], []
        )):
            return name, key, start
    return None
