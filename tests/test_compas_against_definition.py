"""The COMPAS reader: the published counts, and its refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.shared import shared_path

from fairfrontier import FairFrontier
from fairfrontier.datasets import fetch_compas
from fairfrontier.errors import InputError, MarginWarning


def test_rows_and_filters():
    path = shared_path("data", "compas_two_years.csv")
    data = fetch_compas(path=path)
    assert len(data.y) == 5278  # 3,175 African-American and 2,103 Caucasian people in the usual analyses
    assert np.count_nonzero(data.sensitive_features == "African-American") == 3175
    assert len(data.y) + sum(data.excluded.values()) == len(pd.read_csv(path))
    assert set(data.decile_score) == set(range(1, 11))
    assert set(data.y) == {0, 1}
    assert data.X.shape == (5278, 7)


def test_discrete_covariates_make_thousands_of_directions_and_no_warning():
    data = fetch_compas(path=shared_path("data", "compas_two_years.csv"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MarginWarning)
        ff = FairFrontier(learner="factored-logit", n_rep=1, random_state=0).fit(
            data.X, data.y, sensitive_features=data.sensitive_features
        )
    assert ff.diagnostics_.n_directions > 3000


def test_refusals(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        fetch_compas(path=tmp_path / "absent.csv")
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="lacks the columns"):
        fetch_compas(path=tmp_path / "other.csv")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
@pytest.mark.parametrize("with_score", [False, True])
def test_the_alternative_is_found_only_with_the_score(with_score):
    """Decile 5 or more as the decision: p-values of the three methods over ten seeds of the cross-fitting."""
    data = fetch_compas(path=shared_path("data", "compas_two_years.csv"))
    X = data.X.assign(decile_score=data.decile_score) if with_score else data.X
    decisions = (data.decile_score >= 5).astype(int)
    claims = 0
    for seed in range(10):
        ff = FairFrontier(learner="factored-boosting", n_rep=1, random_state=seed, n_jobs=2)
        ff.fit(X, data.y, sensitive_features=data.sensitive_features)
        tests = {method: ff.test_lda(decisions, method=method) for method in ("robust", "sharp", "paper")}
        print(seed, with_score, {method: round(t.p_value, 3) for method, t in tests.items()}, tests["robust"].verdict)
        claims += tests["robust"].verdict == "lda-shown"
    assert claims >= 5 if with_score else claims == 0
