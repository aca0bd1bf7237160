"""Three planted bugs, in a macro, in a pass and in emission, each with a program that meets it.

Run ``python tests/support/planted_bugs.py`` to see what ``transpile bisect`` and ``transpile
reduce`` say of them.
"""
from __future__ import annotations

import ast
import contextlib
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import targets.kernel_selection
import transpile.expand
from loopir.ir_traversal import bottom_up
from loopir.nodes import Call, Kernel, Node
from loopir.passes import pass_list
from transpile.cli.command_line import main
from transpile.frontend.language import assignment_forms

__all__ = ["BUGS", "PlantedBug"]


class PlantedBug(NamedTuple):
    """A program, what plants the bug, and what bisect has to say."""

    text: str
    plant: Callable[[pytest.MonkeyPatch], None]
    stage: str
    macro: str = ""


def _wrong_macro(patch: pytest.MonkeyPatch) -> None:
    """``a, b = b, a`` becomes ``a = b; b = a``: values are not read before names are bound."""
    right = assignment_forms.unpacking_assignment

    def unpacking_assignment(node: ast.AST, cx: Any) -> Any:
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                pairs = zip(names, values, strict=True)
                return [s for n, v in pairs for s in cx.code("NAME = E", NAME=n, E=v)]
        return right(node, cx)

    macros = (unpacking_assignment if m is right else m for m in transpile.expand.MACROS)
    patch.setattr(transpile.expand, "MACROS", tuple(macros))


def _wrong_pass(patch: pytest.MonkeyPatch) -> None:
    """The third invocation of simplify exchanges the operands of a maximum and a difference."""
    steps = [*pass_list.PASS_LIST]
    places = [k for k, step in enumerate(steps) if step.name == "simplify"]
    right = steps[places[2]].run

    def turned(e: Node) -> Node:
        match e:
            case Call(op="sub", args=(a, b), dtype="f64"):
                return replace(e, args=(b, a))
        return e

    @wraps(right)
    def simplify(kernel: Kernel) -> Kernel:
        kernel = right(kernel)
        body = tuple(bottom_up(s, turned) for s in kernel.body)
        return kernel if body == kernel.body else replace(kernel, body=body)

    steps[places[2]] = replace(steps[places[2]], run=simplify)
    patch.setattr(pass_list, "PASS_LIST", tuple(steps))


def _wrong_emission(patch: pytest.MonkeyPatch) -> None:
    """An absolute value is printed as its operand."""
    right = targets.kernel_selection.emit_body

    def emit_body(*args: Any, **kwargs: Any) -> str:
        return right(*args, **kwargs).replace("tp_abs_f64(", "(")

    patch.setattr(targets.kernel_selection, "emit_body", emit_body)


BUGS = {
    "macro": PlantedBug(
        """
import numpy as np
from transpile import fuse

@fuse
def fibonacci(x, n):
    a, b = 0.0, 1.0
    total = 0.0
    for i in range(n):
        total += a
        x[i] = (x[i] * 2.0 + a) * (x[i] - 3.0)
        a, b = b, a + b
    return total

fibonacci(np.zeros(4), 4)
""",
        _wrong_macro, "expand", "unpacking_assignment",
    ),
    "pass": PlantedBug(
        """
import numpy as np
from transpile import fuse

@fuse
def smooth(x, y, w):
    out = np.zeros(len(x))
    for i in range(1, len(x) - 1):
        d = x[i + 1] - x[i - 1]
        if d > 0.0:
            out[i] = d * w + y[i]
        else:
            out[i] = y[i] * 2.0
    return out

smooth(np.linspace(0.0, 1.0, 33) ** 2, np.ones(33), 0.5)
""",
        _wrong_pass, "simplify@3",
    ),
    "emission": PlantedBug(
        """
import numpy as np
from transpile import fuse

@fuse(target="scalar")
def centre(x, y, low, n):
    total = 0.0
    for i in range(n):
        v = x[i] * 2.0 + 1.0
        if v > low:
            total += abs(x[i] - y[i]) * low
        else:
            total -= y[i]
    return total

centre(np.linspace(-3.0, 3.0, 21), np.ones(21), 0.5, 21)
""",
        _wrong_emission, "emit",
    ),
}


def _show() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, bug in BUGS.items():
            path = Path(folder, f"{name}.py")
            path.write_text(bug.text)
            for command in ("bisect", "reduce"):
                print(f"$ python -m transpile {command} {path.name}", flush=True)
                with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
                    bug.plant(patch)
                    main([command, path.name])
                print(flush=True)


if __name__ == "__main__":
    _show()
    sys.exit()
