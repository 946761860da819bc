"""Thousands of random cases of use: every call ends in a sound result or in a documented error, never in anything else.

`fuzz_inputs` draws the cases, `fuzz_cases` plays them, `fuzz_results` says what a sound result is. Cases are known by
number: `play(number)` repeats one.
"""

import os
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.fuzz_cases import play
from support.fuzz_inputs import LeastSquares, Surprise
from support.people import GROUPS, fitted, frontier, people
from support.refusals import code_of

from fairfrontier import FairFrontier, LinearFrontierRule
from fairfrontier.errors import InputError

PARTS, PART, TOURS = 2, 40, range(1, 9)
SLOW_CASES = int(os.environ.get("FAIRFRONTIER_FUZZ_CASES", "8000"))
ENTRY_POINTS = {
    "fit", "risks", "support", "support_set", "support_covariance", "frontier", "pareto_frontier", "feasible_set",
    "confidence_band", "feasible_set tests", "test_lda", "test_frontier", "test_pareto", "test_best_points",
    "test_group_skew", "distance_to_fairest", "fairest_point", "frontier_confidence_set", "pareto_confidence_set",
    "summary", "plot", "to_json", "report", "rule", "alternatives", "select", "predict_proba", "predict", "draw",
    "decision_function", "recalibrate", "evaluate", "FrontierRule.fit", "LinearFrontierRule.fit", "restriction",
}  # fmt: skip


def tally(numbers, tour=False):
    """Play cases and count how their calls ended; the first surprise ends it."""
    ends = Counter()
    for number in numbers:
        ends.update(play(number, tour))
    return ends


def results_of(ends):
    """Entry points that gave results, and how many."""
    return {entry: count for (entry, end), count in ends.items() if end == "result"}


def check_shares(ends, n_cases):
    """The cases are worth playing: many fits succeed, and most calls after them are answered."""
    results = results_of(ends)
    assert 0.35 * n_cases < results["fit"] < 0.9 * n_cases
    calls = sum(count for (entry, _), count in ends.items() if entry != "fit")
    answered = sum(count for entry, count in results.items() if entry != "fit")
    assert 0.6 * calls < answered < 0.95 * calls


@pytest.mark.parametrize("part", range(PARTS))
def test_every_call_ends_in_a_result_or_in_a_documented_error(part):
    ends = tally(range(part * PART, (part + 1) * PART))
    check_shares(ends, PART)
    assert len(results_of(ends)) > 20


def test_every_entry_point_gives_results():
    assert set(results_of(tally(TOURS, tour=True))) >= ENTRY_POINTS


@pytest.mark.slow
def test_thousands_of_cases(capsys):
    ends, surprises = Counter(), []
    for number in range(1000, 1000 + SLOW_CASES):
        try:
            ends.update(play(number))
        except Surprise as surprise:
            surprises.append(str(surprise))
            with capsys.disabled():
                print(surprise, flush=True)
    with capsys.disabled():
        print("\n" + "\n".join(report_of(ends, len(surprises))), flush=True)
    assert not surprises
    if SLOW_CASES >= 1000:
        check_shares(ends, SLOW_CASES)
        assert set(results_of(ends)) >= ENTRY_POINTS


def report_of(ends, n_surprises):
    """Lines that tell how calls ended, in all and by entry point."""
    by_end = Counter()
    for (_, end), count in ends.items():
        by_end[end] += count
    yield f"{SLOW_CASES} cases, {n_surprises} surprises, {sum(by_end.values())} calls"
    yield ", ".join(f"{end} {count}" for end, count in by_end.most_common())
    for entry in sorted({entry for entry, _ in ends}):
        own = Counter({end: count for (name, end), count in ends.items() if name == entry})
        yield f"  {entry}: " + ", ".join(f"{end} {count}" for end, count in own.most_common())


def _failing(self, q):
    raise ZeroDivisionError("division by zero")


def _curt(self, q):
    raise InputError("bad-direction", "no")


def _warning(self, q):
    warnings.warn("divide by zero", RuntimeWarning, stacklevel=1)
    return np.ones(1)


def _unsound(self, q):
    return np.array([np.nan])


@pytest.mark.parametrize(
    ("fault", "seen"),
    [
        (_failing, "ZeroDivisionError: division by zero"),
        (_curt, "short message"),
        (_warning, "RuntimeWarning: divide by zero"),
        (_unsound, "not finite"),
    ],
)
def test_faults_would_be_seen(fault, seen, monkeypatch):
    monkeypatch.setattr(FairFrontier, "support", fault)
    with pytest.raises(Surprise, match=seen):
        tally(range(100))


# --- what such cases have found -----------------------------------------------------------------------

X, Y, G = people(60)
DECISIONS = (X[:, 0] > 0.0).astype(int)
FIRST = [G.tolist().index(label) for label in GROUPS]  # a row of each group
FEW = np.isin(np.arange(60), FIRST).astype(float)  # weights of these two rows only


def two_folds(**options):
    """A fit in which all rows with weight lie in one fold, so that nothing can be learned outside it."""
    ff = FairFrontier(learner=LeastSquares(), folds=np.where(FEW > 0, 0, np.arange(60) % 2), n_boot=99, **options)
    return ff.set_params(random_state=0).fit(X, Y, sensitive_features=G, sample_weight=FEW)


def two_infinities(values):
    changed = np.array(values, dtype=float)
    changed.flat[:2] = np.inf, -np.inf
    return changed


def divided(a, b):
    raise ZeroDivisionError


REFUSED = {
    "jobs": (lambda: frontier(n_jobs=0), "bad-option"),
    "jobs of a rule": (lambda: fitted(n_jobs="all"), "bad-option"),
    "tuning folds": (lambda: frontier(learner="lasso", learner_params={"n_tuning_folds": 0}), "bad-option"),
    "penalty": (lambda: LinearFrontierRule(C="strong").fit(X, Y, sensitive_features=G), "bad-option"),
    "metric": (
        lambda: frontier(n_boot=99).distance_to_fairest(risks=(0.4, 0.4), metric=divided).estimate,
        "bad-option",
    ),
    "place": (lambda: frontier(n_boot=99).to_json("/no/such/directory/file"), "bad-file"),
    "names": (lambda: frontier(n_boot=99).to_json("file", {1: people()[1], "1": people()[1]}), "bad-decisions"),
    "covariates": (lambda: fitted().fit(two_infinities(X), Y, sensitive_features=G), "non-finite"),
    "outcome": (lambda: fitted().fit(X, two_infinities(Y), sensitive_features=G), "non-finite"),
    "form": (
        lambda: LinearFrontierRule().fit(X, Y, sensitive_features=G).predict(pd.DataFrame(X)),
        "bad-features",
    ),
    "half without weight": (
        lambda: two_folds().alternatives(DECISIONS, held_out=True),
        "group-too-small",
    ),
    "fold without weight": (
        lambda: LinearFrontierRule().fit(X, Y, sensitive_features=G).restriction(two_folds()),
        "bad-weights",
    ),
}


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
@pytest.mark.parametrize("what", REFUSED)
def test_what_was_found_is_refused(what):
    call, code = REFUSED[what]
    assert code_of(call) == code


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
def test_what_was_found_is_answered(tmp_path):
    labels = pl.Series([3 if label == "men" else 10**20 for label in G], dtype=pl.Int128)
    assert frontier(data=(X, Y, labels)).groups_ == (10**20, 3)
    for options in ({}, {"bias_correction": "regret", "n_refits": 2}):
        assert np.isfinite(two_folds(**options).points_.to_numpy()).all()
    assert two_folds().to_json(tmp_path / "record.json", {7: DECISIONS}).exists()
    huge, plain = (LinearFrontierRule().fit(unit * X, Y, sensitive_features=G) for unit in (1e200, 1.0))
    np.testing.assert_allclose(huge.decision_function(1e200 * X), plain.decision_function(X), rtol=1e-9)
