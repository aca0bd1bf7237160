"""Legal Loop IR to C text.

`emit_c` writes the translation unit, `c_statements`, `c_vector_loops` and `c_expressions` what is
in it, `vector_ops` and `vector_math` the functions it calls, from the templates in `headers/`.
"""
from __future__ import annotations

from .emit_c import emit

__all__ = ["emit"]
