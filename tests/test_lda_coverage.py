"""Size and power of the LDA tests by Monte Carlo (published test at n = 1,000: power .397 and .162)."""

import pytest
from support.lda_study import run_study

NULLS = ["R", "B", *[f"optimal {k + 1}" for k in range(6)]]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def small():
    rates = run_study(1000, replications=1000)
    print(rates.unstack().round(3).to_string())
    return rates


def largest_null(rates, method):
    own = rates.xs(method, level="method")
    return own[own.index.get_level_values("hypothesis").isin(NULLS)].max()


def test_robust_size_with_good_and_distorted_learners(small):
    assert largest_null(small, "robust") <= 0.055


def test_robust_size_in_larger_samples():
    rates = run_study(4000, replications=1000)
    print(rates.unstack().round(3).to_string())
    assert largest_null(rates, "robust") <= 0.055


def test_sharp_size_with_a_consistent_learner(small):
    assert largest_null(small, "sharp") <= 0.07


@pytest.mark.parametrize(
    ("design", "method", "hypothesis", "least"),
    [
        ("balanced", "robust", "logit lottery", 0.80),
        ("skewed", "robust", "logit lottery", 0.65),
        ("balanced", "robust", "flipped", 0.25),
        ("skewed", "robust", "flipped", 0.45),
        ("balanced", "sharp", "logit lottery", 0.90),
        ("skewed", "sharp", "logit lottery", 0.90),
    ],
)
def test_power(small, design, method, hypothesis, least):
    assert small[design, "none", method, hypothesis] >= least
