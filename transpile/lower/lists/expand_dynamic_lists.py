"""Dynamic list expansion (core Python → core Python): buffers and a count in place of the list.

    stack = [(0, 1)]
    while stack:
        i, j = stack.pop()
        stack.append((i + 1, j))
→
    #stack = 0
    #stack = ListPush([stack.0, stack.1], #stack, [0, 1])
    while #stack > 0:
        i = stack.0[#stack - 1]
        j = stack.1[#stack - 1]
        #stack = ListPop(#stack)
        #stack = ListPush([stack.0, stack.1], #stack, [i + 1, j])

Run before a function is lowered. A list of tuples gets a buffer for each item of the tuples, a list
of numbers one buffer under its own name. ``ListPush`` and ``ListPop`` are nodes whose value is the
new count; `dynamic_lists.py` lowers them.

A list that a function makes has one of four representations:

1. fixed: a display, or ``[v] * n``: an array of known length (`fixed_size_lists`);
2. append-only without a counter: each iteration of one loop appends one item, so that the length is
   the trip count (`append_only_lists.one_append_lists`);
3. append-only with a counter: a loop bounds the length, which is known after it;
4. dynamic (here): read while it grows or shrinks, or no loop bounds its length.

At first the form of the source decides. Where lowering finds that a list of kind 2 needs a counter,
or that no loop bounds the length of a list of kind 2 or 3, `lower_function` lowers the function
again, with kind 3 or 4. A list that is used as a whole after the expansion cannot be expanded.
"""
from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from ...analysis.liveness import names_read, upward_exposed
from ...analysis.type_inference.tuple_types import appended_by, tuple_width
from ...frontend.ast_names import bound_names, names_used
from ...frontend.ast_walk import NodeTransformer, copy_tree, display_leaves, walk_nodes
from ...frontend.core_nodes import (
    ListPop,
    ListPush,
    break_index,
    copy_location,
    fix_missing_locations,
)
from ..state.generated_names import buffer_names, counter_name
from .list_uses import escaping_uses_by_name

__all__ = [
    "expand_dynamic_lists", "find_dynamic_lists", "list_method_call", "lists_growing_evenly",
]

_METHODS = ("append", "pop", "clear", "extend")

_PLAIN = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp)
"""The expressions whose values no store to an item changes: they read variables alone."""


def find_dynamic_lists(tree: ast.FunctionDef, unbounded: Collection[str] = ()) -> dict[str, int]:
    """The dynamic lists in `tree`, each with the number of items of its tuples (0: its items are
    numbers). `lower_function` calls it before it lowers; `expand_dynamic_lists` replaces the lists.

        stack = [(0, 1)]; while stack: i, j = stack.pop()    →  {"stack": 2}
        v = []; for i in range(n): v.append(x[i])            →  {}: append-only, no dynamic list

    A list is dynamic if it is resized by a method or ``+=``, and

    - the function makes it: it is no parameter, and bound before each use, to list displays only;
    - all its items are tuples of one length, or none is a tuple: there is a buffer for each item;
    - it is not append-only, which is faster (`_is_append_only`), or it is in ``unbounded``, the
      append-only lists whose length no loop bounds;
    - it does not escape: other code cannot take a buffer and a count for a list.
    """
    found: dict[str, int] = {}
    if not any(isinstance(n, ast.List) for n in walk_nodes(tree)):
        return found  # each is bound to list displays
    parameters = {a.arg for a in walk_nodes(tree.args) if isinstance(a, ast.arg)}
    parts = [*map(_ListUses, tree.body)]
    resized = {name for part in parts for name in part.resized}
    # Parameters, and names that are read before they are bound, are lists of someone else.
    candidates = resized - parameters - upward_exposed(tree.body) if resized else set[str]()
    for name in sorted(candidates):
        lines = [line for part in parts for line in part.assignments[name]]
        made = [s.value for s in lines if isinstance(s, ast.Assign)]
        items = [e for v in made if isinstance(v, ast.List) for e in v.elts]
        items += [e for part in parts for e in part.added[name]]
        widths = {*map(tuple_width, items)}
        is_bound_to_displays = bool(made) and all(
            isinstance(v, ast.List) and name not in names_read([v]) for v in made
        )
        has_other_bindings = sum(part.stores[name] for part in parts) > len(lines)
        if not is_bound_to_displays or has_other_bindings or len(widths) != 1:
            continue
        if name in unbounded or not _is_append_only(parts, name, made, widths):
            found[name] = widths.pop()
    if not found:
        return found
    # A list escapes if it, or a buffer of it, is still used as a whole after the expansion.
    escaping = _escaping_lists(expand_dynamic_lists(tree, found))
    return {
        name: width for name, width in found.items()
        if escaping.isdisjoint((name, *buffer_names(name, width)))
    }


class _ListUses:
    """How one top-level statement of a function uses lists, by the names of the lists.

    ``assignments``: the statements ``name = …`` and ``name += …``. ``added``: the items that are
    added. ``calls``: the methods that are called. ``uses``, ``stores``: how often the name occurs,
    and is assigned. ``in_place``: names that are changed by ``+=``. ``has_while``: there is a
    ``while``.
    """

    def __init__(self, s: ast.stmt) -> None:
        self.statement = s
        self.assignments: defaultdict[str, list[ast.Assign | ast.AugAssign]] = defaultdict(list)
        self.added: defaultdict[str, list[ast.expr]] = defaultdict(list)
        self.calls: defaultdict[str, list[str]] = defaultdict(list)
        self.uses, self.stores = Counter[str](), Counter[str]()
        self.in_place = set[str]()
        self.has_while = False
        for n in walk_nodes(s):
            self._record(n)

    def _record(self, n: ast.AST) -> None:
        """Records the uses of lists in the node `n` itself."""
        for name, items in appended_by(n):
            self.added[name] += items
        match n:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
                self.assignments[name].append(n)
                if isinstance(n, ast.AugAssign):
                    self.in_place.add(name)
            case ast.Name(id=name):
                self.uses[name] += 1
                self.stores[name] += not isinstance(n.ctx, ast.Load)
            case ast.Call() if (found := list_method_call(n)) is not None:
                self.calls[found[0]].append(found[1])
            case ast.While():
                self.has_while = True

    @property
    def resized(self) -> set[str]:
        """The names of lists that a method or ``+=`` resizes."""
        return {*self.in_place, *self.calls}


def _escaping_lists(tree: ast.FunctionDef) -> set[str]:
    """The names in an expanded tree that are used as a whole, as ``v`` of ``g(v)``. Uses in a push,
    and in a returned call such as ``return np.array(v)``, do not count.
    """
    allowed: set[ast.expr] = set()
    for n in walk_nodes(tree):
        match n:
            case ListPush(buffers, count, items):
                allowed.update((*buffers, count, *items))
            case ast.Return(value=ast.expr() as value):
                makers = [e for e in display_leaves(value) if isinstance(e, ast.Call)]
                for e in makers:
                    allowed.update(e.args)
                    makers += (a for a in e.args if isinstance(a, ast.Call))
    every = escaping_uses_by_name(tree, returned=True, sliced=True)
    return {name for name, found in every.items() if not allowed.issuperset(found)}


def expand_dynamic_lists(tree: ast.FunctionDef, lists: Mapping[str, int]) -> ast.FunctionDef:
    """A copy of `tree` in which `lists`, with the widths that `find_dynamic_lists` gave, are
    replaced by buffers and counts; `tree` itself if there are none.
    """
    if not lists:
        return tree
    temporary = "_last"
    while any(name.startswith(temporary) for name in names_used(tree)):
        temporary += "_"
    expanded: ast.FunctionDef = _ListExpander(lists, temporary).visit(copy_tree(tree))
    return expanded


def lists_growing_evenly(tree: ast.FunctionDef, lists: Collection[str]) -> frozenset[str]:
    """Those of the `lists` that grow only, and in each iteration of a loop alike, by the form of
    the expanded `tree`: all their pushes stand in no ``if`` or ``while``, and in no ``for`` with a
    ``break``. So the number of items may follow from the numbers of the iterations::

        v = [x[0]]
        for i in range(1, n): v.append(v[-1] * x[i])            at each append v has i items
        while v[-1] > 1: v.append(v[-1] / 2)                    not even
    """
    uneven = set[str]()

    def visit(block: Sequence[ast.stmt], *, is_even: bool) -> None:
        """Adds to ``uneven`` the lists that change in `block` in another way."""
        for s in block:
            match s:
                case ast.Assign(targets=[ast.Name(id=name)], value=ListPop()):
                    uneven.add(name)
                case ast.Assign(targets=[ast.Name(id=name)], value=ListPush()) if not is_even:
                    uneven.add(name)
                case ast.For(body=body, orelse=orelse):
                    visit(body, is_even=is_even and break_index(body) is None)
                    visit(orelse, is_even=False)
                case _:
                    parts = (getattr(s, part, ()) for part in ("body", "orelse"))
                    for part in parts:
                        visit(part, is_even=False)

    visit(tree.body, is_even=True)
    return frozenset(name for name in lists if counter_name(name) not in uneven)


def _assigned_name(s: ast.AST) -> str | None:
    """The name of ``name = …`` or ``name += …``; None for other nodes."""
    match s:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
            return name
    return None


def list_method_call(n: ast.AST) -> tuple[str, str] | None:
    """The name and the method of ``name.method(…)``, a call of a list method that resizes; None for
    other nodes.
    """
    match n:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if (
            method in _METHODS
        ):
            return name, method
    return None


def _is_append_only(
    parts: Sequence[_ListUses], name: str, made: Sequence[ast.expr], widths: set[int]
) -> bool:
    """Whether the list `name` is append-only:

    - it is bound once, to ``[]``, at the top level;
    - only ``append`` is called, in ``for`` loops that contain no ``while`` and do not read it;
    - its items are numbers, not tuples.

    ``parts``: the uses of lists in each statement of the function; ``made``: the values that are
    assigned to the list; ``widths``: the numbers of items of its tuples, 0 for a number.
    """
    outer = [part for part in parts if _assigned_name(part.statement) == name]
    empty = all(isinstance(v, ast.List) and not v.elts for v in made)
    if len(made) > 1 or not outer or not empty or widths != {0}:
        return False
    if any(name in part.in_place for part in parts):
        return False
    for part in parts:
        calls = part.calls.get(name, ())
        if not calls:
            continue
        plain = isinstance(part.statement, ast.For) and not part.has_while
        if not plain or part.uses[name] > len(calls) or any(m != "append" for m in calls):
            return False
    return True


class _ListExpander(NodeTransformer):
    """Replaces the uses of `lists` (each with its width) by those of buffers and counts.
    ``temporary``: the beginning of the names of temporary variables.

    One statement of the source becomes several here. What it evaluates once is evaluated once by
    them, too, and before they change anything that it reads (`_evaluated_once`).
    """

    def __init__(self, lists: Mapping[str, int], temporary: str) -> None:
        self.lists, self.temporary = lists, temporary

    def _list_name(self, e: ast.AST | None) -> str:
        """The name of the expanded list that `e` is; "" for other expressions."""
        return e.id if isinstance(e, ast.Name) and e.id in self.lists else ""

    def _count_name(self, name: str, at: ast.AST, ctx: ast.expr_context | None = None) -> ast.Name:
        """The count of the list `name`, with the source position of `at`."""
        return copy_location(ast.Name(counter_name(name), ctx or ast.Load()), at)

    def _set_count(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        """The assignment of `value` to the count of the list `name`."""
        line = ast.Assign([self._count_name(name, at, ast.Store())], value)
        return fix_missing_locations(copy_location(line, at))

    def _temporary(self, stem: str, value: ast.expr, lines: list[ast.stmt]) -> ast.expr:
        """A temporary variable with the `value`, whose assignment is added to `lines`. ``stem``:
        the end of its name, which is used once in a statement.
        """
        name = self.temporary + stem
        line = ast.Assign([ast.Name(name, ast.Store())], value)
        lines.append(fix_missing_locations(copy_location(line, value)))
        return copy_location(ast.Name(name, ast.Load()), value)

    def _evaluated_once(
        self, at: ast.expr, stem: str, targets: Sequence[ast.expr], lines: list[ast.stmt]
    ) -> ast.expr:
        """The subscript `at`, expanded, for several uses with assignments to `targets`, or to items
        of lists, between them: itself if these cannot change it, else a temporary variable, whose
        assignment is added to `lines`.

            i, x = v[i]    →    _last_at = i; i = v.0[_last_at]; x = v.1[_last_at]
        """
        expanded: ast.expr = self.visit(at)
        parts = walk_nodes(expanded)
        is_plain = all(isinstance(n, _PLAIN) for n in parts if isinstance(n, ast.expr))
        if is_plain and names_used(expanded).isdisjoint(bound_names(*targets)):
            return expanded
        return self._temporary(stem, expanded, lines)

    def _push_items(self, name: str, items: Sequence[ast.expr], at: ast.stmt) -> list[ast.stmt]:
        """``name += [items…]``. A later item that reads the list reads it as it was before: then
        all items are evaluated before the first one is pushed. They are pushed together, unless one
        is a tuple that is no display.
        """
        lines: list[ast.stmt] = []
        if any(name in names_used(item) for item in items[1:]):
            items = [
                self._evaluated_item(item, f"{k}_", lines) for k, item in enumerate(items)
            ]
        if self.lists[name] and not all(isinstance(item, ast.Tuple) for item in items):
            return [*lines, *(self._push(name, [item], at) for item in items)]
        return [*lines, self._push(name, items, at)] if items else lines

    def _evaluated_item(self, item: ast.expr, stem: str, lines: list[ast.stmt]) -> ast.expr:
        """An item of a list, with temporary variables in place of a number, or of those in a tuple.
        """
        if not isinstance(item, ast.Tuple):
            return self._temporary(stem, self.visit(item), lines)
        numbers = [
            self._temporary(f"{stem}{k}", self.visit(e), lines) for k, e in enumerate(item.elts)
        ]
        return copy_location(ast.Tuple(numbers, ast.Load()), item)

    def _push(self, name: str, items: Sequence[ast.expr], at: ast.AST) -> ast.stmt:
        """``name.append(item)`` for each of `items`, which are displays if they are tuples."""
        width = self.lists[name]
        values = [
            self.visit(v)
            for item in items
            for v in (item.elts if width and isinstance(item, ast.Tuple) else [item])
        ]
        names = [ast.Name(n, ast.Load()) for n in buffer_names(name, width)]
        push = ListPush(names, self._count_name(name, at), values)
        return self._set_count(name, copy_location(push, items[0]), at)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """``v = [a, b]``, ``x = v.pop()``, ``x, y = v[i]``, ``v[i] = v[j]`` and ``v[i] = (a, b)``.
        """
        name = _assigned_name(node) or ""
        if name in self.lists and isinstance(node.value, ast.List):
            empty = self._set_count(name, ast.Constant(0), node)
            return [empty, *self._push_items(name, node.value.elts, node)]
        match node.targets, node.value, list_method_call(node.value):
            case [ast.Name() | ast.Tuple() as target], ast.Call(args=[], keywords=[]), (
                of, "pop"
            ) if of in self.lists:
                return self._pop_into(of, target, node)
            case [ast.Tuple(elts=targets)], ast.Subscript(value=of, slice=at), _ if (
                (name := self._list_name(of)) and not isinstance(at, ast.Slice)
            ):
                return self._unpack_item(name, targets, at, node)
            case [ast.Subscript(value=to, slice=place)], ast.Subscript(value=of, slice=at), _ if (
                self.lists.get(name := self._list_name(of)) and self._list_name(to) == name
                and not isinstance(at, ast.Slice) and not isinstance(place, ast.Slice)
            ):
                return self._copy_tuple(name, place, at, node)
            case [ast.Subscript(value=of, slice=at)], ast.Tuple(elts=targets), _ if (
                self.lists.get(name := self._list_name(of)) == len(targets)
                and not isinstance(at, ast.Slice)
            ):
                return self._store_tuple(name, at, targets, node)
        return self.generic_visit(node)

    def _copy_tuple(
        self, name: str, place: ast.expr, at: ast.expr, node: ast.stmt
    ) -> list[ast.stmt]:
        """``name[place] = name[at]`` of a list of tuples: an assignment for each buffer."""
        lines: list[ast.stmt] = []
        at = self._evaluated_once(at, "at", (), lines)
        place = self._evaluated_once(place, "to", (), lines)
        names = (ast.Name(part, ast.Load()) for part in buffer_names(name, self.lists[name]))
        places = [ast.Subscript(x, copy_tree(place), ast.Store()) for x in names]
        return [*lines, *self._unpack_item(name, places, at, node)]

    def _store_tuple(
        self, name: str, place: ast.expr, items: Sequence[ast.expr], node: ast.stmt
    ) -> list[ast.stmt]:
        """``name[place] = (items…)``: all items are evaluated before the first one is stored, since
        they may read the old tuple.
        """
        lines: list[ast.stmt] = []
        values = [self._temporary(str(k), self.visit(e), lines) for k, e in enumerate(items)]
        place = self._evaluated_once(place, "to", (), lines)
        for part, value in zip(buffer_names(name, self.lists[name]), values, strict=True):
            to = ast.Subscript(ast.Name(part, ast.Load()), copy_tree(place), ast.Store())
            lines.append(ast.Assign([to], value))
        lines = [copy_location(line, node) for line in lines]
        return [fix_missing_locations(line) for line in lines]

    def _pop_into(self, name: str, target: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """``target = name.pop()``: reads the last item, then reduces the count, then assigns to a
        target that is more than a name, such as ``x[len(name)]``.
        """
        last = ast.BinOp(self._count_name(name, node), ast.Sub(), ast.Constant(1))
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        left = self._set_count(name, ListPop(self._count_name(name, node)), node)
        if all(isinstance(t, ast.Name) for t in targets):
            return [*self._unpack_item(name, targets, last, node), left]
        names = [f"{self.temporary}{k}" for k in range(len(targets))]
        lines = self._unpack_item(name, [ast.Name(n, ast.Store()) for n in names], last, node)
        assigned = (
            ast.Assign([self.visit(t)], ast.Name(n, ast.Load()))
            for t, n in zip(targets, names, strict=True)
        )
        stores = [fix_missing_locations(copy_location(line, node)) for line in assigned]
        return [*lines, left, *stores]

    def _unpack_item(
        self, name: str, targets: Sequence[ast.expr], at: ast.expr, node: ast.stmt
    ) -> list[ast.stmt]:
        """``targets = name[at]``: an assignment for each buffer. The statement `node` itself, which
        is that assignment, where there are not as many targets as buffers.
        """
        parts = buffer_names(name, self.lists[name])
        if len(parts) != len(targets):
            return [node]
        lines: list[ast.stmt] = []
        at = self._evaluated_once(at, "at", targets, lines)
        for part, target in zip(parts, targets, strict=True):
            value = ast.Subscript(ast.Name(part, ast.Load()), copy_tree(at), ast.Load())
            line = copy_location(ast.Assign([self.visit(target)], value), node)
            lines.append(fix_missing_locations(line))
        return lines

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        """A call of ``append``, ``extend`` with a display, ``clear`` or ``pop`` as a statement."""
        found = list_method_call(node.value)
        if found is None or found[0] not in self.lists or not isinstance(node.value, ast.Call):
            return self.generic_visit(node)
        name = found[0]
        match found[1], node.value.args:
            case "append", [item]:
                return self._push(name, [item], node)
            case "extend", [ast.List(elts=items)]:
                return self._push_items(name, items, node)
            case "clear", []:
                return self._set_count(name, ast.Constant(0), node)
            case "pop", []:
                dropped: list[ast.expr] = [ast.Name(self.temporary, ast.Store())]
                items = dropped * max(self.lists[name], 1)
                return self._pop_into(name, ast.Tuple(items, ast.Store()), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """``v += [a, b]``"""
        name = _assigned_name(node) or ""
        match node.op, node.value:
            case ast.Add(), ast.List(elts=items) if name in self.lists:
                return self._push_items(name, items, node)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``len(v)``: the count."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]) if self._list_name(of):
                return self._count_name(self._list_name(of), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``v[i][k]`` of a list of tuples, with a constant k, where it is read: an element of
        buffer k. A store there stays, and is refused, since Python raises.
        """
        match node:
            case ast.Subscript(
                value=ast.Subscript(value=of, slice=at), slice=ast.Constant(value=int(k)),
                ctx=ast.Load(),
            ) if self._list_name(of) and 0 <= k < self.lists[self._list_name(of)]:
                buffers = buffer_names(self._list_name(of), self.lists[self._list_name(of)])
                part = ast.Name(buffers[k], ast.Load())
                new = ast.Subscript(part, self.visit(at), node.ctx)
                return fix_missing_locations(copy_location(new, node))
        return self.generic_visit(node)

    def _as_count_test(self, e: ast.expr) -> ast.expr:
        """The condition `e`, with a list in it, also in ``and`` and ``or``, as a test of its count.
        """
        if isinstance(e, ast.BoolOp):
            e.values = [*map(self._as_count_test, e.values)]
        if not self._list_name(e):
            return e
        some = ast.Compare(self._count_name(self._list_name(e), e), [ast.Gt()], [ast.Constant(0)])
        return fix_missing_locations(copy_location(some, e))

    def _with_count_test(self, node: ast.While | ast.If | ast.IfExp) -> ast.AST:
        """A statement or expression with a condition in ``test``."""
        node.test = self._as_count_test(node.test)
        return self.generic_visit(node)

    visit_While = visit_If = visit_IfExp = _with_count_test

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = self._as_count_test(node.operand)
        return self.generic_visit(node)
