"""Table of supported functions: a page made from the operation rows and the macros.

``python -m transpile.cli.supported_functions`` prints it; it is ``transpile/README.md``, and a
test compares.
"""
from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping

from loopir.dtypes import DTYPES
from loopir.op_table import OPS

from ..expand import MACROS
from ..numpy.function_row import Row
from ..numpy.function_table import FUNCTIONS, REDUCE_ARGUMENTS, signatures
from ..numpy.functions.identity_table import IDENTITIES
from ..random_numbers import METHODS, state_templates
from ..random_numbers.ziggurat import ZIGGURAT_TABLES

__all__ = ["supported_functions"]


def supported_functions() -> str:
    """Markdown: operations of numbers, functions of whole arrays, and what each macro takes."""
    return "\n".join([
        "# What is accepted", "",
        "Made by `python -m transpile.cli.supported_functions` from the rows of",
        "`loopir/op_table.py` and the macros of `transpile/expand.py`. What stands in no row here",
        "stays Python's, or NumPy's.", "",
        "## Operations of numbers, and of arrays element by element", "", *_operations(), "",
        "## Functions of arrays, with the arguments that are supported", "", *_functions(), "",
        "## Generators of random numbers: one per call, or an array (`size`, not of `choice`)",
        "", *_draws(), "",
        "## Macros: constructs that are expanded into loops", "", *_macros(),
    ]) + "\n"  # fmt: skip


def _operations() -> Iterable[str]:
    """A row each: the spellings, and the kinds of dtypes."""
    yield "| spelling | operands | error, in units of the last place |"
    yield "|---|---|---|"
    kinds = {"b": "bools", "i": "ints", "u": "unsigned", "f": "floats"}
    for op in OPS.values():
        spellings = [s for s in op.spellings if s]
        if spellings:
            spelled = " ".join(f"`{s}`" for s in spellings).replace("|", "\\|")
            operands = ", ".join(kinds[k] for k in op.kinds if k in kinds)
            operands += "".join(f", not {DTYPES[d].numpy.name}" for d in op.excluded)
            yield f"| {spelled} | {operands} | {op.ulps if op.ulps else 'the same bits'} |"


def _functions() -> Iterable[str]:
    """The functions of arrays by kind, each with the arguments that it takes."""
    identities: dict[str, str] = {}
    for row in IDENTITIES:
        known = identities.get(row.function, "").split()
        arguments = filter(row.has_hole, row.parameters)
        identities[row.function] = " ".join(dict.fromkeys([*known, *arguments]))

    def reductions(row: Row) -> str:
        """The arguments of a reduction, or an empty text if the row is none."""
        if row.accumulator or row.same_as:
            return row.accumulator or REDUCE_ARGUMENTS
        if row.reduction:
            return "a axis keepdims initial where"
        return "a axis keepdims" if row.derived else ""

    tables: Mapping[str, Mapping[str, str]] = {
        "element by element": signatures("formula"),
        "rearrangement of elements": signatures("movement"),
        "views": signatures("view"),
        "folds": {name: text for name, row in FUNCTIONS.items() if (text := reductions(row))},
        "along an axis": dict.fromkeys(
            (name for name, row in FUNCTIONS.items() if row.scan or row.search), "a axis"
        ),
        "expressed by other functions": identities,
        "searches and counts": signatures("loops") | signatures("pair"),
    }
    for title, table in tables.items():
        calls = (f"`{name}({', '.join(names.split())})`" for name, names in sorted(table.items()))
        yield f"- {title}: {' '.join(calls)}"


def _draws() -> Iterable[str]:
    """The methods of each class of random generators, with their arguments."""
    titles = {
        "python": "`random.Random`, and the functions of `random`",
        "legacy": "`np.random.RandomState` of MT19937, and the functions of `np.random`",
        "pcg": "`np.random.Generator` of PCG64, as `np.random.default_rng` makes them",
    }
    for family, methods in METHODS.items():
        calls = []
        for name, run in sorted(methods.items()):
            arguments = (
                p for p in inspect.signature(run).parameters if p not in state_templates(family)
            )
            calls.append(f"`{name}({', '.join(p for p in arguments if p not in ZIGGURAT_TABLES)})`")
        yield f"- {titles[family]}: {' '.join(calls)}"


def _macros() -> Iterable[str]:
    """The macros in order, each with the summary and the example of its docstring."""
    yield "| macro | | for example |"
    yield "|---|---|---|"
    for macro in MACROS:
        summary, _, example = (inspect.getdoc(macro) or "").partition("\n\n")
        source = example.partition("→\n")[0].strip().splitlines()
        summary_cell = " ".join(summary.split()).replace("|", "\\|")
        source_cell = "<br>".join(f"`{line.rstrip()}`" for line in source).replace("|", "\\|")
        yield f"| `{macro.__name__}` | {summary_cell} | {source_cell} |"


if __name__ == "__main__":
    print(supported_functions(), end="")
