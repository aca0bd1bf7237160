"""Generalized ufuncs: a fused function of the last axes of its arguments, over all the others.

    @fuse
    def dot(x, y): …                        # of two arrays of one axis
    inner = dot.gufunc("(n),(n)->()")       # of arrays of any rank: inner(a, b, axis=0, out=c)

The loop over the other axes is generated as Python, and fused, with the call inlined: a call is one
call of one kernel, which several threads may share. `GeneralizedUfunc` does what NumPy does around
such a loop: broadcasting, ``axis``, ``axes``, ``keepdims``, ``out``. It is no ``np.ufunc``, which
cannot be pickled, must know its dtypes when it is made, and cannot let Python replay a call.
"""
from __future__ import annotations

import functools
import linecache
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType
from typing import Any

import numpy as np

from loopir.lazy_dataclass import record

from ..diagnostics import Refused
from ..frontend.names_read import types_read
from ..types.typeof import is_dask_array
from .number_types import number_types

__all__ = ["GeneralizedUfunc", "Signature", "parse_signature"]

_MOST_KEPT = 64
_ARGUMENT = re.compile(r"\(([^()]*)\)")
_NAME = re.compile(r"[A-Za-z_]\w*|\d+")

_INSTEAD_OF_METHODS = {
    "reduce": "write a loop with @fuse: for v in x: s = {0}(s, v)",
    "accumulate": "write a loop with @fuse: for i in range(len(x)): s = {0}(s, x[i]); out[i] = s",
    "at": "write a loop with @fuse: for k in places: x[k] = {0}(x[k], y)",
    "outer": "call {0}(x[:, None], y)",
}
_INSTEAD_OF_OPTIONS = {
    "where": "take np.where(mask, the result, the other values)",
    "casting": "convert the arguments: x.astype(…)",
    "order": "convert the result: np.asfortranarray(…)",
}


@record(frozen=True, slots=True)
class Signature:
    """The signature of a generalized ufunc, such as ``(m,n),(n)->(m)``."""

    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        sides = (",".join(f"({','.join(c)})" for c in side) for side in (self.inputs, self.outputs))
        return "->".join(sides)


def parse_signature(text: str) -> Signature:
    """The signature that `text` spells. Raises ValueError for one that is wrong: each output
    dimension must be a number, or occur in an input.
    """
    compact = re.sub(r"\s+", "", text)
    side = r"(\([^()]*\)(,\([^()]*\))*)?"
    if not re.fullmatch(rf"{side}->\([^()]*\)(,\([^()]*\))*", compact):
        raise ValueError(f"not a valid gufunc signature: {text!r}")
    left, right = (
        tuple(tuple(d for d in part.split(",") if d) for part in _ARGUMENT.findall(half))
        for half in compact.split("->")
    )
    names = [d for part in (*left, *right) for d in part]
    if wrong := next((d for d in names if not _NAME.fullmatch(d)), None):
        raise ValueError(f"not a valid gufunc signature: {text!r}, for {wrong!r}")
    known = {d for part in left for d in part}
    for d in (d for part in right for d in part):
        if d not in known and not d.isdigit():
            raise ValueError(f"no input of {text!r} has the dimension {d!r}")
    return Signature(left, right)


class GeneralizedUfunc:
    """A fused function over the last axes of its arguments. `Fused.gufunc` makes it.

    Called as a ``np.ufunc`` with a signature: ``out``, ``axis``, ``axes``, ``keepdims``, ``dtype``.
    """

    def __init__(
        self, fused: Any, signature: str, types: tuple[tuple[str, ...], ...] = (), *,
        stores: bool = False,
    ) -> None:
        """``types``: of the operands, inputs and outputs, for which it may be called; empty: any.
        ``stores``: the function has parameters for the outputs, too, and stores to them.

        Raises ValueError for a wrong signature, TypeError where the function has another number of
        parameters.
        """
        self._fused, self._signature = fused, parse_signature(signature)
        self._types, self._stores = types, stores
        self._known: dict[Any, list[np.dtype[Any]] | None] = {}
        count, wanted = fused.__code__.co_argcount, self.nargs if stores else self.nin
        if count != wanted:
            raise TypeError(
                f"{fused.__name__} has {count} parameters, and {signature!r} takes {wanted}")
        if wrong := next((t for t in types if len(t) != self.nargs), None):
            raise ValueError(f"{wrong} are not the types of {self.nargs} operands")
        functools.update_wrapper(self, fused)

    @property
    def signature(self) -> str:
        """The signature, as NumPy spells it."""
        return str(self._signature)

    @property
    def nin(self) -> int:
        """The number of inputs."""
        return len(self._signature.inputs)

    @property
    def nout(self) -> int:
        """The number of outputs."""
        return len(self._signature.outputs)

    @property
    def nargs(self) -> int:
        """The number of inputs and outputs."""
        return self.nin + self.nout

    @property
    def types(self) -> list[str]:
        """The types for which it may be called, as NumPy spells them: ``["dd->d"]``; none: any."""
        codes = ("".join(np.dtype(t).char for t in of) for of in self._types)
        return [f"{code[: self.nin]}->{code[self.nin :]}" for code in codes]

    def __getattr__(self, name: str) -> Any:
        """Raises AttributeError, which tells what to write in place of a method of ``np.ufunc``."""
        instead = _INSTEAD_OF_METHODS.get(name)
        advice = f": {instead.format(self.__dict__.get('__name__'))}" if instead else ""
        raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}{advice}")

    def __repr__(self) -> str:
        return f"<gufunc {self._fused.__name__} {self.signature}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._fused, self.signature, self._types, self._stores)

    def __dask_tokenize__(self) -> object:
        return "gufunc", self._fused.__dask_tokenize__(), self.signature, self._types

    def __call__(
        self, *args: Any, out: Any = None, axis: int | None = None, axes: Any = None,
        keepdims: bool = False, dtype: Any = None, **others: Any,
    ) -> Any:
        """The function over all axes but those of the signature. Raises TypeError for a wrong
        number of arguments, other options and masked arrays, ValueError for shapes that do not
        fit, as ``np.ufunc`` does.
        """
        for name in others:
            advice = f": {_INSTEAD_OF_OPTIONS[name]}" if name in _INSTEAD_OF_OPTIONS else ""
            raise TypeError(f"{self!r} has no option {name!r}{advice}")
        if len(args) > self.nin:
            if out is not None:
                raise TypeError("cannot specify 'out' as both a positional and keyword argument")
            args, out = args[: self.nin], args[self.nin :]
        if len(args) != self.nin:
            raise TypeError(f"{self!r} takes {self.nin} arguments, and {len(args)} were given")
        if any(map(is_dask_array, args)):
            import dask.array as da

            options = {"axes": axes, "axis": axis, "keepdims": keepdims}
            chosen = {name: value for name, value in options.items() if value}
            return da.apply_gufunc(self, self.signature, *args, **chosen, **self._told(args))
        if any(isinstance(a, np.ma.MaskedArray) for a in args):
            raise TypeError(f"{self!r} takes no masked arrays: pass `x.filled(…)` or `x.data`")
        arrays = [np.asarray(a) if dtype is None else np.asarray(a, dtype) for a in args]
        arrays = self._cast(arrays)
        places = self._places(axes, axis, keepdims)
        if axis is not None or axes is not None:
            arrays = [_moved_last(a, at) for a, at in zip(arrays, places, strict=False)]
        sizes, loop = self._sizes(arrays)
        given = out if isinstance(out, tuple) else (out,) * (out is not None)
        if given and len(given) != self.nout:
            raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
        targets = given or (None,) * self.nout
        output_places = (*places[self.nin :], *[()] * self.nout)[: self.nout]
        before: list[Any] = [None] * self.nout
        if self._stores:  # to all of its elements or not
            for k, (target, at) in enumerate(zip(targets, output_places, strict=True)):
                if target is not None:
                    before[k] = _moved_last(target, at)
                    kept = target.ndim - len(self._signature.outputs[k])
                    loop = np.broadcast_shapes(loop, before[k].shape[:kept])
        found = []
        for k, result in enumerate(self._results(arrays, sizes, loop, before)):
            if keepdims:
                kept = len(self._signature.inputs[0])
                result = _moved_back(result.reshape(result.shape + (1,) * kept), places[0])
            elif self._signature.outputs[k] and output_places[k]:
                result = _moved_back(result, output_places[k])
            if (target := targets[k]) is not None:
                np.copyto(target, result, casting="same_kind")
                found.append(target)
            else:
                found.append(result if result.ndim else result[()])
        return found[0] if self.nout == 1 else tuple(found)

    def _places(
        self, axes: Any, axis: int | None, keepdims: bool
    ) -> list[tuple[int, ...]]:
        """For each input, and perhaps each output, where the axes of its signature are."""
        cores = (*self._signature.inputs, *self._signature.outputs)
        ranks = {len(c) for c in self._signature.inputs}
        is_single = ranks == {1} and all(len(c) <= 1 for c in self._signature.outputs)
        if keepdims and (any(self._signature.outputs) or len(ranks) != 1):
            raise TypeError(
                f"{self!r} does not support keepdims: its outputs have axes, or inputs differ")
        if axis is not None:
            if axes is not None:
                raise TypeError("cannot specify both 'axis' and 'axes'")
            if not is_single:
                raise TypeError("axis can only be used with a single shared core dimension")
            return [(axis,) if c else () for c in cores]
        if axes is None:
            return [tuple(range(-len(c), 0)) for c in self._signature.inputs]
        found = [(a,) if isinstance(a, int) else tuple(a) for a in axes]
        wanted = [len(c) for c in cores]
        if len(found) == self.nin and not any(self._signature.outputs):
            found += [()] * self.nout
        if [len(f) for f in found] != wanted:
            raise ValueError(f"axes must have an entry with {wanted} axes for each operand")
        return found

    def _sizes(self, arrays: Sequence[np.ndarray]) -> tuple[dict[str, int], tuple[int, ...]]:
        """The length of each dimension of the signature, and the shape of the loop."""
        sizes: dict[str, int] = {}
        loops = []
        for k, (a, core) in enumerate(zip(arrays, self._signature.inputs, strict=True)):
            if a.ndim < len(core):
                raise ValueError(
                    f"{self._fused.__name__}: Input operand {k} does not have enough dimensions "
                    f"(has {a.ndim}, gufunc core with signature {self.signature} requires "
                    f"{len(core)})")
            first = a.ndim - len(core)
            loops.append(a.shape[:first])
            for d, n in zip(core, a.shape[first:], strict=True):
                if sizes.setdefault(d, int(d) if d.isdigit() else n) != n:
                    raise ValueError(
                        f"{self._fused.__name__}: Input operand {k} has a mismatch in its core "
                        f"dimension, with gufunc signature {self.signature} (size {n} is "
                        f"different from {sizes[d]})")
        return sizes, np.broadcast_shapes(*loops)

    def _told(self, args: Sequence[Any]) -> dict[str, Any]:
        """What Dask is to know of the results: their dtypes."""
        dtypes = [a.dtype if hasattr(a, "dtype") else np.asarray(a).dtype for a in args]
        sizes = {d: int(d) if d.isdigit() else 1 for c in self._signature.inputs for d in c}
        ones = self._cast([
            np.ones([1, *(sizes[d] for d in c)], t)
            for c, t in zip(self._signature.inputs, dtypes, strict=True)
        ])
        found = self._dtypes(ones, sizes) or self._collected(ones, sizes, 1)[1]
        return {"output_dtypes": found if self.nout > 1 else found[0]}

    def _cast(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        """The arrays cast to the first of the types to which that is safe. Raises TypeError if
        there is none.
        """
        for types in self._types:
            if all(np.can_cast(a.dtype, t) for a, t in zip(arrays, types, strict=False)):
                return [a.astype(t, copy=False) for a, t in zip(arrays, types, strict=False)]
        if self._types:
            given = ", ".join(str(a.dtype) for a in arrays)
            raise TypeError(
                f"{self!r} is not supported for the input types ({given}), and they cannot be "
                "safely cast to any of its types")
        return arrays

    def _lengths(self, sizes: Mapping[str, int]) -> list[list[int]]:
        """The lengths of the axes that the signature gives each output. For a function that stores
        to them, an output without axes is an array of one element.
        """
        found = [[sizes.get(d, int(d) if d.isdigit() else 0) for d in c]
                 for c in self._signature.outputs]
        return [n or [1] for n in found] if self._stores else found

    def _dtypes(
        self, flat: Sequence[np.ndarray], sizes: Mapping[str, int]
    ) -> list[np.dtype[Any]] | None:
        """The dtypes of the results: as `types` says; of a function that stores, what NumPy
        promotes the inputs to; of one that returns numbers, what it promotes their types to; else
        of what the first call returns, or one on ones. None: results tell, as Python makes them.
        """
        for types in self._types:
            if all(a.dtype == t for a, t in zip(flat, types, strict=False)):
                return [np.dtype(t) for t in types[self.nin :]]
        if self._stores:
            return [np.result_type(*flat)] * self.nout
        key = tuple(a.dtype for a in flat), types_read(self._fused.__wrapped__)
        if key not in self._known:
            ones = [np.ones(a.shape[1:], a.dtype)[()] for a in flat]
            if len(self._known) >= _MOST_KEPT:
                self._known.clear()
            try:
                found = number_types(self._fused, ones)
            except Refused:
                self._known[key] = None
            else:
                values = [a[:1] for a in flat] if len(flat[0]) else [a[None] for a in ones]
                self._known[key] = found or self._collected(values, sizes, 1)[1]
        return self._known[key]

    def _collected(
        self, flat: Sequence[np.ndarray], sizes: Mapping[str, int], count: int
    ) -> tuple[list[np.ndarray], list[np.dtype[Any]]]:
        """The results of `count` calls, made one by one, and what NumPy promotes their types to.
        Raises ValueError for a result of another shape than the signature says.
        """
        calls = [self._fused(*(a[i] for a in flat)) for i in range(count)]
        columns = [*zip(*calls, strict=True)] if self.nout > 1 else [calls]
        made, dtypes = [], []
        for column, lengths in zip(columns, self._lengths(sizes), strict=True):
            for shape in map(np.shape, column):
                if [*shape] != lengths:
                    raise ValueError(
                        f"{self._fused.__name__} returned an array of shape {shape}, and "
                        f"{self.signature} says {tuple(lengths)}")
            dtypes.append(_promoted(column))
            made.append(np.empty((count, *lengths), dtypes[-1]))
            for i, value in enumerate(column):
                made[-1][i] = value
        return made, dtypes

    def _results(
        self, arrays: Sequence[np.ndarray], sizes: Mapping[str, int], loop: tuple[int, ...],
        before: Sequence[np.ndarray | None],
    ) -> list[np.ndarray]:
        """The results, with the shape of the loop and the axes of the signature behind it.
        ``before``: what is in their places for a function that stores; None: it does not matter.
        """
        count = int(np.prod(loop, dtype=np.int64))
        flat = []
        for a, core in zip(arrays, self._signature.inputs, strict=True):
            shape = a.shape[a.ndim - len(core) :]
            flat.append(np.broadcast_to(a, loop + shape).reshape((count, *shape)))
        dtypes = self._dtypes(flat, sizes)
        if dtypes is None and count:
            collected, _ = self._collected(flat, sizes, count)
            return [m.reshape(loop + m.shape[1:]) for m in collected]
        if dtypes is None:
            ones = [np.ones((1, *a.shape[1:]), a.dtype) for a in flat]
            _, dtypes = self._collected(ones, sizes, 1)
        made = [
            np.empty((count, *n), t) for n, t in zip(self._lengths(sizes), dtypes, strict=True)
        ]
        for m, old, core in zip(made, before, self._signature.outputs, strict=True):
            if old is not None:
                shaped = m.reshape(loop + m.shape[1:] if core else loop)
                np.copyto(shaped, old, casting="unsafe")
        if count:
            self._loop(*flat, *made)
        return [
            m.reshape(loop + m.shape[1:] if c else loop)
            for m, c in zip(made, self._signature.outputs, strict=True)
        ]

    @functools.cached_property
    def _loop(self) -> Callable[..., None]:
        """The fused loop over the first axis of all arguments and results."""
        inputs = [f"a{k}" for k in range(self.nin)]
        results = [f"r{k}" for k in range(self.nout)]
        checked = [
            k for k, core in enumerate(self._signature.outputs) if core and not self._stores]
        values = [f"t{k}" if k in checked else f"r{k}[i]" for k in range(self.nout)]
        targets = f"{', '.join(values)} = "
        says = f"{self._fused.__name__} returned an array of shape %s, and {self.signature} says %s"
        passed = ", ".join(f"{a}[i]" for a in (*inputs, *(results if self._stores else ())))
        name = re.sub(r"\W", "_", self._fused.__name__)  # of a lambda, too
        text = (
            f"def loop_of_{name}({', '.join((*inputs, *results))}):\n"
            f"    for i in range(a0.shape[0]):\n"
            f"        {'' if self._stores else targets}f({passed})\n"
        ) + "".join(
            f"        if np.shape(t{k}) != r{k}.shape[1:]:\n"
            f"            raise ValueError({says!r} % (np.shape(t{k}), r{k}.shape[1:]))\n"
            f"        r{k}[i] = t{k}\n"
            for k in checked
        )
        path = f"<fused gufunc {zlib.crc32(text.encode()):08x}>"
        linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
        names: dict[str, Any] = {"f": self._fused, "np": np, "__name__": self._fused.__module__}
        exec(compile(text, path, "exec", dont_inherit=True), names)
        function = next(
            v for v in names.values()
            if isinstance(v, FunctionType) and v.__code__.co_filename == path
        )
        made: Callable[..., None] = self._fused.region_type(
            function, replace(self._fused.options, on_reject="silent"))
        return made


def _promoted(values: Sequence[Any]) -> np.dtype[Any]:
    """What NumPy promotes the types of these results to; those of Python's numbers are weak."""
    python = {type(v) for v in values if type(v) in _WEAK}
    dtypes = {np.asarray(v).dtype for v in values if type(v) not in _WEAK}
    return np.result_type(*dtypes, *(_WEAK[t] for t in python))


_WEAK: Mapping[type, complex] = {int: 0, float: 0.0, complex: 0j}


def _restored(
    fused: Any, signature: str, types: tuple[tuple[str, ...], ...], stores: bool
) -> GeneralizedUfunc:
    """The unpickled gufunc."""
    return GeneralizedUfunc(fused, signature, types, stores=stores)


def _moved_last(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """`a` with these axes as its last ones."""
    return np.moveaxis(a, axes, range(-len(axes), 0)) if axes else a


def _moved_back(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """`a` with its last axes where these say."""
    return np.moveaxis(a, range(-len(axes), 0), axes) if axes else a
