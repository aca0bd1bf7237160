"""The cause of a refusal, where it is another one than what lowering stumbled over.

Lowering refuses the first thing that it has no rule for. That may follow from something else: an
argument of a call that is not compiled, a list that is passed to such a call, or a name that is not
defined at all::

    y = library(x)         # not compiled
    s = s + y[i]           # refused, as nothing is known of `y`; the cause is the call above

`with_cause` finds the cause, says it in the terms of the source, and adds the help of the code
where the refusal has none of its own.
"""
from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import BuiltinFunctionType, FunctionType, MethodType

import numpy as np

from loopir.nodes import Span

from ..analysis.missing_names import undefined_in_helper, undefined_name
from ..codes import CODES
from ..codes.argument_help import HELP_FOR_DRAWS, HELP_FOR_STRINGS
from ..diagnostics import Refused, Rejection
from ..frontend.ast_names import COMPREHENSIONS, name_bindings, values_bound_to
from ..frontend.ast_walk import walk_nodes
from ..frontend.defining_modules import (
    is_builtin,
    is_numpys,
    is_python_class,
    is_standard,
    module_of,
    package_of,
)
from ..frontend.inline.library_functions import library_function_of
from ..frontend.macros.macro_index import is_declared_callee
from ..frontend.macros.macro_patterns import registered
from ..frontend.name_resolution import NameScope, Scope
from ..frontend.source import Source, is_within, read_source, span_of
from ..lower.scalars.callable_ops import family_of_maker, library_of
from ..lower.scalars.lower_calls import has_rule
from ..lower.scalars.refused_calls import help_for_call, how_uncompiled
from ..numpy.function_table import function_row
from ..random_numbers import draw_functions
from ..types.typeof import type_of
from ..types.value_types import ArgType, GeneratorType, ObjectType, Opaque, WrappedFunction
from .user_terms import CITATION, cited_names, helpers_of, user_terms, with_help_for_type

__all__ = ["uncompiled_calls", "with_cause", "with_help"]


def with_cause(
    function: Callable[..., object], types: Mapping[str, ArgType], rejection: Rejection
) -> Rejection:
    """What a report shows in place of `rejection`, which refused `function` for arguments of these
    types: its cause, in the user's names and with a help. Lowering refuses the first thing that it
    has no rule for, so a signature has one rejection; this function chooses how it is explained.
    The cause is the first that applies of

    - a name or attribute in the refused statement that does not exist (`undefined_name`), or in a
      function that it calls (`undefined_in_helper`): nothing else would help;
    - a call of a standard library function, if something in it is refused (`_in_standard_library`);
    - ``Model().predict(x)``, a method of an object made there (`_method_of_new_object`);
    - an array argument, of a library or dtype not compiled (`_foreign_object`, `_unusual_array`);
    - a method of a random number generator that is not compiled (`_method_of_generator`);
    - a call that is not compiled, from which the refusal follows (`_uncompiled_call`);
    - a dict, set or list as a value of a dict (`_table_in_table`);
    - a local function that is used as a value (`_function_as_value`);
    - a store to an attribute of a class or of a local object (`_attribute_of_other_object`);
    - a list, dict or set with a second name (`_renamed_collection`), or with items or a use that
      are not compiled (`_collection_with_name`); else the rejection itself.

    Only refusals of the compiler have a cause in the source (LOWER_…, GUARD_…, with a place).
    `report_refused` and `Dispatcher._refusal`, for the warning, call this. To add a cause, write a
    function that returns a Rejection or None, and put it into the chain below and into this list.
    """
    span = rejection.span
    if rejection.family not in ("LOWER", "GUARD"):
        return rejection
    if span is None:
        return with_help(rejection)
    try:
        source = read_source(function)
    except Refused:
        return with_help(rejection)
    scope = Scope.of(function)
    source = replace(source, tree=source.whole or source.tree)  # of a region: the function around
    helper, helpers = rejection.helper, [*helpers_of(source, scope, types)]
    if helper is not None and (helper.path, helper.line) == (source.path, rejection.line):
        helper = None  # the line that is shown
        note = None if rejection.note == str(rejection.helper) else rejection.note
        rejection = replace(rejection, note=note, helper=None)
    if (undefined := undefined_name(source.tree, scope, span, types)) is not None:
        return undefined
    if helper is not None:
        cited = {part for text in CITATION.findall(rejection.message) for part in text.split(".")}
        if (undefined := undefined_in_helper(source.tree, scope, span, cited)) is not None:
            return replace(undefined, note=rejection.note, helper=helper)
    cause = (
        _in_standard_library(source.tree, scope, rejection)
        or _method_of_new_object(source.tree, scope, rejection)
        or _foreign_object(types, rejection)
        or _unusual_array(source.tree, types, rejection)
        or _method_of_generator(source.tree, types, rejection)
        or _uncompiled_call(source.tree, scope, rejection)
        or _table_in_table(source.tree, rejection)
        or _function_as_value(source.tree, scope, rejection)
        or _attribute_of_other_object(source.tree, types, rejection)
        or _renamed_collection(source, helpers, rejection)
        or _collection_with_name(source.tree, rejection)
        or rejection
    )
    cause = _with_class(source.tree, scope, cause)  # a class "makes an object"
    terms = user_terms(source, types, helpers=[h.text for h in helpers])
    outer = {
        name: type_of(value) for name in cited_names(cause.message) - types.keys()
        for origin, value in [scope.find(name)] if origin in (NameScope.CLOSURE, NameScope.GLOBAL)
    }
    told = terms.rejection(with_help_for_type(function, {**outer, **types}, cause))
    return terms.advised(told, types, scope)


def with_help(rejection: Rejection) -> Rejection:
    """`rejection` with the help of its code (`Code.help`), if it has none of its own."""
    return replace(rejection, help=rejection.help or CODES[rejection.code].help)


# -- arguments of other libraries

_CONVERSIONS = {
    "pandas": ("pandas", "to_numpy()"),
    "polars": ("polars", "to_numpy()"),
    "torch": ("torch", "numpy()"),
    "xarray": ("xarray", "to_numpy()"),
    "jax": ("jax", ""),
    "jaxlib": ("jax", ""),
}
"""For the first part of a class's module: the library, and the method that gives an array."""


def _foreign_object(types: Mapping[str, ArgType], rejection: Rejection) -> Rejection | None:
    """The rejection of an argument that is an array of another library (`_CONVERSIONS`), if
    `rejection` names such an argument::

        LOWER_TYPE  `prices` is a pandas.Series;  help: pass `prices.to_numpy()`
    """
    for name in cited_names(rejection.message) & types.keys():
        ty = types[name]
        if not isinstance(ty, (Opaque, ObjectType)):
            continue
        package, kind = _package_and_class(ty)
        if (known := _CONVERSIONS.get(package)) is not None:
            library, method = known
            array = f"{name}.{method}" if method else f"numpy.asarray({name})"
            help = f"pass `{array}`"
            if kind in ("DataFrame", "Dataset"):
                column = f"{name}['name'].{method}"
                help = f"pass each column that is read as an array, such as `{column}`"
            message = f"`{name}` is a {library}.{kind}"
            return replace(rejection, code="LOWER_TYPE", message=message, help=help)
    return None


def _unusual_array(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], rejection: Rejection
) -> Rejection | None:
    """The rejection of an argument that is an array of a dtype that is not compiled, such as
    strings or times, if `rejection` refuses a call (LOWER_CALL), and its message names the argument
    or its place contains that, as in ``np.diff(t).sum()``.
    """
    if rejection.code != "LOWER_CALL" or rejection.span is None:
        return None
    inside = [
        n for n in walk_nodes(tree)
        if isinstance(n, ast.Name) and (at := span_of(n)) and is_within(at, rejection.span)
    ]
    places = dict.fromkeys(sorted(cited_names(rejection.message)), rejection.span)
    places |= {n.id: span_of(n) or rejection.span for n in inside}
    for name, place in places.items():
        ty = types.get(name)
        if isinstance(ty, Opaque) and ty.code == "GUARD_DTYPE":
            return Rejection(ty.code, f"`{name}` is of type {ty}", place)
    return None


def _method_of_generator(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], rejection: Rejection
) -> Rejection | None:
    """The rejection of a call such as ``rng.shuffle(x)``, if it or the generator is refused."""
    for call in walk_nodes(tree):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as generator)) if (
                rejection.span in (span_of(generator), span_of(call))
                and isinstance(ty := types.get(name), GeneratorType)
            ):
                return _not_drawn(call, ty.family)
    return None


def _not_drawn(call: ast.Call, family: str) -> Rejection | None:
    """The rejection of a call of a generator's method that is not compiled with these keywords."""
    assert isinstance(call.func, ast.Attribute)
    runs = draw_functions(family).get(call.func.attr)
    if runs and {k.arg for k in call.keywords} <= {"size", *runs.__code__.co_varnames}:
        return None
    why = "is not compiled with these arguments" if runs else "is not a method that is compiled"
    message = f"`{ast.unparse(call.func)}` {why}"
    return Rejection("LOWER_CALL", message, span_of(call), help=HELP_FOR_DRAWS)


def _package_and_class(ty: Opaque | ObjectType) -> tuple[str, str]:
    """The package that defines the class of a value, and the name of the class."""
    if isinstance(ty, ObjectType):
        return package_of(ty.kind), ty.kind.__name__
    module, name = ty.defined_in
    return module.partition(".")[0], name


# -- calls


def _function_as_value(
    tree: ast.FunctionDef, scope: Scope, rejection: Rejection
) -> Rejection | None:
    """Where the name of a function or lambda that is defined in the refused function is refused,
    since it is used other than in a call of it: a rejection that says so. It is also looked for in
    a function that is called at the place of the refusal, which may return it as a closure. Of a
    function that binds names by ``nonlocal``, the rejection names that.
    """
    nodes = [*walk_nodes(tree)]
    calls = [n for n in nodes if isinstance(n, ast.Call) and span_of(n) == rejection.span]
    for helper in (scope.resolve(call.func) for call in calls):
        if isinstance(helper, FunctionType):
            with suppress(Refused):
                nodes += walk_nodes(read_source(helper).tree)
    defined = {n.name: n for n in nodes if isinstance(n, ast.FunctionDef) and n is not tree}
    bound = (pair for n in nodes for pair in name_bindings(n))
    lambdas = {to.id for to, value in bound if isinstance(value, ast.Lambda)}
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    values = {n.id for n in nodes if isinstance(n, ast.Name) and id(n) not in called}
    values &= {*defined, *lambdas}
    at_place = {n.id for n in nodes if isinstance(n, ast.Name) and span_of(n) == rejection.span}
    # of a function that is called, the message cites the name, and the place is that of the call
    found = values & (at_place or cited_names(rejection.message))
    for name in sorted(found if rejection.code == "LOWER_UNSUPPORTED" else ()):
        message = f"`{name}` is a function, which is compiled only where it is called"
        help = "call it where its result is needed, or pass it to a function that calls it"
        own = walk_nodes(defined[name]) if calls and name in defined else ()
        if any(isinstance(n, ast.Nonlocal) for n in own):
            message = f"`{name}` binds names by `nonlocal`, and is used other than in a call"
            help = f"call `{name}` in the function that defines it, or pass what it changes"
        return replace(rejection, message=message, help=help)
    return None


def _attribute_of_other_object(
    tree: ast.FunctionDef, types: Mapping[str, ArgType], rejection: Rejection
) -> Rejection | None:
    """The store to an attribute of an argument is refused if the function also sets an attribute of
    a class, or of an object that is no argument. Then a rejection of that other store::

        item.total = s      # refused
        Model.count += 1    # the cause: "`Model.count` is set: an attribute of a class, or …"
    """
    attributes = [n for n in walk_nodes(tree) if isinstance(n, ast.Attribute)]
    targets = [n for n in attributes if isinstance(n.ctx, (ast.Store, ast.Del))]
    arguments = {name for name, ty in types.items() if isinstance(ty, ObjectType)}
    others = [n for n in targets if not (isinstance(n.value, ast.Name) and n.value.id in arguments)]
    span = rejection.span
    refused = [n for n in targets if (at := span_of(n)) and span and is_within(at, span)]
    if not others or not refused or refused[0] in others:
        return None
    text = ast.unparse(others[0])
    message = f"`{text}` is set: an attribute of a class, or of an object that is no argument"
    help = f"set `{text}` outside of the function"
    return Rejection("LOWER_UNSUPPORTED", message, span_of(others[0]), help=help)


_USES = {
    ast.Dict: ("dict", "read and store its items, use `in`, `get` and `len`, and loop over it"),
    ast.Set: ("set", "add to it, use `in` and `len`, and loop over it"),
    ast.List: ("list", "append to it, read and store single items, and loop over it"),
}
"""For each kind of collections its name, and the uses that are compiled."""


def _collection_with_name(tree: ast.FunctionDef, rejection: Rejection) -> Rejection | None:
    """If what is refused (LOWER_UNSUPPORTED) makes a list, dict or set, or a row of one, which is
    assigned, a rejection that says why: to a name, and its items are not compiled, or some use of
    the name is not; or it is stored as an item of another collection.
    """
    if rejection.code != "LOWER_UNSUPPORTED":
        return None
    for n in walk_nodes(tree):
        value = n.value if isinstance(n, ast.Assign) else None
        row = value.elt if isinstance(value, ast.ListComp) else None
        for part in filter(None, (value, row)):
            display = part.left if isinstance(part, ast.BinOp) else part  # of ``[0.0] * n``
            value = display if span_of(display) == rejection.span else value
        if isinstance(n, ast.Assign) and value and rejection.span in (span_of(value), span_of(n)):
            made = _kind_of_display(value) if isinstance(value, COMPREHENSIONS) else type(value)
            kind, uses = _USES.get(made, ("", ""))
            target = n.targets[0]
            if isinstance(target, ast.Name) and (items := _uncompiled_items(value)):
                message = f"the items of `{target.id}` are {items}, which are not compiled"
                return replace(rejection, message=message, help=_HELP_FOR_UNCOMPILED[items])
            if kind and isinstance(target, ast.Name):
                message = f"not all that is done with the {kind} `{target.id}` is compiled"
                return replace(rejection, message=message, help=f"in the function itself, {uses}")
            if kind and isinstance(target, ast.Subscript):
                message = f"a whole {kind} is stored in `{ast.unparse(target)}`"
                return replace(rejection, message=message, help="store its items one by one")
    return None


def _renamed_collection(
    source: Source, helpers: Sequence[Source], rejection: Rejection
) -> Rejection | None:
    """If what is refused (LOWER_UNSUPPORTED) is or cites a list, dict or set that gets a second
    name, also as an item of a tuple, ``t = order, n``, in the function or in the helper in which it
    is refused: a rejection that says so, "the list `order` gets another name, `t`".
    """
    if rejection.code != "LOWER_UNSUPPORTED":
        return None
    tree, names = source.tree, cited_names(rejection.message)
    if (at := rejection.helper) is not None:  # it may have the caller's name for its result
        own = (h.tree for h in helpers if h.path == at.path)
        tree = next((t for t in own if t.lineno <= at.line <= (t.end_lineno or 0)), tree)
        lines = (n for n in walk_nodes(tree) if isinstance(n, ast.Assign) and n.lineno == at.line)
        names |= {to.id for n in lines for to, _ in name_bindings(n)}
    nodes = [*walk_nodes(tree)]
    bindings = [pair for n in nodes for pair in name_bindings(n)]
    names |= {
        to.id for n in nodes for to, v in name_bindings(n)
        if rejection.span in (span_of(n), span_of(v))
    }
    for name in sorted(names):
        kinds = (_USES.get(_kind_of_display(v)) for v in values_bound_to(name, *nodes))
        if (known := next(filter(None, kinds), None)) is None:
            continue
        for to, value in bindings:
            items = value.elts if isinstance(value, ast.Tuple) else [value]
            if any(isinstance(e, ast.Name) and e.id == name for e in items):
                message = f"the {known[0]} `{name}` gets another name, `{to.id}`"
                help = f"use `{name}` alone: a {known[0]} is compiled under one name"
                lists = map(_kind_of_display, values_bound_to(to.id, *nodes))
                if known[0] == "list" and value in items and ast.List in lists:  # in turn
                    made = values_bound_to(name, *nodes)
                    rows = [v.elt for v in made if isinstance(v, ast.ListComp)]
                    item = "[i][j]" if ast.List in map(_kind_of_display, rows) else "[i]"
                    help += f"; or copy its items in loops: `{to.id}{item} = {name}{item}`"
                return replace(rejection, message=message, help=help)
    return None


def _kind_of_display(value: ast.expr) -> type[ast.expr]:
    """The type of the display that `value` is, or that it repeats or could be written as:
    ``ast.List`` of ``[0] * n``, ``list(x)`` and ``[f(v) for v in x]``.
    """
    match value:
        case ast.BinOp(left=ast.List()) | ast.ListComp() | ast.Call(ast.Name("list" | "sorted")):
            return ast.List
        case ast.Call(func=ast.Name(id="dict")) | ast.DictComp():
            return ast.Dict
        case ast.Call(func=ast.Name(id="set")) | ast.SetComp():
            return ast.Set
    return type(value)


_HELP_FOR_UNCOMPILED = {
    "functions": "call each function by its name, in an `if` that chooses one",
    "strings": HELP_FOR_STRINGS,
}


def _table_in_table(tree: ast.FunctionDef, rejection: Rejection) -> Rejection | None:
    """Where a dict or set is refused that becomes a value of a dict, ``d.setdefault(k, {})``, or a
    list that does, ``{k: [] for k in ks}``: a rejection that says so.
    """
    for n in walk_nodes(tree):
        match n:
            case (
                ast.DictComp(value=ast.List() as of)
                | ast.Assign(value=ast.DictComp(value=ast.List() as of))
            ) if rejection.span in map(span_of, (n, of)):
                message = "the values of a dict are lists, which are compiled where they grow"
                help = "begin with `d = defaultdict(list)`, and loop with `d[key].append(...)`"
                return replace(rejection, message=message, help=help)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="setdefault"), args=[_, value]
            ) if span_of(value) == rejection.span:
                made = value.func if isinstance(value, ast.Call) else value
                kind = made.id if isinstance(made, ast.Name) else type(made).__name__.lower()
                if kind in ("dict", "set"):
                    message = f"the values of `{name}` are {kind}s, which are not compiled"
                    help = f"use one dict or set with tuples of ints as keys, `{name}[a, b]`"
                    return replace(rejection, message=message, help=help)
    return None


def _uncompiled_items(display: ast.expr) -> str | None:
    """What the items of a list or set display, or the values of a dict display, are, if it is
    known that these are not compiled; None for others.
    """
    items: list[ast.expr] = []
    if isinstance(display, (ast.List, ast.Set)):
        items = display.elts
    elif isinstance(display, ast.Dict):
        items = display.values
    if any(isinstance(item, ast.Lambda) for item in items):
        return "functions"
    texts = (isinstance(i, ast.Constant) and isinstance(i.value, str) for i in items)
    return "strings" if any(texts) else None


def _with_class(tree: ast.FunctionDef, scope: Scope, rejection: Rejection) -> Rejection:
    """`rejection`; where it refuses the call of a class, of the user's or of a library, with the
    message that such a call makes an object.
    """
    if rejection.code != "LOWER_CALL" or rejection.help is not None:
        return rejection
    for call in walk_nodes(tree):
        if isinstance(call, ast.Call) and span_of(call) == rejection.span:
            made = scope.resolve(call.func)
            if isinstance(made, type) and not (is_builtin(made) or module_of(made) == np.__name__):
                message = f"`{ast.unparse(call.func)}` makes an object, which is not compiled here"
                help = _HELP_FOR_OBJECTS
                if package_of(made) == itertools.__name__:
                    message = f"`{ast.unparse(call.func)}` is not compiled here"
                    help = "write what it yields as loops over ranges"
                return replace(rejection, message=message, help=help)
    return rejection


_HELP_FOR_OBJECTS = "keep its numbers in variables, and its items in lists, dicts or arrays"


def _method_of_new_object(
    tree: ast.FunctionDef, scope: Scope, rejection: Rejection
) -> Rejection | None:
    """Where something is refused in the call of a method of a new object, ``Model().predict(x)``:
    the rejection of the call of the class, which makes the object.
    """
    assert rejection.span is not None
    for call in walk_nodes(tree):
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=func) as new)) if (
                (span := span_of(call)) is not None and is_within(rejection.span, span)
                and is_python_class(scope.resolve(func))
            ):
                message = f"`{ast.unparse(func)}` makes an object, which is not compiled here"
                return Rejection("LOWER_CALL", message, span_of(new), help=_HELP_FOR_OBJECTS)
    return None


def _in_standard_library(
    tree: ast.FunctionDef, scope: Scope, rejection: Rejection
) -> Rejection | None:
    """Where something is refused in a Python function of the standard library that was inlined, or
    cannot be, as it takes ``**kw``: the rejection of its call, since users cannot change it.
    """
    for call in walk_nodes(tree):
        if isinstance(call, ast.Call) and span_of(call) == rejection.span:
            called = scope.resolve(call.func)
            if isinstance(called, FunctionType) and is_standard(called):
                return _not_compiled(call, called)
    return None


def _uncompiled_call(
    tree: ast.FunctionDef, scope: Scope, rejection: Rejection
) -> Rejection | None:
    """The rejection of a call of an unknown function, if the refusal follows from it. The first
    such call, by one of these ways, in this order:

    - the refused expression is an argument of it: ``library(x[i])``;
    - the refused object is its result: ``y = library(x)``, and then ``y[i]`` is refused;
    - the refused list or object is passed to it, ``library(items)``: so it escapes, and its type
      is not known any more.
    """
    assert rejection.span is not None
    calls = [n for n in walk_nodes(tree) if isinstance(n, ast.Call)]
    unknown = [
        call for call in calls
        if _is_method_of_text(call.func) or _is_not_compiled(scope.resolve(call.func))
    ]
    for call in unknown:
        arguments = (span_of(a) for a in call.args)
        if any(a is not None and is_within(rejection.span, a) for a in arguments):
            return _not_compiled(call, scope.resolve(call.func))
    names = cited_names(rejection.message)
    results = (
        value for n in walk_nodes(tree) for to, value in name_bindings(n) if to.id in names
    )
    if (made := next((value for value in results if value in unknown), None)) is not None:
        assert isinstance(made, ast.Call)
        return _not_compiled(made, scope.resolve(made.func))
    if rejection.code in ("LOWER_TYPE", "LOWER_UNSUPPORTED"):
        names |= _names_assigned_at(tree, rejection.span)
        for call in unknown:
            passed = {a.id for a in call.args if isinstance(a, ast.Name)}
            if passed & names:
                return _not_compiled(call, scope.resolve(call.func))
    return None


def uncompiled_calls(function: FunctionType) -> Iterator[Rejection]:
    """The rejection of each call of a NumPy function that has no compiled form, or, in a loop, of a
    method of a random number generator that the function makes, in source order.

    Lowering stops at the first thing that it refuses, so a report asks here what else NumPy runs::

        p = np.packbits(b)      # what lowering refuses
        for v in x: s += v      # compiled, as a region
        q = np.unpackbits(p)    # left to NumPy, too

    Yields nothing where the user has registered macros, which may expand any call.
    """
    try:
        tree = read_source(function).tree
    except Refused:
        return
    if registered():
        return
    scope = Scope.of(function)
    nodes = [*walk_nodes(*tree.body)]
    made = {
        to.id: family for n in nodes for to, value in name_bindings(n)
        if isinstance(value, ast.Call) and (family := family_of_maker(scope.resolve(value.func)))
    }
    loops = (n for n in nodes if isinstance(n, (ast.For, ast.While)))
    in_loops = {id(n) for loop in loops for n in walk_nodes(*loop.body)}
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        called = scope.resolve(call.func)
        match call.func:
            case ast.Attribute(ast.Name(id=name)) if name in made and id(call) in in_loops:
                yield from filter(None, [_not_drawn(call, made[name])])
        # a function of NumPy that dispatches on its arguments (NEP 18), no ufunc
        if isinstance(called, type(np.sum)) and _is_not_compiled(called):
            yield with_help(_not_compiled(call, called))


def _names_assigned_at(tree: ast.AST, span: Span) -> set[str]:
    """The names to which the expression at `span` is assigned."""
    return {
        to.id for n in walk_nodes(tree) for to, value in name_bindings(n)
        if (own := span_of(value)) is not None and is_within(span, own)
    }


def _is_method_of_text(func: ast.expr) -> bool:
    """Whether `func` is a method of a text in the source, such as ``",".join``."""
    owner = func.value if isinstance(func, ast.Attribute) else None
    is_text = isinstance(owner, ast.Constant) and isinstance(owner.value, str)
    return is_text or isinstance(owner, ast.JoinedStr)


_KINDS_WITH_MODULE = (type, BuiltinFunctionType, type(np.sum))
"""Kinds of objects whose attributes run no code of the user's."""

_NUMPY_TYPES = (np.generic, np.dtype, np.ndarray, np.errstate)
"""Classes of NumPy's that are compiled, or have a message of their own."""

_COMPILED_MODULES = ("builtins", "math", "cmath", "random")
"""Modules whose functions are compiled, or have a message of their own."""


def _is_not_compiled(function: object | None) -> bool:
    """Whether `function` is neither compiled, nor a Python function, which may be inlined."""
    function = function.__func__ if isinstance(function, MethodType) else function
    if not callable(function) or isinstance(function, (FunctionType, np.ufunc)):
        return False
    owner = function if isinstance(function, _KINDS_WITH_MODULE) else type(function)
    if isinstance(function, WrappedFunction) or is_declared_callee(function):
        return False
    if library_function_of(function) or family_of_maker(function):
        return False
    if is_python_class(function) and not is_numpys(owner):
        return False
    if is_numpys(owner):
        is_type = isinstance(function, type) and issubclass(function, _NUMPY_TYPES)
        is_compiled = is_type or has_rule(function) or getattr(function_row(function), "fill", None)
        return not is_compiled and not library_of(function)
    if is_builtin(owner) and isinstance(function, BuiltinFunctionType):
        return not has_rule(function)
    return package_of(owner) not in _COMPILED_MODULES


def _not_compiled(call: ast.Call, called: object | None) -> Rejection:
    """The rejection of a call of an unknown function, `called` (None: it is not known)."""
    message, help = f"`{ast.unparse(call.func)}` {how_uncompiled(called)}", help_for_call(called)
    if _is_method_of_text(call.func):
        help = "make strings after the loops, from the numbers that these compute"
    return Rejection("LOWER_CALL", message, span_of(call), help=help)
