"""Digests of data, by BLAKE2b, for which OpenSSL need not be loaded."""
from __future__ import annotations

__all__ = ["digest", "hexdigest"]

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b


def digest(data: bytes) -> bytes:
    """The 32-byte BLAKE2b digest."""
    return blake2b(data, digest_size=32).digest()


def hexdigest(data: bytes) -> str:
    """The digest in 64 hexadecimal digits."""
    return digest(data).hex()
