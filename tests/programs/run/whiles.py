"""Programs of whole numbers whose loops end when these say so."""
from __future__ import annotations

import numpy as np

from .programs import Make, integers, one, program, two, whole

FEW = (0, 1, 2, 9, 33)


@program(sizes=FEW, i64=one(integers, np.int64), u16=one(integers, np.uint16))
def powers_by_squaring(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        b, e, r = int(x[i]) % 1009, 37, 1
        while e:
            if e & 1:
                r = r * b % 1009
            b = b * b % 1009
            e >>= 1
        out[i] = r
    return out


@program(sizes=FEW, f64=lambda n, rng: (np.sort(whole(n, rng)), whole(n, rng)))
def places_by_bisection(a, v):
    out = np.zeros(len(v), np.int64)
    for i in range(len(v)):
        lo, hi = 0, len(a)
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < v[i]:
                lo = mid + 1
            else:
                hi = mid
        out[i] = lo
    return out


@program(sizes=FEW, f64=lambda n, rng: (np.sort(whole(n, rng)), 3.0))
def place_from_above(a, v):
    lo, hi = -1, len(a)
    while hi - lo > 1:
        mid = lo + (hi - lo) // 2
        if a[mid] > v:
            hi = mid
        else:
            lo = mid
    return hi


@program(sizes=FEW, u16=one(integers, np.uint16), i32=one(integers, np.int32))
def bits_and_digits(x):
    bits = digits = 0
    for v in x:
        k = abs(int(v))
        while k > 0:
            digits += k % 10
            k //= 10
        k = int(v) & 65535
        while k:
            k &= k - 1
            bits += 1
    return bits, digits


@program(sizes=(0, 1, 2, 9), python_at=(9,), i64=one(integers, np.int64))
def squares_until_they_are_too_long(x):
    out = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        k = int(x[i]) % 7
        s = 2 - k % 3
        while k > 0:
            s = s * s
            k -= 1
        out[i] = s % 1000
    return out


def ends(dtype: type) -> Make:
    """Numbers around zero and both ends of the type."""

    def make(n: int, rng: np.random.Generator) -> tuple[np.ndarray]:
        info = np.iinfo(dtype)
        near = [info.min, info.min + 1, -10, -7, -1, 0, 1, 6, 7, info.max - 1, info.max]
        return (rng.choice(np.array(near, dtype), n),)

    return make


@program(sizes=(0, 9, 65), i8=ends(np.int8), i32=ends(np.int32), i64=ends(np.int64))
def quotients_by_numbers(x):
    q = np.zeros_like(x)
    r = np.zeros_like(x)
    for i in range(len(x)):
        q[i] = x[i] // 7
        r[i] = x[i] % 10
    return q, r


def positive(n: int, rng: np.random.Generator) -> tuple[np.ndarray]:
    """From one to the end of 62 bits, few of them large."""
    return (rng.choice(np.array([1, 2, 3, 7, 27, 97, 1 << 40, (1 << 62) - 1]), n),)


@program(sizes=(0, 1, 33, 300), i64=positive)
def halvings_of_all(x):
    t = -5
    for v in x:
        k = int(v)
        while k != 1:
            k //= 2
            t += 1
    return t


@program(sizes=(9, 65), i64=ends(np.int64))
def bits_of_all(x):
    t = 0
    for v in x:
        k = int(v) & 0x7FFFFFFFFFFFFFFF
        while k:
            k &= k - 1
            t += 1
    return t


@program(sizes=(0, 9, 300), f64=lambda n, rng: (whole(n, rng), n))
def digits_and_a_float(x, n):
    s, most, digits = 0.0, 0, 0
    for i in range(min(n, len(x))):
        k, d = i * i, 0
        while k > 0:
            d += k % 10
            k //= 10
        most = max(most, d)
        s += x[i] * d
        digits += d
    return s, most, digits


@program(sizes=(1, 17, 300), python_at=(300,), i64=one(integers, np.int64))
def longest_hailstone(x):
    best = 0
    for i in range(len(x)):
        k, c = i + 1, 0
        if i == 299:
            k = 4611686018427387905
        while k != 1:
            if k % 2 == 0:
                k //= 2
            else:
                k = 3 * k + 1
            c += 1
        if c > best:
            best = c
    return best


def sorted_two(n, rng):
    a, b = (np.sort(whole(k, rng)) for k in (n, n // 2))
    return a, b, np.zeros(n + n // 2)


@program(sizes=FEW, python_at=(1,), f64=sorted_two)
def merged(a, b, out):
    i = j = 0
    for k in range(len(out)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1
    return i, j


@program(sizes=FEW, python_at=(1, 2, 9, 33),
         f64=lambda n, rng: (*sorted_two(n, rng)[:2], np.zeros(2 * n)))
def merged_beyond_both(a, b, out):
    i = j = 0
    for k in range(len(out)):
        if j >= len(b) or (i < len(a) and a[i] <= b[j]):
            out[k] = a[i]
            i += 1
        else:
            out[k] = b[j]
            j += 1


@program(f64=lambda n, rng: (whole(n, rng), 0.5))
def hits_that_keep_apart(x, t):
    count, last = 0, -1
    for i in range(len(x)):
        if x[i] > t and i - last > 3:
            count += 1
            last = i
    return count, last


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), np.full(4, 0.25), 10**12))
def scaled_by_an_entry_that_may_be_missing(x, w, at):
    out = np.zeros(len(x))
    for i in range(len(x)):
        v = x[i]
        while v > 1.0:
            if 0 <= at < len(w):
                v = v * w[at]
            elif v > 8.0:
                v = v * 0.25
            else:
                v = v * 0.5
        out[i] = v
    return out


@program(sizes=FEW, f64=lambda n, rng: (whole(n, rng), np.arange(4.0)))
def entries_by_number_of_halvings(x, w):
    out = np.zeros(len(x))
    for i in range(len(x)):
        v, k = x[i], 0
        while v > 1.0 and k < len(w) - 1:
            v = v * 0.5
            k = k + 1
        out[i] = w[k]
    return out


def unsorted(n: int, rng: np.random.Generator) -> tuple[np.ndarray]:
    """Numbers in any order, some of which are equal, and two that are not numbers."""
    x = whole(n, rng)
    x[n // 3 : n // 3 + n // 9] = np.nan
    return (x,)


@program(sizes=(*FEW, 200), f64=unsorted, i64=one(integers, np.int64))
def sorted_by_a_heap(x):
    n = len(x)
    for start in range(n // 2 - 1, -1, -1):
        root = start
        while True:
            child = 2 * root + 1
            if child >= n:
                break
            if child + 1 < n and x[child] < x[child + 1]:
                child += 1
            if x[root] < x[child]:
                x[root], x[child] = x[child], x[root]
                root = child
            else:
                break
    for end in range(n - 1, 0, -1):
        x[0], x[end] = x[end], x[0]
        root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and x[child] < x[child + 1]:
                child += 1
            if not x[root] < x[child]:
                break
            x[root], x[child] = x[child], x[root]
            root = child
    return x


def from_place(place: int) -> Make:
    return lambda n, rng: (integers(n, rng, np.int64), place)


@program(sizes=(1, 2, 9, 33), first=from_place(0))
@program(sizes=(1, 9, 33), python_at=(1,), second=from_place(1))
@program(sizes=(1, 9), python_at=(1, 9), from_the_end=from_place(-3),
         below_all=from_place(-(1 << 62)), beyond=from_place(1 << 62))
def sifted_down_from(x, root):
    steps = 0
    while x[root] != steps and 2 * root + 1 < len(x):
        child = 2 * root + 1
        x[child], x[root] = x[root] + 1, x[child]
        if child == root:
            break
        root = child
        steps += 1
    return steps, root


@program(sizes=(9, 33), python_at=(9, 33), f64=lambda n, rng: (whole(n, rng), -2))
@program(sizes=(0, 1, 9, 33), whole=lambda n, rng: (whole(n, rng), 2))
def pairs_from_both_ends(x, skipped):
    k, total = 0, 0.0
    while k + skipped < len(x):
        total += x[len(x) - skipped - k] if k else x[k]
        k += 1
    return total, k


def trees(dtype):
    """Nodes in the order of a heap, some of them by subscripts from the end; of 7 nodes the
    children of the first are not there.
    """

    def made(n, rng):
        left, right = 2 * np.arange(n) + 1, 2 * np.arange(n) + 2
        left[left >= n], right[right >= n] = n, n
        wrapped = rng.random(n) < 0.2
        right[wrapped & (right < n)] -= n
        if n == 7:
            left[0] = right[0] = 11
        key = whole(n, rng, dtype)
        return key, left, right, np.append(key, key[:1]), whole(n, rng, dtype)

    return made


@program(python_at=(7,), sizes=(1, 2, 7, 15, 40), f64=trees(np.float64), i64=trees(np.int64))
def walked_down(key, left, right, more, wanted):
    """The child is chosen by an expression, by a branch, and in the middle of a path."""
    n, found = len(key), 0
    out = np.zeros((2, n), np.int64)
    for i in range(len(wanted)):
        v, k, steps = wanted[i], 0, 0
        while k != n and steps < 9:
            if key[k] == v:
                found += 1
                break
            k = left[k] if v < key[k] else right[k]
            steps += 1
        out[0, i] = k
        k = steps = 0
        while k < n and steps < 9:
            if more[k] <= v:  # noqa: SIM108
                k = left[k]
            else:
                k = right[k]
            steps += 1
        out[1, i] = k + steps
    return out, found


@program(sizes=(0, 1, 2, 7, 40), f64=two(whole), i64=two(whole, np.int64))
def increasing(x, tails):
    """The longest increasing subsequence: a search in what has been found so far."""
    n = 0
    for v in x:
        lo, hi = 0, n
        while lo < hi:
            mid = (lo + hi) // 2
            if tails[mid] < v:
                lo = mid + 1
            else:
                hi = mid
        tails[lo] = v
        if lo == n:
            n += 1
    return n, tails
