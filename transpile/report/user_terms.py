"""The text of rejections in the terms of the source: only names that the user wrote.

Lowering and macros work on core Python, in which a dict has become several lists, a helper's
locals have other names, and an argument may have been replaced by its value. `UserTerms` translates
what a message cites (the parts in backquotes) back: a citation whose names are all the user's is
kept; a name that inlining gave has the name that it stands for; a name that is made from a variable
of the user (``x_1``, ``x_items``) becomes that variable, and one that is made from a member of an
object (``self_x``) that member, ``self.x``; any other citation becomes the text of the
source at its place, if the rejection has one. `UserTerms._citation` has the cases in their order.

Lines are not changed here. Inlined code has the place of the call (`callee_body._move_to_call`), so
a rejection of an inlined loop shows that line; a refusal by lowering names the helper's line in its
note (`inline_origins.refusal_in_source`, which also gives back the helper's names).
"""
from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from inspect import getattr_static
from types import FunctionType

import numpy as np

from loopir.lazy_dataclass import record
from loopir.nodes import Span
from loopir.process.signal_exceptions import failures, suppress_failures

from ..analysis.access_paths import access_path_type
from ..codes import CODES
from ..codes.argument_help import (
    HELP_FOR_CALLS_IN_LOOPS,
    HELP_FOR_DTYPE,
    HELP_FOR_ITEMS,
    HELP_FOR_TYPE,
)
from ..diagnostics import Label, Refused, Rejection
from ..frontend.ast_names import names_used
from ..frontend.ast_walk import tree_key, walk_nodes
from ..frontend.defining_modules import is_numpys, is_standard
from ..frontend.name_resolution import Scope
from ..frontend.source import Source, is_within, read_source, span_of
from ..lower.state.generated_names import counter_name
from ..types.aggregates import object_kinds
from ..types.value_types import ArgType, ArrayType, Constant, ObjectType, Opaque, WrappedFunction

__all__ = [
    "CITATION", "UserTerms", "cited_names", "cited_types", "helpers_of", "source_segment",
    "user_terms", "with_cited_elements", "with_help_for_type",
]

CITATION = re.compile(r"`([^`]+)`")
"""What a message cites."""

_LOOPS = (
    ast.For, ast.While, ast.AsyncFor, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)
"""The nodes that run code several times."""

_HELP_WITHOUT_LOOP = "decorate the function that has the loop, or leave this one to Python"

_STRING = re.compile(r"(?<![fF])(?<![fF][rR])(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
"""A string literal in a citation; not an f-string, whose names count."""

_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?!\w*=[^=])")
"""A name in a citation; neither an attribute nor the name of a keyword argument."""

_MANGLED = re.compile(r"(?<!\w)_[^\W_]\w*?(__\w+)")
"""A class-private name as Python mangles it, such as ``_Model__rate``."""

_COUNTER = re.compile(rf"{_STRING.pattern}|{counter_name('')}(\w+)")
"""A string literal, or the variable that counts the items of a list (`counter_name`)."""

_CONSTANTS = ("None", "True", "False")

_MAX_HELPERS = 64
"""The most functions whose text is read for the names in them."""

_LANGUAGE = frozenset((*keyword.kwlist, *vars(builtins), "self"))
"""Words of Python, which are never taken for a name that the compiler made up."""


def source_segment(span: Span, source: Mapping[int, str]) -> str | None:
    """The source text at `span`; None if it spans several lines, or is empty."""
    line = source.get(span.line, "") if span.line == span.end_line else ""
    return line.encode()[span.col : span.end_col].decode(errors="replace").strip() or None


def with_cited_elements(reason: Rejection, source: Mapping[int, str]) -> str:
    """The message of `reason` with the elements of arrays that it cites, one a label, as they are
    spelled in the `source`. Where the source has an operation on whole arrays, it is one element in
    that::

        the place of `h[at]` does not …    →    the place of `h[k[i]]` does not …
        the place of `d[i, i]` does not …  →    the place of an element in `np.diag(d) < 0` does …
    """
    result, rest = "", reason.message
    for label in reason.labels:
        prefix, citation, rest = rest.partition(f"`{label.text}`")
        spelling = source_segment(label.span, source)
        if spelling and citation:
            parsed = _parsed_expression(spelling)
            is_element = isinstance(parsed, (ast.Subscript, ast.Name, ast.Attribute))
            citation = f"`{spelling}`" if is_element else f"an element in `{spelling}`"
        result += prefix + citation
    return result + rest


def _parsed_expression(text: str) -> ast.expr | None:
    """The expression that `text` is; None if it is none."""
    try:
        return ast.parse(text, mode="eval").body
    except failures(SyntaxError):
        return None


def cited_names(text: str) -> set[str]:
    """The names in what `text` cites, without attributes and what is in strings."""
    plain = (_STRING.sub("''", citation) for citation in CITATION.findall(text))
    return {name for citation in plain for name in _NAME.findall(citation)}


def cited_types(text: str, types: Mapping[str, ArgType]) -> dict[str, ArgType]:
    """Of the members of arguments that `text` cites, `self.rows`, and of the arguments whose names
    it cites, the types. ``types``: those of the arguments.
    """
    cited = dict[str, ArgType]()
    for path in CITATION.findall(text):
        with suppress_failures(SyntaxError):
            ty = access_path_type(ast.parse(path, mode="eval").body, types)
            cited |= {} if ty is None else {path: ty}
    return cited | {name: types[name] for name in sorted(cited_names(text) & types.keys())}


def _help_for_type(ty: ArgType) -> str | None:
    """The help for an argument `ty` that is not compiled, with ``{}`` in place of its name."""
    if isinstance(ty, Opaque) and ty.is_iterator:
        return "pass `list({})`, if its items are numbers"
    if isinstance(ty, Opaque) and ty.items and ty.items not in vars(builtins):
        fields = "pass an array or a list of numbers for each field of the items of `{}`"
        return HELP_FOR_ITEMS.get(ty.items, fields)
    if isinstance(ty, Opaque) and ty.code == "GUARD_DTYPE":
        return HELP_FOR_DTYPE.get(ty.dtype_kind)
    items = ty.items if isinstance(ty, Opaque) else ""
    return HELP_FOR_ITEMS.get(items) or HELP_FOR_TYPE.get(_kind(ty))


def with_help_for_type(
    function: Callable[..., object], types: Mapping[str, ArgType], rejection: Rejection
) -> Rejection:
    """`rejection` with the help for the type of what its message names, if it has none. Where
    `function` is what another decorator has returned (`functools.wraps`), with help for that.
    """
    if isinstance(getattr(function, "__wrapped__", None), FunctionType):
        advice = f"put @fuse under the other decorator of `{function.__name__}`"
        return replace(rejection, help=advice)
    for name, ty in cited_types(rejection.message, types).items():
        help = _help_for_type(ty)
        if rejection.help is None and rejection.code in ("LOWER_TYPE", "GUARD_DTYPE") and help:
            return replace(rejection, help=help.format(name))
    return rejection


def _kind(ty: ArgType) -> str:
    """The name of a type without that of its items, or their format."""
    text = ty.kind.__name__ if isinstance(ty, Constant) else str(ty)
    return text.partition("[")[0].partition(" of ")[0]


@record(frozen=True, slots=True)
class UserTerms:
    """The names that the user wrote in one function, and the text to cite where a name is none of
    them, to put messages of the compiler into the user's words::

        `x_items` is read and written   →   `x` is read and written
        `_a_1[_i]` may be negative      →   `weights[k]` may be negative    # the source at the span

    `rejection` translates one; the module's docstring has the rules, and `_citation` applies them.
    `user_terms` makes it: for the reports of compiled functions with the names that inlining gave,
    for those of refused ones without, as their rejections have the user's names already
    (`inline_origins.refusal_in_source`).
    """

    identifiers: frozenset[str]
    """All identifiers of the function and of the helpers that were inlined."""
    variables: frozenset[str]
    """Those of them that are variables."""
    renamed: Mapping[str, str]
    """The names that inlining gave, each with what it stands for."""
    lines: Mapping[int, str]
    """The lines of the file."""
    loops: tuple[Span, ...] = ()
    """The places of the function's loops and comprehensions."""
    parameters: Mapping[str, Span] = field(default_factory=dict)
    """The places of the function's parameters."""
    tree: ast.AST | None = None
    """The function."""
    objects: frozenset[str] = frozenset()
    """The parameters that are objects."""
    attributes: frozenset[str] = frozenset()
    """The names that follow a dot, in the function and in the helpers."""

    def rejection(self, r: Rejection) -> Rejection:
        """`r` in the terms of the source."""
        # These are about values: a name in them is never that of a function.
        values = r.family in ("VECTOR", "FUSE")

        def translate(text: str, span: Span | None) -> str:
            return self.text(text, span, values=values)

        return replace(
            r, labels=tuple(Label(la.span, translate(la.text, la.span)) for la in r.labels),
            message=translate(r.message, r.span), note=r.note and translate(r.note, r.span),
            help=r.help and translate(r.help, None),
        )

    def in_loop(self, span: Span | None) -> bool:
        """Whether `span` is in a loop, and not the loop itself; also where there is no place."""
        return span is None or any(is_within(span, loop) and span != loop for loop in self.loops)

    def help(self, code: str, span: Span | None) -> str:
        """The help of a code for a rejection at that place: `Code.help`, or, where that speaks of a
        loop and the place is in none, `Code.help_outside_loop`.
        """
        page = CODES[code]
        if not self.in_loop(span):
            return page.help_outside_loop or page.help
        stays = code == "LOWER_CALL" and span is not None and self._must_stay_in_loop(span)
        return HELP_FOR_CALLS_IN_LOOPS if stays else page.help

    def _must_stay_in_loop(self, span: Span) -> bool:
        """Whether the call at `span` cannot be made before or after the innermost loop around it:
        it mentions what the loop binds, or its result is used, and is another one each time.
        """
        nodes = [*walk_nodes(self.tree)] if self.tree is not None else []
        calls = [n for n in nodes if isinstance(n, ast.Call) and span_of(n) == span]
        around = [(at, n) for n in nodes if isinstance(n, _LOOPS) and (at := span_of(n))
                  and is_within(span, at)]
        if not calls or not around:
            return False
        _, loop = max(around, key=lambda pair: (pair[0].line, pair[0].col))
        bound = {n.id for n in walk_nodes(loop)
                 if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        is_statement = any(isinstance(n, ast.Expr) and n.value is calls[0] for n in nodes)
        takes_none = not (calls[0].args or calls[0].keywords)
        return not bound.isdisjoint(names_used(calls[0])) or (takes_none and not is_statement)

    def advised(self, r: Rejection, types: Mapping[str, ArgType], scope: Scope) -> Rejection:
        """`r` with the help of its code if it has none. Of a function without a loop and without
        arrays, with a note that says so: the loop that is worth compiling is elsewhere.
        """
        tree = self.tree
        if (
            r.code in ("LOWER_CALL", "LOWER_TYPE") and isinstance(tree, ast.FunctionDef)
            and not self.loops
            and not any(isinstance(ty, (ArrayType, ObjectType)) for ty in types.values())
            and not any(scope.resolve(n) is np for n in walk_nodes(tree) if isinstance(n, ast.Name))
        ):
            general = _HELP_WITHOUT_LOOP if r.code == "LOWER_CALL" else None
            note = r.note or f"`{tree.name}` has no loop of its own"
            r = replace(r, note=note, help=r.help or general)
        return replace(r, help=r.help or self.help(r.code, r.span))

    def has(self, r: Rejection) -> bool:
        """Whether all names that the message cites are the user's, or made from the user's."""
        names = cited_names(r.message) - self.identifiers - _LANGUAGE
        return all(self.variable(name) is not None for name in names)

    def text(self, text: str, span: Span | None, *, values: bool = False) -> str:
        """`text`, which is about the code at `span`, with its citations in the terms of the source
        (`_citation`). A citation that is an expression in that line is spelled as there; an item
        that a loop binds is called an item of what the loop runs over. The name of an attribute is
        kept: the compiler makes none up.

        ``values``: a cited name is that of a value. If it is no variable of the user's, the source
        at `span` stands in its place, or "its result" if that is a loop.
        """
        segment = None if span is None else _first_line(span, self.lines)
        if segment is not None:  # a value is cited, and not the statement that returns it
            segment = segment.removeprefix("return ").strip()

        text = self.unmangled(text)

        def translated(match: re.Match[str]) -> str:
            if text.endswith("no attribute ", 0, match.start()):
                return match[0]
            cited = _COUNTER.sub(lambda m: f"len({m[1]})" if m[1] else m[0], match[1])
            is_value = values and cited.isidentifier()
            if is_value and segment is not None and self.variable(cited) is None:
                return "its result" if span in self.loops else f"`{segment}`"
            if span in self.loops and (items := self._items_cited(cited)) is not None:
                return f"an item of `{items}`"
            cites = self._citation(cited, segment)
            spellings = (span and self._spelling(c, span.line) for c in (cited, cites))
            return f"`{next(filter(None, spellings), cites)}`"

        return CITATION.sub(translated, text)

    def unmangled(self, text: str) -> str:
        """`text` with the class-private names as the source spells them: ``_Model__rate`` is
        ``__rate``.
        """

        def spelled(name: re.Match[str]) -> str:
            written = name[1] in self.identifiers and name[0] not in self.identifiers
            return name[1] if written else name[0]

        return _MANGLED.sub(spelled, text)

    def sentence(self, text: str, unnamed: str) -> str:
        """`text`, which cites variables, with the user's; `unnamed` stands for any other one."""

        def translated(cited: re.Match[str]) -> str:
            name = self.variable(cited[1])
            return unnamed if name is None else f"`{name}`"

        return CITATION.sub(translated, text)

    def parameter_at(self, span: Span | None) -> str | None:
        """The parameter at `span`; None for other places."""
        starts = {(at.line, at.col): name for name, at in self.parameters.items()}
        return None if span is None else starts.get((span.line, span.col))

    def variable(self, name: str) -> str | None:
        """The variable of the user, or the member of one, that `name` is or is made from; None if
        there is none.

            x_1 → x        self_x_1 → self.x        self_grid_n → self.grid.n
        """
        name = self.renamed.get(name, self.renamed.get(f"_{name}", name))
        if name in self.variables:
            return name
        parts = name.strip("_").split("_")
        for k in range(len(parts), 0, -1):
            if (stem := "_".join(parts[:k])) in self.variables:
                return self._member(stem, parts[k:]) if stem in self.objects else stem
        return None

    def _member(self, owner: str, parts: Sequence[str]) -> str:
        """The member of `owner` from which a name is made that goes on with `parts`: `owner` itself
        where no attribute of the source has a name of the first ones.
        """
        for k in range(len(parts), 0, -1):
            if (attr := "_".join(parts[:k])) in self.attributes:
                return self._member(f"{owner}.{attr}", parts[k:])
        return owner

    def _items_cited(self, cited: str) -> str | None:
        """The user's variable of which `cited` is an item that the source does not spell, since a
        loop over the variable binds it: ``x[_i]``. None for other code.
        """
        with suppress_failures(SyntaxError):
            match ast.parse(cited, mode="eval").body:
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=at)) if (
                    name in self.variables and at not in self.identifiers
                    and self.variable(at) is None
                ):
                    return name
        return None

    def _spelling(self, cited: str, line: int) -> str | None:
        """The source text of the expression in this line that is the code `cited`, up to blanks,
        quotes and parentheses, which `ast.unparse` sets in its own way; None if there is none.
        """
        if self.tree is None or cited.isidentifier() or (parsed := _parsed(cited)) is None:
            return None
        for n in walk_nodes(self.tree):
            if isinstance(n, ast.expr) and n.lineno == line:
                span, statement = span_of(n), ast.Module([ast.Expr(n)], [])
                if span is not None and tree_key(statement) == parsed:
                    return source_segment(span, self.lines)
        return None

    def _citation(self, cited: str, segment: str | None) -> str:
        """What stands in place of one citation; ``segment``: the source at the place of the cause,
        None if there is none. By the first case that applies:

        - the citation has more string literals than the source, so an argument was replaced by its
          value: the source;
        - it is the source up to blanks and parentheses: the source, as the user spelled it;
        - it is None, True or False, which the source does not have (again a value): the source;
        - all its names are the user's: the citation as it is;
        - it is a statement, in which a name may stand for an attribute: the source;
        - a name in it comes from no variable of the user's, or two come from one: the source;
        - else: the citation, each name replaced by the variable that it comes from.
        """
        if segment is not None and len(_STRING.findall(cited)) > len(_STRING.findall(segment)):
            return segment
        if segment is not None and _parsed(cited) == _parsed(segment) is not None:
            return segment
        if segment is not None and cited in _CONSTANTS and cited not in segment:
            return segment
        names = set(_NAME.findall(_STRING.sub("''", cited)))
        unknown = names - self.identifiers - _LANGUAGE
        if not unknown:
            return cited
        if segment is not None and _is_assignment(cited) and _is_assignment(segment):
            return segment
        known = {name: self.variable(name) for name in unknown}
        # Two names for parts of one variable of the user's, such as the items of a tuple.
        is_part = len({*known.values()}) < len(known)
        if segment is not None and (is_part or None in known.values()):
            return segment
        return _NAME.sub(lambda name: known.get(name[0]) or name[0], cited)


def _span_of_name(a: ast.arg) -> Span:
    """The place of the name of a parameter, without its annotation."""
    return Span(a.lineno, a.col_offset, a.lineno, a.col_offset + len(a.arg.encode()))


def _parsed(text: str) -> Hashable:
    """The expression or statement `text`, to compare; None if it is neither."""
    try:
        return tree_key(ast.parse(text))
    except failures(SyntaxError, ValueError):
        return None


def _is_assignment(text: str) -> bool:
    """Whether `text` is a statement that assigns."""
    try:
        (statement,) = ast.parse(text).body
    except failures(SyntaxError, ValueError):
        return False
    return isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign))


def _first_line(span: Span, lines: Mapping[int, str]) -> str | None:
    """The source at `span`; of several lines the first one."""
    if span.line == span.end_line:
        return source_segment(span, lines)
    first = lines.get(span.line, "")
    return source_segment(Span(span.line, span.col, span.line, len(first.encode())), lines)


def user_terms(
    source: Source, types: Mapping[str, ArgType] | None = None,
    renamed: Mapping[str, str] | None = None, helpers: Iterable[str] = (),
) -> UserTerms:
    """The terms of the function in `source` for arguments of these types. ``renamed``: the names
    that inlining gave, each with the helper's name for which it stands; ``helpers``: the texts of
    the functions that are inlined.
    """
    renamed, tree = renamed or {}, source.whole or source.tree
    own = source.lines[tree.lineno - 1 : tree.end_lineno]
    texts = (*own, *helpers)
    objects = frozenset(n for n, ty in (types or {}).items() if isinstance(ty, ObjectType))
    attributes = frozenset(n for text in texts for n in re.findall(r"\.([^\W\d]\w*)", text))
    identifiers = frozenset(name for text in texts for name in re.findall(r"[^\W\d]\w*", text))
    renamed = {name: original for name, original in renamed.items() if original in identifiers}
    nodes = [*walk_nodes(tree)]
    called = {n.func.id for n in nodes
              if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    inner = {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
    variables = (names_used(tree) | {*renamed.values()}) - called - inner
    lines = dict(enumerate(source.lines, 1))
    loops = tuple(span for n in nodes if isinstance(n, _LOOPS) and (span := span_of(n)) is not None)
    arguments = (a for a in walk_nodes(tree.args) if isinstance(a, ast.arg) and span_of(a))
    parameters = {a.arg: _span_of_name(a) for a in arguments}
    return UserTerms(
        identifiers, frozenset(variables), renamed, lines, loops, parameters, tree, objects,
        attributes,
    )


def helpers_of(
    source: Source, scope: Scope, types: Mapping[str, ArgType]
) -> Iterator[Source]:
    """The sources of the Python functions that `source` names, or that these name, at any depth:
    globals, members of modules, and methods of the objects among the arguments (``types``). At most
    `_MAX_HELPERS`.
    """
    kinds, found = object_kinds(types.values()), dict[FunctionType, None]()
    worklist = [(source.tree, scope)]
    while worklist:
        tree, scope = worklist.pop()
        for node in walk_nodes(tree):
            values = [scope.resolve(node)] if isinstance(node, (ast.Name, ast.Attribute)) else []
            if isinstance(node, ast.Attribute):
                values += (getattr_static(kind, node.attr, None) for kind in kinds)
            for value in map(_python_function, values):
                if value is not None and value not in found and len(found) < _MAX_HELPERS:
                    found[value] = None
                    with suppress(Refused):
                        helper = read_source(value)
                        yield helper
                        worklist.append((helper.tree, Scope.of(value)))


def _python_function(value: object) -> FunctionType | None:
    """The function of the user's that `value` is, or wraps as a method, property or by ``fuse``."""
    value = value.fget if isinstance(value, property) else value
    value = value.__func__ if isinstance(value, staticmethod) else value
    value = value.__wrapped__ if isinstance(value, WrappedFunction) else value
    if not isinstance(value, FunctionType) or is_numpys(value) or is_standard(value):
        return None
    return value
