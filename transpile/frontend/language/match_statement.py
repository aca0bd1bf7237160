"""``match`` → ``if``, ``elif``, ``else``: value patterns, and tuples of them.

A case becomes the conjunction of the tests of its pattern, and assignments of what the pattern
binds, before the body. The chain is built from the last case to the first. Class and mapping
patterns are not supported: the ``match`` stays, and lowering refuses it.
"""
from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from ...diagnostics import Rejection
from ..ast_names import bound_names
from ..ast_walk import copy_tree, walk_nodes
from ..core_nodes import note_obstacle
from ..macros.macro_context import Context
from ..macros.macro_index import fires_on
from ..source import span_of

__all__ = ["match_statement"]


class _UnsupportedPattern(Exception):
    """Raised for a pattern that has no plain tests: of a class, a mapping, or a sequence."""

    def __init__(self, pattern: ast.pattern) -> None:
        super().__init__()
        self.pattern = pattern


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

    The subject, and each item of a tuple display as the subject, is bound to a name first, unless
    it is a name that no pattern binds: Python evaluates it once. None, so that lowering refuses the
    statement, for patterns of classes and mappings, of sequences where the subject is no tuple
    display, and for ``*`` (`_pattern_tests` has the patterns that are taken).
    """
    if not isinstance(node, ast.Match):
        return None
    before: list[ast.stmt] = []
    parts = node.subject.elts if isinstance(node.subject, ast.Tuple) else [node.subject]
    guards = [case.guard for case in node.cases if case.guard is not None]
    taken = {n.name for n in walk_nodes(node) if isinstance(n, ast.MatchAs)} | bound_names(*guards)
    names = [_evaluated_once(e, taken, before, cx) for e in parts]
    is_tuple = isinstance(node.subject, ast.Tuple)
    if any(isinstance(e, ast.Starred) for e in parts):
        return None
    lines: list[ast.stmt] = []
    try:
        for case in reversed(node.cases):
            lines = _case_lines(case, names, is_tuple, lines, cx)
    except _UnsupportedPattern as unsupported:
        message = f"the pattern `{ast.unparse(unsupported.pattern)}` is not compiled"
        help = "write the cases as `if` and `elif`"
        place = span_of(unsupported.pattern)
        note_obstacle(node, Rejection("LOWER_UNSUPPORTED", message, place, help=help))
        return None
    return [*before, *lines] or [ast.Pass()]


def _evaluated_once(
    e: ast.expr, taken: Collection[str | None], before: list[ast.stmt], cx: Context
) -> ast.expr:
    """`e` itself if it is a constant or a name that no pattern binds (``taken``); else a fresh
    name, which a statement added to `before` binds.
    """
    if isinstance(e, ast.Constant) or (isinstance(e, ast.Name) and e.id not in taken):
        return e
    name = cx.fresh("subject")
    before += cx.code("NAME = E", NAME=name, E=e)
    return cx.expr(name)


def _case_lines(
    case: ast.match_case, subject: Sequence[ast.expr], is_tuple: bool, others: list[ast.stmt],
    cx: Context,
) -> list[ast.stmt]:
    """The ``if`` statement of `case`, with the lines of the `others` after it as its ``else``.
    ``subject`` and ``is_tuple``: as for `_pattern_tests`.
    """
    tests, bindings = _pattern_tests(case.pattern, subject, is_tuple, cx)
    body, before = [copy_tree(s) for s in case.body], list[ast.stmt]()
    if case.guard is not None:
        if bindings and tests:
            raise _UnsupportedPattern(case.pattern)
        # the guard reads the bound names, which stay bound if it is false
        tests, bindings, before = [*tests, case.guard], [], bindings
    body = [*bindings, *body]
    if not tests:
        return body
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    if not others:
        return [*before, *cx.code("if TEST: BODY", TEST=test, BODY=body)]
    text = "if TEST: BODY\nelse: OTHERS"
    return [*before, *cx.code(text, TEST=test, BODY=body, OTHERS=others)]


def _pattern_tests(
    pattern: ast.pattern, subject: Sequence[ast.expr], is_tuple: bool, cx: Context
) -> tuple[list[ast.expr], list[ast.stmt]]:
    """The tests that must all hold for `pattern` to match, and the assignments of the names that it
    then binds. ``subject``: the items of a tuple display, or one expression if not `is_tuple`.
    Raises _UnsupportedPattern.
    """
    match pattern:
        case ast.MatchAs(pattern=None, name=None):
            return [], []
        case ast.MatchSequence(patterns=patterns) if is_tuple and len(patterns) == len(subject):
            pairs = zip(patterns, subject, strict=True)
            parts = [_pattern_tests(p, [e], False, cx) for p, e in pairs]
            return [t for tests, _ in parts for t in tests], [b for _, bs in parts for b in bs]
    if is_tuple:
        raise _UnsupportedPattern(pattern)
    (e,) = subject
    match pattern:
        case ast.MatchValue(value=value):
            return [cx.expr("E == V", E=e, V=value)], []
        case ast.MatchSingleton(value=value):
            return [cx.expr("E is V", E=e, V=ast.Constant(value))], []
        case ast.MatchAs(pattern=inner, name=str(name)):
            tests: list[ast.expr] = []
            bindings: list[ast.stmt] = []
            if inner is not None:
                tests, bindings = _pattern_tests(inner, subject, False, cx)
            return tests, [*bindings, *cx.code("NAME = E", NAME=name, E=e)]
        case ast.MatchOr(patterns=patterns):
            parts = [_pattern_tests(p, subject, False, cx) for p in patterns]
            if any(len(tests) != 1 or bindings for tests, bindings in parts):
                raise _UnsupportedPattern(pattern)
            return [ast.BoolOp(ast.Or(), [tests[0] for tests, _ in parts])], []
    raise _UnsupportedPattern(pattern)
