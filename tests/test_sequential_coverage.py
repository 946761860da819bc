"""Size of the sequential test with hostile learners, by Monte Carlo."""

import pytest
from support.sequential_study import run_study

pytestmark = pytest.mark.slow


def test_size_with_hostile_learners():
    rates = run_study(1000, replications=1000)
    print(rates.round(4).to_string())
    assert (rates["mean"] <= 0.05 + 2 * rates["error"]).all()
