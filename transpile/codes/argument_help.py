"""Help for arguments of types that are not compiled: how to pass the same data in another type."""
from __future__ import annotations

__all__ = [
    "HELP_FOR_CALLS_IN_LOOPS", "HELP_FOR_DRAWS", "HELP_FOR_DTYPE", "HELP_FOR_ITEMS",
    "HELP_FOR_STRINGS", "HELP_FOR_TYPE",
]

HELP_FOR_TYPE = {
    "str": "pass the string as an array of its codes: `np.array([*map(ord, {})])`",
    "bytes": "pass `np.frombuffer({}, np.uint8)`",
    "bytearray": "pass `np.frombuffer({}, np.uint8)`",
    "memoryview": "pass `np.asarray({})`",
    "array.array": "pass `np.asarray({})`",
    "dict": "if the keys of `{}` are ints, pass keys and values as two lists, and make the dict in "
            "the function: `dict(zip(keys, values))`; else look values up before the call",
    "set": "pass the items of `{}` as an array or a list",
    "frozenset": "pass the items of `{}` as an array or a list",
    "range": "pass the ends of `{}` as ints, and make the range in the function",
    "Fraction": "pass `float({})`",
    "Decimal": "pass `float({})`",
    "datetime": "pass `{}.timestamp()`",
    "timedelta": "pass `{}.total_seconds()`",
    "list": "pass `{}` as a list or an array of numbers of one type",
}
"""The help for an argument that is not compiled, by the name of its type: how to pass the
same data in a type that is. ``{}`` is the name of the argument. A type that is not here has the
help of the code.
"""

HELP_FOR_STRINGS = \
    "strings are not compiled: pass numbers in their place, such as their codes or lengths"

HELP_FOR_DRAWS = \
    "draw by `random`, `integers`, `normal` or another method that is compiled, or outside of loops"
"""The help for a method of a random number generator that is not compiled."""

HELP_FOR_CALLS_IN_LOOPS = \
    "write what it does in a Python function of your own, with numbers, arrays and lists, or " \
    "leave the loop to Python; functions of NumPy and math are compiled"
"""The help for a call that each iteration has to make, since it depends on what the loop binds."""

HELP_FOR_ITEMS = {
    "str": HELP_FOR_STRINGS,
    "bytes": HELP_FOR_STRINGS,
    "ndarray": "pass one array in place of `{0}`, such as `np.stack({0})` of arrays of one shape",
    "complex": "pass `np.array({})`",
    "tuple": "pass an array or a list of numbers for each column of `{}`",
    "dict": "pass an array or a list of numbers for each key of the items of `{}`",
}
"""The help for a list of items of that type, with its name."""

HELP_FOR_DTYPE = {
    "O": "pass `{}.astype(float)`, if its items are numbers",
    "U": "pass numbers in place of strings, for instance `np.unique({}, return_inverse=True)[1]`",
    "S": "pass numbers in place of strings, for instance `np.unique({}, return_inverse=True)[1]`",
    "M": "pass `{}.astype(np.int64)`, the times as numbers",
    "m": "pass `{}.astype(np.int64)`, the durations as numbers",
    "i": "pass `{}.astype(np.int64)`",
    "u": "pass `{}.astype(np.uint64)`",
    "f": "pass `{}.astype(float)`",
    "c": "pass `{}.astype(complex)`",
    "V": "pass the fields of `{0}` as arrays of their own, such as `{0}['name']`",
    "swapped": "pass `{0}.astype({0}.dtype.newbyteorder('='))`",
    "": "pass `np.asarray({})`, if the rules of its class do not matter",
}
"""The help for an array of a dtype of that kind, with its name; ``""``: of a subclass of ndarray.
"""
