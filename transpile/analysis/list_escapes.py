"""Escape analysis of lists: whether a list can be reached otherwise than by one name or table.

A list can be kept as a flat buffer, or its items moved into another list, only if nothing else
refers to it: Python would show a change through one reference in the other. Syntactic and
flow-insensitive: each occurrence of a name is judged by the node in which it occurs::

    row = []             # bound to a new list
    row.append(x[i])     # changed in place through the name itself
    rows.append(row)     # moved, if `row` is not used before it is bound again
    other = row          # escapes: `other` is a second reference

`list_kind.list_escapes` makes the analysis for the macros: `ragged_lists` asks it for lists in
lists, `list_elements` for lists of tuples and arrays, `table_inference` for dicts of lists. Which
uses a dict or set itself may have, `table_kinds.table_uses` tells.
"""
from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence

from ..containers.method_table import LIST_METHODS
from ..frontend.ast_names import (
    COMPREHENSIONS,
    INNER_SCOPES,
    binding_pairs,
    mentions_none_of,
    name_bindings,
    names_used,
    values_bound_to,
)
from ..frontend.ast_walk import (
    child_blocks,
    comprehension_results,
    display_leaves,
    is_name,
    walk_nodes,
)
from ..frontend.defining_modules import is_builtin, is_numpy_function

__all__ = ["ListEscapes"]

_READING_BUILTINS = frozenset({
    "all", "any", "bool", "enumerate", "len", "list", "max", "min", "range", "reversed", "sorted",
    "sum", "tuple", "zip",
})
"""Builtins that read a list and retain no reference to it."""

_LOCAL_METHODS = frozenset(name for name, row in LIST_METHODS.items() if row.local)
"""List methods whose arguments show every item that they add, as ``append``, or that add none."""

_CONTAINERS = (ast.List, ast.Tuple, *COMPREHENSIONS)
"""Expressions that, as an item of a list, make it a list of containers."""


class ListEscapes:
    """Which lists of `tree` may be reached or changed otherwise than by one name, or one table.

    ``resolve``: what a name or attribute means outside of the function; None: unknown or local.
    ``builtin``: from a node to the name of the builtin that it calls, "" if it calls none.
    ``is_list``: whether an expression is a list on every path.
    """

    def __init__(
        self, tree: ast.FunctionDef, resolve: Callable[[ast.expr], object | None],
        builtin: Callable[[ast.AST], str], is_list: Callable[[ast.expr], bool],
    ) -> None:
        self._tree, self._resolve = tree, resolve
        self._builtin, self._is_list = builtin, is_list

    def reads(self, n: ast.AST) -> Iterator[ast.expr]:
        """The operands of `n` that, if they are lists, `n` only reads: it neither changes one nor
        retains a reference to it.
        """
        yield from _operands(n)
        if isinstance(n, ast.Call) and not n.keywords and self._builtin(n) in _READING_BUILTINS:
            yield from n.args

    def is_new(self, e: ast.expr) -> bool:
        """Whether `e` makes a new list each time it is evaluated: a display or comprehension of
        items that are no containers, ``[x] * n``, the sum of two lists, a slice or ``copy()`` of a
        list, ``list(x)`` or ``sorted(x)``.
        """
        match e:
            case ast.List(elts=elts):
                return not any(isinstance(x, _CONTAINERS) for x in elts)
            case ast.ListComp(elt=elt):
                return not isinstance(elt, _CONTAINERS)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return all(self.is_new(x) or self._is_list(x) for x in (left, right))
            case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult()):
                return not isinstance(one, _CONTAINERS)
            case ast.Subscript(value=ast.Name() as of, slice=ast.Slice()) | ast.Call(
                func=ast.Attribute(value=ast.Name() as of, attr="copy"), args=[], keywords=[]
            ):
                return self._is_list(of)
            case ast.Call(args=[_], keywords=[]):
                return self._builtin(e) in ("list", "sorted")
        return False

    def is_moved_into(self, e: ast.expr, to: str) -> bool:
        """Whether the list `e`, which is appended to the list `to`, is afterwards reached through
        `to` only, so that its items can be moved there. `ragged_lists` asks it:

            for i in range(n):
                row = []                 # `e` is ``row``, `to` is ``rows``
                row.append(x[i])
                rows.append(row)         # moved: ``row`` is bound again before it is used

        Proved if `e` is a local name other than `to`, and

        - it is only bound to new lists (`is_new`);
        - it is only read, changed in place, or appended: no other reference is made;
        - no change through it can be seen in `to`: all changes lie between the binding and the one
          append (`_is_built_before`), or it is dead after each append (`_is_dead_after`).
        """
        if not isinstance(e, ast.Name) or e.id == to:
            return False
        name, nodes = e.id, [*walk_nodes(*self._tree.body)]
        occurrences = [n for n in nodes if is_name(n, name)]
        changed = {x for n in nodes for x in _changed_lists(n)}
        values = [v for n in nodes for t, v in binding_pairs(n) if is_name(t, name)]
        targets = [n for n in occurrences if isinstance(n.ctx, ast.Store) and n not in changed]
        if len(values) != len(targets) or not all(map(self.is_new, values)):
            return False  # bound in another way, or to a list that may have a name
        appends = [s for s in _statements(self._tree.body) if _appends_list(s, name)]
        allowed = changed | {x for n in nodes for x in self.reads(n)}
        allowed |= {e for s in appends for e in walk_nodes(s) if isinstance(e, ast.expr)}
        if not all(n in allowed for n in occurrences if not isinstance(n.ctx, ast.Store)):
            return False  # escapes
        if len(appends) == 1 and _is_built_before(appends[0], name, changed, self._tree):
            return True
        return all(_is_dead_after(s, name, changed, self._tree) for s in appends)

    def non_escaping_names(self, makes: Callable[[ast.expr], bool]) -> set[str]:
        """The local names that are bound only to expressions for which ``makes`` holds (those that
        make a new list), and whose lists nothing else refers to, except the function's result.

            u = []; u.append(n); return u         u does not escape
            u = []; w = u                         u escapes: w is a second reference
            u = []; g(u)                          u escapes: g may keep it

        `list_elements` asks it, for lists whose items' types it infers. A name is excluded if it is
        a parameter, occurs in an inner function, or has an occurrence that is neither such a
        binding nor an operand that is known not to retain it (`_non_escaping_operands`).
        """
        excluded = {a.arg for a in walk_nodes(self._tree.args) if isinstance(a, ast.arg)}
        nodes = [*walk_nodes(*self._tree.body)]
        for n in nodes:
            if isinstance(n, INNER_SCOPES):
                excluded |= {x.id for x in walk_nodes(n) if isinstance(x, ast.Name)}
        allowed = {x for n in nodes for x in self._non_escaping_operands(n)}
        made = set()
        for n in nodes:
            for to, value in binding_pairs(n):
                if isinstance(to, ast.Name) and makes(value):
                    made.add(to.id)
                    allowed.add(to)
        excluded |= {n.id for n in nodes if isinstance(n, ast.Name) and n not in allowed}
        return made - excluded

    def _non_escaping_operands(self, n: ast.AST) -> Iterator[ast.expr]:
        """The operands of `n` that, if they are lists, stay private: `n` makes no further reference
        to one, except as the result of the function, and adds to it only items that stand in `n`
        itself.
        """
        yield from _operands(n)
        match n:
            case ast.Call(func=func, args=args) if _is_library_function(self._resolve(func)):
                yield from (x for e in args for x in (e, *getattr(e, "elts", ())))
            case ast.Call(func=ast.Attribute(value=receiver, attr=attr), args=args) if (
                attr in _LOCAL_METHODS
            ):
                if attr != "extend" or isinstance(args[0], ast.List):
                    yield receiver
            case ast.AugAssign(target=ast.Subscript(value=base, slice=index)) if not isinstance(
                index, ast.Slice
            ):
                yield base
            case ast.AugAssign(target=ast.Name() as target, op=ast.Add(), value=ast.List()):
                yield target
            case ast.Return(value=ast.expr() as result):
                yield from (result, *display_leaves(result))
            case ast.BoolOp(values=values):
                yield from values
        for to, value in binding_pairs(n):
            match to:
                case ast.Subscript(value=base, slice=index):
                    yield value
                    if not isinstance(index, ast.Slice):
                        yield base
        if isinstance(n, ast.AugAssign):
            yield n.value

    def values_are_private(self, name: str) -> bool:
        """Whether the lists that are values of the dict `name` are reachable through the dict only,
        so that they can be kept as one flat list. `table_inference` asks it.

            d.setdefault(k, []).append(v)         private
            u = d[k]                              not: a change of ``u`` would change the dict

        Required:

        - the dict starts empty: a list that it starts with may have another name;
        - statements store only new displays of scalars (``d[k] = [a]``), and the default of ``get``
          and ``setdefault`` is ``[]``;
        - they change a list only through the dict, by ``d[k].append(v)``;
        - a loop over values or items binds a list to a name that is only read, and appends nothing:
          the name would have the items of before or after the append;
        - ``d.values()`` is no argument of a call, and all other uses of a value only read it.
        """
        nodes = [*walk_nodes(*self._tree.body)]
        initial = values_bound_to(name, *nodes)
        if any(isinstance(e, ast.DictComp) or getattr(e, "keys", ()) for e in initial):
            return False  # the lists that it starts with may have other names
        harmless = {e for n in nodes for e in self._harmless_uses(n, name)}
        harmless.update(self._copied_by_get(name, harmless))
        return not any(_exposes_value(n, name, harmless) for n in nodes)

    def _harmless_uses(self, n: ast.AST, name: str) -> Iterator[ast.expr]:
        """The operands of `n` that, if they are a list in the table `name`, `n` only reads, or
        appends an item to: it retains no reference.
        """
        yield from self.reads(n)
        yield from self._numpy_arguments(n)
        match n:
            case ast.Expr(ast.Call(ast.Attribute(receiver, "append"), [_], [])) if (
                _value_of(receiver) == name and not _is_get(receiver, name)
            ):
                yield receiver  # of ``get``, macros make a copy
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(), "setdefault")) as call):
                yield call  # its result, the list, is not used

    def _numpy_arguments(self, n: ast.AST) -> Iterator[ast.expr]:
        """The positional arguments of a call of a NumPy function, which keeps no reference to a
        list.
        """
        if isinstance(n, ast.Call) and is_numpy_function(self._resolve(n.func)):
            yield from n.args


    def _copied_by_get(self, name: str, harmless: Collection[ast.AST]) -> list[ast.expr]:
        """The calls ``d.get(k, [])`` of the table `name` (``d``) for which a copy of the list does
        as well, in assignments ``w = d.get(k, [])``. Nothing may change the list while ``w`` is in
        use: ``w`` is bound only in this way and only read, and no statement from the one with its
        first to the one with its last occurrence appends to a list of the table.
        """
        nodes, block = [*walk_nodes(*self._tree.body)], self._tree.body
        bound = [b for n in nodes for b in name_bindings(n) if _is_get(b[1], name)]
        copied: list[ast.expr] = []
        for copy in {target.id for target, _ in bound}:
            values = [value for target, value in bound if target.id == copy]
            uses = [n for n in nodes if is_name(n, copy)]
            reads = [n for n in uses if isinstance(n.ctx, ast.Load)]
            is_bound_only_so = len(uses) == len(values) + len(reads)
            is_only_read = is_bound_only_so and all(n in harmless for n in reads)
            places = [k for k, s in enumerate(block) if copy in names_used(s)]
            lifetime = block[places[0] : places[-1] + 1]
            if is_only_read and not _appends(name, lifetime):
                copied += values
        return copied


def _is_get(e: ast.expr, name: str) -> bool:
    """Whether `e` is a call of ``get`` of the table `name`, with a default."""
    match e:
        case ast.Call(ast.Attribute(ast.Name(id=table), "get"), [_, _], []):
            return table == name
    return False


def _exposes_value(n: ast.AST, name: str, harmless: Collection[ast.AST]) -> bool:
    """Whether the node `n` may make a list that is a value of the table `name` reachable in another
    way than through the table. ``harmless``: all expressions that are only read or appended to.
    """
    match n:
        case ast.Assign([ast.Subscript(ast.Name(id=to), _)], value) if to == name:
            # stores a list: only a new one, whose items are scalars and not those of the table
            items = value.elts if isinstance(value, ast.List) else None
            is_new = items is not None and mentions_none_of(value, [name])
            return not is_new or any(isinstance(e, _CONTAINERS) for e in items or ())
        case ast.AugAssign(ast.Subscript(ast.Name(id=to), _)) if to == name:
            return True
        case ast.Call(ast.Attribute(ast.Name(id=to), "get" | "setdefault"), args) if to == name:
            if len(args) < 2 or not isinstance(args[1], ast.List) or args[1].elts:
                return True  # the default is no new, empty list
        case ast.Call(args=[ast.Call(ast.Attribute(ast.Name(id=to), "values"))]) if to == name:
            return True
        case ast.For(target=target, iter=iterable, body=body):
            reads_table = not mentions_none_of(iterable, [name])
            return reads_table and (
                _appends(name, body) or not _only_read(target, iterable, body, harmless)
            )
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
            return any(
                not _only_read(g.target, g.iter, [*comprehension_results(n), *g.ifs], harmless)
                for g in n.generators if not mentions_none_of(g.iter, [name])
            )
    is_stored_to = isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load)
    return _value_of(n) == name and n not in harmless and not is_stored_to


def _operands(n: ast.AST) -> Iterator[ast.expr]:
    """The operands of `n` that it only reads, of whatever type: subscripted, iterated over, tested,
    compared, or in arithmetic.
    """
    match n:
        case ast.Subscript(value=e, ctx=ast.Load()):
            yield e
        case ast.For(iter=e) | ast.comprehension(iter=e):
            yield e
        case ast.If(test=e) | ast.While(test=e) | ast.IfExp(test=e) | ast.UnaryOp(operand=e):
            yield e
        case ast.Compare(left=left, comparators=rest):
            yield from (left, *rest)
        case ast.BinOp(left=left, right=right):
            yield from (left, right)


def _is_library_function(function: object) -> bool:
    """Whether `function` is a builtin or NumPy's, which retains no reference to a list."""
    return is_numpy_function(function) or is_builtin(function)


def _appends_list(s: ast.stmt, name: str) -> bool:
    """Whether `s` appends the list `name` to another."""
    match s:
        case ast.Expr(value=ast.Call(ast.Attribute(attr="append"), [ast.Name(id=item)], [])):
            return item == name
    return False


def _changed_lists(n: ast.AST) -> Iterator[ast.expr]:
    """The operand of `n` that, if it is a list, `n` may change in place."""
    match n:
        case ast.Call(func=ast.Attribute(value=e)):
            yield e
        case ast.Subscript(value=e, ctx=ast.Store() | ast.Del()):
            yield e
        case ast.AugAssign(target=ast.Name() as e):
            yield e


def _statements(block: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of `block` and of the blocks in them (`child_blocks`), in the order of the
    source.
    """
    for s in block:
        yield s
        for inner in child_blocks(s):
            yield from _statements(inner)


def _block_of(s: ast.stmt, tree: ast.FunctionDef) -> list[ast.stmt]:
    """The block of `tree` that contains `s`."""
    return next(b for n in walk_nodes(tree) for b in child_blocks(n) if s in b)


def _is_built_before(
    s: ast.stmt, name: str, changed: Collection[ast.expr], tree: ast.FunctionDef
) -> bool:
    """Whether the block of `s` binds the list `name` before `s`, and all expressions in ``changed``
    that are the name are between that binding and `s`.
    """
    block = _block_of(s, tree)
    end = block.index(s)
    targets = [[t for t, _ in binding_pairs(before)] for before in block[:end]]
    bindings = [k for k, ts in enumerate(targets) if any(is_name(t, name) for t in ts)]
    if not bindings:
        return False
    between = {n for before in block[bindings[-1] : end] for n in walk_nodes(before)}
    changes = (n for n in walk_nodes(*tree.body) if is_name(n, name) and n in changed)
    return all(n in between for n in changes)


def _is_dead_after(
    s: ast.stmt, name: str, changed: Collection[ast.expr], tree: ast.FunctionDef
) -> bool:
    """Whether the list `name` is not used after `s`: the next use in the block binds it again, and
    no ``break`` or ``continue`` comes before that; or there is no use, `s` is in no loop, and no
    later statement of the function appends or changes it. ``changed``: the expressions whose lists
    are changed in place.
    """
    block = _block_of(s, tree)
    for later in block[block.index(s) + 1 :]:
        if name in names_used(later):
            return any(
                is_name(t, name) and name not in names_used(v) for t, v in binding_pairs(later)
            )
        if any(isinstance(n, (ast.Break, ast.Continue)) for n in walk_nodes(later)):
            return False
    if any(
        s in set(walk_nodes(n)) for n in walk_nodes(tree) if isinstance(n, (ast.For, ast.While))
    ):
        return False
    statements = list(_statements(tree.body))
    rest = statements[statements.index(s) + 1 :]
    appends_again = any(_appends_list(later, name) for later in rest)
    return not appends_again and not any(
        is_name(n, name) and n in changed for later in rest for n in walk_nodes(later))


def _value_of(e: ast.AST) -> str:
    """The name ``d`` where `e` may be the value of a key of ``d``: a subscript, ``get`` or
    ``setdefault`` with a default; else "".
    """
    match e:
        case ast.Subscript(ast.Name(id=name), _) | ast.Call(
            ast.Attribute(ast.Name(id=name), "get" | "setdefault"), [_, _], []
        ):
            return name
    return ""


def _appends(name: str, body: Sequence[ast.stmt]) -> bool:
    """Whether `body` calls a method of a value of the table `name`, such as ``append``."""
    calls = (n.func for n in walk_nodes(*body) if isinstance(n, ast.Call))
    return any(isinstance(f, ast.Attribute) and _value_of(f.value) == name for f in calls)


def _only_read(
    target: ast.expr, iterable: ast.expr, body: Sequence[ast.AST], read: Collection[ast.AST]
) -> bool:
    """Whether `body` only reads the lists that a loop over `iterable` binds, if that is
    ``d.values()`` or ``d.items()``: each list gets a name, whose uses are all in `read`, the
    expressions that are only read. True for other iterables.
    """
    match iterable, target:
        case ast.Call(ast.Attribute(ast.Name(), "items"), [], []), ast.Tuple(
            elts=[_, ast.Name(id=list_name)]
        ):
            pass
        case ast.Call(ast.Attribute(ast.Name(), "values"), [], []), ast.Name(id=list_name):
            pass
        case ast.Call(ast.Attribute(ast.Name(), "items" | "values"), [], []), _:
            return False
        case _:
            return True
    uses = (n for n in walk_nodes(*body) if isinstance(n, ast.Name) and n.id == list_name)
    return all(n in read for n in uses)
