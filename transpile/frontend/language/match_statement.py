"""``match`` → ``if``, ``elif``, ``else``: value patterns, and tuples of them."""
from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ..ast_names import bound_names
from ..ast_walk import copy_tree
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on

__all__ = ["match_statement"]


class _UnsupportedPattern(Exception):
    """A pattern that asks for a class, a mapping or a sequence."""


@fires_on(ast.Match)
def match_statement(node: ast.AST, cx: Context) -> list[ast.stmt] | None:
    """``match`` → ``if``, ``elif``, ``else``, one test for each case.

        match i:
            case 0 | 1:
                t = 2
            case v:
                t = v
    →
        if i == 0 or i == 1:
            t = 2
        else:
            v = i
            t = v
    """
    if not isinstance(node, ast.Match):
        return None
    before: list[ast.stmt] = []
    parts = node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]
    guards = [case.guard for case in node.cases if case.guard is not None]
    taken = {n.name for n in ast.walk(node) if isinstance(n, ast.MatchAs)} | bound_names(*guards)
    names = [_named(e, taken, before, cx) for e in parts]
    several = isinstance(node.subject, ast.Tuple)
    if any(isinstance(e, ast.Starred) for e in parts):
        return None
    lines: list[ast.stmt] = []
    try:
        for case in reversed(node.cases):
            lines = _case_test(case, names, several, lines, cx)
    except _UnsupportedPattern:
        return None
    return [*before, *lines] or [ast.Pass()]


def _named(
    e: ast.expr, taken: Collection[str | None], before: list[ast.stmt], cx: Context
) -> ast.expr:
    """Evaluated once: a name of its own, unless it has one that is not ``taken`` for a part."""
    if isinstance(e, ast.Constant) or (isinstance(e, ast.Name) and e.id not in taken):
        return e
    name = cx.fresh("subject")
    before += cx.code("NAME = E", NAME=name, E=e)
    return cx.expr(name)


def _case_test(
    case: ast.match_case, subject: Sequence[ast.expr], several: bool, others: list[ast.stmt],
    cx: Context,
) -> list[ast.stmt]:
    """The case, or else the `others`."""
    tests, binds = _test(case.pattern, subject, several, cx)
    body, first = [copy_tree(s) for s in case.body], list[ast.stmt]()
    if case.guard is not None:
        if binds and tests:
            raise _UnsupportedPattern
        tests, binds, first = [*tests, case.guard], [], binds  # bound where it does not hold, too
    body = [*binds, *body]
    if not tests:
        return body
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    if not others:
        return [*first, *cx.code("if TEST: BODY", TEST=test, BODY=body)]
    text = "if TEST: BODY\nelse: OTHERS"
    return [*first, *cx.code(text, TEST=test, BODY=body, OTHERS=others)]


def _test(
    pattern: ast.pattern, subject: Sequence[ast.expr], several: bool, cx: Context
) -> tuple[list[ast.expr], list[ast.stmt]]:
    """What must hold, and what is bound then."""
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return [], []
        case ast.MatchSequence(patterns=patterns) if several and len(patterns) == len(subject):
            found = [_test(p, [e], False, cx) for p, e in zip(patterns, subject, strict=True)]
            return [t for tests, _ in found for t in tests], [b for _, bs in found for b in bs]
    if several:
        raise _UnsupportedPattern
    (e,) = subject
    match pattern:
        case ast.MatchValue(value=value):
            return [cx.expr("E == V", E=e, V=value)], []
        case ast.MatchSingleton(value=value):
            return [cx.expr("E is V", E=e, V=ast.Constant(value))], []
        case ast.MatchAs(pattern=inner, name=str(name)):
            tests, binds = ([], []) if inner is None else _test(inner, subject, False, cx)
            return tests, [*binds, *cx.code("NAME = E", NAME=name, E=e)]
        case ast.MatchOr(patterns=patterns):
            found = [_test(p, subject, False, cx) for p in patterns]
            if any(len(tests) != 1 or binds for tests, binds in found):
                raise _UnsupportedPattern
            return [ast.BoolOp(ast.Or(), [tests[0] for tests, _ in found])], []
    raise _UnsupportedPattern
