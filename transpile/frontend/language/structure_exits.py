"""Structured control flow: ``break``, ``continue``, ``else``, early ``return`` → one exit.

Each exit sets a flag instead, and the statements after it run only if the flag is not set; where an
exit ends one branch of an ``if``, they simply move into the other branch. A loop then has one
``break`` at most, at one place. `structure_exits` does it for a function (`transpile.expand`),
`structure_loops` for the loops of inlined code; `inline.callee_body` extends `ExitStructurer`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from ..ast_names import bound_names, names_used
from ..ast_walk import child_nodes, copy_tree, walk_nodes
from ..core_nodes import copy_location, is_early_return, is_plain_break, mark_early_return
from ..macros.macro_context import Context

__all__ = [
    "NotStructured", "always_leaves", "exits_of", "is_irregular_loop",
    "exits_of_block", "run_before_exits", "ExitStructurer", "structure_loops", "structure_exits",
]

_LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


class NotStructured(Exception):
    """Raised for an exit from within a statement that stays Python's: ``try``, ``with``, ``match``.
    """


def exits_of(s: ast.stmt) -> frozenset[str]:
    """The exits by which `s` may be left: some of "break", "continue" and "return"; of a loop,
    those that leave the loop statement itself. Raises NotStructured.
    """
    match s:
        case ast.Break() | ast.Continue() | ast.Return():
            return frozenset((type(s).__name__.lower(),))
        case ast.If(body=body, orelse=orelse):
            return exits_of_block(body) | exits_of_block(orelse)
        case ast.For(body=body, orelse=orelse) | ast.While(body=body, orelse=orelse):
            return (exits_of_block(body) & {"return"}) | exits_of_block(orelse)
        case _ if isinstance(s, _SCOPES):
            return frozenset()
    if any(isinstance(n, (ast.Break, ast.Continue, ast.Return)) for n in _statements_in_scope(s)):
        raise NotStructured
    return frozenset()


def exits_of_block(block: Iterable[ast.stmt]) -> frozenset[str]:
    """The exits by which a statement of `block` may be left (`exits_of`)."""
    return frozenset(kind for s in block for kind in exits_of(s))


def _statements_in_scope(s: ast.AST) -> Iterator[ast.AST]:
    """`s` and the statements in it, without those of inner functions and classes."""
    yield s
    for child in child_nodes(s):
        if not isinstance(child, (ast.expr, *_SCOPES)):
            yield from _statements_in_scope(child)


def always_leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether every path through `block` leaves it by ``break``, ``continue`` or ``return``."""
    for s in block:
        match s:
            case ast.Break() | ast.Continue() | ast.Return():
                return True
            case ast.If(body=body, orelse=orelse) if always_leaves(body) and always_leaves(orelse):
                return True
    return False


def run_before_exits(
    block: Sequence[ast.stmt], code: Sequence[ast.stmt], cx: Context, *, in_loop: bool = False
) -> list[ast.stmt]:
    """`block`, with a copy of `code` before each exit by which `block` is left; a value that is
    returned is computed first. ``in_loop``: `block` is in a loop, which its ``break`` and
    ``continue`` do not leave. Raises NotStructured.

        if v < 0:
            return v * 2
    →
        if v < 0:
            _result = v * 2
            code
            return _result
    """
    out: list[ast.stmt] = []
    for s in block:
        match s:
            case ast.Return(value=None | ast.Constant()):
                out += [*map(copy_tree, code), s]
            case ast.Return(value=ast.Name(id=name)) if name not in bound_names(*code):
                out += [*map(copy_tree, code), s]
            case ast.Return(value=ast.expr() as value):
                text = "RESULT = VALUE\nCODE\nreturn RESULT"
                out += cx.code(text, RESULT=cx.fresh("result"), VALUE=value, CODE=code)
            case ast.Break() | ast.Continue():
                out += [s] if in_loop else [*map(copy_tree, code), s]
            case ast.If():
                new = copy_tree(s)
                new.body = run_before_exits(s.body, code, cx, in_loop=in_loop)
                new.orelse = run_before_exits(s.orelse, code, cx, in_loop=in_loop)
                out.append(new)
            case ast.For() | ast.While():
                loop = copy_tree(s)
                loop.body = run_before_exits(s.body, code, cx, in_loop=True)
                loop.orelse = run_before_exits(s.orelse, code, cx, in_loop=in_loop)
                out.append(loop)
            case _:
                exits_of(s)
                out.append(s)
    return out


def is_irregular_loop(n: ast.AST) -> bool:
    """Whether `n` is a loop with an ``else``, a ``continue``, or any ``break`` but one
    ``if …: break`` at the top level of its body.
    """
    if not isinstance(n, _LOOPS):
        return False
    breaking = [s for s in n.body if "break" in exits_of(s)]
    simple = not breaking or (len(breaking) == 1 and is_plain_break(breaking[0]))
    return bool(n.orelse) or "continue" in exits_of_block(n.body) or not simple


def structure_exits(tree: ast.FunctionDef, cx: Context) -> None:
    """Rewrites the body of `tree`, in place, so that each loop is left in one place, and the
    function at its end (structured control flow): core Python has no other exits.
    `transpile.expand` calls it before macros fire on statements.

        for i in range(n):
            if x[i] < 0:
                continue
            if x[i] > t:
                return i
            s = s + x[i]
        else:
            s = -s
        return s
    →
        _returned = False
        for i in range(n):
            _skipped = False
            _returned = False
            if x[i] < 0:
                _skipped = True          # nothing reads it: what `continue` skips is in `else`
            elif x[i] > t:
                _returned = True
            else:
                s = s + x[i]
            if _returned:
                break
        if not _returned:
            s = -s
        if _returned:
            return i
        return s

    An exit becomes a flag, and statements that it skips are put under ``if not flag``, or into the
    other branch where that needs no test. The value of a ``return`` is computed at the end, from
    the names that the exit left in place. A function without early returns, whose loops all have
    one ``if …: break`` at most, stays as it is; so does one with an exit from a ``with`` or ``try``
    (`NotStructured`), which lowering refuses.
    """
    try:
        if _returns_early(tree.body) or any(map(is_irregular_loop, walk_nodes(tree))):
            tree.body = ExitStructurer(cx).function(_hoist_empty_lists(tree.body))
    except NotStructured:
        return


def structure_loops(block: Sequence[ast.stmt], cx: Context) -> Sequence[ast.stmt]:
    """`block`, which has no exits itself, with each loop in it left in one place; `block` as it is
    if a loop cannot be structured.
    """
    if any(is_irregular_loop(n) for s in block for n in walk_nodes(s)):
        with suppress(NotStructured):
            return ExitStructurer(cx).block([copy_tree(s) for s in block])
    return block


def _returns_early(body: Sequence[ast.stmt]) -> bool:
    """Whether `body` returns before its end, other than by ``if _returned: return`` of a function
    that was structured before.
    """
    for s in body:
        if is_early_return(s):
            return False
        if "return" in exits_of(s):
            return not (s is body[-1] and isinstance(s, ast.Return))
    return False


def _hoist_empty_lists(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """`body` with its assignments of empty lists first, if no earlier statement uses their names.
    After an early return they would be in a branch, and lists are made in no branch::

        if n < 1:
            return s
        a = []
    →
        a = []
        if n < 1:
            return s
    """
    hoisted: list[ast.stmt] = []
    rest: list[ast.stmt] = []
    for s in body:
        names = bound_names(s) if _assigns_empty_lists(s) else set()
        unused = names and names.isdisjoint(name for other in rest for name in names_used(other))
        (hoisted if unused else rest).append(s)
    return [*hoisted, *rest]


def _assigns_empty_lists(s: ast.stmt) -> bool:
    """Whether `s` is ``a = []`` or ``a, b = [], []``."""
    match s:
        case ast.Assign(targets=[ast.Name()], value=ast.List(elts=[])):
            return True
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            plain = all(isinstance(n, ast.Name) for n in names) and len(names) == len(values)
            return plain and all(isinstance(v, ast.List) and not v.elts for v in values)
    return False


class ExitStructurer:
    """The rewriting of one function: makes a flag for each exit, and the tests of these flags.

    `function` is for a whole body, `block` for statements in it. All methods return new statements.
    """

    def __init__(self, cx: Context) -> None:
        self.cx = cx
        # the flag of each early return so far, with the return, in the order of the source: those
        # within a statement are the ones after the count that was taken before it
        self.returns: list[tuple[str, ast.Return]] = []
        # for each enclosing loop, the innermost last: its flags by kind, see _FLAG_KINDS
        self.loops: list[dict[str, str]] = []

    def function(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """A function's `body` with one exit: flags set to False, the structured statements, ``if
        flag: return …`` for each early return, and the last return.
        """
        last = body[-1] if isinstance(body[-1], ast.Return) else None
        always_returns = last is not None or always_leaves(body)
        statements = body[:-1] if last is not None else body
        if always_leaves(statements):
            last = None
        new = self.block(statements)
        if last is None and always_returns:
            # every path returns: the last early return needs no test, if no other was taken
            _, last = self.returns.pop()
        start = [line for flag, _ in self.returns for line in self.set(flag, False)]
        end: list[ast.stmt] = []
        for flag, node in self.returns:
            test = copy_location(ast.If(ast.Name(flag, ast.Load()), [node], []), node)
            mark_early_return(test)
            end.append(test)
        if last is None and self.returns:
            self.cx.at = body[-1]
            last = copy_location(ast.Return(ast.Constant(None)), body[-1])
        return [*start, *new, *end, *([last] if last is not None else [])]

    def set(self, flag: str, value: bool) -> list[ast.stmt]:
        """``flag = value``"""
        return self.cx.code("FLAG = VALUE", FLAG=flag, VALUE=ast.Constant(value))

    def block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """`statements` with flags for exits, and the statements after an exit under the condition
        that it was not taken. An ``if`` of which one branch always leaves needs no condition: the
        statements after it go to the end of the other branch.
        """
        out: list[ast.stmt] = []
        for index, s in enumerate(statements):
            self.cx.at = s
            exits, rest = exits_of(s), statements[index + 1 :]
            match s:
                case ast.Break() | ast.Continue() | ast.Return():
                    return [*out, *self.leave(s)]
                case ast.If(test=test, body=body, orelse=orelse) if exits:
                    body_leaves, else_leaves = always_leaves(body), always_leaves(orelse)
                    if else_leaves and not body_leaves:
                        body = [*body, *rest]
                    if body_leaves and not else_leaves:
                        orelse = [*orelse, *rest]
                    return_count = len(self.returns)
                    new = ast.If(test, self.block(body) or [ast.Pass()], self.block(orelse))
                    out.append(copy_location(new, s))
                    if body_leaves or else_leaves:
                        return out
                    return [*out, *self.unless(return_count, exits, rest)]
                case ast.For() | ast.While():
                    return_count = len(self.returns)
                    out += self.loop(s)
                    if exits:
                        return [*out, *self.unless(return_count, exits, rest)]
                case ast.If(test=test, body=body, orelse=orelse):
                    new = ast.If(test, self.block(body), self.block(orelse))
                    out.append(copy_location(new, s))
                case _:
                    out.append(s)
        return out

    def leave(self, s: ast.stmt) -> list[ast.stmt]:
        """The replacement of the exit `s`: its flag is set."""
        return self.set(self.flag(s), True)

    def flag(self, s: ast.stmt) -> str:
        """The name of the flag of the exit `s`: each ``return`` has its own; a loop has one for all
        its breaks, and one for all its continues.
        """
        if isinstance(s, ast.Return):
            name = self.cx.fresh("returned")
            self.returns.append((name, s))
            return name
        kind = "left" if isinstance(s, ast.Break) else "skipped"
        flags = self.loops[-1]
        if kind not in flags:
            flags[kind] = self.cx.fresh(kind)
        return flags[kind]

    def unless(
        self, return_count: int, exits: frozenset[str], rest: Sequence[ast.stmt]
    ) -> list[ast.stmt]:
        """`rest` under the condition that none of ``exits`` was taken by the statement before it:
        by the returns after the first `return_count`, or by this loop's breaks and continues.
        """
        if not rest:
            return []
        flags = [name for name, _ in self.returns[return_count:]]
        if self.loops:
            flags += [
                self.loops[-1][k] for k, e in _FLAG_KINDS if e in exits and k in self.loops[-1]
            ]
        at = rest[0]
        body = self.block(rest)
        self.cx.at = at
        return self.cx.code("if not TEST:\n    BODY", TEST=_any_of(flags), BODY=body)

    def loop(self, s: ast.For | ast.While) -> list[ast.stmt]:
        """The loop `s` with one ``break`` at most, and its ``else`` under the condition that it was
        not left. Its flags are reset in each iteration, and the flag of its breaks also before it,
        since the loop may have no iteration.
        """
        return_count = len(self.returns)  # later ones are in the loop
        self.loops.append({})
        body = s.body
        leaving = [k for k, x in enumerate(body) if exits_of(x) & {"break", "return"}]
        has_plain_break = (
            not s.orelse and len(leaving) == 1 and is_plain_break(body[leaving[0]])
        )
        if has_plain_break and "continue" not in exits_of_block(body):
            # one ``if …: break`` stays as it is (`core_nodes.break_index`): lowering makes it the
            # `until` of a `Loop`, or a part of the `cond` of a `While`
            (k,) = leaving
            new = [*self.block(body[:k]), body[k], *self.block(body[k + 1 :])]
        else:
            new = self._with_one_break(body, leaving, return_count)
        flags = self.loops.pop()
        return_flags = [name for name, _ in self.returns[return_count:]]
        self.cx.at = s
        resets = [line for f in (*flags.values(), *return_flags) for line in self.set(f, False)]
        out: list[ast.stmt] = self.set(flags["left"], False) if "left" in flags else []
        loop = copy_tree(s)
        loop.body, loop.orelse = [*resets, *new], []
        out.append(loop)
        if s.orelse:
            # the ``else`` runs if no break was taken, and no return in the loop
            left = [*([flags["left"]] if "left" in flags else []), *return_flags]
            self.cx.at = s.orelse[0]
            orelse = self.block(s.orelse)
            if not left:
                return [*out, *orelse]
            out += self.cx.code("if not TEST: BODY", TEST=_any_of(left), BODY=orelse)
        return out

    def _with_one_break(
        self, body: Sequence[ast.stmt], leaving: Sequence[int], return_count: int
    ) -> list[ast.stmt]:
        """The loop body `body` with flags, and ``if flags: break`` after the last statement that
        may leave the loop; at the end of the body if there is a ``continue`` before that.

        ``leaving``: the indices of the statements that may leave the loop; `return_count`: the
        number of returns before the loop, so that the later ones are in it.
        """
        if not leaving:
            return self.block(body)
        after_last = leaving[-1] + 1
        at_end = "continue" in exits_of_block(body[:after_last])
        new = self.block(body if at_end else body[:after_last])
        flags = [self.loops[-1]["left"]] if "left" in self.loops[-1] else []
        flags += [name for name, _ in self.returns[return_count:]]
        self.cx.at = body[after_last - 1]
        new += self.cx.code("if TEST: break", TEST=_any_of(flags))
        return new if at_end else [*new, *self.block(body[after_last:])]


_FLAG_KINDS = (("left", "break"), ("skipped", "continue"))
"""The kinds of flags of a loop, and the exits that set them."""


def _any_of(flags: Sequence[str]) -> ast.expr:
    """``a or b or …``"""
    names: list[ast.expr] = [ast.Name(flag, ast.Load()) for flag in dict.fromkeys(flags)]
    return names[0] if len(names) == 1 else ast.BoolOp(ast.Or(), names)
