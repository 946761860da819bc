"""One repetition of the study's two exercises: tests of four algorithms, and rules learned on a random half."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ...arrays import BoolArray, FloatArray, IntArray
from ...data.algorithms import Asked
from ...data.losses import get_loss
from ...data.sample import make_sample
from ...datasets.obermeyer import PERCENTILE, HospitalData
from ...errors import ColumnsWarning
from ...estimator import FairFrontier
from ...frontier.plane import unit_circle
from ...frontier.sets import attained_hull
from ...inference import questions
from ...learning.cross_fitting import fit_on_all
from ...learning.learners import resolve_learner
from ..workers import Outcome, Task
from .counterfactual import score_percentiles
from .source import GROUPS, LOOK_ALIKE, PUBLISHED_ROWS, Source, digest, open_source

THRESHOLDS = range(55, 100)
LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "logit-lasso": {"adaptive": False, "tune_on_folds": True, "n_penalties": 50, "n_tuning_folds": 10},
    "forest": {},
    "boosting": {"tune_on_folds": False},
}
"""Learners, with the settings under which the paper's numbers were found where it used them."""
RULES = {"Rawlsian": (-1.0, 0.0), "Majority": (0.0, -1.0), "Utilitarian": (-1.0, -1.0)}
"""Directions of the paper's rules; that of its Egalitarian rule is estimated."""
EGALITARIAN = "Egalitarian"
DECISIONS = {"treated": "selected", "untreated": "not selected"}
"""Keys of the two decisions in stored repetitions, which stay as they are, with the words for them."""


def settings(data: str, learner: str, *, rows: int = PUBLISHED_ROWS, n_boot: int = 1000, directions: int = 1000) -> Any:
    """Everything besides the code on which a repetition depends; a file counts by its content."""
    return {
        "study": "hospital",
        "procedures": 2,  # to be raised when a change of the package changes results; 1: the draws of version 0.1.0
        "data": f"{rows} generated patients" if data == LOOK_ALIKE else digest(data),
        "learner": learner,
        "learner_params": dict(LEARNERS[learner]),
        "folds": "independent",
        "n_boot": n_boot,
        "directions": directions,
        "alpha": 0.05,
        "scikit-learn": version("scikit-learn"),
    }


@dataclass(frozen=True, slots=True)
class Study:
    """Patients and settings; makes the tasks and does them."""

    data: str
    options: Mapping[str, Any]
    rows: int = PUBLISHED_ROWS

    @property
    def source(self) -> Source:
        """The patients."""
        return open_source(self.data, self.rows)

    def cuts(self) -> dict[int, int]:
        """Number of conditions above which a patient counts as in need, for every threshold."""
        conditions = self.source.patients.outcomes["conditions"].to_numpy()
        return {t: int(np.percentile(conditions, t)) for t in THRESHOLDS}

    def need(self, cut: int) -> IntArray:
        """Who has more conditions than ``cut``."""
        return np.asarray(self.source.patients.outcomes["conditions"].to_numpy() > cut, dtype=np.intp)

    def frontier(self, seed: Any) -> FairFrontier:
        """Return an unfitted `FairFrontier` with the study's settings."""
        names = ("learner", "learner_params", "folds", "n_boot", "alpha")
        given = {name: self.options[name] for name in names}
        return FairFrontier(**given, n_rep=1, groups=GROUPS, random_state=seed)

    def lda_tasks(self, repetitions: int) -> list[Task]:
        """Tests of the four algorithms, once per seed."""
        return [Task(f"tests/{number:04d}", (judge_algorithms, self, number)) for number in range(repetitions)]

    def direction_tasks(self) -> list[Task]:
        """Estimates of the fairest point's direction, once per definition of need."""
        return [Task(f"direction/{cut:04d}", (find_fairest, self, cut)) for cut in sorted(set(self.cuts().values()))]

    def rule_tasks(self, repetitions: int, fairest: Mapping[int, Sequence[float]]) -> list[Task]:
        """Rules learned on a random half of the patients and applied to the other, once per seed."""
        return [
            Task(f"rules/{number:04d}", (learn_rules, self, number, dict(fairest))) for number in range(repetitions)
        ]


def repeat(exercise: Callable[..., Outcome], *arguments: Any) -> Outcome:
    """Do one repetition of an exercise; returns its result and the core seconds of its parts."""
    return exercise(*arguments)


def _fit(ff: FairFrontier, patients: HospitalData, y: IntArray) -> None:
    """Fit on the columns of the published study, whatever they look like."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnsWarning)
        ff.fit(patients.X, y, sensitive_features=patients.sensitive_features)


def judge_algorithms(study: Study, number: int) -> Outcome:
    """Do the tests and distances of the four algorithms with one seed."""
    patients = study.source.patients
    start = time.process_time()
    ff = study.frontier(np.random.SeedSequence([number, 73]))
    _fit(ff, patients, patients.y)
    fitted = time.process_time()
    algorithms = {name: patients.selected(name) for name in patients.scores.columns}
    R, B, F = ff.points_.to_numpy()[:, :2]
    result: dict[str, Any] = {"BL": _rounded(R), "WH": _rounded(B), "F": round(float(F.mean()), 6)}
    result["configuration"] = ff.configuration_
    skew = ff.test_group_skew(method="paper")
    result["weak skew p"], result["weak skew p, own"] = skew.p_value, ff.test_group_skew().p_value
    asked = questions.algorithms_of(ff.fit_, Asked(algorithms))
    published = questions.lda_tests(ff.fit_, asked, method="paper", directions=study.options["directions"])
    robust = questions.lda_tests(ff.fit_, asked)
    distances = questions.distances(ff.fit_, asked, metric="sqeuclidean", method="paper")
    own = questions.distances(ff.fit_, asked, metric="sqeuclidean")
    for name, decisions in algorithms.items():
        risks, test = ff.risks(decisions), published[name]
        result[name] = {
            "risks": _rounded(risks.risk),
            "selection rates": _rounded(risks.selection_rate),
            "statistic": round(test.statistic, 6),
            "critical value": round(test.critical_value, 6),
            "rejected": bool(test.reject),
            "verdict": robust[name].verdict,
            "robust p": robust[name].p_value,
            "distance": round(distances[name].estimate, 8),
            "interval": _rounded(distances[name].conf_int(), 8),
            "interval, own": _rounded(own[name].conf_int(), 8),
        }
    if number == 0:
        result["pictures"] = _pictures(ff, skew)
    return result, {"fit": fitted - start, "inference": time.process_time() - fitted}


def _pictures(ff: FairFrontier, skew: Any) -> dict[str, Any]:
    """What the figures show."""
    q = unit_circle(100)
    region, best = ff.frontier_confidence_set(), skew.confidence_set
    return {
        "set": _rounded(attained_hull(ff.support_function_.estimate)),
        "directions": _rounded(q),
        "support": _rounded(ff.support(q)),
        "frontier": _rounded(ff.frontier().points),
        "region": [_rounded(polygon) for polygon in region.polygons],
        "best for Black": _rounded(best.outline_r),
        "best for White": _rounded(best.outline_b),
    }


def find_fairest(study: Study, cut: int) -> Outcome:
    """Estimate the direction of the fairest point when need is having more conditions than ``cut``."""
    patients = study.source.patients
    start = time.process_time()
    ff = study.frontier(np.random.SeedSequence([cut, 79]))
    _fit(ff, patients, study.need(cut))
    q = ff.points_.to_numpy()[2, 2:4]
    return {"direction": [float(value) for value in q]}, {"fit": time.process_time() - start}


def learn_rules(study: Study, number: int, fairest: Mapping[int, Sequence[float]]) -> Outcome:
    """Learn on a random half; shares of Black patients among those whom each rule selects in the other half."""
    black = study.source.black
    start = time.process_time()
    wanted = study.cuts()
    split, *seeds = np.random.SeedSequence([number, 83]).spawn(1 + len(fairest))
    order = np.random.default_rng(split).permutation(len(black))
    train, held = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    shares: dict[str, dict[str, float | None]] = {}
    health: dict[str, Any] = {}
    for (cut, egalitarian), seed in zip(sorted(fairest.items()), seeds, strict=True):
        t, mu = _learn(study, train, held, cut, seed)
        for rule, q in (RULES | {EGALITARIAN: tuple(egalitarian)}).items():
            k = t @ (np.array(q) / mu)
            for threshold in (threshold for threshold, needed in wanted.items() if needed == cut):
                selected = (k > 0.0) & (k >= np.percentile(k, threshold))
                among = black[held][selected]
                shares.setdefault(rule, {})[str(threshold)] = round(float(among.mean()), 6) if len(among) else None
                if threshold == int(PERCENTILE):
                    health[rule] = _health_by_score(study.source, held, selected)
    return {"shares": shares, "health": health}, {"all": time.process_time() - start}


def _learn(study: Study, train: IntArray, held: IntArray, cut: int, seed: Any) -> tuple[FloatArray, FloatArray]:
    """Learn the nuisance functions on one half; returns their predictions on the other, and the group shares."""
    patients, need = study.source.patients, study.need(cut)
    sample = make_sample(
        patients.X.iloc[train], need[train], patients.sensitive_features[train], groups=GROUPS, binary=True
    )
    l0, l1 = get_loss("classification").at_decisions(sample.y)
    learner = resolve_learner(study.options["learner"], **study.options["learner_params"])
    fitted = fit_on_all(sample, l1 - l0, learner, random_state=seed)
    return fitted.predict(patients.X.iloc[held]).delta_theta, np.array(sample.groups.shares)


def _health_by_score(source: Source, held: IntArray, selected: BoolArray) -> dict[str, Any]:
    """Sums of conditions and numbers of patients by percentile of the hospital's score, group and decision."""
    patients = source.patients
    bins = score_percentiles(patients.scores["hospital score"].to_numpy())[held] - 1
    conditions = patients.outcomes["conditions"].to_numpy(dtype=float)[held]
    found: dict[str, Any] = {}
    for group, members in zip(GROUPS, (source.black[held], ~source.black[held]), strict=True):
        for key, chosen in zip(DECISIONS, (selected, ~selected), strict=True):
            kept = members & chosen
            found[f"{group} {key}"] = {
                "sum": np.bincount(bins[kept], conditions[kept], minlength=100).tolist(),
                "count": np.bincount(bins[kept], minlength=100).tolist(),
            }
    return found


def _rounded(values: Any, digits: int = 6) -> Any:
    return np.round(np.asarray(values, dtype=float), digits).tolist()
