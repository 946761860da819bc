"""The level of the robust test with three repetitions, where decisions are noise and no alternative exists."""

import numpy as np
import pytest
from support import attacks_study

pytestmark = pytest.mark.slow


def limits(rates):
    return 0.05 + 2.0 * np.sqrt(0.05 * 0.95 / rates["count"])


def test_the_default_holds_its_level_with_every_learner():
    """Four simple learners: 5 and 20 folds in two populations, 5 folds in all others; and power beside."""
    rates = attacks_study.rates(attacks_study.run_study(1000, 200)).reset_index()
    print(rates.to_string())
    size = rates[(rates["test"] == "robust, 3") & ~rates["design"].str.startswith("power")]
    assert len(size) == len(attacks_study.designs())
    assert (size["mean"] <= limits(size)).all()
    power = rates[rates["design"] == "power | logit"].set_index(["n", "test"])["mean"]
    for n in (500, 1000):
        assert power[n, "robust, 3"] >= power[n, "robust, 1"] - 0.03


def test_the_default_holds_its_level_with_boosting_and_the_default_learner():
    rates = attacks_study.rates(attacks_study.run_study(0, 200, kind="slow")).reset_index()
    size = rates[rates["test"] == "robust, 3"]
    assert len(size) == 4
    assert (size["mean"] <= limits(size)).all()
