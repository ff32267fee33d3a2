"""What a remembered position does to a node, in plain Python: the oracle for `engine.search.memory`."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.oracle.naive_tree import score_utility

_NAMES = ("value", "no_result", "score", "lead")


def find_entry(entries: NDArray[np.void], key: int) -> int:
    """Return the entry of a key, or -1."""
    found = np.flatnonzero(entries["key"] == np.uint64(key))
    return int(found[0]) if len(found) else -1


def utility_of(numbers: Any, value: float, no_result: float, score: float, score_sq: float) -> float:
    """Return the utility of mean values."""
    result = float(numbers["win_loss_factor"]) * value - float(numbers["no_result_utility"]) * no_result
    return result + score_utility(numbers, score, score_sq)


def pull(numbers: Any, each: Any, entry: Any, visits: int, *, is_leaf: bool) -> dict[str, float]:
    """Return the values of a node that are moved toward its entry's."""
    least, weight = int(numbers["remember_visits"]), float(entry["weight"])
    ratio = visits / (math.sqrt(least * weight) if weight > least else weight)
    share = 1 / (1 + 3 * ratio + 6 * ratio**3)
    old = {name: float(each[name]) for name in (*_NAMES, "score_sq", "utility", "utility_sq")}
    new = {name: (1 - share) * old[name] + share * float(entry[name]) for name in _NAMES}
    variance = old["score_sq"] - old["score"] ** 2
    new["score_sq"] = max(0.0, variance + new["score"] ** 2)
    if is_leaf:
        mine, theirs = (
            utility_of(numbers, *(each[name] for name in ("value", "no_result", "score", "score_sq")))
            for each in (old, new)
        )
        new["utility"] = old["utility"] + theirs - mine
    else:
        score = float(entry["score"])
        square = max(0.0, new["score_sq"] - new["score"] ** 2 + score**2)
        found = utility_of(numbers, float(entry["value"]), float(entry["no_result"]), score, square)
        new["utility"] = (1 - share) * old["utility"] + share * found
    new["utility_sq"] = old["utility_sq"] + new["utility"] ** 2 - old["utility"] ** 2
    return new
