"""Lowering by itself: core Python as text to Loop IR as text, for tests of single modules."""
from __future__ import annotations

import ast
import textwrap

import numpy as np

from loopir.ir_printer import text_lines
from transpile.frontend.name_resolution import Scope
from transpile.lower.lower_function import lower
from transpile.types.value_types import ArgType, ArrayType, ScalarType

PY_INT = ScalarType("i64", weak=True)
PY_FLOAT = ScalarType("f64", weak=True)
PY_COMPLEX = ScalarType("c128", weak=True)
VECTOR = ArrayType("f64", 1, 0)


def lowered(source: str, /, **types: ArgType) -> str:
    """The Loop IR of the function in `source`, core Python, for arguments of these types. ``np`` is
    NumPy.
    """
    tree = ast.parse(textwrap.dedent(source)).body[0]
    assert isinstance(tree, ast.FunctionDef)
    stored = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    bound = {n.id for n in stored if isinstance(n.ctx, ast.Store)} | types.keys()
    plan = lower(tree, types, Scope(frozenset(bound), globals={"np": np}))
    return "\n".join(line.text for line in text_lines(plan.kernel))


def text(expected: str) -> str:
    """`expected` without its indentation, and without the first and the last line break."""
    return textwrap.dedent(expected).strip()
