"""Losses against their definitions, row by row."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairfrontier.data.losses import CLASSIFICATION, SQUARED, Loss, cost_loss, get_loss

binary = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=20)
real = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)
cost = st.floats(0.01, 100)


@given(binary)
def test_classification(y):
    l0, l1 = CLASSIFICATION.at_decisions(np.array(y))
    assert l0.tolist() == [1.0 if v != 0 else 0.0 for v in y]
    assert l1.tolist() == [1.0 if v != 1 else 0.0 for v in y]


@given(real)
def test_squared(y):
    l0, l1 = SQUARED.at_decisions(np.array(y))
    np.testing.assert_allclose(l0, [v * v for v in y], rtol=1e-14)
    np.testing.assert_allclose(l1, [(1 - v) * (1 - v) for v in y], rtol=1e-14)


@given(binary, cost, cost)
def test_costs(y, false_positive, false_negative):
    l0, l1 = cost_loss(false_positive, false_negative).at_decisions(np.array(y))
    assert l0.tolist() == [false_negative if v == 1 else 0.0 for v in y]
    assert l1.tolist() == [false_positive if v == 0 else 0.0 for v in y]


def test_equal_unit_costs_are_classification():
    y = np.array([0.0, 1.0, 1.0])
    np.testing.assert_array_equal(cost_loss(1, 1).at_decisions(y), CLASSIFICATION.at_decisions(y))


def test_one_free_error_is_allowed():
    assert cost_loss(0, 2).at_decisions(np.array([0.0]))[1].tolist() == [0.0]


def test_callables_are_used_as_they_are():
    def absolute(d, y):
        return np.abs(d - y)

    loss = get_loss(absolute)
    assert (loss.name, loss.binary_outcome) == ("absolute", False)
    l0, l1 = loss.at_decisions(np.array([-2.0, 0.25]))
    assert l0.tolist() == [2.0, 0.25]
    assert l1.tolist() == [3.0, 0.75]
    assert get_loss(lambda d, y: d * y).name == "custom"


def test_booleans_and_integers_returned_become_floats():
    for function in (lambda d, y: d != y, lambda d, y: (d != y).astype(int)):
        l0, l1 = get_loss(function).at_decisions(np.array([0.0, 1.0]))
        assert l0.dtype == l1.dtype == np.float64
        assert (l0.tolist(), l1.tolist()) == ([0.0, 1.0], [1.0, 0.0])


def test_names_and_losses_are_found():
    assert get_loss("classification") is CLASSIFICATION
    assert get_loss("squared") is SQUARED
    own = Loss("own", np.subtract, binary_outcome=True)
    assert get_loss(own) is own
    assert CLASSIFICATION.binary_outcome
    assert cost_loss(1, 2).binary_outcome
    assert not SQUARED.binary_outcome


@pytest.mark.parametrize("loss", [CLASSIFICATION, SQUARED, cost_loss(2, 3)])
def test_losses_travel_between_processes(loss):
    y = np.array([0.0, 1.0])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(loss)).at_decisions(y), loss.at_decisions(y))


def test_losses_returned_are_not_the_outcomes_themselves():
    y = np.array([1.0, 2.0])
    l0, _ = get_loss(lambda d, y: y).at_decisions(y)
    l0[0] = 9.0
    assert y.tolist() == [1.0, 2.0]
