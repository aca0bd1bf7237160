"""Dicts and sets whose keys are data → lists of their keys and values."""
from __future__ import annotations

import ast

from ..below import below
from .comprehensions import nested, own_names, waits
from .context import Context
from .fact import Kind, Table
from .hashed import Found, cleared, find, is_there, leave, put
from .names import free_of
from .tables import kind_of, new_table, position, truths
from .tupled import is_steady

__all__ = ["table_asked", "table_changed", "table_given", "table_made", "table_walked"]


def table_made(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """Lists of its keys, and of slots that tell where each key stands.

        d = {i: s}
    →
        …
    """
    match node:
        case ast.Assign([ast.Name(id=name)], value) if name in cx.facts.tables:
            table = cx.facts.tables[name]
        case _:
            return None
    filled = _filled(name, table, value, cx)
    return None if filled is None else [*cleared(table, cx), *filled]


def _filled(name: str, t: Table, e: ast.expr, cx: Context) -> list[ast.stmt] | None:
    """What puts there what `e` holds."""
    if t.kind == "set":
        one = "NAME.add(KEY)"
    else:
        one = "NAME[KEY] += 1" if t.kind == "Counter" else "NAME[KEY] = VALUE"
    lines: list[ast.stmt] = []
    match e:
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                assert key is not None
                held = ast.Name(cx.fresh("key"), ast.Load())
                lines += cx.code("KEY = E", KEY=held, E=key) if not is_steady(key) else []
                lines += cx.code(
                    one, NAME=name, KEY=key if is_steady(key) else held, VALUE=value)
            return lines
        case ast.Set(elts=elts):
            return [s for key in elts for s in cx.code(one, NAME=name, KEY=key)]
        case ast.DictComp(key=key, value=value, generators=generators):
            of = ast.GeneratorExp(ast.Tuple([key, value], ast.Load()), generators)
        case ast.SetComp(elt=elt, generators=generators):
            of = ast.GeneratorExp(elt, generators)
        case ast.Call(args=[]):
            return []
        case ast.Call(ast.Attribute(attr="fromkeys"), [keys_of, *rest]):
            return _from_keys(name, keys_of, rest, cx)
        case ast.Call(args=[given]) if t.kind == "defaultdict":
            return []
        case ast.Call(args=[ast.GeneratorExp() as given]):
            of = given
        case ast.Call(args=[given]):
            return _from_iterable(name, t, given, one, cx)
        case _:
            return None
    if waits(of):
        return None
    own = own_names(ast.copy_location(of, e), cx)
    return nested(own.generators, _one(name, t, own.elt, one, cx), cx)


def _one(name: str, t: Table, e: ast.expr, text: str, cx: Context) -> list[ast.stmt]:
    """One item of what a table is made of."""
    match e:
        case ast.Tuple(elts=[key, value]) if t.kind == "dict":
            if is_steady(key):
                return cx.code(text, NAME=name, KEY=key, VALUE=value)
            held = ast.Name(cx.fresh("key"), ast.Load())
            return [*cx.code("KEY = E", KEY=held, E=key),
                    *cx.code(text, NAME=name, KEY=held, VALUE=value)]
    return cx.code(text, NAME=name, KEY=e)


def _from_iterable(
    name: str, t: Table, given: ast.expr, text: str, cx: Context
) -> list[ast.stmt] | None:
    v, w = cx.fresh("v"), cx.fresh("w")
    if t.kind == "dict":
        return cx.code(f"for V, W in X: {text}", V=v, W=w, X=given, NAME=name,
                       KEY=ast.Name(v, ast.Load()), VALUE=ast.Name(w, ast.Load()))
    return cx.code(f"for V in X: {text}", V=v, X=given, NAME=name, KEY=ast.Name(v, ast.Load()))


def _from_keys(
    name: str, keys: ast.expr, rest: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    if not rest:
        return None  # each is None
    value = ast.Name(cx.fresh("value"), ast.Load())
    v = ast.Name(cx.fresh("v"), ast.Load())
    return cx.code("VALUE = E\nfor V in X: NAME[V] = VALUE", VALUE=value, E=rest[0], V=v, X=keys,
                   NAME=name)


def table_changed(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """A key comes, has another value, or leaves.

        d = {}
        for i in range(n):
            d[i] = s
    →
        …
    """
    match node:
        case ast.Assign([ast.Subscript(ast.Name(id=name), key)], value) if (
            name in cx.facts.tables
        ):
            return cx.whole(lambda: _set(cx.facts.tables[name], name, key, value, cx))
        case ast.AugAssign(ast.Subscript(ast.Name(id=name), key), op, value) if (
            name in cx.facts.tables
        ):
            return cx.whole(lambda: _augmented(cx.facts.tables[name], name, key, op, value, cx))
        case ast.Delete([ast.Subscript(ast.Name(id=name), key)]) if name in cx.facts.tables:
            return cx.whole(lambda: _removed(cx.facts.tables[name], key, cx, missing=True))
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=name), method), args, [])) if (
            name in cx.facts.tables
        ):
            t = cx.facts.tables[name]
            return cx.whole(lambda: _called(t, method, args, cx))
    return None


def _called(
    t: Table, method: str, args: list[ast.expr], cx: Context
) -> list[ast.stmt] | None:
    match method, args:
        case "add", [key]:
            looked = find(t, key, cx)
            return None if looked is None else [*looked[0], *put(t, looked[1], None, cx)]
        case "setdefault", [key, value]:
            return (_begun(t, key, value, cx) or (None,))[0]
        case "discard", [key]:
            return _removed(t, key, cx, missing=False)
        case "remove", [key]:
            return _removed(t, key, cx, missing=True)
        case "pop", [key, *rest]:
            return _removed(t, key, cx, missing=not rest)
        case "clear", []:
            return cleared(t, cx)
    return None


def _set(
    t: Table, name: str, key: ast.expr, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    """The value is evaluated first; where it is made of the one before, the key is found once."""
    old = _of_the_same(name, key, value)
    if old is not None and is_steady(key):
        looked = find(t, key, cx)
        if looked is None:
            return None
        lines, found = looked
        before = _value(t, found, old, cx)
        if before is None:
            return None
        value = _Instead(old, before[1]).visit(value)
        return [*lines, *before[0], *_with(t, found, before[1], value, cx)]
    lines = []
    if not isinstance(value, ast.Constant):
        held = ast.Name(cx.fresh("value"), ast.Load())
        lines = cx.code("VALUE = E", VALUE=held, E=value)
        value = held
    looked = find(t, key, cx)
    return None if looked is None else [*lines, *looked[0], *put(t, looked[1], value, cx)]


def _of_the_same(name: str, key: ast.expr, value: ast.expr) -> ast.expr | None:
    """The one place in `value` where the table is asked, for `key`, and surely so."""
    wanted, found = ast.dump(key), list[ast.expr]()
    for n in below(value):
        match n:
            case ast.Subscript(ast.Name(id=of), at) | ast.Call(
                ast.Attribute(ast.Name(id=of), "get"), [at, ast.Constant()], []
            ) if of == name and ast.dump(at) == wanted:
                assert isinstance(n, ast.expr)
                found.append(n)
    named = sum(isinstance(n, ast.Name) and n.id == name for n in below(value))
    perhaps = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.ListComp, ast.GeneratorExp)
    sure = not any(isinstance(n, perhaps) for n in below(value))
    return found[0] if len(found) == named == 1 and sure else None


class _Instead(ast.NodeTransformer):
    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> ast.AST:
        return self.new if node is self.old else self.generic_visit(node)


def _augmented(
    t: Table, name: str, key: ast.expr, op: ast.operator, value: ast.expr, cx: Context
) -> list[ast.stmt] | None:
    if not free_of(value, [name]):
        held = ast.Name(cx.fresh("key"), ast.Load())
        if not is_steady(key):
            lines, key = cx.code("KEY = E", KEY=held, E=key), held
        else:
            lines = []
        at = ast.Subscript(ast.Name(name, ast.Load()), key, ast.Load())
        return [*lines, *cx.code("X = E", X=at, E=ast.BinOp(at, op, value))]
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    before = _value(t, found, None, cx)
    if before is None:
        return None
    value = ast.BinOp(before[1], op, value)
    return [*lines, *before[0], *_with(t, found, before[1], value, cx)]


def _with(
    t: Table, found: Found, before: ast.expr, value: ast.expr, cx: Context
) -> list[ast.stmt]:
    """The key gets a `value` that is made of the one `before`: where that is an item, it is there.
    """
    if isinstance(before, ast.Subscript):
        return cx.code("AT = E", AT=before, E=value)
    new = ast.Name(cx.fresh("value"), ast.Load())
    return [*cx.code("NEW = E", NEW=new, E=value), *put(t, found, new, cx)]


def _value(
    t: Table, found: Found, asked: ast.expr | None, cx: Context
) -> tuple[list[ast.stmt], ast.expr] | None:
    """The value of the key that was found, in a name; of one that is not there what `asked` gives,
    or the table.
    """
    match asked:
        case ast.Call(args=[_, start]):
            pass
        case _:
            start = t.start
    there, at = is_there(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
    if start is None:
        return cx.code("if not (THERE): raise KeyError", THERE=there), at
    name = ast.Name(cx.fresh("old"), ast.Load())
    text = "if THERE:\n    NAME = E\nelse:\n    NAME = START"
    return cx.code(text, THERE=there, NAME=name, E=at, START=start), name


def _begun(
    t: Table, key: ast.expr, value: ast.expr, cx: Context
) -> tuple[list[ast.stmt], Found] | None:
    """The key has this value, if it is not there."""
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    if not is_steady(value):
        held = ast.Name(cx.fresh("value"), ast.Load())
        lines += cx.code("VALUE = E", VALUE=held, E=value)
        value = held
    absent = ast.UnaryOp(ast.Not(), is_there(t, found, cx))
    text = "if ABSENT: PUT"
    return [*lines, *cx.code(text, ABSENT=absent, PUT=put(t, found, value, cx))], found


def _removed(t: Table, key: ast.expr, cx: Context, *, missing: bool) -> list[ast.stmt] | None:
    """``missing``: it is an error if the key is not there."""
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    there = is_there(t, found, cx)
    if missing:
        error = cx.code("if not (THERE): raise KeyError", THERE=there)
        return [*lines, *error, *leave(t, found, cx)]
    return [*lines, *cx.code("if THERE: LEAVE", THERE=there, LEAVE=leave(t, found, cx))]


def table_asked(node: ast.AST, cx: Context) -> ast.expr | None:
    """What a key has, and whether it is there.

        d = {i: s}
        t = d[j]
    →
        …
    """
    match node:
        case ast.Compare(key, [ast.In() | ast.NotIn() as op], [ast.Name(id=name)]) if (
            name in cx.facts.tables
        ):
            t = cx.facts.tables[name]
            looked = find(t, key, cx)
            if looked is None:
                return None
            cx.before(*looked[0])
            there = is_there(t, looked[1], cx)
            return cx.expr("not (E)", E=there) if isinstance(op, ast.NotIn) else there
        case ast.IfExp(test=test, body=body, orelse=orelse) if _asks_truth(test, cx):
            return cx.expr("A if TEST else B", TEST=_truth(test, cx), A=body, B=orelse)
        case ast.UnaryOp(ast.Not(), operand) if _asks_truth(operand, cx):
            return cx.expr("not E", E=_truth(operand, cx))
        case ast.expr() if (
            isinstance(cx.within, (ast.If, ast.While)) and cx.within.test is node
            and _asks_truth(node, cx)
        ):
            return _truth(node, cx)
        case ast.Subscript(ast.Name(id=name), key, ast.Load()) if name in cx.facts.tables:
            return _item(cx.facts.tables[name], key, cx)
        case ast.Call(ast.Attribute(ast.Name(id=name), method), [key, *rest], []) if (
            name in cx.facts.tables
        ):
            return _given(cx.facts.tables[name], method, key, rest, cx)
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) == "len"
        ):
            return _count(cx.facts.tables[name], cx)
    return None


def _asks_truth(test: ast.expr, cx: Context) -> bool:
    """Whether it asks if there is anything in a table."""
    return any(isinstance(e, ast.Name) and e.id in cx.facts.tables for e in truths(test))


def _truth(test: ast.expr, cx: Context) -> ast.expr:
    match test:
        case ast.BoolOp(op, values):
            return ast.copy_location(ast.BoolOp(op, [_truth(e, cx) for e in values]), test)
        case ast.Name(id=name) if name in cx.facts.tables:
            return cx.expr("N > 0", N=_count(cx.facts.tables[name], cx))
    return test


def _count(t: Table, cx: Context) -> ast.expr:
    return cx.expr("COUNT" if t.there else "len(KEYS)", COUNT=t.count or "", KEYS=t.keys[0])


def _item(t: Table, key: ast.expr, cx: Context) -> ast.expr | None:
    if t.kind == "defaultdict":
        assert t.start is not None
        return _after(_begun(t, key, t.start, cx), t, cx)
    looked = find(t, key, cx)
    before = None if looked is None else _value(t, looked[1], None, cx)
    if looked is None or before is None:
        return None
    cx.before(*looked[0], *before[0])
    return before[1]


def _after(
    begun: tuple[list[ast.stmt], Found] | None, t: Table, cx: Context
) -> ast.expr | None:
    """The value of the key, which is there by now: the last, if it has just come."""
    if begun is None:
        return None
    lines, found = begun
    text = "if AT < 0: AT = len(KEYS) - 1"
    cx.before(*lines, *cx.code(text, AT=found.at, KEYS=t.keys[0]))
    return cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)


def _given(
    t: Table, method: str, key: ast.expr, rest: list[ast.expr], cx: Context
) -> ast.expr | None:
    """What a method gives."""
    if method == "setdefault" and rest:
        return _after(_begun(t, key, rest[0], cx), t, cx)
    if method not in ("get", "pop"):
        return None
    looked = find(t, key, cx)
    if looked is None:
        return None
    lines, found = looked
    other = rest[0] if rest else ast.Constant(None)
    if not is_steady(other):
        held = ast.Name(cx.fresh("other"), ast.Load())
        lines += cx.code("OTHER = E", OTHER=held, E=other)
        other = held
    there, at = is_there(t, found, cx), cx.expr("VALUES[AT]", VALUES=t.values, AT=found.at)
    if method == "get":
        cx.before(*lines)
        return cx.expr("E if THERE else OTHER", E=at, THERE=there, OTHER=other)
    value = ast.Name(cx.fresh("value"), ast.Load())
    if rest:
        text = "if THERE:\n    VALUE = E\n    LEAVE\nelse:\n    VALUE = OTHER"
    else:
        text = "if not (THERE): raise KeyError\nVALUE = E\nLEAVE"
    cx.before(*lines, *cx.code(text, THERE=there, VALUE=value, E=at, LEAVE=leave(t, found, cx),
                               OTHER=other))
    return value


def table_walked(node: ast.AST, cx: Context) -> ast.expr | None:
    """All keys, and all values.

        d = {i: s}
        t = sum(d.values())
    →
        …
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in cx.facts.tables:
            return _whole(cx.facts.tables[name], node, cx)
        case ast.Call(func, [ast.Call(args=[of], keywords=[]) as listed, *rest], keywords) if (
            cx.builtin(listed) == "list" and (view := _view(of, cx)) is not None
            and (cx.is_numpy(func, "array") or cx.is_numpy(func, "asarray"))
        ):
            call = ast.Call(func, [view, *rest], keywords)
            return ast.copy_location(call, node)
        case ast.Call(ast.Attribute(ast.Name(id=name) as of, method), [], []) if (
            name in cx.facts.tables and position(of) not in cx.facts.tables[name].whole
        ):
            t = cx.facts.tables[name]
            match method:
                case "keys":
                    return _keys(t, cx)
                case "values":
                    return cx.expr("VALUES", VALUES=t.values)
                case "items":
                    return cx.expr("zip(KEYS, VALUES)", KEYS=_keys(t, cx), VALUES=t.values)
        case ast.Call(args=[ast.Name(id=name)], keywords=[
            ast.keyword("key", ast.Attribute(ast.Name(id=of), "get"))
        ]) if name == of and name in cx.facts.tables and cx.builtin(node) in ("max", "min"):
            return _best(cx.facts.tables[name], cx.builtin(node), cx)
    return None


_RETURNED: dict[Kind, str] = {
    "set": "members(KEYS)", "dict": "keyed(KEYS, VALUES)", "Counter": "counted(KEYS, VALUES)",
    "defaultdict": "started(KEYS, VALUES, START)",
}


def _view(e: ast.expr, cx: Context) -> ast.expr | None:
    """The list of all keys, or values."""
    of = e.func.value if isinstance(e, ast.Call) and isinstance(e.func, ast.Attribute) else e
    t = cx.facts.tables.get(of.id) if isinstance(of, ast.Name) else None
    if t is None or not isinstance(of, ast.Name) or position(of) in t.whole:
        return None
    match e:
        case ast.Name() | ast.Call(ast.Attribute(attr="keys"), [], []):
            return _keys(t, cx)
        case ast.Call(ast.Attribute(attr="values"), [], []):
            return ast.Name(t.values, ast.Load())
    return None


def _keys(t: Table, cx: Context) -> ast.expr:
    if not t.there:
        return cx.expr("SHOWN", SHOWN=t.shown)
    text = "[K for K, THERE in zip(SHOWN, ALL) if THERE]"
    return cx.expr(text, K=cx.fresh("k"), THERE=cx.fresh("there"), SHOWN=t.shown, ALL=t.there)


def _whole(t: Table, node: ast.Name, cx: Context) -> ast.expr | None:
    if position(node) in t.whole:
        return None
    return _returned(t, t.kind, cx) if cx.returned() else _keys(t, cx)


def _returned(t: Table, kind: Kind, cx: Context) -> ast.expr:
    text = f"_ops.{_RETURNED[kind]}"
    return cx.expr(text, KEYS=_keys(t, cx), VALUES=t.values, START=t.start or "")


def _best(t: Table, said: str, cx: Context) -> ast.expr:
    """The first key with the largest value, or the smallest."""
    best, i = cx.fresh("best"), cx.fresh("i")
    cx.before(*cx.code(
        f"""
        if len(VALUES) == 0: raise ValueError
        BEST = 0
        for I in range(1, len(VALUES)):
            if VALUES[I] {'>' if said == 'max' else '<'} VALUES[BEST]:
                BEST = I
        """,
        VALUES=t.values, BEST=best, I=i,
    ))
    return cx.expr("SHOWN[BEST]", SHOWN=t.shown, BEST=best)


def table_given(node: ast.AST, cx: Context) -> ast.expr | None:
    """What has no name.

        t = len(set(k))
    →
        …
    """
    match node:
        case ast.Call(args=[ast.Name(id=name)], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) == "dict" and cx.returned()
        ):
            return _returned(cx.facts.tables[name], "dict", cx)
        case ast.Call(args=[e], keywords=[]) if (
            cx.builtin(node) in ("len", "max", "min", "sorted")
            and (name := _named(e, cx, shown=cx.builtin(node) != "len"))
        ):
            return cx.expr("F(NAME)", F=node.func, NAME=name)
        case ast.expr() if cx.returned() and (name := _named(node, cx)):
            t = cx.facts.tables[name]
            return _returned(t, t.kind, cx)
    return None


def _named(e: ast.expr, cx: Context, *, shown: bool = True) -> str:
    """A name for what is made of data; "" where it is not that, or of Python's own kind."""
    made = kind_of(e, cx)
    if made is None or isinstance(e, ast.Dict) or (isinstance(e, ast.Call) and not e.args):
        return ""
    if made[0] == "defaultdict" or not (made[0] == "set" or cx.returned()):
        return ""
    key = e.key if isinstance(e, ast.DictComp) else e.elt if isinstance(e, ast.SetComp) else None
    width = len(key.elts) if isinstance(key, ast.Tuple) else 0
    name = cx.fresh(made[0].lower())
    cx.facts.tables[name] = new_table(name, made[0], cx, shown=shown, width=width, start=made[1])
    cx.before(*cx.code("NAME = E", NAME=name, E=e))
    return name
