"""Inlining of Python functions: before macro expansion, and where macros uncover more calls.

`inliner` walks over the statements and decides which calls are inlined; `inlining_state` is its
state. `callees` finds which function a call runs; `callee_body` instantiates a body;
`captured_names` renames what it reads from its module; `local_imports` finds what imports in
functions bind; `inline_origins` translates plans and refusals back to the lines of the inlined
functions.
"""
from __future__ import annotations

from .inline_origins import bind_captures, plan_with_captures, refusal_in_source
from .inliner import inline_calls, inline_uncovered
from .inlining_state import Inlining, start_inlining

__all__ = [
    "Inlining", "start_inlining", "inline_calls", "inline_uncovered", "plan_with_captures",
    "refusal_in_source", "bind_captures",
]
