"""The digest that names objects and proves them whole: BLAKE2b of 32 bytes.

Taken where CPython keeps it: ``hashlib`` loads OpenSSL first, which takes longer than all that is
digested here.
"""
from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

__all__ = ["digest", "hexdigest"]


def digest(data: bytes) -> bytes:
    """The 32 bytes."""
    return blake2b(data, digest_size=32).digest()


def hexdigest(data: bytes) -> str:
    """The same in 64 hexadecimal digits."""
    return digest(data).hex()
