"""Losses that cannot be used are refused with the value at fault."""

import re

import numpy as np
import pytest

from fairfrontier.data.losses import cost_loss, get_loss
from fairfrontier.errors import InputError

Y = np.array([0.0, 0.5, 1.0])


def _scalar_only(d, y):
    return 0.0 if d == y else 1.0


def _writes(d, y):
    y[0] = 7.0
    return d


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (_scalar_only, "np.where"),
        (_scalar_only, "ValueError"),
        (lambda d, y: np.log(y), "returned -inf for d = 0, y = 0 (1 of 3 rows"),
        (lambda d, y: np.where(y == 0.5, np.nan, d), "returned nan for d = 0, y = 0.5"),
        (lambda d, y: d / (1 - d), "returned inf for d = 1, y = 0"),
        (lambda d, y: np.outer(d, y), "returned shape (3, 3)"),
        (lambda d, y: 1.0, "returned shape ()"),
        (lambda d, y: d[:2], "returned shape (2,)"),
        (lambda d, y: np.array(["a", "b", "c"]), "expected numbers"),
        (lambda d, y: d + 1j, "expected numbers"),
        (lambda d: d, "TypeError"),
        (_writes, "read-only"),
    ],
)
def test_unusable_callable(function, says):
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        get_loss(function).at_decisions(Y.copy())
    assert caught.value.code == "bad-loss"


def test_the_hint_given_for_scalar_functions_works():
    l0, l1 = get_loss(np.vectorize(_scalar_only, otypes=[float])).at_decisions(Y)
    assert (l0.tolist(), l1.tolist()) == ([0.0, 1.0, 1.0], [1.0, 1.0, 0.0])


@pytest.mark.parametrize(
    ("loss", "says"),
    [
        ("clasification", "Did you mean 'classification'"),
        ("zzz", "Known names"),
        (3, "got 3"),
        (None, "got None"),
    ],
)
def test_unknown_loss(loss, says):
    with pytest.raises(InputError, match=says) as caught:
        get_loss(loss)
    assert caught.value.code == "bad-loss"


@pytest.mark.parametrize("costs", [(-1, 1), (1, np.nan), (np.inf, 1), ("1", 1), (True, 1), (0, 0)])
def test_unusable_costs(costs):
    with pytest.raises(InputError) as caught:
        cost_loss(*costs)
    assert caught.value.code == "bad-loss"
