"""More than ten folds are warned of, unless they are in sequence."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairfrontier import FairFrontier
from fairfrontier.datasets import make_liu_molinari
from fairfrontier.errors import ManyFoldsWarning
from fairfrontier.learning.folds import warn_of_many_folds


def fitted(n_folds=3, **options):
    data = make_liu_molinari(300, random_state=3)
    ff = FairFrontier(learner=LogisticRegression(), n_folds=n_folds, n_boot=99, n_rep=1, random_state=1, **options)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        ff.fit(data.X, data.y, sensitive_features=data.sensitive_features)
    return ff, [w for w in given if issubclass(w.category, ManyFoldsWarning)]


@pytest.mark.parametrize(("n_folds", "factor"), [(11, "2.5"), (20, "3.0")])
def test_the_warning_has_the_factor_of_the_variance(n_folds, factor):
    expected = 1 + (n_folds - 1) * (2 / np.pi) / np.sqrt(2 * n_folds - 3)
    assert f"{expected:.1f}" == factor
    with pytest.warns(ManyFoldsWarning, match=f"can be {factor} times"):
        warn_of_many_folds(n_folds)


def test_a_fit_warns_of_many_folds_only():
    assert len(fitted(11)[1]) == 1
    assert not fitted(10)[1]
    assert not fitted(11, folds="sequential")[1]
