"""Argument types without a call: written, annotated, or guessed."""
from __future__ import annotations

import ast
import inspect
import re
import textwrap
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any, Dict, List, Literal, Optional, Tuple  # noqa: UP035

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from transpile.cli.argument_types import (
    ParameterTypes,
    given_signature,
    infer_signature,
    parse_type_spec,
)
from transpile.types.typeof import type_of
from transpile.types.value_types import ArrayType, ScalarType


def shown(function: Callable[..., Any]) -> ParameterTypes:
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return infer_signature(function, tree)


def types(function: Callable[..., Any]) -> dict[str, str]:
    return {name: str(type_) for name, type_ in shown(function).types.items()}


def given(spec: str, function: Callable[..., Any]) -> list[Any]:
    name, texts = parse_type_spec(spec)
    assert name == "f"
    return [*given_signature(texts, function).types.values()]


def test_written() -> None:
    def f(a, b, c, d, e, g, h):
        pass

    assert given("f(f64[:], float32[:, :], u8[:, :, :], int, float, bool, i16)", f) == [
        ArrayType("f64", 1, 0),
        ArrayType("f32", 2, 1),
        ArrayType("u8", 3, 2),
        ScalarType("i64", weak=True),
        ScalarType("f64", weak=True),
        ScalarType("bool", weak=True),
        ScalarType("i16"),
    ]
    assert parse_type_spec(" g() ") == ("g", [])
    assert parse_type_spec("Model.step(int)") == ("Model.step", ["int"])
    assert parse_type_spec("outer.<locals>.step(int)") == ("outer.<locals>.step", ["int"])


def test_written_containers() -> None:
    def f(a):
        pass

    (records,) = given("f({x: f64, n: i32}[:])", f)
    assert records == type_of(np.zeros(5, np.dtype([("x", "f8"), ("n", "i4")], align=True)))
    for value in (np.zeros((5, 1)), b"a", bytearray(b"a"), [1.5], [[1], [2]], (True,) * 20):
        assert given(f"f({type_of(value)})", f) == [type_of(value)]


def test_written_with_defaults() -> None:
    def f(x, scale=1.0, mode="same", axis=0, out=None, *more, keep=True, **rest):
        if mode == "same":
            scale += 1.0
        return np.sum(x, axis=axis, keepdims=keep) * scale

    def shown(spec: str) -> str:
        return ", ".join(map(str, given(spec, f)))

    assert shown("f(f64[:])") == "f64[:], float, 'same', 0, None, True, (), dict"
    assert shown("f(f64[:], int, str)") == "f64[:], int, str, 0, None, True, (), dict"
    assert shown("f(x: f64[:], keep: False, axis: 1)") == (
        "f64[:], float, 'same', 1, None, False, (), dict"
    )
    assert shown("f(f64[:], float, 'full', out: f64[:])") == (
        "f64[:], float, 'full', 0, f64[:], True, (), dict"
    )


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("f()", "f takes 1 to 2 arguments, 0 given (no type of x)"),
        ("f(int, int, int)", "f takes 2 arguments, 3 given"),
        ("f(y: int)", "f takes 1 to 2 arguments, 1 given (no type of x)"),
        ("f(z: int)", "f has no parameter z (it has x, y)"),
        ("f(int, x: int)", "f is given two types of x"),
        ("f(int,, int)", "f takes 2 arguments, 3 given"),
        ("f(int,)", "'' is not a type"),
    ],
)
def test_written_for_other_parameters(spec: str, said: str) -> None:
    def f(x, y=None):
        pass

    with pytest.raises(ValueError, match=re.escape(f"--types: {'f: ' * ('not a' in said)}{said}")):
        given(spec, _named(f))


def _named(function: Any) -> Any:
    function.__qualname__ = function.__name__
    return function


@pytest.mark.parametrize("text", ["", "f", "f(", "m().f(int)", "1(int)", "f(int) x"])
def test_no_spec(text: str) -> None:
    with pytest.raises(ValueError, match="want the form 'name"):
        parse_type_spec(text)


@pytest.mark.parametrize(
    "text",
    [
        "x=int", "f65", "f64[0]", "f64[1:]", "f64[1]", "f64[:, ::2]", "clongdouble[:]", "1.5",
        "{x: 3}[:]", "{x: f64}", "{x: f65}[:]", "{3: f64}[:]", "list[", "tuple[int, nothing]",
    ],
)
def test_written_wrongly(text: str) -> None:
    def f(a):
        pass

    with pytest.raises(ValueError, match=r"--types: .*(not a type|not an element type|no record)"):
        given_signature([text], f)


def test_objects_of_a_class_are_not_known() -> None:
    def f(model, options):
        pass

    signature = given_signature(["object", "set"], f)
    assert signature.objects == ("model",)
    assert list(map(str, signature.types.values())) == ["object", "set"]


TWO = np.float32(2)


def test_defaults_that_calls_have() -> None:
    def f(x, axis=0, mode="same", sep="; ", out=None, size=(3, 3), k=TWO):
        if mode == "same":
            x += k
        for c in sep:
            x += len(c) + size[0] + out[0]
        return np.sum(x, axis=axis)

    assert types(f) == {
        "x": "f64[:]", "axis": "0", "mode": "'same'", "sep": "str", "out": "f64[:]",
        "size": "(int, int)", "k": "f32",
    }
    assert shown(f).assumed == ("x", "out")


def test_objects_by_their_uses() -> None:
    def f(r, rows, p, d, ps, words, table, text, helped, x):
        s = 0.0
        for i in range(len(r)):
            s += r[i]["x"] * r["n"][i] + table["a"][i, 2]
        for row in rows:
            s += row["w"]
        for k, q in enumerate(ps):
            s += q.mass + k
        for w in words:
            if w.startswith("a") and "key" in d:
                s += p["rate"] * p.get("bias")
        return s, text + ".", uses_keys(helped), sum(x)

    signature = shown(f)
    objects = ("r", "rows", "p", "d", "ps", "words", "table", "text", "helped")
    assert (signature.objects, signature.assumed) == (objects, ("x",))
    assert signature.spec is None  # of ps and words it cannot be told
    assert signature.help == "use --run"


def uses_keys(a):
    return a["x"]


def test_spec_of_objects() -> None:
    def f(r, rows, p, n: int, mode="a"):
        s = 0.0
        for i in range(len(r)):
            s += r[i]["x"] * r["n y"][i] + p["rate"] * n
        for row in rows:
            s += row["w"]
        return s

    signature = shown(f)
    assert signature.objects == ("r", "rows", "p")
    _, texts = parse_type_spec(str(signature.spec))
    assert texts == ["{x: f64, 'n y': f64}[:]", "{w: f64}[:]", "dict[str, float]", "int", "str"]
    given = given_signature(texts, f)
    assert given.objects == ()
    assert [type(ty).__name__ for ty in given.types.values()][:3] == [
        "RecordType", "RecordType", "ObjectType",
    ]
    assert "--types" in signature.help


def test_names_that_are_compared_with_texts() -> None:
    def f(x, mode, way, how, words):
        s = 0.0
        for v in x:
            if mode == "sum" or way in ("up", "down"):
                s += v
        match how:
            case "fast" | "slow":
                s += 1.0
        for w in words:
            s += w == "a"
        return s

    assert types(f) == {
        "x": "f64[:]", "mode": "'sum'", "way": "'up'", "how": "'fast'", "words": "object",
    }
    assert shown(f).assumed == ("x", "mode", "way", "how")


class Mode(Enum):
    FULL = 1
    SAME = 2


def test_enums() -> None:
    def f(x, mode, way, how: Mode, out: Mode = Mode.SAME):
        s = 0.0
        for v in x:
            if mode == Mode.SAME or way is not Mode.FULL or how is out:
                s += v
        return s

    assert types(f) == {
        "x": "f64[:]", "mode": "Mode.SAME", "way": "Mode.FULL", "how": "Mode.FULL",
        "out": "Mode.FULL",
    }
    assert shown(f).assumed == ("x", "mode", "way")


def test_containers_without_items() -> None:
    def f(
        a: list, b: List, c: dict, d: Dict, e: tuple, g: Tuple, h: list[str], i: set, j: range,  # noqa: UP006
        k: memoryview, unused: list,
    ):
        return a[0] + b[0] + c["x"] + d["y"] + e[0] + g[0] + h[0], i, j, k

    assert types(f) == {
        "a": "list", "b": "list", "c": "dict", "d": "dict", "e": "tuple", "g": "tuple",
        "h": "list[str]", "i": "set", "j": "range", "k": "memoryview[u8]", "unused": "list",
    }
    assert shown(f).objects == ("a", "b", "c", "d", "e", "g")
    texts = list(types(f).values())
    assert given_signature(texts, f).objects == ("a", "b", "c", "d", "e", "g", "unused")


def test_tuples_and_rows_by_their_uses() -> None:
    def f(p, dims, xy, pairs, numbered, rows, planes, x):
        a, b = p
        n, m = dims
        u, v = xy
        s = a * b
        for i in range(n):
            for j in range(m):
                s += u[i] * v[j]
        for c, d in pairs:
            s += c * d
        for k, (c, d) in enumerate(numbered):
            s += c * d * k
        for row in rows:
            for value in row:
                s += value
        for plane in planes:
            for q in range(len(plane)):
                line = plane[q]
                s += line[0]
        x = x[0]
        return s + sum(x)

    assert types(f) == {
        "p": "(float, float)", "dims": "(int, int)", "xy": "(f64[:], f64[:])",
        "pairs": "f64[:, :]", "numbered": "f64[:, :]", "rows": "f64[:, :]",
        "planes": "f64[:, :, :]", "x": "f64[:]",
    }


def test_rows_that_are_subscripted() -> None:
    def f(graph, start, x, y, z):
        seen = {start}
        s = 0.0
        for v in graph[start]:
            if v not in seen:
                seen.add(v)
        for value in x[1:]:
            s += value
        for value in y[0][:3]:
            s += value
        return s + sum(z[0, 1])

    assert types(f) == {
        "graph": "i64[:, :]", "start": "int", "x": "f64[:]", "y": "f64[:, :]", "z": "f64[:, :, :]",
    }


def test_arrays_by_the_uses_of_results() -> None:
    def f(x, a, b, c, n, k):
        y = 2 * x
        z = -y + n
        w = a * b
        u = c - 1.0
        v = k + 1
        for i in range(len(b)):
            u += b[i]
        return z.sum() + w[0] + u + v

    assert types(f) == {
        "x": "f64[:]", "a": "float", "b": "f64[:]", "c": "float", "n": "float", "k": "float",
    }


def test_integers_by_their_uses() -> None:
    """A number of items, what is shifted or masked; a list of items is no array."""
    def f(n, m, bits, k, words, x, r, keys, flags):
        dist = [0.0] * n
        seen = (m + 1) * [False]
        dist[0] = seen[0]
        for i in range(len(words)):
            bits ^= words[i] >> k
        low = x << 2
        return dist, bits + r, low[0], keys[0] ^ keys[1], flags[0] & (x[0] > 0)

    assert types(f) == {
        "n": "int", "m": "int", "bits": "int", "k": "int", "words": "i64[:]", "x": "i64[:]",
        "r": "float", "keys": "i64[:]", "flags": "i64[:]",
    }


def test_arrays_by_updates() -> None:
    """Of arrays that are updated with one another, and of numbers that are not."""
    def f(m, p, v, w, b, dt, k, total):
        v -= np.mean(m * v, axis=0) / np.mean(m)
        p[:, 0] = m[:, 0]
        for i in range(9):
            p += v * dt
            w -= k * np.exp(-p)
            total += m[i, 0] * k
        w += b
        return p, v, w, b[0], total

    assert types(f) == {
        "m": "f64[:, :]", "p": "f64[:, :]", "v": "f64[:, :]", "w": "f64[:, :]", "b": "f64[:]",
        "dt": "float", "k": "float", "total": "float",
    }


def test_functions_that_are_called() -> None:
    def f(x, step, steps, key=None):
        s = 0.0 if step is None else step(x[0])
        for each in steps:
            s += each(x[1])
        return s if key is None else key(s)

    assert types(f) == {"x": "f64[:]", "step": "object", "steps": "object", "key": "None"}
    assert (shown(f).objects, shown(f).assumed) == (("step", "steps"), ("x", "key"))


def test_functions_that_are_defaults() -> None:
    def f(x, step=np.sin, then=abs):
        return step(x[0]) + then(x[0])

    assert types(f) == {"x": "f64[:]", "step": "function sin", "then": "function abs"}
    assert shown(f).objects == ()


def test_order_of_parameters() -> None:
    def f(x, *args, k=1, **options):
        return x[k] + args[0] + options["a"]

    assert types(f) == {"x": "f64[:]", "k": "int", "args": "object", "options": "object"}
    assert [*types(f)] == ["x", "k", "args", "options"]
    assert shown(f).objects == ("args", "options")


def test_annotated() -> None:
    def f(
        a: NDArray[np.float32],
        b: np.ndarray[Any, np.dtype[np.int16]],
        c: Annotated[np.ndarray, "f64[:, :]"],
        d: Annotated[NDArray[np.uint8], "some remark".__len__],
        k: int,
        s: float,
        t: np.float32,
        n=3,
    ):
        for i in range(n):
            a[i] = b[i, 0] + c[i, i] + d[i][i] * k * s * t

    assert types(f) == {
        "a": "f32[:]", "b": "i16[:, :]", "c": "f64[:, :]", "d": "u8[:, :]",
        "k": "int", "s": "float", "t": "f32", "n": "int",
    }
    assert shown(f).assumed == ()
    assert shown(f).remark is None


def test_annotated_containers() -> None:
    def f(
        a: list[int], b: list[list[float]], c: List[Tuple[float, float]],  # noqa: UP006
        d: tuple[int, ...], e: tuple[float, int], g: Sequence[bool], h: dict[str, float],
        i: float | None, j: Optional[list[float]], k: list[np.float32],  # noqa: UP045
        m: dict[int, float], n: list[str], o: list, r: Literal["up"],
    ):
        return a, b, c, d, e, g, h["rate"] + h["bias"], i, j, k, m, n, o, r

    assert types(f) == {
        "a": "list[int]", "b": "list[list[float]]", "c": "list[tuple[float, ...]]",
        "d": "tuple[int, ...]", "e": "(float, int)", "g": "list[bool]",
        "h": str(type_of({"bias": 1.0, "rate": 1.0, "up": 1.0})), "i": "float", "j": "list[float]",
        "k": "list[f32]", "m": "dict", "n": "list[str]", "o": "list", "r": "'up'",
    }
    assert shown(f).assumed == ()


def test_annotated_arrays() -> None:
    def f(
        a: np.ndarray, b: NDArray[np.floating], c: NDArray[np.integer], d: NDArray[Any],
        e: ArrayLike, g: NDArray[np.float32] | float, h: np.ndarray[Any, Any],
        k: Annotated[np.ndarray, "i32[:]"], m: NDArray[np.complexfloating], n: np.ndarray | None,
    ):
        for i in range(len(a)):
            a[i, i] = b[i] + c[i] + d[i] + e[i] + h[k[i]] + m[i] + n[i, i]
        return g

    assert types(f) == {
        "a": "f64[:, :]", "b": "f64[:]", "c": "i64[:]", "d": "f64[:]", "e": "f64[:]", "g": "f32[:]",
        "h": "f64[:]", "k": "i32[:]", "m": "c128[:]", "n": "f64[:, :]",
    }
    assert shown(f).assumed == ("a", "b", "c", "d", "e", "h", "m", "n")


def test_annotated_bytes() -> None:
    def f(data: bytearray, key: bytes) -> None:
        for i in range(len(data)):
            data[i] ^= key[i % len(key)]

    assert shown(f).types == {"data": type_of(bytearray()), "key": type_of(b"")}
    assert shown(f).assumed == ()


@pytest.mark.skipif(not hasattr(typing, "TypeAliasType"), reason="Python 3.12 has `type`")
def test_aliases() -> None:
    names: dict[str, Any] = {"NDArray": NDArray, "np": np}
    exec("type Vector[T: np.generic] = NDArray[T]\ntype Floats = Vector[np.float32]", names)

    def f(a: NDArray[np.int16], b, c):
        return a, b, c

    f.__annotations__ |= {"b": names["Vector"][np.uint8], "c": names["Floats"]}
    assert types(f) == {"a": "i16[:]", "b": "u8[:]", "c": "f32[:]"}


def test_guessed() -> None:
    def f(x, m, q, y, z, w, k, lo, scale, out):
        rows, columns = m.shape
        for i in range(lo, k + rows - columns):
            out[i][k] = x[i] * scale + q.shape[1]
        for v, u in zip(y, z, strict=True):
            out[0][0] += v + u + len(w)

    assert types(f) == {
        "x": "f64[:]", "m": "f64[:, :]", "q": "f64[:, :]", "y": "f64[:]", "z": "f64[:]",
        "w": "f64[:]", "k": "int", "lo": "int", "scale": "float", "out": "f64[:, :]",
    }
    assert shown(f).assumed == tuple(types(f))
    assert "assumed" in (shown(f).remark or "")
    assert "out: f64[:, :]" in (shown(f).remark or "")


def test_folds_tell_arrays_from_scalars() -> None:
    def f(x, y, a, b):
        return sum(x) + max(v for v in y) + max(a, b)

    assert types(f) == {"x": "f64[:]", "y": "f64[:]", "a": "float", "b": "float"}


def test_folds_of_expressions_are_of_arrays() -> None:
    def f(x, a, y, b, z, c, w, d):
        e = np.sum(TWO * x + a) + (2 * y - b).mean()
        return e + np.max(np.exp(-z) * c, axis=1) + np.std(d * w) + w[0]

    assert types(f) == {
        "x": "f64[:]", "a": "float", "y": "f64[:]", "b": "float", "z": "f64[:, :]", "c": "float",
        "w": "f64[:]", "d": "float",
    }


def test_whole_arrays() -> None:
    def f(x, X, Y, q, w, a, b, r, s, k):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        d = ((X - q) ** 2).sum(axis=1)
        return e, d, Y @ w, np.mean(a, axis=(0, 2)), b.T, np.sort(r)[:k], s * 2

    assert types(f) == {
        "x": "f64[:]", "X": "f64[:, :]", "Y": "f64[:, :]", "q": "float", "w": "f64[:]",
        "a": "f64[:, :, :]", "b": "f64[:, :]", "r": "f64[:]", "s": "float", "k": "int",
    }


def test_integers() -> None:
    """Lengths, and arrays whose elements are subscripts or bounds."""
    def f(ptr, idx, cols, order, n, m, x, w):
        seen = np.full(n, -1)
        table = np.zeros((n, m))
        for k in range(ptr[0], ptr[1]):
            v = idx[k]
            seen[v] = x[cols[k] + 1]
        for v in order:
            table[0, v] = w[0]
        return seen, table

    assert types(f) == {
        "ptr": "i64[:]", "idx": "i64[:]", "cols": "i64[:]", "order": "i64[:]", "n": "int",
        "m": "int", "x": "f64[:]", "w": "f64[:]",
    }


def test_calls_are_followed() -> None:
    def f(a, b, c, d, e):
        return _picked(a, b, c) * d + _picked(e, 0, 0)

    assert types(f) == {"a": "f64[:, :]", "b": "int", "c": "int", "d": "float", "e": "f64[:, :]"}


def _picked(table, row, column):
    return _element_of(table, row, column) if row else 0.0


def _element_of(table, row, column):
    return table[row, column]


def test_objects() -> None:
    """What has other attributes, is called, or is only passed on to functions of other things."""
    def f(self, text, model, rule, path, n, x, k):
        for line in text.splitlines():
            print(line)
        out = print(path)
        return model.rate * rule(x[n]), out, _helper(k), abs(n)

    inferred = shown(f)
    assert inferred.objects == ("text", "model", "rule", "path")
    assert types(f)["k"] == "float"
    assert types(f)["x"] == "f64[:]"
    assert types(f)["self"] == "object"
    assert inferred.remark is not None
    assert inferred.remark.endswith(
        "type unknown: `text`, `model`, `rule`, `path`: use --run"
    )


def _helper(v: float) -> float:
    return v


def test_annotations_that_cannot_be_read() -> None:
    def f(x: NoSuchName, k: int):  # type: ignore[name-defined]  # noqa: F821
        return x[k]

    assert types(f) == {"x": "f64[:]", "k": "int"}


def test_annotations_that_name_no_type_of_ours() -> None:
    def f(
        a: NDArray[np.clongdouble],
        b: np.clongdouble,
        c: list,
        d: Annotated[float, "the scale of things"],
        e: np.ndarray[tuple[int, int], np.dtype[np.float32]],
        g: np.ndarray,
        h: no_such_name,  # noqa: F821  # it is not there
        unused,
    ) -> None:
        print(a, b, c, d, e, g, h)

    assert types(f) == {
        "a": f"array of {np.dtype(np.clongdouble)}",
        "b": "numpy.clongdouble",
        "c": "list",
        "d": "float",
        "e": "f32[:, :]",
        "g": "f64[:]",
        "h": "object",
        "unused": "object",
    }
    assert shown(f).objects == ("c", "h")  # the items of a list are not told


def test_axes_that_subscripts_add_or_keep_are_none_of_the_array() -> None:
    def f(mass, vel, x, rows, grid, tail, cube):
        total = (mass[:, None] * vel[:, :] ** 2).sum() + x[np.newaxis, 0] + cube[..., 0, 1:][2, 3]
        for row in grid[:, None, :]:
            total = total + tail[1:][0] * row
        for value in rows[0]:
            total = total + value
        return total

    assert types(f) == {
        "mass": "f64[:]", "vel": "f64[:, :]", "x": "f64[:]", "rows": "f64[:, :]",
        "grid": "f64[:, :]", "tail": "f64[:]", "cube": "f64[:, :, :]",
    }
