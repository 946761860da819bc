"""What a FrontierRule refuses, with the code of each refusal."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.people import LOGIT, fitted
from support.people import people as all_people
from support.refusals import code_of

from fairfrontier import FrontierRule, LinearFrontierRule
from fairfrontier.errors import InputError, NotFittedError


def people():
    return all_people(60)


def test_preferences_that_are_refused():
    rows = people()
    for name, hint in (("utilitarain", "'utilitarian'"), ("best-for", "'best-for:"), ("Rawlsian", "'rawlsian'")):
        with pytest.raises(InputError, match=f"Did you mean {hint}") as caught:
            fitted(name, rows)
        assert caught.value.code == "bad-option"
    assert code_of(lambda: fitted("best-for:children", rows)) == "unknown-group"
    assert code_of(lambda: fitted((1, 1), rows, direction=(-1, 0))) == "bad-option"
    for pair in ((0, 0), (-1, 2), (1, 2, 3), 3, (np.nan, 1), (np.inf, 1), ("a", "b"), {"men": 1}):
        assert code_of(lambda pair=pair: fitted(pair, rows)) == "bad-option"
    for direction in ((0, 0), (np.nan, 1), (1, 2, 3), [(-1, 0), (0, -1)], "up"):
        assert code_of(lambda direction=direction: fitted(data=rows, direction=direction)) == "bad-direction"


def with_cell(value):
    X = people()[0]
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    ("X", "code"),
    [
        (np.zeros((5, 2)), "bad-features"),
        (np.zeros(3), "bad-features"),
        (np.zeros((0, 3)), "bad-features"),
        ([["a", "b", "c"]], "bad-features"),
        (with_cell(np.nan), "missing-values"),
        (with_cell(np.inf), "non-finite"),
    ],
)
def test_rows_that_cannot_be_decided_on(X, code):
    rule = fitted(data=people())
    for method in (rule.predict, rule.predict_proba, rule.decision_function, rule.draw, rule.recalibrate):
        assert code_of(lambda method=method: method(X)) == code


@pytest.mark.parametrize(("value", "code"), [(np.nan, "missing-values"), (np.inf, "non-finite")])
@pytest.mark.parametrize("kind", [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X, schema=["a", "b", "c"])])
def test_cells_that_are_no_numbers(value, code, kind):
    _, y, g = people()
    assert code_of(lambda: fitted(data=(kind(with_cell(value)), y, g))) == code


def test_frames_without_rows_or_names():
    names = ["a", "b", "c"]
    X, y, g = people()
    rule = fitted(data=(pd.DataFrame(X, columns=names), y, g))
    assert code_of(lambda: rule.predict(pd.DataFrame(X[:0], columns=names))) == "empty-data"
    assert code_of(lambda: rule.predict(pd.DataFrame(X, columns=["a", "b", "d"]))) == "bad-features"


@pytest.mark.parametrize("kind", [FrontierRule, LinearFrontierRule])
def test_before_fitting(kind):
    X = people()[0]
    rule = kind(learner=LOGIT)
    for method in (rule.predict, rule.predict_proba, rule.decision_function, rule.draw, rule.recalibrate):
        with pytest.raises(NotFittedError, match=f"This {kind.__name__} is not fitted"):
            method(X)


GAPS = np.where(np.arange(60) == 3, np.nan, people()[1])


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (None, "outcome-not-binary"),
        (np.arange(60) % 3, "outcome-not-binary"),
        (np.linspace(0, 1, 60), "outcome-not-binary"),
        (np.ones(60, dtype=int), "constant-outcome"),
        (people()[1][:-1], "length-mismatch"),
        (GAPS, "missing-values"),
        (pd.Series(GAPS).astype("Int64"), "missing-values"),
        (pd.Series(GAPS).map({0: "no", 1: "yes"}), "missing-values"),
        (pl.Series([None if np.isnan(value) else int(value) for value in GAPS]), "missing-values"),
    ],
)
def test_outcomes_that_cannot_be_used(outcome, code):
    X, y, g = people()
    assert code_of(lambda: fitted(data=(X, outcome, g))) == code
    assert code_of(lambda: fitted(data=(X, y, g), positive=7)) == "outcome-not-binary"


def test_options_that_cannot_be_used():
    rows = X, y, _ = people()
    for options, code in (
        ({"loss": "clasification"}, "bad-loss"),
        ({"learner": "logit-laso"}, "unknown-learner"),
        ({"learner": object()}, "bad-learner"),
        ({"learner_params": {"depth": 3}}, "bad-option"),
        ({"random_state": -1}, "bad-option"),
        ({"groups": ("men", "children")}, "unknown-group"),
        ({"lower": 0.6, "upper": 0.5}, "bad-bounds"),
        ({"lower": -0.1}, "bad-bounds"),
        ({"upper": 1.1}, "bad-bounds"),
        ({"upper": "high"}, "bad-bounds"),
        ({"lower": True}, "bad-bounds"),
        ({"lower": np.zeros(60)}, "bad-bounds"),
        ({"upper": lambda X: X[:, 0]}, "bad-bounds"),
        ({"upper": lambda X: np.ones(len(X) + 1)}, "length-mismatch"),
        ({"lower": 0.3, "capacity": 0.2}, "bad-capacity"),
        *(({"capacity": bad}, "bad-capacity") for bad in (0.0, -0.1, 1.1, np.nan, "1", True)),
    ):
        assert code_of(lambda options=options: fitted(data=rows, **options)) == code, options
    assert code_of(lambda: fitted(data=(X, y, np.full(60, "men")))) == "one-group"
    assert code_of(lambda: fitted(data=rows, fit={"sample_weight": -np.ones(60)})) == "bad-weights"


def test_options_of_a_learner_that_are_no_mapping():
    assert code_of(lambda: fitted(data=people(), learner="factored-logit", learner_params=3)) == "bad-option"
