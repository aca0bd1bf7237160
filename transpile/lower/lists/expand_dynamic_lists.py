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

A list that a function makes has one of four representations. Lowering begins with the first that
may hold, and where it turns out not to, `lower_function` lowers again with the next one:

1. fixed: a display, or ``[v] * n``: an array of known length (`fixed_size_lists`);
2. append-only without a counter: each iteration of one loop appends one item, so that the length is
   the trip count (`append_only_lists.one_append_lists`);
3. append-only with a counter: a loop bounds the length, which is known after it;
4. dynamic (here): read while it grows or shrinks, or no loop bounds its length.

A list that is used as a whole after the expansion cannot be expanded.
"""
from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence

from ...analysis.liveness import names_read, upward_exposed
from ...analysis.tuple_types import appended_by, tuple_width
from ...frontend.ast_names import names_used
from ...frontend.ast_walk import copy_tree, display_leaves, walk_nodes
from ...frontend.core_nodes import ListPop, ListPush, copy_location, fix_missing_locations
from ..state.generated_names import buffer_names, counter_name
from .list_uses import escaping_uses_by_name

__all__ = ["expand_dynamic_lists", "find_dynamic_lists", "list_method_call"]

_METHODS = ("append", "pop", "clear", "extend")


def find_dynamic_lists(tree: ast.FunctionDef, unbounded: Collection[str] = ()) -> dict[str, int]:
    """The dynamic lists in `tree`, each with the number of items of its tuples (0: its items are
    numbers). `lower_function` asks before it lowers, and `expand_dynamic_lists` replaces them.

        stack = [(0, 1)]; while stack: i, j = stack.pop()    →  {"stack": 2}
        v = []; for i in range(n): v.append(x[i])            →  {}: append-only, no dynamic list

    A list is dynamic if it is resized by a method or ``+=``, and

    - it is not someone else's: no parameter, and bound to list displays before each use;
    - all its items are tuples of one length, or none is a tuple: there is a buffer for each item;
    - it is not append-only, which is faster (`_is_append_only`); those in ``unbounded`` are, but no
      loop bounds their length;
    - it does not escape: a buffer and a count are no list for other code.
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
        lines = [line for part in parts for line in part.lines[name]]
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

    ``lines``: the assignments ``name = …`` and ``name += …``. ``added``: the items that are added.
    ``calls``: the methods that are called. ``uses``, ``stores``: how often the name occurs, and is
    assigned. ``in_place``: names that are changed by ``+=``. ``has_while``: there is a ``while``.
    """

    def __init__(self, s: ast.stmt) -> None:
        self.statement = s
        self.lines: defaultdict[str, list[ast.Assign | ast.AugAssign]] = defaultdict(list)
        self.added: defaultdict[str, list[ast.expr]] = defaultdict(list)
        self.calls: defaultdict[str, list[str]] = defaultdict(list)
        self.uses, self.stores = Counter[str](), Counter[str]()
        self.in_place = set[str]()
        self.has_while = False
        for n in walk_nodes(s):
            self._look(n)

    def _look(self, n: ast.AST) -> None:
        """Records the uses of lists in the node `n` itself."""
        for name, items in appended_by(n):
            self.added[name] += items
        match n:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
                self.lines[name].append(n)
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
    """The names in an expanded tree that are used as a whole, as ``v`` of ``g(v)``. In a push, and
    in a returned call such as ``return np.array(v)``, a list may be.
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
    last = "_last"
    while any(name.startswith(last) for name in names_used(tree)):
        last += "_"
    expanded: ast.FunctionDef = _ListExpander(lists, last).visit(copy_tree(tree))
    return expanded


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


class _ListExpander(ast.NodeTransformer):
    """Replaces the uses of `lists` (each with its width) by those of buffers and counts. ``last``:
    the beginning of the names of temporary variables.
    """

    def __init__(self, lists: Mapping[str, int], last: str) -> None:
        self.lists, self.last = lists, last

    def _list(self, e: ast.AST | None) -> str:
        """The name of the expanded list that `e` is; "" for other expressions."""
        return e.id if isinstance(e, ast.Name) and e.id in self.lists else ""

    def _count(self, name: str, at: ast.AST, ctx: ast.expr_context | None = None) -> ast.Name:
        """The count of the list `name`, with the source position of `at`."""
        return copy_location(ast.Name(counter_name(name), ctx or ast.Load()), at)

    def _counted(self, name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
        """The assignment of `value` to the count of the list `name`."""
        line = ast.Assign([self._count(name, at, ast.Store())], value)
        return fix_missing_locations(copy_location(line, at))

    def _push(self, name: str, item: ast.expr, at: ast.AST) -> ast.stmt:
        """``name.append(item)``"""
        width = self.lists[name]
        values = item.elts if width and isinstance(item, ast.Tuple) else [item]
        names = [ast.Name(n, ast.Load()) for n in buffer_names(name, width)]
        push = ListPush(names, self._count(name, at), [self.visit(v) for v in values])
        return self._counted(name, copy_location(push, item), at)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        """``v = [a, b]``, ``x = v.pop()``, ``x, y = v[i]``, ``v[i] = v[j]`` and ``v[i] = (a, b)``.
        """
        name = _assigned_name(node) or ""
        if name in self.lists and isinstance(node.value, ast.List):
            items = [self._push(name, e, node) for e in node.value.elts]
            return [self._counted(name, ast.Constant(0), node), *items]
        match node.targets, node.value, list_method_call(node.value):
            case [ast.Name() | ast.Tuple() as target], ast.Call(args=[], keywords=[]), (
                of, "pop"
            ) if of in self.lists:
                return self._popped(of, target, node)
            case [ast.Tuple(elts=targets)], ast.Subscript(value=of, slice=at), _ if self._list(of):
                return self._taken(self._list(of), targets, self.visit(at), node)
            case [ast.Subscript(value=ast.Name() as to, slice=place)], ast.Subscript(
                value=of, slice=at
            ), _ if self.lists.get(self._list(of)) and self._list(to) == self._list(of):
                parts = buffer_names(to.id, self.lists[to.id])
                names = (ast.Name(part, ast.Load()) for part in parts)
                places = [ast.Subscript(x, copy_tree(place), ast.Store()) for x in names]
                return self._taken(to.id, places, self.visit(at), node)
            case [ast.Subscript(value=of, slice=at)], ast.Tuple(elts=targets), _ if (
                self.lists.get(self._list(of)) == len(targets)
            ):
                return self._put(self._list(of), self.visit(at), targets, node)
        return self.generic_visit(node)

    def _put(
        self, name: str, place: ast.expr, items: Sequence[ast.expr], node: ast.stmt
    ) -> list[ast.stmt]:
        """``name[place] = (items…)``: all items are evaluated before the first one is stored, since
        they may read the old tuple.
        """
        parts = buffer_names(name, self.lists[name])
        lines: list[ast.stmt] = []
        for k, item in enumerate(items):
            lines.append(ast.Assign([ast.Name(f"{self.last}{k}", ast.Store())], self.visit(item)))
        for k, part in enumerate(parts):
            to = ast.Subscript(ast.Name(part, ast.Load()), copy_tree(place), ast.Store())
            lines.append(ast.Assign([to], ast.Name(f"{self.last}{k}", ast.Load())))
        lines = [copy_location(line, node) for line in lines]
        return [fix_missing_locations(line) for line in lines]

    def _popped(self, name: str, target: ast.expr, node: ast.stmt) -> list[ast.stmt]:
        """``target = name.pop()``: reads the last item, then reduces the count."""
        last = ast.BinOp(self._count(name, node), ast.Sub(), ast.Constant(1))
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        left = self._counted(name, ListPop(self._count(name, node)), node)
        return [*self._taken(name, targets, last, node), left]

    def _taken(
        self, name: str, targets: Sequence[ast.expr], at: ast.expr, node: ast.stmt
    ) -> list[ast.stmt]:
        """``targets = name[at]``: an assignment for each buffer. The statement `node` itself, which
        is that assignment, where there are not as many targets as buffers.
        """
        parts = buffer_names(name, self.lists[name])
        if len(parts) != len(targets):
            return [node]
        lines: list[ast.stmt] = []
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
                return self._push(name, item, node)
            case "extend", [ast.List(elts=items)]:
                return [self._push(name, e, node) for e in items]
            case "clear", []:
                return self._counted(name, ast.Constant(0), node)
            case "pop", []:
                last: list[ast.expr] = [ast.Name(self.last, ast.Store())]
                items = last * max(self.lists[name], 1)
                return self._popped(name, ast.Tuple(items, ast.Store()), node)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        """``v += [a, b]``"""
        name = _assigned_name(node) or ""
        match node.op, node.value:
            case ast.Add(), ast.List(elts=items) if name in self.lists:
                return [self._push(name, e, node) for e in items]
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """``len(v)``: the count."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]) if self._list(of):
                return self._count(self._list(of), node)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """``v[i][k]`` of a list of tuples, with a constant k: an element of buffer k."""
        match node:
            case ast.Subscript(
                value=ast.Subscript(value=of, slice=at), slice=ast.Constant(value=int(k))
            ) if self._list(of) and 0 <= k < self.lists[self._list(of)]:
                buffers = buffer_names(self._list(of), self.lists[self._list(of)])
                part = ast.Name(buffers[k], ast.Load())
                new = ast.Subscript(part, self.visit(at), node.ctx)
                return fix_missing_locations(copy_location(new, node))
        return self.generic_visit(node)

    def _test(self, e: ast.expr) -> ast.expr:
        """The condition `e`, with a list in it, also in ``and`` and ``or``, as a test of its count.
        """
        if isinstance(e, ast.BoolOp):
            e.values = [*map(self._test, e.values)]
        if not self._list(e):
            return e
        some = ast.Compare(self._count(self._list(e), e), [ast.Gt()], [ast.Constant(0)])
        return fix_missing_locations(copy_location(some, e))

    def _tested(self, node: ast.While | ast.If | ast.IfExp) -> ast.AST:
        """A statement or expression with a condition in ``test``."""
        node.test = self._test(node.test)
        return self.generic_visit(node)

    visit_While = visit_If = visit_IfExp = _tested

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if isinstance(node.op, ast.Not):
            node.operand = self._test(node.operand)
        return self.generic_visit(node)
