"""Everyday functions as people decorate them on their first day, most of them of little work.

Puzzles, text, recursion, dicts, early exits, small tuples and lists: much of it is refused, or too
short to be worth a call. `tests.bench.never_slower` runs them with and without ``@fuse``.
"""
# ruff: noqa: SIM110, PERF401 (functions as people write them)
from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict, deque
from typing import Any

import numpy as np

__all__ = ["CALLS"]


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def hanoi(n, a, b, c):
    return 0 if n == 0 else hanoi(n - 1, a, c, b) + 1 + hanoi(n - 1, c, b, a)


def depth(tree):
    return 0 if tree is None else 1 + max(depth(tree[0]), depth(tree[1]))


def flatten(items):
    out = []
    for item in items:
        if isinstance(item, list):
            out.extend(flatten(item))
        else:
            out.append(item)
    return out


def quicksort(xs):
    if len(xs) <= 1:
        return xs
    pivot = xs[len(xs) // 2]
    less, same = [x for x in xs if x < pivot], [x for x in xs if x == pivot]
    return quicksort(less) + same + quicksort([x for x in xs if x > pivot])


def binary_search(xs, v):
    lo, hi = 0, len(xs) - 1
    while lo <= hi:
        middle = (lo + hi) // 2
        if xs[middle] == v:
            return middle
        if xs[middle] < v:
            lo = middle + 1
        else:
            hi = middle - 1
    return -1


def vowels(text):
    n = 0
    for c in text:
        if c in "aeiou":
            n += 1
    return n


def is_palindrome(text):
    for i in range(len(text) // 2):
        if text[i] != text[-1 - i]:
            return False
    return True


def caesar(text, shift):
    out = []
    for c in text:
        out.append(chr((ord(c) - 97 + shift) % 26 + 97) if c.isalpha() else c)
    return "".join(out)


def edit_distance(a, b):
    row = list(range(len(b) + 1))
    for i in range(len(a)):
        last, row[0] = row[0], i + 1
        for j in range(len(b)):
            last, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, last + (a[i] != b[j]))
    return row[-1]


def two_sum(numbers, target):
    seen = {}
    for i, v in enumerate(numbers):
        if target - v in seen:
            return seen[target - v], i
        seen[v] = i
    return None


def is_prime(n):
    if n < 2:
        return False
    for k in range(2, math.isqrt(n) + 1):
        if n % k == 0:
            return False
    return True


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def digits_ok(t):
    if t[3] % 2:
        return False
    for i in range(7):
        if (t[i] * 100 + t[i + 1] * 10 + t[i + 2]) % 7:
            return False
    return True


def starts_with(t, first):
    if t[0] != first:
        return False
    for i in range(1, len(t)):
        if t[i] < t[i - 1]:
            return False
    return True


def contains(xs, v):
    for x in xs:
        if x == v:
            return True
    return False


def any_negative(xs):
    return any(x < 0 for x in xs)


def norm(v):
    return math.sqrt(sum(x * x for x in v))


def dot(a, b):
    s = 0.0
    for x, y in zip(a, b, strict=False):
        s += x * y
    return s


def mean(xs):
    return sum(xs) / len(xs)


def polynomial(coefficients, x):
    s = 0.0
    for c in coefficients:
        s = s * x + c
    return s


def newton(x):
    guess = x
    for _ in range(20):
        guess = 0.5 * (guess + x / guess)
    return guess


def word_counts(words):
    counts = {}
    for w in words:
        counts[w] = counts.get(w, 0) + 1
    return counts


def grouped(keys, values):
    groups = defaultdict(list)
    for k, v in zip(keys, values, strict=False):
        groups[k].append(v)
    return {k: sum(v) / len(v) for k, v in groups.items()}


def most_common(text):
    return Counter(text).most_common(1)[0]


def per_key(xs, table):
    out = []
    for key in table:
        s = 0.0
        for i in range(3):
            s += xs[i]
        out.append((key, s))
    return out


def per_line(lines):
    total = 0
    for line in lines:
        fields = line.split(",")
        for field in fields:
            total += int(field)
    return total


def bfs(starts, neighbours, n):
    distance = [-1] * n
    distance[0] = 0
    queue = deque([0])
    while queue:
        u = queue.popleft()
        for k in range(starts[u], starts[u + 1]):
            v = neighbours[k]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


def bfs_of_arrays(starts, neighbours, n):
    distance = np.full(n, -1)
    distance[0] = 0
    queue = deque([0])
    while queue:
        u = queue.popleft()
        for k in range(starts[u], starts[u + 1]):
            if distance[neighbours[k]] < 0:
                distance[neighbours[k]] = distance[u] + 1
                queue.append(neighbours[k])
    return distance


def dijkstra(starts, neighbours, weights, n):
    distance = np.full(n, np.inf)
    distance[0] = 0.0
    heap = [(0.0, 0)]
    while heap:
        d, u = heapq.heappop(heap)
        if d > distance[u]:
            continue
        for k in range(starts[u], starts[u + 1]):
            v = neighbours[k]
            if d + weights[k] < distance[v]:
                distance[v] = d + weights[k]
                heapq.heappush(heap, (d + weights[k], v))
    return distance


def stack_machine(program):
    stack = []
    for token in program:
        if token == "+":
            stack.append(stack.pop() + stack.pop())
        elif token == "*":
            stack.append(stack.pop() * stack.pop())
        else:
            stack.append(float(token))
    return stack[0]


def matrix_of_lists(a, b):
    out = [[0.0] * len(b[0]) for _ in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b[0])):
            for k in range(len(b)):
                out[i][j] += a[i][k] * b[k][j]
    return out


def clamp(x, low, high):
    return max(low, min(x, high))


def keyword_only(x, *, scale=2.0, offset=1.0):
    total = 0.0
    for v in x:
        total += v * scale + offset
    return total


def variadic(*numbers):
    total = 0.0
    for v in numbers:
        total += v
    return total


def applied(f, x):
    out = []
    for v in x:
        out.append(f(v))
    return out


def mode_of(x, mode):
    s = 0.0
    for v in x:
        s += v * v if mode == "square" else abs(v)
    return s


def noisy(n):
    inside = 0
    for _ in range(n):
        x, y = np.random.rand(), np.random.rand()
        inside += x * x + y * y <= 1.0
    return inside


def out_of_domain(x, out):
    for i in range(len(x)):
        if abs(x[i]) < 1:
            out[i] = np.arctanh(x[i])


class Account:
    """A class with a method that is decorated, too."""

    def __init__(self) -> None:
        self.balance = 0.0

    def deposit(self, amounts):
        for amount in amounts:
            self.balance += amount
        return self.balance


R = np.random.default_rng(0)
_N = 200
_STARTS, _NEIGHBOURS = np.arange(0, 4 * _N + 1, 4), R.integers(0, _N, 4 * _N)
_WORDS = ["".join(R.choice(list("abcdefgh"), 8)) for _ in range(40)]
_TREE: Any = None
for _ in range(7):
    _TREE = (_TREE, _TREE)

CALLS: list[tuple[str, tuple[Any, ...]]] = [
    ("fibonacci", (12,)), ("ackermann", (2, 3)), ("hanoi", (6, "a", "b", "c")), ("depth", (_TREE,)),
    ("flatten", ([[1, [2, 3]], [4], [[5, [6]]]],)), ("quicksort", (R.random(60).tolist(),)),
    ("binary_search", ([1, 3, 5, 7, 9], 5)), ("binary_search", ([*range(100_000)], 77)),
    ("binary_search", (np.arange(1000), 77)), ("vowels", ("banana",)),
    ("vowels", ("banana" * 200,)), ("is_palindrome", ("abba",)), ("caesar", ("hello world", 3)),
    ("edit_distance", tuple(_WORDS[:2])),
    ("two_sum", ([2, 7, 11, 15], 9)), ("two_sum", ([*range(2000)], 3996)), ("is_prime", (9973,)),
    ("is_prime", (10**9 + 7,)), ("is_prime", (4,)), ("collatz", (27,)), ("collatz", (1,)),
    ("gcd", (48, 36)), ("digits_ok", (tuple(range(10)),)), ("digits_ok", (tuple([2] * 10),)),
    ("starts_with", (tuple(range(12)), 1)), ("starts_with", ([*range(50_000)], 1)),
    ("contains", ([*range(100_000)], 0)), ("contains", ([*range(1000)], -1)),
    ("contains", (np.arange(1000), 3)), ("any_negative", ([1, -1, 2],)),
    ("any_negative", ([-1] * 50_000,)), ("norm", ((1.0, 2.0, 2.0),)), ("norm", ([1.0, 2.0, 2.0],)),
    ("dot", ([1.0, 2.0], [3.0, 4.0])), ("dot", (np.ones(3), np.ones(3))), ("mean", ([1, 2, 3],)),
    ("polynomial", ((1.0, 2.0, 3.0), 0.5)), ("newton", (2.0,)), ("word_counts", (_WORDS,)),
    ("grouped", ([1, 2, 1, 3], [1.0, 2.0, 3.0, 4.0])), ("most_common", ("mississippi",)),
    ("per_key", (np.ones(5), {str(i): i for i in range(500)})),
    ("per_line", (["1,2,3,4"] * 20,)), ("bfs", (_STARTS.tolist(), _NEIGHBOURS.tolist(), _N)),
    ("bfs_of_arrays", (_STARTS, _NEIGHBOURS, _N)),
    ("dijkstra", (_STARTS, _NEIGHBOURS, R.random(4 * _N), _N)),
    ("stack_machine", (["3", "4", "+", "2", "*", "7", "*"],)),
    ("matrix_of_lists", ([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 4.0]])),
    ("matrix_of_lists", (R.random((20, 20)).tolist(), R.random((20, 20)).tolist())),
    ("clamp", (3, 0, 2)), ("keyword_only", (np.ones(3),)), ("variadic", (1.0, 2.0, 3.0)),
    ("applied", (abs, [1.0, -2.0])), ("applied", (math.sqrt, np.ones(4))),
    ("mode_of", ([1.0, 2.0], "square")), ("mode_of", (np.ones(50), "abs")), ("noisy", (20,)),
    ("out_of_domain", (np.linspace(-1.5, 1.5, 50), np.zeros(50))),
    ("Account.deposit", (Account(), [1.0, 2.0, 3.0])), ("Account.deposit", (Account(), np.ones(3))),
]
"""The name of each function, and arguments."""
