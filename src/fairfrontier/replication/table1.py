"""Table I of Liu and Molinari (2025): rejection rates of three tests in two designs.

Each replication draws one sample and fits the nuisance functions twice: as published (plain three-class lasso tuned in
every fold, folds drawn independently) for the published procedures, and by the adaptive lasso, tuned once, for our own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from ..arrays import FloatArray
from ..data.algorithms import Asked
from ..datasets import liu_molinari_truth, make_liu_molinari
from ..datasets.designs import Design
from ..estimator import FairFrontier
from ..inference import questions
from .workers import Outcome, Task

DESIGNS = ("balanced", "skewed")
POINTS = ("R", "B", "(R+B)/2", "e*")
CANDIDATES = 2000
"""Pairs (R, B) that the published test of weak group skew looks at."""

PUBLISHED: Mapping[tuple[str, int, str], Mapping[str, float]] = {
    ("best points", 1000, "balanced"): {"(R, B) left out": 0.035, "weak skew rejected": 0.999},
    ("best points", 1000, "skewed"): {"(R, B) left out": 0.12, "weak skew rejected": 0.0},
    ("best points", 5000, "balanced"): {"(R, B) left out": 0.012, "weak skew rejected": 1.0},
    ("best points", 5000, "skewed"): {"(R, B) left out": 0.021, "weak skew rejected": 0.0},
    ("best points", 10000, "balanced"): {"(R, B) left out": 0.01, "weak skew rejected": 1.0},
    ("best points", 10000, "skewed"): {"(R, B) left out": 0.012, "weak skew rejected": 0.0},
    ("LDA", 1000, "balanced"): {"R": 0.046, "B": 0.104, "(R+B)/2": 0.145, "e*": 0.397},
    ("LDA", 1000, "skewed"): {"R": 0.051, "B": 0.236, "(R+B)/2": 0.073, "e*": 0.162},
    ("LDA", 5000, "balanced"): {"R": 0.026, "B": 0.037, "(R+B)/2": 0.993, "e*": 1.0},
    ("LDA", 5000, "skewed"): {"R": 0.018, "B": 0.043, "(R+B)/2": 0.059, "e*": 1.0},
    ("LDA", 10000, "balanced"): {"R": 0.026, "B": 0.029, "(R+B)/2": 1.0, "e*": 1.0},
    ("LDA", 10000, "skewed"): {"R": 0.007, "B": 0.039, "(R+B)/2": 0.264, "e*": 1.0},
    ("distance", 1000, "balanced"): {"R": 0.242, "B": 0.273, "(R+B)/2": 0.251, "e*": 0.159},
    ("distance", 1000, "skewed"): {"R": 0.063, "B": 0.048, "(R+B)/2": 0.052, "e*": 0.204},
    ("distance", 5000, "balanced"): {"R": 0.081, "B": 0.097, "(R+B)/2": 0.088, "e*": 0.051},
    ("distance", 5000, "skewed"): {"R": 0.019, "B": 0.027, "(R+B)/2": 0.017, "e*": 0.077},
    ("distance", 10000, "balanced"): {"R": 0.069, "B": 0.078, "(R+B)/2": 0.073, "e*": 0.046},
    ("distance", 10000, "skewed"): {"R": 0.012, "B": 0.024, "(R+B)/2": 0.013, "e*": 0.034},
}
"""The published rejection rates, by test, sample size and design; 1,000 replications each."""
PUBLISHED_REPLICATIONS = 1000
GRID = {"n_penalties": 50, "n_tuning_folds": 10}
"""Penalties tried, and folds used to choose among them."""
PROCEDURES = 4
"""To be raised when a change of the package changes results: rows of different numbers never share a store.

2: version 0.1.0, random weights of the draws keyed by the rows' position in the sweep; 3: keyed by the rows themselves;
4: our test of group skew by gaps, published draws of (R, B) without an outer positive part, published distances by
search.
"""


def settings(n_boot: int = 1000, directions: int = 1000, alpha: float = 0.05) -> dict[str, Any]:
    """Everything besides the code on which a replication depends."""
    return {
        "study": "Table I",
        "procedures": PROCEDURES,
        "n_boot": n_boot,
        "directions": directions,
        "directions (R, B)": 100,
        "candidates (R, B)": CANDIDATES,
        "alpha": alpha,
        "published learner": {
            "learner": "logit-lasso",
            "learner_params": {"adaptive": False, "tune_on_folds": True} | GRID,
            "folds": "independent",
        },
        "own learner": {"learner_params": {"tune_on_folds": False} | GRID},
    }


def versions() -> dict[str, str]:
    """Versions of what the results depend on."""
    return {name: version(name) for name in ("fairfrontier", "numpy", "scipy", "scikit-learn", "numba")}


def tasks(
    replications: int, sizes: tuple[int, ...], designs: tuple[str, ...], options: Mapping[str, Any]
) -> list[Task]:
    """All replications, number by number, so that a part of them is a study of its own."""
    return [
        Task(f"{design}/{n:06d}/{number:06d}", (number, n, design, dict(options)))
        for number in range(replications)
        for n in sizes
        for design in designs
    ]


@lru_cache(maxsize=1)
def status_quo() -> LogisticRegression:
    """Return the algorithm in use: a logistic regression trained once on 5,000 rows of each design."""
    one, other = make_liu_molinari(5000, "balanced", [7, 0]), make_liu_molinari(5000, "skewed", [7, 1])
    model = LogisticRegression(C=float("inf"), max_iter=1000)
    return model.fit(pd.concat([one.X, other.X]), np.concatenate([one.y, other.y]))


@lru_cache(maxsize=2)
def true_points(design: str) -> dict[str, FloatArray]:
    """Population risk pairs: R, B, their middle, F, and e* of the algorithm in use."""
    truth = liu_molinari_truth(cast(Design, design))
    e_star = truth.risks(lambda X: status_quo().predict_proba(X)[:, 1])
    return {"R": truth.R, "B": truth.B, "(R+B)/2": (truth.R + truth.B) / 2.0, "e*": e_star, "F": truth.F}


@dataclass(frozen=True, slots=True)
class DrawnSample:
    """The sample of a replication, the decisions of the algorithm in use, and the seeds of what is done with it."""

    X: pd.DataFrame
    y: Any
    group: Any
    lottery: FloatArray
    fit_seed: np.random.SeedSequence
    candidate_seed: np.random.SeedSequence
    descent_seed: np.random.SeedSequence


def draw_sample(number: int, n: int, design: str) -> DrawnSample:
    """Draw the sample of a replication, which its number alone decides."""
    data_seed, *seeds = np.random.SeedSequence([n, number, DESIGNS.index(design), 61]).spawn(4)
    X, y, group = make_liu_molinari(n, cast(Design, design), np.random.default_rng(data_seed))
    return DrawnSample(X, y, group, status_quo().predict_proba(X)[:, 1], *seeds)


def replicate(number: int, n: int, design: str, options: Mapping[str, Any]) -> Outcome:
    """Do one replication: p-values and whether intervals miss, by procedure; core seconds of fitting and inference."""
    truth = true_points(design)
    sample = draw_sample(number, n, design)
    result: dict[str, float] = {}
    seconds: dict[str, float] = {}
    for kind in ("published", "own"):
        start = time.process_time()
        common = {"n_boot": options["n_boot"], "alpha": options["alpha"], "random_state": sample.fit_seed}
        ff = FairFrontier(n_rep=1, **common | {"learner": "logit-lasso"} | options[f"{kind} learner"])
        ff.fit(sample.X, sample.y, sensitive_features=sample.group)
        fitted = time.process_time()
        run = _published if kind == "published" else _own
        found = run(ff, truth, sample.lottery, options, sample.candidate_seed)
        result |= {f"{kind}: {name}": value for name, value in found.items()}
        seconds |= {f"{kind} fit": fitted - start, f"{kind} inference": time.process_time() - fitted}
    return result, seconds


def _published(
    ff: FairFrontier, truth: Mapping[str, FloatArray], lottery: FloatArray, options: Mapping[str, Any], seed: Any
) -> dict[str, float]:
    directions, pair = options["directions (R, B)"], (truth["R"], truth["B"])
    result = {"(R, B) left out": float(ff.test_best_points(*pair, directions=directions).p_value[0])}
    result["weak skew rejected"] = ff.test_group_skew(method="paper").p_value
    # the published test looks at pairs drawn about the estimates and rejects if none that is accepted fits the null
    estimates = ff.points_.to_numpy()[:2, :2]
    scale = np.sqrt(np.log(ff.n_obs_) / ff.n_obs_)
    shape = (options["candidates (R, B)"], 2)
    R, B = (point + scale * np.random.default_rng(child).normal(size=shape) for point, child in zip(
        estimates, seed.spawn(2), strict=True
    ))  # fmt: skip
    null = (R[:, 1] - R[:, 0]) * (B[:, 1] - B[:, 0]) >= 0.0
    p_values = ff.test_best_points(R[null], B[null], directions=directions).p_value if null.any() else np.zeros(1)
    result["weak skew rejected, random pairs"] = float(max(p_values.max(), 0.0))
    for kinks in (True, False):
        label = "" if kinks else ", no kinks"
        tests = _lda(ff, truth, lottery, method="paper", directions=options["directions"], kinks=kinks)
        result |= {f"LDA{label} {name}": value for name, value in tests.items()}
        found = _distances(ff, truth, lottery, method="paper", kinks=kinks)
        result |= {f"distance{label} {name}": value for name, value in found.items()}
    return result


def _own(
    ff: FairFrontier, truth: Mapping[str, FloatArray], lottery: FloatArray, options: Mapping[str, Any], seed: Any
) -> dict[str, float]:
    result = {"weak skew rejected": ff.test_group_skew().p_value}
    result["(R, B) left out"] = float(ff.test_best_points(truth["R"], truth["B"]).p_value[0])
    for method in ("robust", "sharp"):
        result |= {f"LDA {method} {name}": value for name, value in _lda(ff, truth, lottery, method=method).items()}
    return result | {f"distance {name}": value for name, value in _distances(ff, truth, lottery).items()}


def _lda(ff: FairFrontier, truth: Mapping[str, FloatArray], lottery: FloatArray, **how: Any) -> dict[str, float]:
    """P-values of the test that there is no LDA."""
    fixed = {name: truth[name] for name in POINTS[:3]}
    tests = questions.lda_tests(ff.fit_, questions.algorithms_of(ff.fit_, Asked(risks=fixed)), **how)
    own = questions.algorithms_of(ff.fit_, Asked({"e*": lottery}, randomised=True))
    in_use = questions.lda_tests(ff.fit_, own, **how)["e*"]
    # single tests, as published: no adjustment for their number
    return {name: tests[name].p_value for name in fixed} | {"e*": in_use.p_value}


def _distances(ff: FairFrontier, truth: Mapping[str, FloatArray], lottery: FloatArray, **how: Any) -> dict[str, float]:
    """Whether the interval of the squared distance to F misses the true one (1 or 0), its ends, and the estimated F."""
    fixed = {name: truth[name] for name in POINTS[:3]}
    known = questions.algorithms_of(ff.fit_, Asked(risks=fixed))
    intervals = questions.distances(ff.fit_, known, metric="sqeuclidean", **how)
    own = questions.algorithms_of(ff.fit_, Asked({"e*": lottery}, randomised=True))
    in_use = questions.distances(ff.fit_, own, metric="sqeuclidean", **how)["e*"]
    found = {f"F {label}": round(float(risk), 6) for label, risk in zip("rb", in_use.fairest.risk, strict=True)}
    for name in POINTS:
        low, high = (in_use if name == "e*" else intervals[name]).conf_int()
        true = float(((truth[name] - truth["F"]) ** 2).sum())
        found[name] = float(not low - 1e-12 <= true <= high + 1e-12)
        found |= {f"{name} low": round(low, 6), f"{name} high": round(high, 6)}
    return found
