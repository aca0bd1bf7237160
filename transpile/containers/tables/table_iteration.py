"""Table iteration: loops over dicts and sets, and over tables without a name.

`table_iteration` replaces a name, ``d.keys()``, ``d.values()`` or ``d.items()`` by the flat lists,
where `table_inference` found that all keys are used in an order that is known
(`Origin.whole_table`), and a returned table by a call of ``_core`` that builds Python's object
after the kernel.
`unnamed_table` gives a name to a table that an expression makes and uses at once.
"""
from __future__ import annotations

import ast

from ...frontend.core_nodes import copy_location, is_whole_table, mark_whole_table
from ...frontend.macros.firing_conditions import has_new_table_argument, has_tables, is_returned
from ...frontend.macros.macro_context import Context
from ...frontend.macros.macro_index import fires_on
from ...types.flat_containers import HashTable, Kind
from ..linked_rows import lists_of_rows
from .table_inference import new_table
from .table_kinds import table_kind

__all__ = ["unnamed_table", "table_iteration"]

_RETURNED: dict[Kind, str] = {
    "set": "set_of", "dict": "dict_of", "Counter": "counter_of", "defaultdict": "defaultdict_of",
}
"""The function of ``_core`` that makes Python's object of the lists of a table."""


@fires_on(ast.Name, ctx=ast.Load, when=has_tables)
@fires_on(ast.Call, when=has_tables)
def table_iteration(node: ast.AST, cx: Context) -> ast.expr | None:
    """``d.items()``, and other uses of all keys or values of a dict or set → the flat lists that
    have them.

        d = {}
        d[i] = s
        for j, t in d.items():
            s += t
        return d
    →
        …
        for _i_1 in range(min(len(_d_shown), len(_d_value))):
            j = _d_shown[_i_1]
            t = _d_value[_i_1]
            s = s + t
        return _core.dict_of(_d_shown, _d_value)

    The loops over these lists are expanded by other macros. By the form of `node`:

    - ``d``, ``d.keys()``: the list of the keys; ``d.values()``: that of the values; ``d.items()``:
      ``zip`` of both. Entries of removed keys are left out (`_present_entries`);
    - ``d`` in the result of the function: a call of ``_core`` that makes Python's object of the
      lists, after the kernel;
    - ``np.array(list(d))``, also of a view: ``np.array`` of the list;
    - ``max(d, key=d.get)``, ``min``: a loop over the values before the statement.

    The lists are in the order of insertion. `table_inference._uses_in_known_order` has found where
    that is Python's order, or does not matter (`Origin.whole_table`): ``sorted(s)`` of a set,
    for example, but not a loop over a set. In any other place the macro returns None: that is a use
    by key, such as ``d[k]``, which `table_lookup` expands, or one that lowering refuses.
    """
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in cx.facts.tables:
            return _keys_or_result(cx.facts.tables[name], node, cx)
        case ast.Call(func, [ast.Call(args=[operand], keywords=[]) as listed, *rest], keywords) if (
            cx.builtin(listed) == "list" and (view := _viewed_list(operand, cx)) is not None
            and (cx.is_numpy(func, "array") or cx.is_numpy(func, "asarray"))
        ):
            call = ast.Call(func, [view, *rest], keywords)
            return copy_location(call, node)
        case ast.Call(ast.Attribute(ast.Name(id=name) as operand, method), [], []) if (
            name in cx.facts.tables
            and is_whole_table(operand)
        ):
            table = cx.facts.tables[name]
            match method:
                case "keys":
                    return _keys(table, cx)
                case "values":
                    return _present_entries(table, table.values, cx)
                case "items":
                    return cx.expr("zip(KEYS, VALUES)", KEYS=_keys(table, cx), VALUES=table.values)
        case ast.Call(args=[ast.Name(id=operand)], keywords=[
            ast.keyword("key", ast.Attribute(ast.Name(id=name) as getter_table, "get"))
        ]) if name == operand and name in cx.facts.tables and cx.builtin(node) in ("max", "min"):
            table = cx.facts.tables[name]
            if is_whole_table(getter_table):
                return _key_of_extreme_value(table, cx.builtin(node), cx)
    return None


def _viewed_list(e: ast.expr, cx: Context) -> ast.expr | None:
    """The list of all keys or values that `e` yields: a table or a view of one, used where
    iteration compiles; else None.
    """
    match e:
        case ast.Call(func=ast.Attribute(value=name_node)):
            pass
        case _:
            name_node = e
    if not isinstance(name_node, ast.Name) or name_node.id not in cx.facts.tables:
        return None
    table = cx.facts.tables[name_node.id]
    if not is_whole_table(name_node):
        return None
    match e:
        case ast.Name() | ast.Call(ast.Attribute(attr="keys"), [], []):
            return _keys(table, cx)
        case ast.Call(ast.Attribute(attr="values"), [], []):
            return _present_entries(table, table.values, cx)
    return None


def _keys(table: HashTable, cx: Context) -> ast.expr:
    """The list of the table's keys as the program gave them, in the order of insertion."""
    return _present_entries(table, table.original_keys, cx)


def _present_entries(table: HashTable, name: str, cx: Context) -> ast.expr:
    """The entries of the list `name`, one for each key, without those of removed keys."""
    if not table.is_present:
        return cx.expr("NAME", NAME=name)
    text = "[V for V, THERE in zip(NAME, ALL) if THERE]"
    return cx.expr(text, V=cx.fresh("v"), THERE=cx.fresh("there"), NAME=name, ALL=table.is_present)


def _keys_or_result(table: HashTable, node: ast.Name, cx: Context) -> ast.expr | None:
    """The replacement of a name of a table: its keys, or the object that is returned; None where
    this use does not compile or is one of a key.
    """
    if not is_whole_table(node):
        return None
    return _result_object(table, table.kind, cx) if cx.result_uses() else _keys(table, cx)


def _result_object(table: HashTable, kind: Kind, cx: Context) -> ast.expr:
    """The call of ``_core`` that makes an object of `kind` of the table's lists, for a return."""
    values = lists_of_rows(table.linked, cx) if table.first_item else table.values
    name = "multimap_of" if table.first_item and kind == "defaultdict" else _RETURNED[kind]
    text = f"_core.{name}(KEYS)" if kind == "set" else f"_core.{name}(KEYS, VALUES)"
    if name == "defaultdict_of":
        text = "_core.defaultdict_of(KEYS, VALUES, START)"
    return cx.expr(text, KEYS=_keys(table, cx), VALUES=values, START=table.missing_value or "")


def _key_of_extreme_value(table: HashTable, builtin: str, cx: Context) -> ast.expr:
    """The first key with the largest (`builtin` "max") or smallest ("min") value, for
    ``max(d, key=d.get)``; the loop runs before the statement, and an empty table raises.
    """
    best, i = cx.fresh("best"), cx.fresh("i")
    cx.before(*cx.internal_code(
        f"""
        if len(VALUES) == 0: raise ValueError
        BEST = 0
        for I in range(1, len(VALUES)):
            if VALUES[I] {'>' if builtin == 'max' else '<'} VALUES[BEST]:
                BEST = I
        """,
        VALUES=table.values, BEST=best, I=i,
    ))
    return cx.expr("SHOWN[BEST]", SHOWN=table.original_keys, BEST=best)


@fires_on(ast.Call, calls=[dict], when=has_tables)
@fires_on(ast.Call, calls=[len, max, min, sorted], when=has_new_table_argument)
@fires_on(ast.Call, ast.Dict, ast.DictComp, ast.SetComp, when=is_returned)
def unnamed_table(node: ast.AST, cx: Context) -> ast.expr | None:
    """A table expression without a name (``set(x)`` as an operand) → a fresh name that is bound
    before.

        t = len(set(k))
    →
        _set_slot = [-1, -1, -1, -1, -1, -1, -1, -1]
        _set_key = []
        _set_shown = []
        …
        t = len(_set_key)
    """
    match node:
        case ast.Call(args=[ast.Name(id=name) as operand], keywords=[]) if (
            name in cx.facts.tables and cx.builtin(node) == "dict" and cx.result_uses()
            and is_whole_table(operand)
        ):
            return _result_object(cx.facts.tables[name], "dict", cx)
        case ast.Call(args=[e], keywords=[]) if (
            cx.builtin(node) in ("len", "max", "min", "sorted")
            and (name := _bind_table(e, cx))
        ):
            table_name = copy_location(ast.Name(name, ast.Load()), node)
            mark_whole_table(table_name)
            return cx.expr("F(NAME)", F=node.func, NAME=table_name)
        case ast.expr() if cx.result_uses() and not isinstance(node, ast.Set) and (
            name := _bind_table(node, cx)
        ):
            table = cx.facts.tables[name]
            return _result_object(table, table.kind, cx)
    return None


def _bind_table(e: ast.expr, cx: Context) -> str:
    """Binds the table that `e` makes to a fresh name before the statement, records the name as a
    table, and returns it. Returns "" and does nothing where `e` makes no table, for a dict display,
    an empty table and a ``defaultdict``, and for a dict that is not returned.
    """
    assert isinstance(cx.at, ast.expr)
    kind = table_kind(e, cx)
    if kind is None or isinstance(e, ast.Dict) or (isinstance(e, ast.Call) and not e.args):
        return ""
    if kind[0] == "defaultdict" or not (kind[0] == "set" or cx.result_uses()):
        return ""
    key = e.key if isinstance(e, ast.DictComp) else e.elt if isinstance(e, ast.SetComp) else None
    width = len(key.elts) if isinstance(key, ast.Tuple) else 0
    name = cx.fresh(kind[0].lower())
    cx.facts.tables[name] = new_table(
        name, kind[0], cx, is_iterated=True, key_width=width, missing_value=kind[1])
    cx.before(*cx.code("NAME = E", NAME=name, E=e))
    return name
