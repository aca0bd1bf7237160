"""Macros that are imported when they are called: their rows accept what they themselves accept."""
from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from loopir.process.lazy_function import LazyFunction
from transpile.frontend.macros import macro_index
from transpile.frontend.macros.macro_index import Declaration, kind_of_callee
from transpile.frontend.macros.macro_table import MACROS, VIEW_RULES

LAZY = [m for m in MACROS if isinstance(m, LazyFunction)]


def test_nearly_all_are_imported_later() -> None:
    assert len(LAZY) > len(MACROS) * 0.9
    assert all(isinstance(rule, LazyFunction) for rule in VIEW_RULES)


@pytest.mark.parametrize("macro", LAZY, ids=lambda m: m.__name__)
def test_rows_accept_what_their_macros_do(macro: Callable[..., Any]) -> None:
    """Else a macro would not be asked before another one has imported its module."""
    _, rows = macro_index._declared[id(macro)]
    for own in macro_index.declarations_of(inspect.unwrap(macro)) or ():
        left = [kind for kind in own.kinds if not any(accepts(r, kind, own) for r in rows)]
        assert left == [], own


def test_a_row_that_accepts_less_is_found() -> None:
    own = macro_index.on(ast.Call, calls=[np.sum, ".sum"])
    call = ast.Call
    assert accepts(macro_index.on(call, calls=[macro_index.NUMPY, macro_index.METHOD]), call, own)
    assert not accepts(macro_index.on(call, calls=[macro_index.NUMPY]), call, own)
    assert not accepts(macro_index.on(call, when=lambda *_: False), call, own)
    assert not accepts(macro_index.on(ast.Name), call, own)


def accepts(row: Declaration, kind: type, own: Declaration) -> bool:
    """Whether `row` accepts all nodes of the type `kind` that `own` does."""
    if kind not in row.kinds or row.when not in (None, own.when):
        return False
    parts = all(
        name in own.parts and {*own.parts[name]} <= {*types} for name, types in row.parts.items()
    )
    if not parts or row.calls is None:
        return parts
    return own.calls is not None and all(
        not row.calls.isdisjoint((callee, kind_of)) for callee, kind_of in callees(own)
    )


def callees(own: Declaration) -> Iterator[tuple[object, str]]:
    """What `own` fires on calls of, with the kind of each. Left out are methods that neither arrays
    nor their row have: a table of functions of NumPy names methods of arrays by the same names.
    """
    assert own.calls is not None
    functions = {c: macro_index._functions[c] for c in own.calls if isinstance(c, int)}
    numpys = {f".{getattr(f, '__name__', '')}" for f in functions.values()}
    for callee in own.calls:
        kind = kind_of_callee(functions.get(callee, callee))
        if callee in KINDS:
            yield callee, callee
        elif kind != macro_index.METHOD or not (callee in numpys or hasattr(np, str(callee)[1:])):
            yield callee, kind


KINDS = {
    macro_index.METHOD, macro_index.ARRAY_METHOD, macro_index.CALLED, macro_index.NUMPY,
    macro_index.UFUNC, macro_index.BOUND, macro_index.OTHER, macro_index.ALLOCATOR,
}
