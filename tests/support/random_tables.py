"""Random programs over dicts and sets with keys of the data, for the tests and for long runs."""
from __future__ import annotations

import random

__all__ = ["table_program"]

_KEYS = ("v", "v % 5", "i % 7", "i", "-v", "v // 3", "abs(v)", "k", "v + i", "int(v) * 100003", "3")
_PAIRS = ("(v, i % 3)", "(i % 2, v % 3)", "(v, v)", "(k, i % 4)")
_NUMBERS = ("1", "v", "i", "w[i]", "w[i] * 2", "n", "k", "2.5", "i % 3")
_STARTS = ("{}", "{}", "dict()", "{3: 1}", "{0: 0, k: 2}", "{j: 0 for j in range(4)}",
           "dict.fromkeys(range(3), 1)", "defaultdict(int)", "defaultdict(float)", "Counter()",
           "Counter(x)", "{u: j for j, u in enumerate(x)}", "dict(zip(x, w))")
_SETS = ("set()", "{0}", "{k, 3}", "set(x)", "{u % 4 for u in x}", "set(range(k))")
_GROUPS = ("{}", "{}", "defaultdict(list)", "dict()")


class _Program:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.paired = rng.random() < 0.2
        self.removes = rng.random() < 0.25

    def key(self) -> str:
        return self.rng.choice(_PAIRS if self.paired else _KEYS)

    def of_dict(self) -> list[str]:
        key, other, e = self.key(), self.key(), self.rng.choice(_NUMBERS)
        lines = [
            [f"d[{key}] = {e}"],
            [f"d[{key}] = d.get({key}, 0) + {e}"],
            [f"d[{key}] = d.get({other}, {e}) + d.get({key}, 1)"],
            [f"if {key} not in d:", f"    d[{key}] = 0", f"d[{key}] += {e}"],
            [f"if {key} in d:", f"    d[{key}] += {e}", "else:", f"    d[{key}] = {e}"],
            [f"if {key} in d:", f"    n += d[{key}]"],
            [f"n += d[{key}] if {key} in d else -1"],
            [f"n += d.get({key}, 0)"],
            [f"d.setdefault({key}, {e})"],
            [f"n += d.setdefault({key}, i)"],
            [f"if {key} in d and d[{key}] > 2 or {other} not in d:", "    n += 1"],
            [f"p = d.get({key})", "if p is not None:", "    n += p"],
            ["n += len(d)"],
            [f"while {key} in d and n < 50:", "    n += 7"],
            [f"d[{key}] = 1 if {key} not in d else d[{key}] + 1"],
        ]
        if self.removes:
            lines += [
                [f"if {key} in d:", f"    del d[{key}]"],
                [f"n += d.pop({key}, 2)"],
                ["if len(d) > 6:", "    d.clear()"],
            ] * 2
        if self.rng.random() < 0.04:
            lines = [[f"d[{key}] += {e}"], [f"n += d[{key}]"]]
        return self.rng.choice(lines)

    def of_set(self) -> list[str]:
        key, other = self.key(), self.key()
        lines = [
            [f"s.add({key})"],
            [f"if {key} not in s:", f"    s.add({key})", "    out.append(i)"],
            [f"if {key} in s:", "    n += 1", "    continue"],
            [f"if {key} in s:", "    break", f"s.add({other})"],
            ["n += len(s)"],
            ["if not s or len(s) > 3:", "    n -= 1"],
        ]
        if self.removes:
            lines += [[f"s.discard({key})"], [f"if {key} in s:", f"    s.remove({key})"]] * 2
        return self.rng.choice(lines)

    def of_groups(self) -> list[str]:
        key, e = self.key(), self.rng.choice(("i", "w[i]", "v"))
        return self.rng.choice([
            [f"g.setdefault({key}, []).append({e})"],
            [f"if {key} not in g:", f"    g[{key}] = []", f"g[{key}].append({e})"],
            [f"if {key} in g:", f"    g[{key}].append({e})", "else:", f"    g[{key}] = [{e}]"],
            [f"n += len(g.get({key}, []))"],
            [f"if {key} in g:", f"    n += sum(g[{key}])"],
            [f"if {key} in g:", f"    for u in g[{key}]:", "        n += u"],
        ])

    def ends(self) -> list[str]:
        rng = self.rng
        name = "(a, b)" if self.paired else "a"
        first = "a * b" if self.paired else "a"
        lines = [[f"for {name}, u in d.items():", f"    n += u + {first}"],
                 ["for u in d.values():", "    n += u"],
                 ["n += max(d.values()) if d else 0"],
                 [f"out += [u for {name}, u in d.items() if u > 1]"],
                 ["n += sum(d.values())"],
                 ["for u in g.values():", "    n += len(u) + max(u)"],
                 [f"for {name}, u in g.items():", f"    n += {first} * len(u)"]]
        if not self.paired:
            lines += [["for a in sorted(d):", "    n = n * 3 % 1001 + a"],
                      ["for a in d:", "    n += a", "    d[a] = 2"],
                      ["n += len({u % 3 for u in x})"],
                      ["n += max(d, key=d.get) if d else 0"],
                      ["out += sorted(s)"]]
        chosen = [line for lines in rng.sample(lines, rng.randrange(3)) for line in lines]
        value = rng.choice(["n", "n, d", "n, s", "n, g", "d, s, out", "n, len(d), len(s)",
                            "dict(d), n", "out", "n, sorted(s)", "n, list(d)",
                            "n, list(d.values())", "{a: u for a, u in d.items()}", "n, d, s, g"])
        return [*chosen, f"return {value}"]


def table_program(rng: random.Random) -> str:
    """The body of a function of x and w, arrays of ints and floats, and k, an int."""
    p = _Program(rng)
    head = [f"d = {'{}' if p.paired else rng.choice(_STARTS)}",
            f"s = {'set()' if p.paired else rng.choice(_SETS)}",
            f"g = {rng.choice(_GROUPS)}", "out = []", "n = 0"]
    fills = {
        p.of_dict: f"d[{p.key()}] = d.get({p.key()}, 0) + {rng.choice(_NUMBERS)}",
        p.of_set: f"s.add({p.key()})",
        p.of_groups: f"g.setdefault({p.key()}, []).append({rng.choice(('i', 'v'))})",
    }
    body: list[str] = []
    used = rng.sample([*fills], rng.randrange(1, 3))
    for _ in range(rng.randrange(1, 4)):
        some = rng.choice(used)()
        if rng.random() < 0.2:
            some = ["if v > 2:", *(f"    {line}" for line in some)]
        body += some
    body += [fills[of] for of in used]
    loop = rng.choice(("for i, v in enumerate(x):", "for i in range(len(x)):"))
    bind = ["    v = x[i]"] if "range" in loop else []
    if rng.random() < 0.2:
        head, inner = [head[-1], "out = []"], head[:-2]
        rows = [f"    {line}" for line in (*inner, loop, *bind, *(f"    {b}" for b in body))]
        return "\n".join([*head, "for _ in range(3):", *rows, *p.ends()])
    return "\n".join([*head, loop, *bind, *(f"    {line}" for line in body), *p.ends()])
