"""The interface of a kernel: its parameters, and the codes of its guards."""
from __future__ import annotations

from loopir.nodes import Const, Disjoint, Guard, Kernel, Param
from transpile.call_plan import KernelParameter, Plan
from transpile.lower.kernel_interface import make_interface
from transpile.result_spec import NoneResult


def test_parameters_and_guards() -> None:
    guards = (
        Guard(Const(True, "bool"), "GUARD_LENGTH"), Disjoint("x", "y"),
        Disjoint("x", "z", or_same=True),
    )
    params = (Param("x", "f64", 1, unit=0, written=True), Param("s", "i64"))
    kernel = Kernel("f", params, (), guards)
    made = make_interface(Plan(kernel, (), NoneResult()), kernel, exact_up_to=8)
    assert made.params == (
        KernelParameter("x", "f64", 1, 0, True, (), True),
        KernelParameter("s", "i64", None, None, False, (), True),
    )
    assert made.guards == ("GUARD_LENGTH", "GUARD_ALIAS", "GUARD_ALIAS")
    assert made.in_place == (("x", "z"),)
    assert made.exact_up_to == 8
