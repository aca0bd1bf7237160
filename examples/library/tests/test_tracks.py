"""The functions give what Python gives; with ``TRACKS_KERNELS=1``, by their kernels."""
import os
import sys
import unittest

import numpy as np
import tracks

rng = np.random.default_rng(1)
LAT, LON = 47.0 + np.cumsum(rng.normal(0.0, 1e-4, (2, 500)), axis=1)
CORNERS = np.array([[46.999, 46.999], [46.999, 47.001], [47.001, 47.001], [47.001, 46.999]])
WORDS = rng.integers(0, 5, (2, 60))

CALLS = {
    "distance": [(47.0, 8.0, 47.5, 8.25)],
    "length": [(LAT, LON)],
    "inside": [(LAT, LON, CORNERS)],
    "alignment": [(LAT, LON[:300])],
    "edits": [tuple(WORDS)],
    "exponential": [(LAT, 0.25), (LAT.astype(np.float32), 0.25)],
    "stops": [(LAT, LON, 30.0, 5)],
    "without_jumps": [(LAT, 5e-5), (LAT.astype(np.float32), 5e-5)],
}


def functions_run(call, *args):
    """The Python functions that run in a call, and what it returns."""
    codes = []
    sys.setprofile(lambda frame, event, _: event == "call" and codes.append(frame.f_code))
    try:
        result = call(*args)
    finally:
        sys.setprofile(None)
    return codes, result


class Results(unittest.TestCase):
    def test_all_functions_are_called(self):
        self.assertEqual(sorted(CALLS), sorted(tracks.__all__))

    def test_results_are_pythons(self):
        for name, calls in CALLS.items():
            function = getattr(tracks, name)
            for args in calls:
                with self.subTest(name, dtype=np.asarray(args[0]).dtype):
                    expected = function.__wrapped__(*args)
                    self.assertIs(type(function(*args)), type(expected))
                    codes, result = functions_run(function, *args)
                    np.testing.assert_allclose(result, expected, rtol=1e-12)
                    if os.environ.get("TRACKS_KERNELS"):
                        self.assertNotIn(function.__wrapped__.__code__, codes)


if __name__ == "__main__":
    unittest.main()
