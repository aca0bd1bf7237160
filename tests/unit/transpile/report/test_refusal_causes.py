"""The cause of a refusal: names that do not exist, calls that are not compiled, other arrays."""
from __future__ import annotations

import contextlib
import functools
import itertools
import math
import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest

from transpile import FuseError, FuseWarning, fuse
from transpile.codes import CODES

X = np.ones(3)
FAMILIES = ("LOWER_", "VECTOR_", "FUSE_")


class Frame:
    """As a Series of pandas, which is not imported."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int) -> float:
        return float(self.values[i])


Frame.__module__, Frame.__name__ = "pandas.core.series", "Series"


def misspelt(x):
    total = 0.0
    for v in x:
        totl += v  # noqa: F821, F841
    return total


def missing_import(x):
    return sum(mth.sqrt(v) for v in x)  # noqa: F821


def missing_function(x):
    return np.sqr(x) + 1


def missing_in_math(x):
    total = 0.0
    for v in x:
        total += math.sqroot(v)
    return total


def missing_constant(x):
    total = 0.0
    for v in x:
        total += v * SCALE_OF_ALL  # noqa: F821
    return total


def other_array(x):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total


def of_text(x):
    n = 0
    for letter in x:
        n += letter == "ab"
    return n


def statement(x):
    for v in x:
        print(v, end="")



class Counted:
    calls = 0

    def __init__(self) -> None:
        self.total = 0.0


def of_class_and_argument(x):
    for i in range(3):
        x.total = x.total + i
        Counted.calls = i


def sorted_array(x):
    return sorted(x, key=abs)[:3]


def axis_that_is_missing(x):
    s = 0.0
    for j in range(x.shape[1]):
        s += x[j]
    return s


def wide_constant(x):
    out = np.zeros(3, np.uint8)
    for i in range(3):
        out[i] = np.uint8(i) * 299
    return out


def method_of_result(x):
    return np.cumsum(x).tolist()


def recursive_lists(x):
    n = len(x)
    if n <= 1:
        return list(x)
    even, odd = recursive_lists(x[0::2]), recursive_lists(x[1::2])
    return [even[k] + odd[k] * 0.5 for k in range(n // 2)]


@pytest.mark.parametrize(("function", "x", "message", "help"), [
    (of_class_and_argument, Counted(), "`Counted.calls` is set: an attribute of a class",
     "outside of the function"),
    (sorted_array, X, "`sorted` is not compiled with an array", "outside of the function"),
    (axis_that_is_missing, X, "`x.shape` has 1 item", "from -1 to 0"),
    (wide_constant, X, "299 is out of bounds for uint8", "OverflowError"),
    (method_of_result, X, "the method `tolist` is not compiled", "outside of the function"),
    (recursive_lists, X + 0j, "`recursive_lists` calls itself", "as a loop"),
])
def test_the_reason_and_what_to_do(
    function: Any, x: Any, message: str, help: str
) -> None:
    """Before any call, too; nothing runs as Python without a reason."""
    report = fuse(function, on_reject="silent").report(x)
    assert not report.accepted
    rejection, *_ = report.rejections
    assert message in rejection.message
    assert help in (rejection.help or "")


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "x", "code", "message"), [
    (misspelt, X, "LOWER_UNDEFINED", "`totl` is not defined; did you mean `total`?"),
    (missing_import, X, "LOWER_UNDEFINED", "`mth` is not defined; did you mean `math`?"),
    (missing_function, X, "LOWER_UNDEFINED", "NumPy has no `sqr`; did you mean `sqrt`?"),
    (missing_in_math, X, "LOWER_UNDEFINED",
     "the module `math` has no `sqroot`; did you mean `sqrt`?"),
    (missing_constant, X, "LOWER_UNDEFINED", "`SCALE_OF_ALL` is not defined"),
    (other_array, Frame(X), "LOWER_TYPE", "`x` is a pandas.Series"),
    (of_text, "banana", "LOWER_TYPE", "`x` is of type str"),
    (statement, X, "LOWER_CALL", "`print` is not a function that can be compiled"),
])
def test_the_cause_is_told(function: Any, x: Any, code: str, message: str) -> None:
    rejection, *_ = fuse(function).report(x).rejections
    assert (rejection.code, rejection.message) == (code, message)
    assert rejection.help


@pytest.mark.parametrize(("dtype", "usual"), [(np.longlong, np.int64), (np.ulonglong, np.uint64)])
def test_an_integer_type_like_another_has_its_own_name(dtype: Any, usual: Any) -> None:
    """NumPy prints both as one, where C has two types of a size."""
    x = np.arange(3).astype(dtype)
    report = fuse(other_array).report(x)
    if dtype is usual:  # on Windows
        assert report.accepted
    else:
        rejection, *_ = report.rejections
        assert rejection.message == f"`x` is of type array of {dtype.__name__}"
        assert rejection.help == f"pass `x.astype(np.{usual.__name__})`"


def test_an_array_of_another_library_is_converted_by_the_caller() -> None:
    rejection, *_ = fuse(other_array).report(Frame(X)).rejections
    assert rejection.help == "pass `x.to_numpy()`"


def test_columns_of_a_frame_are_converted_one_by_one() -> None:
    class Columns(Frame):
        pass

    Columns.__module__, Columns.__name__ = "pandas.core.frame", "DataFrame"
    rejection, *_ = fuse(other_array).report(Columns(X)).rejections
    assert "`x['name'].to_numpy()`" in (rejection.help or "")


def test_the_help_fits_the_type_of_the_argument() -> None:
    rejection, *_ = fuse(of_text).report("banana").rejections
    assert "`np.array([*map(ord, x)])`" in (rejection.help or "")
    rejection, *_ = fuse(of_text).report(memoryview(b"banana").cast("c")).rejections
    assert rejection.help == "pass `np.asarray(x)`"


def test_a_text_argument_is_named_by_its_name() -> None:
    f = fuse(of_text)
    with pytest.warns(FuseWarning) as given:
        f("banana")
    assert "banana" not in str(given[0].message)
    assert "of_text(str)" in str(given[0].message)


def test_a_name_of_an_inner_scope_is_defined() -> None:
    def sorted_down(xs):
        xs.sort(key=lambda v: -v)
        return [[v * w for w in xs] for v in xs]

    report = fuse(sorted_down).report([2, 1])
    rejections = (*report.rejections, *report.further)
    assert rejections
    assert "LOWER_UNDEFINED" not in {r.code for r in rejections}


@pytest.mark.share(1)
@pytest.mark.parametrize("code", [code for code in CODES if code.startswith(FAMILIES)])
def test_each_code_of_a_refusal_has_a_help(code: str) -> None:
    help = CODES[code].help
    assert help
    assert not help.endswith(".")
    assert not help[0].isupper()


def test_a_known_function_with_other_arguments_is_told_so() -> None:
    def repeated(a, counts):
        n = int(counts[0])
        return np.repeat(a[:, None], n, axis=1)

    rejection, *_ = fuse(repeated).report(X, np.array([2])).rejections
    assert rejection.message == "`np.repeat` is not compiled with these arguments"
    assert "optional arguments" in (rejection.help or "")


def test_a_test_of_a_type_is_not_blamed_for_what_it_is_about() -> None:
    def halves(v):
        s = 0
        for k in range(9):
            s += 1 if isinstance(v, bool) else k
        return s

    rejection, *_ = fuse(halves, on_reject="silent").report([1]).rejections
    assert rejection.message == "`v` is of type list[int], and no loop goes through it"


def missing_axis(x):
    return x.sum(axis=2)


def missing_axis_of_scan(x):
    return np.cumsum(x, axis=1)


def missing_axis_of_expression(x):
    return (x * x).max(axis=-2)


def update(x):
    x += 1.5
    return x


def update_in_loop(x):
    for _ in range(2):
        x /= 2
    return x


def update_of_gathered(x):
    x[np.array([0, 1])] += 2.5
    return x


def update_of_masked(x):
    x[x < 1] *= 2.5
    return x


def store_of_masked(x):
    x[x < 1] = 2.5
    return x


INTS = np.arange(3)


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "x", "message", "error"), [
    (missing_axis, np.ones((2, 2)),
     "there is no axis 2 in an array of 2 axes: NumPy raises AxisError", np.exceptions.AxisError),
    (missing_axis_of_scan, X, "there is no axis 1 in an array of 1 axis: NumPy raises AxisError",
     np.exceptions.AxisError),
    (missing_axis_of_expression, X,
     "there is no axis -2 in an array of 1 axis: NumPy raises AxisError", np.exceptions.AxisError),
    (update, INTS, "`x += 1.5` puts a float64 into an array of int64: NumPy raises UFuncTypeError",
     TypeError),
    (update_in_loop, INTS,
     "`x /= 2` puts a float64 into an array of int64: NumPy raises UFuncTypeError", TypeError),
    (update_of_gathered, INTS, "`x[np.array([0, 1])] += 2.5` puts a float64 into an array of "
     "int64: NumPy raises UFuncTypeError", TypeError),
    (update_of_masked, INTS,
     "`x[x < 1] *= 2.5` puts a float64 into an array of int64: NumPy raises UFuncTypeError",
     TypeError),
    (store_of_masked, INTS,
     "`x[x < 1] = 2.5` puts a float64 into an array of int64, which NumPy converts", None),
])
def test_what_numpy_does_with_the_types_is_told(
    function: Any, x: Any, message: str, error: type[Exception] | None
) -> None:
    fused = fuse(function)
    rejection, *_ = fused.report(x).rejections
    assert rejection.message == message
    assert rejection.help
    assert "loop" not in rejection.help
    with pytest.raises(error) if error else contextlib.nullcontext():
        fused(x.copy())


def test_a_masked_store_is_compiled_as_its_help_says() -> None:
    def store(x):
        x[x < 1] = np.int64(2.5)

    rejection, *_ = fuse(store_of_masked).report(INTS).rejections
    assert "`np.int64(...)`" in (rejection.help or "")
    assert fuse(store).report(INTS).accepted


def of_items(x):
    total = 0.0
    for v in x:
        total += v
    return total


class Body:
    mass = 1.0


@pytest.mark.parametrize(("x", "kind", "help"), [
    (["a"], "list[str]", "pass numbers in their place"),
    ([Body()], "list[Body]", "for each field of the items of `x`"),
    ([None], "list[None]", "numbers of one type"),
    ([X, X], "list[ndarray]", "`np.stack(x)`"),
    (iter([1.0]), "list_iterator", "`list(x)`"),
    (zip([1.0]), "zip", "`list(x)`"),
    ((v for v in [1.0]), "generator", "`list(x)`"),
])
def test_the_help_for_a_sequence_fits_its_items(x: Any, kind: str, help: str) -> None:
    rejection, *_ = fuse(of_items).report(x).rejections
    assert rejection.message == f"`x` is of type {kind}"
    assert help in (rejection.help or "")


class WithLists:
    SHARED: ClassVar = [1j, 2j]

    def __init__(self) -> None:
        self.xs = [1j]


def looped_attribute(o):
    total = 0.0
    for v in o.xs:
        total += v
    return total


def enumerated_attribute(o):
    total = 0.0
    for k, v in enumerate(o.xs):
        total += k * v
    return total


def item_of_attribute(o):
    total = 0.0
    for k in range(1):
        total += o.xs[k]
    return total


def length_of_attribute(o):
    return len(o.xs)


def attribute_of_class(o):
    total = 0.0
    for k in range(1):
        total += o.SHARED[k]
    return total


@pytest.mark.parametrize("f", [
    looped_attribute, enumerated_attribute, item_of_attribute, length_of_attribute,
    attribute_of_class,
])
def test_a_list_in_an_attribute_is_told_to_be_one(f: Callable[..., Any]) -> None:
    rejection, *_ = fuse(f).report(WithLists()).rejections
    name = "o.SHARED" if f is attribute_of_class else "o.xs"
    assert rejection.code == "LOWER_TYPE"
    assert rejection.message == (
        f"`{name}` is of type list, and only attributes that are numbers, arrays or lists of "
        "numbers are compiled"
    )
    assert f"pass `{name}` as a parameter" in (rejection.help or "")


def ratio(n):
    return 1 / n


def ratios(n):
    total = 0.0
    for i in range(n + 3):
        total += 1 / n + i
    return total


def digits(n):
    return n.bit_length


def digits_in_loop(n):
    for _ in range(2):
        a = n.bit_length
    return a


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "in_loop"), [
    (ratio, False), (ratios, True), (digits, False), (digits_in_loop, True),
])
def test_a_help_speaks_of_a_loop_only_in_one(function: Any, in_loop: bool) -> None:
    fused = fuse(function)
    with contextlib.suppress(ZeroDivisionError):
        fused(0)
    rejection, *_ = fused.report(0).rejections
    assert ("the loop" in (rejection.help or "").replace("the loops", "")) == in_loop


def test_a_statement_is_cited_as_it_is_written() -> None:
    def packed(t):
        a,b=t,t,t
        return a, b

    rejection, *_ = fuse(packed).report(1.0).rejections
    assert rejection.message == "`t,t,t` has 3 items, not the 2 to unpack"


def test_an_error_does_not_say_that_python_runs_the_call() -> None:
    strict = fuse(on_reject="raise")(statement)
    with pytest.raises(FuseError, match="is not compiled: `print`"):
        strict(X)


def test_a_warning_of_a_lambda_says_what_to_write() -> None:
    with pytest.warns(FuseWarning, match="write it as a `def`"):
        fuse(lambda x: x + 1)(1.0)


def test_an_argument_that_grows_is_named_as_one() -> None:
    def grow(xs, n):
        for i in range(n):
            xs.append(i * 1.0)

    rejection, *_ = fuse(grow).report([1.0], 3).rejections
    assert rejection.message == "the argument `xs` is made longer"
    assert "made here" in (rejection.help or "")


def float_keys(x):
    kinds = {}
    for v in x:
        kinds[v] = 1
    return len(kinds)


def matched(x):
    n = 0
    for v in x:
        n += bool(re.match("1", str(v)))
    return n


def of_unknown(v):
    return not_there(v)  # noqa: F821


class Model:
    def predict(self, x):
        return x * 2


def predicted(x):
    return Model().predict(x)


def by_another(v):
    return of_unknown(v) + 1


def by_helper_of_helper(x):
    t = 0.0
    for v in x:
        t += by_another(v)
    return t


def with_sets(x):
    groups = {}
    for i in range(len(x)):
        groups.setdefault(i % 2, set()).add(i)
    return groups


def by_helper(x):
    t = 0.0
    for v in x:
        t += of_unknown(v)
    return t


def evaluated(x):
    t = 0.0
    for v in x:
        t += v * eval("2")
    return t


def fitted(x):
    return np.polyfit(x, x, 1)


@functools.cache
def remembered(v):
    return v * 2


def with_cache(x):
    t = 0.0
    for v in x:
        t += remembered(v)
    return t


def keys_of(x):
    t = 0.0
    for key, _items in itertools.groupby(x):
        t += key
    return t


def shortened(x):
    for v in x:
        if v > 1:
            x.remove(v)
    return x


def neighbours(x):
    t = 0
    for v in x[0]:
        t += v
    return t


def titled(x):
    t = 0
    for k, v in enumerate(x):
        t += k * len(v.title())
    return t


def three_subscripts(x):
    t = 0.0
    for i in range(len(x)):
        t += x[i, 0, 0]
    return t


def counted_in_object(x):
    for i in range(3):
        x.values += i
    return x.values


@pytest.mark.filterwarnings("ignore::transpile.FuseWarning")
@pytest.mark.parametrize(("function", "x", "message", "help"), [
    (float_keys, X,
     "`v`, a key or a part of one, is a float here, and dicts and sets are compiled with keys that "
     "are ints",
     "by `int` or `round`"),
    (matched, X, "`re.match` is not a function that can be compiled", "of your own"),
    (by_helper, X, "`not_there` is not defined", "define or import `not_there`"),
    (predicted, X, "`Model` makes an object, which is not compiled here", "in variables"),
    (by_helper_of_helper, X, "`not_there` is not defined", "define or import `not_there`"),
    (with_sets, X, "the values of `groups` are sets, which are not compiled", "`groups[a, b]`"),
    (evaluated, X, "`eval` is not a function that can be compiled", "before or after"),
    (fitted, X, "`np.polyfit` is not a function that can be compiled", "as a loop"),
    (with_cache, X, "`remembered` is not a function that can be compiled", "without"),
    (keys_of, X, "`itertools.groupby` is not compiled here", "loops over ranges"),
    (shortened, [1, 2], "the argument `x` itself is changed here", "`list(x)`"),
    (neighbours, {0: [1]}, "a loop over `x[0]`, an item of a dict, is not compiled",
     "in one array"),
    (titled, ("a", "b"), "a loop over `enumerate(x)` is not compiled", "an array"),
    (titled, (("a", "b"), ("c", "d")), "a loop over `enumerate(x)` is not compiled", "an array"),
    (three_subscripts, np.ones((2, 2)), "`x[i, 0, 0]` has more subscripts than dimensions",
     "at most 2"),
    (of_text, [(1, 2.0)], "`x` is of type list[tuple]", "for each column of `x`"),
])
def test_what_the_user_wrote_is_named_and_the_help_is_about_it(
    function: Any, x: Any, message: str, help: str
) -> None:
    rejection, *others = fuse(function).report(x).rejections
    assert rejection.message == message
    assert help in (rejection.help or "")
    assert not others


def test_what_changes_in_an_object_is_named() -> None:
    class Total:
        values = 0.0

    rejection, *_ = fuse(counted_in_object).report(Total()).rejections
    assert "`x.values`" in rejection.message


def test_a_missing_function_is_told_beside_compiled_loops() -> None:
    def root_mean_square(x):
        t = 0.0
        for v in x:
            t += v * v
        return np.sqr(t / len(x))

    fused = fuse(root_mean_square)
    with contextlib.suppress(AttributeError):
        fused(X)
    report = fused.report()
    assert report.accepted
    assert [r.message for r in report.rejections] == ["NumPy has no `sqr`; did you mean `sqrt`?"]


def test_lists_that_are_one_object_are_told() -> None:
    def add_one(c):
        for i in range(len(c)):
            for j in range(len(c[0])):
                c[i][j] += 1
        return c

    fused = fuse(add_one)
    assert fused([[0, 0]] * 2) == [[2, 2], [2, 2]]
    (rejection,) = fused.report().rejections
    assert rejection.code == "GUARD_ALIAS"
    assert rejection.message == "`c[0]` and `c[1]` are the same list"


def test_none_among_numbers_is_told_with_what_to_put_there() -> None:
    def total(x):
        t = 0
        for v in x:
            if v is not None:
                t += v
        return t

    fused = fuse(total)
    assert fused([1, None, 2]) == 3
    (rejection,) = fused.report().rejections
    assert "in place of None" in (rejection.help or "")


def test_a_copy_of_a_list_is_no_recurrence() -> None:
    def without_last(x):
        y = list(x)
        y.remove(3)
        t = 0
        for v in y:
            t += v
        return t

    report = fuse(without_last).report([1, 2, 3])
    assert not report.rejections
    assert [loop.what for loop in report.loops] == ["copy", "map", "fold"]


def test_an_operation_that_is_a_loop_is_cited() -> None:
    def tally(x):
        d = {}
        for v in x:
            d[v] = d.get(v, 0) + 1
        return d

    (loop,) = fuse(tally).report(np.arange(3)).loops
    assert loop.notes[0] == "`d[v] = d.get(v, 0) + 1` needs a loop of its own"


def drawn(x: Any) -> Any:
    rng = np.random.default_rng(1)
    total = 0.0
    for v in x:
        total += rng.vonmises(0.0, v)
    return total


def shuffled(x: Any) -> Any:
    rng = np.random.default_rng(1)
    total = 0.0
    for _ in range(3):
        rng.shuffle(x)
        total += x[0]
    return total


def chosen(x: Any) -> Any:
    rng = np.random.default_rng(1)
    total = 0.0
    for _ in range(3):
        total += rng.choice(x, p=x)
    return total


@pytest.mark.parametrize(("function", "message"), [
    (drawn, "`rng.vonmises` is not a method that is compiled"),
    (shuffled, "`rng.shuffle` is not a method that is compiled"),
    (chosen, "`rng.choice` is not compiled with these arguments"),
])
def test_the_draw_is_refused_not_what_makes_the_generator(function: Any, message: str) -> None:
    fused = fuse(function, on_reject="silent")
    fused(X / 3)
    made, draw = fused.report(X).rejections
    assert made.code == "LOWER_LIBRARY"
    assert made.message == "`np.random.default_rng` makes a generator, and stays a Python call"
    assert draw.message == message


def test_the_wrapper_of_another_decorator() -> None:
    @fuse(on_reject="silent")
    @functools.wraps(drawn)
    def timed(*args: Any, **kw: Any) -> Any:
        return math.fsum([1.0]), contextlib.nullcontext(), drawn(*args, **kw)

    timed(X)
    (rejection,) = timed.report(X).rejections
    assert rejection.help == "put @fuse under the other decorator of `drawn`"


def test_dicts_with_strings_as_keys_have_help_that_can_be_followed() -> None:
    def rows(x: Any) -> Any:
        out, total = [], 0.0
        for v in x:
            total += v
            out.append({"value": v, "total": total})
        return out

    fused = fuse(rows, on_reject="silent")
    fused(X)
    (rejection,) = fused.report(X).rejections
    assert rejection.message.endswith("is a dict with strings as keys")
    assert "make dicts after the loops" in (rejection.help or "")
