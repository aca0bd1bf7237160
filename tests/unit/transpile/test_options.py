"""Options of ``@fuse``: an error of one says what is right."""
from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from transpile import fuse
from transpile.options import Options

WRONG_TYPES = ("2", b"2", None, [], {}, 1j, object(), np.ones(3), np.ones(1000), np.True_)
RIGHT_ONES = {
    "target": '"auto", "scalar", ', "threads": '"auto" or an int, at least 1',
    "on_reject": '"warn", "silent", "raise"', "verify": "a float or an int, from 0 to 1",
}


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Options)])
def test_each_error_of_an_option_says_what_is_right(name: str) -> None:
    """TypeError for each wrong type, ValueError for a wrong value; both name what is right."""
    words = name in ("target", "on_reject")
    for value in (*WRONG_TYPES, *([1, 0.5, True] if words else [])):
        is_word = words and isinstance(value, str)
        with pytest.raises(ValueError if is_word else TypeError) as caught:
            fuse(**{name: value})
        first, *others = str(caught.value).splitlines()
        assert not others
        assert first.startswith(f"fuse({name}=")
        assert f"must be {'one of ' * words}{RIGHT_ONES.get(name, 'True or False')}" in first
        assert is_word or "and is of type " in first


def test_a_misspelt_option_is_named_rightly() -> None:
    with pytest.raises(TypeError, match=r"no option 'taget'; did you mean 'target'\? \(options: "):
        fuse(taget="avx2")
