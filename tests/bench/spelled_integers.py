"""Spellings of integer idioms: division, bits, tables, counts by key, hashes, searches."""
# ruff: noqa: B905, SIM108 (functions as people write them)
from __future__ import annotations

from functools import reduce

import numpy as np

from .spelled import Row, idioms_of

__all__ = ["IDIOMS"]

MASK, PRIME = 0xFFFFFFFFFFFFFFFF, 10**9 + 7


def modulo_operator(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = a[i] % 7
    return out


def modulo_of_python_int(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = int(a[i]) % 7
    return out


def modulo_divmod(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        _, r = divmod(a[i], 7)
        out[i] = r
    return out


def modulo_np_mod(a):
    return np.mod(a, 7)


def modulo_whole(a):
    return a % 7


def halves_floor_division(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = a[i] // 2
    return out


def halves_shift(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = a[i] >> 1
    return out


def halves_divmod(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        out[i] = divmod(int(a[i]), 2)[0]
    return out


def halves_whole(a):
    return a // 2


def evens_modulo(a):
    c = 0
    for v in a:
        if v % 2 == 0:
            c += 1
    return c


def evens_not_modulo(a):
    c = 0
    for v in a:
        if not v % 2:
            c += 1
    return c


def evens_and(a):
    c = 0
    for v in a:
        if v & 1 == 0:
            c += 1
    return c


def evens_sum(a):
    return sum(1 - v % 2 for v in a)


def evens_generator(a):
    return sum(1 for v in a if int(v) % 2 == 0)


def evens_whole(a):
    return np.sum(a % 2 == 0)


def evens_count_nonzero(a):
    return len(a) - np.count_nonzero(a & 1)


def bits_while_shift(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        v, c = int(a[i]), 0
        while v:
            c += v & 1
            v >>= 1
        out[i] = c
    return out


def bits_while_modulo(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        v, c = int(a[i]), 0
        while v > 0:
            c += v % 2
            v //= 2
        out[i] = c
    return out


def bits_lowest_cleared(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        v, c = int(a[i]), 0
        while v:
            v &= v - 1
            c += 1
        out[i] = c
    return out


def bits_for(a):
    out = np.empty(len(a), np.int64)
    for i in range(len(a)):
        c = 0
        for k in range(20):
            c += (int(a[i]) >> k) & 1
        out[i] = c
    return out


def bits_masks(a):
    out = np.zeros(len(a), np.int64)
    for k in range(20):
        out += (a >> k) & 1
    return out


def lookup_range(table, ix):
    out = np.empty(len(ix))
    for i in range(len(ix)):
        out[i] = table[ix[i]]
    return out


def lookup_enumerate(table, ix):
    out = np.empty(len(ix))
    for i, k in enumerate(ix):
        out[i] = table[k]
    return out


def lookup_of_python_int(table, ix):
    out = np.empty(len(ix))
    for i in range(len(ix)):
        k = int(ix[i])
        out[i] = table[k]
    return out


def lookup_comprehension(table, ix):
    return np.array([table[k] for k in ix])


def lookup_whole(table, ix):
    return table[ix]


def lookup_take(table, ix):
    return np.take(table, ix)


def lookup_method(table, ix):
    return table.take(ix)


def histogram_range(a, k):
    counts = np.zeros(k, np.int64)
    for i in range(len(a)):
        counts[a[i]] += 1
    return counts


def histogram_elements(a, k):
    counts = np.zeros(k, np.int64)
    for v in a:
        counts[v] = counts[v] + 1
    return counts


def histogram_list(a, k):
    counts = [0] * k
    for v in a:
        counts[v] += 1
    return np.array(counts)


def histogram_bincount(a, k):
    return np.bincount(a, minlength=k)


def histogram_add_at(a, k):
    counts = np.zeros(k, np.int64)
    np.add.at(counts, a, 1)
    return counts


def bins_floor(x, k):
    counts = np.zeros(k, np.int64)
    for v in x:
        counts[int(v * k)] += 1
    return counts


def bins_min(x, k):
    counts = np.zeros(k, np.int64)
    for i in range(len(x)):
        counts[min(int(x[i] * k), k - 1)] += 1
    return counts


def bins_if(x, k):
    counts = np.zeros(k, np.int64)
    for v in x:
        b = int(v * k)
        if 0 <= b < k:
            counts[b] += 1
    return counts


def bins_bincount(x, k):
    return np.bincount((x * k).astype(np.int64), minlength=k)


def bins_list(x, k):
    counts = [0] * k
    for v in x:
        counts[int(v * k)] += 1
    return np.array(counts)


def sums_by_key_range(a, x, k):
    out = np.zeros(k)
    for i in range(len(a)):
        out[a[i]] += x[i]
    return out


def sums_by_key_zip(a, x, k):
    out = np.zeros(k)
    for key, v in zip(a, x):
        out[key] += v
    return out


def sums_by_key_list(a, x, k):
    out = [0.0] * k
    for key, v in zip(a, x):
        out[key] += v
    return np.array(out)


def sums_by_key_add_at(a, x, k):
    out = np.zeros(k)
    np.add.at(out, a, x)
    return out


def sums_by_key_bincount(a, x, k):
    return np.bincount(a, weights=x, minlength=k)


def checksum_two_names(a):
    s, t = 1, 0
    for v in a:
        s = (s + int(v)) % 65521
        t = (t + s) % 65521
    return t * 65536 + s


def checksum_shift_and_or(a):
    s, t = 1, 0
    for i in range(len(a)):
        s = (s + int(a[i])) % 65521
        t = (t + s) % 65521
    return (t << 16) | s


def checksum_augmented(a):
    s = 1
    t = 0
    for v in a:
        s += int(v)
        s %= 65521
        t += s
        t %= 65521
    return (t << 16) + s


def checksum_numpy_ints(a):
    s, t = 1, 0
    for v in a:
        s = (s + v) % 65521
        t = (t + s) % 65521
    return t * 65536 + s


def polynomial_hash_modulo(a):
    h = 0
    for v in a:
        h = (h * 31 + int(v)) % 1048576
    return h


def polynomial_hash_mask(a):
    h = 0
    for v in a:
        h = (h * 31 + int(v)) & 0xFFFFF
    return h


def polynomial_hash_range(a):
    h = 0
    for i in range(len(a)):
        h = (31 * h + int(a[i])) % 2 ** 20
    return h


def polynomial_hash_shifts(a):
    h = 0
    for v in a:
        h = ((h << 5) - h + int(v)) & 0xFFFFF
    return h


def leap_years_expression(a):
    out = np.empty(len(a), np.bool_)
    for i in range(len(a)):
        out[i] = a[i] % 4 == 0 and (a[i] % 100 != 0 or a[i] % 400 == 0)
    return out


def leap_years_ifs(a):
    out = np.empty(len(a), np.bool_)
    for i, y in enumerate(a):
        if y % 400 == 0:
            out[i] = True
        elif y % 100 == 0:
            out[i] = False
        else:
            out[i] = y % 4 == 0
    return out


def _is_leap(y):
    if y % 4:
        return False
    return y % 100 != 0 or y % 400 == 0


def leap_years_helper(a):
    out = np.zeros(len(a), np.bool_)
    for i in range(len(a)):
        out[i] = _is_leap(a[i])
    return out


def leap_years_comprehension(a):
    return np.array([_is_leap(int(y)) for y in a])


def leap_years_whole(a):
    return (a % 4 == 0) & ((a % 100 != 0) | (a % 400 == 0))


def collatz_floor_division(n):
    most = 0
    for start in range(1, n):
        v, c = start, 0
        while v != 1:
            if v % 2 == 0:
                v = v // 2
            else:
                v = 3 * v + 1
            c += 1
        most = max(most, c)
    return most


def collatz_shift(n):
    most = 0
    for start in range(1, n):
        v, c = start, 0
        while v > 1:
            v = 3 * v + 1 if v & 1 else v >> 1
            c += 1
        if c > most:
            most = c
    return most


def _collatz_steps(v):
    c = 0
    while v != 1:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        c += 1
    return c


def collatz_helper(n):
    most = 0
    for start in range(1, n):
        most = max(most, _collatz_steps(start))
    return most


def collatz_generator(n):
    return max(_collatz_steps(start) for start in range(1, n))


def collatz_while_true(n):
    most = 0
    for start in range(1, n):
        v, c = start, 0
        while True:
            if v == 1:
                break
            v = v // 2 if v % 2 == 0 else 3 * v + 1
            c += 1
        most = max(most, c)
    return most


def bisection_while(x, q):
    out = np.empty(len(q), np.int64)
    for i in range(len(q)):
        lo, hi = 0, len(x)
        while lo < hi:
            mid = (lo + hi) // 2
            if x[mid] < q[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo
    return out


def bisection_shift(x, q):
    out = np.empty(len(q), np.int64)
    for i, v in enumerate(q):
        lo, hi = 0, len(x)
        while lo < hi:
            mid = (lo + hi) >> 1
            lo, hi = (mid + 1, hi) if x[mid] < v else (lo, mid)
        out[i] = lo
    return out


def _place(x, v):
    lo, hi = 0, len(x)
    while lo < hi:
        mid = lo + (hi - lo) // 2
        if x[mid] >= v:
            hi = mid
        else:
            lo = mid + 1
    return lo


def bisection_helper(x, q):
    out = np.empty(len(q), np.int64)
    for i in range(len(q)):
        out[i] = _place(x, q[i])
    return out


def bisection_comprehension(x, q):
    return np.array([_place(x, v) for v in q])


def bisection_searchsorted(x, q):
    return np.searchsorted(x, q)


def word_hash_mask(a):
    h = 0xCBF29CE484222325
    for v in a:
        h = ((h ^ int(v)) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return h


def word_hash_steps(a):
    h = 0xCBF29CE484222325
    for v in a:
        h ^= int(v)
        h *= 0x100000001B3
        h &= MASK
    return h


def word_hash_remainder(a):
    h = 0xCBF29CE484222325
    for i in range(len(a)):
        h = (h ^ int(a[i])) * 0x100000001B3 % 2**64
    return h


def word_hash_while(a):
    h, i = 0xCBF29CE484222325, 0
    while i < len(a):
        h = MASK & ((h ^ int(a[i])) * 0x100000001B3)
        i += 1
    return h


def word_hash_reduce(a):
    return reduce(lambda h, v: ((h ^ int(v)) * 0x100000001B3) & MASK, a, 0xCBF29CE484222325)


def modular_global(a):
    s = 1
    for v in a:
        s = (s * 31 + int(v)) % PRIME
    return s


def modular_local(a):
    s, p = 1, 1_000_000_007
    for v in a:
        s = (s * 31 + int(v)) % p
    return s


def modular_power(a):
    s = 1
    for i in range(len(a)):
        s = (s * 31 + int(a[i])) % (10**9 + 7)
    return s


def modular_steps(a):
    s = 1
    for v in a:
        s *= 31
        s += int(v)
        s %= PRIME
    return s


def modular_divmod(a):
    s = 1
    for v in a:
        s = divmod(s * 31 + int(v), PRIME)[1]
    return s


IDIOMS = idioms_of(globals(), (
    Row("modulo", 20_000, lambda n, r: (r.integers(0, 1000, n),)),
    Row("halves", 20_000, lambda n, r: (r.integers(0, 1000, n),)),
    Row("evens", 20_000, lambda n, r: (r.integers(0, 1000, n),)),
    Row("bits", 4_000, lambda n, r: (r.integers(0, 1 << 20, n),)),
    Row("lookup", 20_000, lambda n, r: (r.random(256), r.integers(0, 256, n))),
    Row("histogram", 20_000, lambda n, r: (r.integers(0, 64, n), 64)),
    Row("bins", 20_000, lambda n, r: (r.random(n), 64)),
    Row("sums_by_key", 20_000, lambda n, r: (r.integers(0, 64, n), r.random(n), 64)),
    Row("checksum", 20_000, lambda n, r: (r.integers(0, 256, n),)),
    Row("polynomial_hash", 20_000, lambda n, r: (r.integers(0, 256, n),)),
    Row("word_hash", 20_000, lambda n, r: (r.integers(0, 256, n),)),
    Row("modular", 20_000, lambda n, r: (r.integers(0, 256, n),)),
    Row("leap_years", 20_000, lambda n, r: (r.integers(1, 3000, n),)),
    Row("collatz", 2_000, lambda n, r: (n,)),
    Row("bisection", 4_000, lambda n, r: (np.sort(r.random(n)), r.random(n))),
))
