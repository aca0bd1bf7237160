"""Legal Loop IR to C text.

`emit_c` writes the translation unit, `c_statements`, `c_vector_loops` and `c_expressions` what is
in it, `vector_ops` and `vector_math` the functions it calls, from the templates in `headers/`.
`emit` is imported when it is asked for: a call of a kernel from the disk cache needs the headers of
the thread pool alone.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .emit_c import emit

__all__ = ["emit"]


def __getattr__(name: str) -> Any:
    """`emit`."""
    if name != "emit":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .emit_c import emit

    return emit
