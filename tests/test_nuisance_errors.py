"""What folds and cross-fitting refuse, and how failures of learners are told."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from support.refusals import refused

from fairfrontier.data.sample import make_sample
from fairfrontier.errors import LearnerError
from fairfrontier.learning.cross_fitting import as_seed, cross_fit, external_nuisance
from fairfrontier.learning.folds import make_folds


def make(n=40, n_r=20, clusters=None, X=True):
    rng = np.random.default_rng(0)
    group = np.where(np.arange(n) < n_r, "red", "blue")
    return make_sample(rng.normal(size=(n, 2)) if X else None, np.tile([0.0, 1.0], n)[:n], group, clusters=clusters)


def folds_of(sample, n_folds=4, n_rep=1, folds=None):
    return make_folds(sample, n_folds, n_rep, np.random.default_rng(0), folds)


@pytest.mark.parametrize("n_folds", [1, 41, 2.5, True, "3"])
def test_number_of_folds(n_folds):
    refused("bad-folds", r"between 2 and the number of rows \(40\)", lambda: folds_of(make(), n_folds))


def test_options():
    refused("bad-option", "n_rep must be", lambda: folds_of(make(), n_rep=0))
    refused("bad-folds", "folds must be None, 'stratified'", lambda: folds_of(make(), folds="random"))


@pytest.mark.parametrize(
    ("folds", "match"),
    [
        (np.ones(40), "array of integers"),
        (np.arange(39), r"shape \(40,\).*not \(39,\)"),
        (np.ones((1, 1, 40), int), "not"),
        (np.ones(40, int), "at least two different"),
        (np.where(np.arange(40) < 20, 1, 2), "fold 1 has no row of group 'blue'"),
        (np.where(np.arange(40) < 20, 1, np.arange(40) % 2), "fold 0 has no row of group 'red'"),
        (np.tile([0, 1], (3, 20)), r"3 repetition\(s\), but n_rep=2"),
    ],
)
def test_users_folds(folds, match):
    refused("bad-folds", match, lambda: folds_of(make(), n_rep=2 if folds.ndim == 2 else 1, folds=folds))


def test_a_users_fold_may_not_split_a_cluster():
    sample = make(clusters=np.arange(40) // 2)
    refused(
        "bad-folds",
        r"20 cluster\(s\) are split.*rows \[0, 1\]",
        lambda: folds_of(sample, folds=np.arange(40) % 2),
    )


def test_a_group_too_small_for_the_folds():
    refused(
        "group-too-small",
        "group 'red' has 7 rows, too few for 5 stratified folds; the largest n_folds that works is 3",
        lambda: folds_of(make(n_r=7), 5),
    )
    assert folds_of(make(n_r=7), 3).max() == 3
    refused("group-too-small", "no number of folds works", lambda: folds_of(make(n_r=3), 2))


def test_a_group_in_too_few_clusters():
    clusters = np.where(np.arange(40) < 20, np.arange(40) // 7, 3 + np.arange(40) // 2)
    sample = make(clusters=clusters)
    refused(
        "group-too-small",
        "20 rows in 3 clusters.*largest n_folds that works is 3",
        lambda: folds_of(sample, 4),
    )
    assert folds_of(sample, 3).max() == 3


def test_independent_folds_that_miss_a_group():
    sample = make(n_r=8)
    refused("group-too-small", "use folds=None", lambda: folds_of(sample, 4, folds="independent"))


def test_covariates_are_needed():
    sample = make(X=False)
    refused("bad-features", "X is None", lambda: cross_fit(sample, 1 - 2 * sample.y, "lasso"))


@pytest.mark.parametrize("jitter", [-0.1, 2.0, np.nan, "much", True])
def test_jitter(jitter):
    sample = make()
    refused("bad-option", "angle in radians", lambda: cross_fit(sample, 1 - 2 * sample.y, "lasso", jitter=jitter))


@pytest.mark.parametrize("random_state", [-1, 1.5, "one", True, np.random.RandomState(0)])
def test_random_state(random_state):
    refused("bad-option", "random_state must be", lambda: as_seed(random_state))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.zeros((40, 3)), r"shape \(40, 2\).*group 'red', group 'blue'"),
        ([["a", "b"]] * 40, "must be numbers"),
        (np.where(np.arange(80).reshape(40, 2) == 7, np.nan, 0.0), "1 rows are not, the first is row 3"),
    ],
)
def test_external_predictions(values, match):
    sample = make_sample(None, np.tile([0.0, 1.0], 20), np.repeat(["red", "blue"], 20), groups=("red", "blue"))
    refused("bad-nuisance", match, lambda: external_nuisance(sample, 1 - 2 * sample.y, values))


class Fails(LinearRegression):
    """Fails where the first covariate's smallest value is missing from training."""

    def fit(self, X, y, sample_weight=None):
        if X[:, 0].min() > -90:
            raise ZeroDivisionError("no luck")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failing_learner_is_told_with_fold_group_and_reason(n_jobs):
    sample = make()
    sample.X[13, 0] = -99.0
    folds = np.arange(40) % 4  # row 13 is in fold 2
    with pytest.raises(
        LearnerError, match=r"'Fails' failed \(.*fold 2 of 4, group 'red'\): ZeroDiv.*no luck"
    ) as caught:
        cross_fit(sample, 1 - 2 * sample.y, Fails(), folds=folds, n_jobs=n_jobs)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


class Stubborn(Exception):
    """An error that cannot travel between processes."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")


class Unpicklable(LinearRegression):
    """Fails with such an error."""

    def fit(self, X, y, sample_weight=None):
        raise Stubborn("very", "odd")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_that_cannot_be_pickled_keeps_its_words(n_jobs):
    sample = make()
    with pytest.raises(LearnerError, match="Stubborn: very odd"):
        cross_fit(sample, 1 - 2 * sample.y, Unpicklable(), n_folds=2, n_jobs=n_jobs)


class Warns(LinearRegression):
    """Warns when it is fitted."""

    def fit(self, X, y, sample_weight=None):
        warnings.warn("It is warm.", RuntimeWarning, stacklevel=2)
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_warnings_of_a_learner_are_given_here_in_whatever_process_it_runs(n_jobs):
    sample = make()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        cross_fit(sample, 1 - 2 * sample.y, Warns(), n_folds=2, n_jobs=n_jobs)
    own = [warning for warning in found if warning.category is RuntimeWarning]
    assert {str(warning.message) for warning in own} == {"It is warm."}
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", RuntimeWarning)
        cross_fit(sample, 1 - 2 * sample.y, Warns(), n_folds=2, n_jobs=n_jobs)
    assert RuntimeWarning not in {warning.category for warning in found}
