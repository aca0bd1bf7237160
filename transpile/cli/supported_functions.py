"""Table of supported functions: a page made from the operation rows and the macros.

``python -m transpile.cli.supported_functions`` prints it; it is ``transpile/README.md``, and a
test compares.
"""
from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from itertools import groupby

from loopir.dtypes import DTYPES
from loopir.op_table import OPS, Op

from ..frontend.macros.macro_table import MACROS
from ..numpy.function_row import Family, Row
from ..numpy.function_table import FUNCTIONS, REDUCE_ARGUMENTS, signatures
from ..numpy.function_table import METHODS as ARRAY_METHODS
from ..numpy.functions.identity_table import IDENTITIES
from ..random_numbers import FAMILIES, draw_functions, state_templates
from ..random_numbers.ziggurat import ZIGGURAT_TABLES

__all__ = ["supported_functions"]


def supported_functions() -> str:
    """Markdown: functions and methods in alphabetical order, operators, what stays NumPy's; at the
    end, what each macro takes.
    """
    sections = {
        "NumPy: ufuncs, and `math`": _elementwise(),
        "NumPy: further functions": _array_functions(),
        "Methods of arrays": _methods(),
        "Methods of ufuncs": _ufunc_methods(),
        "Operators": _operators(),
        "Functions of `transpile.ops`": _own_functions(),
        "Random numbers": _draws(),
        "What stays NumPy's": _library_functions(),
        "For developers: the macros": _macros(),
    }
    lines = [*_INTRODUCTION]
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section]
    return "\n".join(lines) + "\n"


_INTRODUCTION = """\
# Which functions are compiled

NumPy's functions, methods and operators in alphabetical order, with the arguments that are
compiled. To look one up, search this page for its name (`np.clip`). Statements, builtins,
containers, `itertools`, `bisect`, `heapq` and further functions of `math` are in
[What is compiled](../docs/supported.md), with an example of each.

- Where `…` stands for the arguments, the usual ones are compiled. A call that is not compiled stays
  Python's, and the report names it; so does a function of NumPy that stands in no table here.
- *Error* is the largest difference to the exact result, in units of the last place; "same bits":
  the result is NumPy's (for `math`, Python's) to the last bit.

This page is made by `python -m transpile.cli.supported_functions` from the compiler's tables.\
""".splitlines()

_FACTS_ONLY = ("rollaxis", ".tolist")
"""Rows of the function table that no macro expands."""

_FAMILIES: tuple[Family, ...] = ("view", "movement", "loops", "pair", "formula")
"""The families of rules that have arguments; where two have a function, the first one's come first.
"""

_KINDS = {"b": "bools", "i": "ints", "u": "unsigned", "f": "floats"}
_WORDS = ("if", "not")
"""Operators that are words."""


def _operands(op: Op) -> str:
    """The kinds of dtypes that the operands of `op` have, and its error."""
    operands = ", ".join(_KINDS[k] for k in op.kinds if k in _KINDS)
    operands += "".join(f", not {DTYPES[d].numpy.name}" for d in op.excluded)
    return f"{operands} | {op.ulps if op.ulps else 'same bits'}"


def _code(names: Iterable[str]) -> str:
    """Names as they are called in programs, for a cell of a table."""
    spelled = (name.replace("numpy.", "np.").replace("transpile.ops.", "ops.") for name in names)
    return " ".join(f"`{name}`" for name in spelled).replace("|", "\\|")


def _is_operator(spelling: str) -> bool:
    """Whether a spelling is no function, but an operator."""
    return spelling in _WORDS or not spelling.replace(".", "_").isidentifier()


def _spellings(op: Op) -> list[str]:
    return [s for s in op.spellings if s]


def _operators() -> Iterator[str]:
    """A row for each operator."""
    yield "| operator | the same | operands | error |"
    yield "|---|---|---|---|"
    for op in OPS.values():
        names = _spellings(op)
        operators = [name for name in names if _is_operator(name)]
        if operators:
            others = [name for name in names if name not in operators]
            shown = _code(name.replace("u-", "-x") for name in operators)
            yield f"| {shown} | {_code(others)} | {_operands(op)} |"


def _elementwise() -> Iterator[str]:
    """A row for each ufunc of NumPy's, or function of Python's, that is no operator."""
    yield "| NumPy | `math`, Python | operands | error |"
    yield "|---|---|---|---|"
    rows = dict[str, str]()
    for op in OPS.values():
        names = [name for name in _spellings(op) if not _is_operator(name)]
        if not any(map(_is_operator, _spellings(op))) and not all(map(_is_own, names)):
            numpys = [name for name in names if name.startswith("numpy.")]
            others = [name for name in names if name not in numpys and not _is_own(name)]
            key = (numpys or others)[0].rpartition(".")[2]
            rows[key] = f"| {_code(numpys)} | {_code(others)} | {_operands(op)} |"
    yield from (row for _, row in sorted(rows.items()))


def _is_own(name: str) -> bool:
    return name.startswith("transpile.ops.")


def _own_functions() -> Iterator[str]:
    """The functions of `transpile.ops`."""
    yield "`from transpile import ops`: plain functions in Python, too."
    yield ""
    yield "| function | operands | error |"
    yield "|---|---|---|"
    rows = {name: op for op in OPS.values() for name in _spellings(op) if _is_own(name)}
    for name, op in sorted(rows.items()):
        yield f"| {_code([name])} | {_operands(op)} |"


def _call(name: str, arguments: Iterable[str]) -> str:
    """The call of a NumPy function or of a builtin, as code."""
    called = name.removeprefix("builtins.") if name.startswith("builtins.") else f"np.{name}"
    return f"`{called}({', '.join(arguments) or '…'})`"


def _reduction_arguments(row: Row) -> str:
    """The arguments of a reduction, a scan or a search; an empty text if the row is none."""
    if row.accumulator or row.same_as:
        return row.accumulator or REDUCE_ARGUMENTS
    if row.reduction:
        return "a axis keepdims initial where"
    if row.derived:
        return "a axis keepdims"
    return "a axis" if row.scan or row.search else ""


def _array_arguments() -> dict[str, list[str]]:
    """The functions that are no ufuncs, by name, with their arguments; empty where no table has
    them.
    """
    known = [{name: _reduction_arguments(row) for name, row in FUNCTIONS.items()}]
    known += (signatures(family) for family in _FAMILIES)
    known += ({row.function: " ".join(filter(row.has_hole, row.parameters))} for row in IDENTITIES)
    found = {name: list[str]() for name, row in FUNCTIONS.items()
             if not row.library and name not in _FACTS_ONLY}
    for table in known:
        for name, arguments in ((n, text.split()) for n, text in table.items() if text):
            names = found.setdefault(name, [])
            first = bool(names)  # the tables may call the operand by different names
            names += [new for new in arguments[first:] if new not in names]
    return dict(sorted(found.items()))


def _array_functions() -> Iterator[str]:
    """A row for each letter, with the functions that begin with it."""
    yield "| | |"
    yield "|---|---|"
    calls = {
        name: _call(name, arguments) for name, arguments in _array_arguments().items()
        if not (name.startswith(".") or _ufunc_method(name))
    }
    for letter, names in groupby(calls, key=lambda name: name[0]):
        yield f"| {letter} | {' '.join(calls[name] for name in names)} |"


def _ufunc_method(name: str) -> str:
    """The method of a ufunc that a name ends with; "" for others."""
    method = name.rpartition(".")[2]
    return method if "." in name and method in ("reduce", "accumulate", "outer", "at") else ""


def _methods() -> Iterator[str]:
    """The methods of arrays."""
    names = {name for name, row in ARRAY_METHODS.items()
             if not row.library and f".{name}" not in _FACTS_ONLY}
    names |= {name[1:] for name in _array_arguments() if name.startswith(".")}
    yield "With the arguments of the functions of the same name:"
    yield ""
    yield " ".join(f"`.{name}`" for name in sorted(names))


def _ufunc_methods() -> Iterator[str]:
    """The methods of ufuncs, each with the ufuncs that have it."""
    yield "| method | of |"
    yield "|---|---|"
    for method in ("reduce", "accumulate", "outer", "at"):
        ufuncs = (name.removesuffix(f".{method}") for name in _array_arguments()
                  if _ufunc_method(name) == method)
        yield f"| `.{method}` | {' '.join(f'`np.{name}`' for name in ufuncs)} |"


def _library_functions() -> Iterator[str]:
    """The functions that are left to NumPy."""
    compiled = _array_arguments()
    names = [name for name in sorted(FUNCTIONS) if name not in compiled and FUNCTIONS[name].library]
    yield f"{' '.join(f'`np.{name}`' for name in names)}; `np.fft`; and what LAPACK computes"
    yield "(`np.linalg.solve`, `inv`, `eigh`, `svd` …). Call them outside of loops"
    yield "(`LOWER_LIBRARY`): the code around them is compiled."


def _draws() -> Iterator[str]:
    """The methods of each class of random generators, with their arguments."""
    yield "One number per call, or an array (`size`, not of `choice`)."
    yield ""
    titles = {
        "python": "`random.Random`, and the functions of `random`",
        "legacy": "`np.random.RandomState` of MT19937, and the functions of `np.random`",
        "pcg": "`np.random.Generator` of PCG64, as `np.random.default_rng` makes them",
    }
    for family in FAMILIES:
        calls = []
        for name, run in sorted(draw_functions(family).items()):
            arguments = (
                p for p in inspect.signature(run).parameters if p not in state_templates(family)
            )
            calls.append(f"`{name}({', '.join(p for p in arguments if p not in ZIGGURAT_TABLES)})`")
        yield f"- {titles[family]}: {' '.join(calls)}"


def _macros() -> Iterator[str]:
    """The macros in order, each with the summary and the example of its docstring."""
    yield "Constructs that are expanded into loops, in the order in which they are tried."
    yield ""
    yield "| macro | | for example |"
    yield "|---|---|---|"
    for macro in MACROS:
        summary, _, example = (inspect.getdoc(inspect.unwrap(macro)) or "").partition("\n\n")
        source = example.partition("→\n")[0].strip().splitlines()
        summary_cell = " ".join(summary.split()).replace("|", "\\|")
        source_cell = "<br>".join(f"`{line.rstrip()}`" for line in source).replace("|", "\\|")
        yield f"| `{macro.__name__}` | {summary_cell} | {source_cell} |"


if __name__ == "__main__":
    print(supported_functions(), end="")
