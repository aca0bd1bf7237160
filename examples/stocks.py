"""A share price as loops: daily returns, volatility, the deepest fall, days of gain.

The prices are Google's, day by day from 2004 to 2008, a series that matplotlib ships.
"""
from __future__ import annotations

from math import log, sqrt

import matplotlib.cbook
import numpy as np
from numpy.typing import NDArray
from side_by_side import HEADING, compare

from transpile import fuse

Series = NDArray[np.float64]

TRADING_DAYS = 252


@fuse
def log_returns(price: Series, out: Series) -> None:
    """The logarithm of each day's growth."""
    for i in range(1, len(price)):
        out[i] = log(price[i] / price[i - 1])


@fuse
def volatility(returns: Series) -> float:
    """The standard deviation of the returns over a year: two sums in one loop."""
    total = 0.0
    squares = 0.0
    for r in returns:
        total += r
        squares += r * r
    n = len(returns)
    return sqrt((squares - total * total / n) / (n - 1) * TRADING_DAYS)


@fuse
def rolling_mean(price: Series, window: int, out: Series) -> None:
    """The mean of the last `window` days, from the first day that has so many."""
    for i in range(window - 1, len(price)):
        total = 0.0
        for k in range(window):
            total += price[i - k]
        out[i] = total / window


@fuse
def deepest_fall(price: Series) -> float:
    """The greatest loss from an earlier high, as a share of the high."""
    high = price[0]
    worst = 0.0
    for p in price:
        high = max(high, p)
        worst = max(worst, 1.0 - p / high)
    return worst


@fuse
def good_days(returns: Series, least: float) -> list[float]:
    """The returns of the days that gained more than `least`."""
    return [r for r in returns if r > least]


def main() -> None:
    """Measures the series."""
    with matplotlib.cbook.get_sample_data("goog.npz") as file:
        price = np.ascontiguousarray(file["price_data"]["close"])
    returns, trend = np.zeros_like(price), np.zeros_like(price)

    print(HEADING)
    compare(log_returns, price, returns, rtol=1e-14)
    log_returns(price, returns)
    spread = compare(volatility, returns, rtol=1e-9)
    compare(rolling_mean, price, 50, trend, rtol=1e-12)
    fall = compare(deepest_fall, price)
    good = compare(good_days, returns, 0.05)

    print(f"\n{len(price)} days, from {price[0]:.2f} to {price[-1]:.2f} dollars")
    print(f"volatility {spread:.1%} a year, deepest fall {fall:.1%}")
    print(f"{len(good)} days gained more than 5 %, the best {max(good):.1%}")


if __name__ == "__main__":
    main()
