"""A program means the same whatever its names are: also under those that its own kernel made up."""
from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agree import assert_same, outcome
from program_runs import PROGRAMS, arguments, wanted
from run.programs import Program
from staged import interpreted, through

from loopir.ir_names import bound_names
from transpile.options import Options
from transpile.pipeline import Compilation, compile_stages
from transpile.types.typeof import parameter_names, type_of


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._names.get(node.arg, node.arg)
        return node


def _tree(function: Callable[..., Any]) -> ast.FunctionDef:
    [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    return tree


def _made_up(stages: Compilation, function: Callable[..., Any]) -> Iterator[list[str]]:
    """Names that `function` does not have: of arrays, then of numbers and loops, in the kernel;
    those that the macros made. Of one that is called `_draws` Python answers, as draws are.
    """
    own = {"_draws"} | {getattr(n, "id", getattr(n, "arg", "")) for n in ast.walk(_tree(function))}
    kernel = stages.kernel
    arrays = [p.name for p in kernel.params]
    made = (n.id for n in ast.walk(stages.python) if isinstance(n, ast.Name))
    for names in ([*arrays, *sorted(bound_names(kernel))], made):
        yield [n for n in dict.fromkeys(names) if n not in own and not hasattr(builtins, n)]


def _renamed(function: Callable[..., Any], to: list[str], shift: int) -> Callable[..., Any]:
    """`function` with names of `to` for its parameters and for as many others as there are."""
    turned = to[shift:] + to[:shift]
    names = dict(zip(function.__code__.co_varnames, turned, strict=False))
    text = ast.unparse(_Renamed(names).visit(_tree(function)))
    file = f"<{function.__name__} {shift}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = dict(function.__globals__)
    exec(compile(text, file, "exec"), scope)
    renamed: Callable[..., Any] = scope[function.__name__]
    return renamed


CASES = {
    p.function: pytest.param(p, id=p.label)
    for p in reversed(PROGRAMS)
    if not p.long and p.python_at < {*p.sizes}
    and not p.function.__code__.co_freevars + p.function.__code__.co_cellvars
}


def _compiled(function: Callable[..., Any], args: tuple[Any, ...]) -> Compilation:
    types = dict(zip(parameter_names(function.__code__), map(type_of, args), strict=True))
    return compile_stages(function, types, Options())


@pytest.mark.share(240)
@pytest.mark.parametrize("program", CASES.values())
def test_renamed(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "loopir.passes.pass_list.PASS_LIST", ()
    )  # they name nothing after the source
    n = next(n for n in (7, *program.sizes) if n in program.sizes and n not in program.python_at)
    first = _compiled(program.function, arguments(program, n))
    kinds = _made_up(first, program.function)
    for to, shift in ((names, k) for names in kinds for k in range(min(len(names), 2))):
        args = arguments(program, n)
        stages = _compiled(_renamed(program.function, to, shift), args)
        got = outcome(through(stages, stages.plan, stages.kernel, interpreted(stages.kernel)), args)
        assert_same(got, wanted(program, n), ast.unparse(stages.python), program.ulps)
