"""``TRANSPILE_CHECK=1``: kernels are verified, and first calls compared with the interpreter."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from loopir.interpret import run
from loopir.nodes import Kernel, PredLoop, VecLoop
from loopir.tree import walk
from loopir.verify import verify
from targets.safecall import pairs

from ..stages import Stages
from .verify import alike, twins

__all__ = ["checked", "verify_stages"]


def verify_stages(stages: Stages, legal: Kernel) -> None:
    """Raises VerifyError where a stage has made a kernel that is not well-formed."""
    verify(stages.scalar, "scalar")
    verify(stages.fusion.kernel, "scalar")
    for _, kernel in stages.passes:
        vectors = any(isinstance(n, (VecLoop, PredLoop)) for n in walk(kernel))
        verify(kernel, "vector" if vectors else "scalar")
    verify(legal, "legal")


def checked(fast: Callable[..., int], kernel: Kernel) -> Callable[..., int]:
    """`fast`, whose first call is compared: status and arrays, with those of the interpreter.

    Raises AssertionError where they differ.
    """
    pending = [kernel]

    def call(*args: Any) -> int:
        if not pending:
            return fast(*args)
        copies = twins(args)
        status = fast(*args)
        if status >= 0 and copies is not None:
            _compare(pending.pop(), args, copies, status)
        return status

    return call


def _compare(kernel: Kernel, args: Sequence[Any], copies: list[Any], status: int) -> None:
    names = [param.name for param in kernel.params]
    own = {param.name for param in kernel.params if param.owned}
    outcome = run(kernel, dict(zip(names, map(pairs, copies), strict=True)))
    same = outcome.status == status
    assert same, f"{kernel.name}: status {status}, but {outcome.status} as interpreted"
    for name, ours, theirs in zip(names, args, copies, strict=True):
        same = name in own or alike(ours, theirs)
        assert same, f"{kernel.name}: {name} is {ours}, but {theirs} as interpreted"
