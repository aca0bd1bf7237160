"""The Mersenne Twister MT19937, of Python's `random` and of NumPy's `RandomState`.

M. Matsumoto and T. Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998).

State parameters of the functions: ``words``: 624 uint32. ``at``: ``at[0]`` is the number of words
that are used up. The functions are inlined in kernels, so they are written in the subset of Python
that is compiled; that is why two numbers are drawn in a loop, which is inlined once.
"""
from __future__ import annotations

from typing import Any

__all__ = ["next_double", "next_two_doubles", "next_word"]


def next_word(words: Any, at: Any) -> int:
    """The next 32 bits: a word of the state, tempered. When all words are used up, all are
    replaced.
    """
    k = int(at[0])
    if k >= len(words):
        for j in range(227):
            y = words[j] & 0x80000000 | words[j + 1] & 0x7FFFFFFF
            words[j] = words[j + 397] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        for j in range(227, 623):
            y = words[j] & 0x80000000 | words[j + 1] & 0x7FFFFFFF
            words[j] = words[j - 227] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        y = words[623] & 0x80000000 | words[0] & 0x7FFFFFFF
        words[623] = words[396] ^ y >> 1 ^ (0x9908B0DF if y & 1 else 0)
        k = 0
    y = words[k]
    at[0] = k + 1
    y = y ^ y >> 11
    y = y ^ y << 7 & 0x9D2C5680
    y = y ^ y << 15 & 0xEFC60000
    y = y ^ y >> 18
    return int(y)


def next_double(words: Any, at: Any) -> float:
    """A float in [0, 1) with 53 random bits: 27 of one word and 26 of the next."""
    high = low = 0
    for _ in range(2):
        high, low = low, next_word(words, at)
    return ((high >> 5) * 67108864.0 + (low >> 6)) * (1.0 / 9007199254740992.0)


def next_two_doubles(words: Any, at: Any) -> tuple[float, float]:
    """The next two results of `next_double`."""
    first = second = 0.0
    for _ in range(2):
        first, second = second, next_double(words, at)
    return first, second
