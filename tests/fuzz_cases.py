"""Random cases of use: data in every form, options good and bad, and calls of every public method.

A case is played from its number alone, so a failure is repeated by `play(number)`. Each call must end in a result that
holds what is promised or in an error of the package with a helpful message, and may warn in the package's words only.
"""

import datetime
import functools
import io
import json
import sys
import tempfile
import traceback
import warnings
from decimal import Decimal
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, Loss, cost_loss, evaluate
from fairfrontier.errors import ERROR_CODES, FairFrontierError, FairFrontierWarning, InputError

NAN, INF = float("nan"), float("inf")
SHORTEST_MESSAGE = 20
SCIKIT_LEARN = ("X does not have valid feature names",)  # what every scikit-learn estimator says of other columns


class Surprise(Exception):
    """A call ended in neither a sound result nor an error of the package."""


# --- learners of a user -------------------------------------------------------------------------------


class LeastSquares(RegressorMixin, BaseEstimator):
    """Linear regression on the numbers of any frame; other columns do not count."""

    def fit(self, X, z, sample_weight=None):
        w = np.ones(len(z)) if sample_weight is None else np.sqrt(sample_weight)
        self.coef_ = np.linalg.lstsq(w[:, None] * self._columns(X), w * z, rcond=1e-10)[0]
        return self

    def predict(self, X):
        return self._columns(X) @ self.coef_

    def _columns(self, X):
        numbers = X.select_dtypes("number").to_numpy(dtype=float) if isinstance(X, pd.DataFrame) else X
        return np.column_stack([np.ones(len(X)), numbers])


class Constant(RegressorMixin, BaseEstimator):
    """The mean, or any other constant; takes no weights."""

    def __init__(self, value=None):
        self.value = value

    def fit(self, X, z):
        self.mean_ = z.mean() if self.value is None else self.value
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Frequencies(ClassifierMixin, BaseEstimator):
    """Class shares, whatever the covariates."""

    def fit(self, X, z, sample_weight=None):
        self.classes_, codes = np.unique(z, return_inverse=True)
        share = np.bincount(codes, sample_weight)
        self.share_ = share / share.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return np.full(len(X), self.classes_[self.share_.argmax()])


class Failing(RegressorMixin, BaseEstimator):
    """Fails in one of several ways."""

    def __init__(self, way="raise"):
        self.way = way

    def fit(self, X, z, sample_weight=None):
        if self.way == "raise":
            raise ValueError("no")
        return self

    def predict(self, X):
        return {"nan": np.full(len(X), NAN), "short": np.zeros(1), "text": np.array(["a"] * len(X))}[self.way]


PRESETS = ("logit-lasso", "factored-logit", "lasso", "forest", "boosting", "partially-linear", "nonsense")
QUICK = {
    "logit-lasso": {"n_penalties": 5, "n_tuning_folds": 2},
    "factored-logit": {"n_penalties": 5, "n_tuning_folds": 2},
    "lasso": {"n_penalties": 5, "n_tuning_folds": 2},
    "forest": {"n_estimators": 5},
    "boosting": {"max_iter": 5},
    "partially-linear": {"linear": (0, 1)},
}


def half_cost(d, y):
    return 0.5 * np.abs(d - y)


def far_cost(d, y):
    return 1e6 + 3.0 * np.square(d - y)


def negative_cost(d, y):
    return -d * y


def indifferent(d, y):
    return np.abs(y) + 0.0 * d


def own_distance(a, b):
    return float(abs(a[0] - b[0]) + 2.0 * abs(a[1] - b[1]))


def scalar_cost(d, y):
    return 1.0


def broken_cost(d, y):
    return np.log(d - y)


# --- columns and frames in every form -----------------------------------------------------------------


def forms_of_numbers(rng, values):
    """The same numbers in some container and type that can hold them."""
    values = np.asarray(values)
    whole = bool(np.all(values == np.round(values))) and float(np.abs(values).max(initial=0.0)) < 100
    forms = [
        lambda: values,
        lambda: values.tolist(),
        lambda: tuple(values.tolist()),
        lambda: values.astype(object),
        lambda: pd.Series(values, index=rng.permutation(len(values)) - 7),
        lambda: pd.Series(values, index=["same"] * len(values), name="column"),
        lambda: pl.Series("column", values),
        lambda: pd.Series(values).convert_dtypes(),
        lambda: np.ma.array(values),
        lambda: pd.Series([Decimal(str(v)) for v in values.tolist()]),
    ]
    if whole:
        forms += [
            lambda: values.astype(np.int8),
            lambda: values.astype(np.float32),
            lambda: values.astype(np.int64).tolist(),
            lambda: pl.Series(values.astype(np.int16)),
            lambda: pd.Series(values.astype(np.int64), dtype="Int8"),
        ]
    if whole and set(np.unique(values)) <= {0, 1}:
        forms += [
            lambda: values.astype(bool),
            lambda: values.astype(bool).tolist(),
            lambda: pd.Series(values.astype(bool), dtype="boolean"),
            lambda: pl.Series(values.astype(bool)),
        ]
    return forms[rng.integers(len(forms))]()


def converted(values):
    """Return a series of pandas' own types; older versions know none for complex numbers and warn of infinite ones."""
    series = pd.Series(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return series if series.dtype.kind == "c" else series.convert_dtypes()


def forms_of_labels(rng, codes, labels):
    """Labels by code, in some container; ``labels`` are two or more values."""
    values = [labels[c] for c in codes]
    obj = np.empty(len(values), dtype=object)
    obj[:] = values
    forms = [
        lambda: values,
        lambda: tuple(values),
        lambda: obj,
        lambda: pd.Series(obj, index=rng.permutation(len(values)) * 2),
        lambda: pd.Series(values, index=[3] * len(values)),
        lambda: pd.Series(pd.Categorical(values)),
        lambda: pd.Categorical(values),
        lambda: pd.Index(values),
        lambda: converted(values),
    ]
    if all(isinstance(label, str | int | float | bool) for label in labels) and len({type(x) for x in labels}) == 1:
        forms += [lambda: np.array(values), lambda: pl.DataFrame({"g": values}, strict=False)["g"]]
    if all(isinstance(label, str) for label in labels):
        forms += [
            lambda: pl.Series(values, dtype=pl.Categorical),
            lambda: pl.Series(values, dtype=pl.Enum(sorted(set(values)))),
            lambda: pd.Series(values, dtype="string"),
        ]
    return forms[rng.integers(len(forms))]()


GROUP_LABELS = (
    ("a", "b"), ("women", "men"), (0, 1), (2, 1), (False, True), (0.5, -1.5), ("", " "), ("<b>x</b>", "$y$ _z\n{}"),
    (Decimal("1"), Decimal("2")), (datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), ("1", "10"), ("e", "É中"),
    (pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01")), (10**20, 3), ("x" * 80, "y" * 80), ("risk", "gap"),
    (np.int64(4), np.int64(9)), (np.str_("u"), np.str_("v")), (pd.Interval(0, 1), pd.Interval(1, 2)), (-0.0, 1e300),
    (frozenset({1}), frozenset({2})), (b"x", b"y"), (1 + 2j, 2 + 1j), (datetime.timedelta(1), datetime.timedelta(2)),
)  # fmt: skip


class Case:
    """Everything about one case, drawn from its number."""

    def __init__(self, number):
        self.number = number
        self.rng = np.random.default_rng([7, number])
        self.log = []  # (entry point, "result" or code of the error)
        self.told = []  # what was done, for a failure's message
        self.foreign = SCIKIT_LEARN  # beginnings of warnings that come from a user's own learner
        self.slip = self.pick(*(0.0,) * 6, *(0.04,) * 3, 0.12)  # how often something is wrong

    # --- choosing ---

    def chance(self, p):
        return bool(self.rng.random() < p)

    def pick(self, *options):
        return options[self.rng.integers(len(options))]

    def mostly(self, usual, *odd, p=0.12, wrong=()):
        """The usual value, now and then one that is odd, and with slips one that is wrong."""
        if wrong and self.chance(self.slip):
            return self.pick(*wrong)
        return self.pick(*odd) if odd and self.chance(p) else usual

    # --- rows ---

    def draw_rows(self):
        rng = self.rng
        size = rng.random()
        low, high = (
            (20, 80) if size < 0.86 else (80, 300) if size < 0.97 else (300, 2000) if size < 0.996 else (2000, 20001)
        )
        n = self.n = int(rng.integers(low, high))
        x = rng.normal(size=(n, int(rng.integers(1, 4))))
        share = self.mostly(0.5, 0.3, 0.1, 0.01, p=0.4)
        self.codes = (rng.random(n) < share).astype(int)
        if self.codes.min() == self.codes.max():
            self.codes[:2] = 1 - self.codes[0]
        p1, p0 = expit(2.0 * x[:, 0] + 0.3), expit(-x[:, 0])
        self.y01 = (rng.random(n) < np.where(self.codes == 1, p1, p0)).astype(int)
        if self.y01.min() == self.y01.max():
            self.y01[0] = 1 - self.y01[0]
        self.pairs = np.column_stack([share * (1 - 2 * p1), (1 - share) * (1 - 2 * p0)])
        self.x = x

    def covariates(self):
        rng, n = self.rng, self.n
        x = self.x.copy()
        kind = self.mostly("plain", "rounded", "constant", "copies", "large", "small", "huge", p=0.3)
        if kind == "rounded":
            x = np.round(x).clip(-1, 1)
        elif kind == "constant":
            x[:, 0] = 3.0
        elif kind == "copies":
            x = np.hstack([x, x])
        elif kind in ("large", "small", "huge"):
            x = x * {"large": 1e6, "small": 1e-9, "huge": 1e160}[kind]
        names = [f"x{j}" for j in range(x.shape[1])]
        self.names = names
        form = self.mostly(
            "array", "pandas", "polars", "kinds", "polars kinds", "list", "object", "float32", "gaps", "sparse",
            "bool array", "multi", p=0.5,
            wrong=("infinite", "text array", "series", "no columns", "short", "none", "dates", "nested", "twins",
                   "lazy"),
        )  # fmt: skip
        frame = pd.DataFrame(x, columns=names, index=rng.permutation(n) + 100)
        with np.errstate(over="ignore"):
            single = x[:, 0].astype(np.float32)
        kinds = {
            "number": x[:, 0], "count": rng.integers(0, 5, n), "flag": rng.random(n) < 0.5,
            "text": rng.choice(["p", "q", "r"], n), "single": single,
        }  # fmt: skip
        with np.errstate(over="ignore"):
            forms = {
                "array": lambda: x,
                "pandas": lambda: frame,
                "polars": lambda: pl.DataFrame(x, schema=names),
                "kinds": lambda: pd.DataFrame(kinds).assign(
                    category=pd.Categorical(kinds["text"], categories=["r", "q", "p", "never"]),
                    nullable=pd.array(kinds["count"], dtype="Int64"),
                    perhaps=pd.array(kinds["flag"], dtype="boolean"),
                ),
                "polars kinds": lambda: pl.DataFrame(kinds).with_columns(
                    pl.col("text").cast(pl.Categorical).alias("c")
                ),
                "list": lambda: x.tolist(),
                "object": lambda: x.astype(object),
                "float32": lambda: x.astype(np.float32),
                "gaps": lambda: frame.mask(rng.random(x.shape) < 0.1),
                "infinite": lambda: np.where(rng.random(x.shape) < 0.02, INF, x),
                "text array": lambda: x.astype(str),
                "series": lambda: frame["x0"],
                "no columns": lambda: frame[[]],
                "short": lambda: x[:-1],
                "sparse": lambda: pd.DataFrame({"s": pd.arrays.SparseArray(np.round(x[:, 0]))}),
                "none": lambda: None,
                "dates": lambda: frame.assign(day=pd.Timestamp("2020-01-01")),
                "bool array": lambda: x > 0,
                "nested": lambda: pl.DataFrame({"a": x[:, 0], "list": [[1, 2]] * n}),
                "twins": lambda: pd.DataFrame(np.hstack([x, x]), columns=names + names),
                "lazy": lambda: pl.DataFrame(x, schema=names).lazy(),
                "multi": lambda: pd.DataFrame({("a", j): x[:, j] for j in range(x.shape[1])}),
            }
            return forms[form]()

    def sensitive(self):
        rng = self.rng
        labels = GROUP_LABELS[rng.integers(len(GROUP_LABELS))]
        way = self.mostly(
            "two", "gaps", wrong=("three", "one", "mixed", "all missing", "infinite", "lists", "short", "square")
        )
        self.labels = labels
        if way == "three":
            return forms_of_labels(rng, rng.integers(0, 3, self.n), ("a", "b", "c"))
        if way == "one":
            return forms_of_labels(rng, np.zeros(self.n, dtype=int), labels)
        if way == "mixed":
            return [c if c else "none" for c in self.codes.tolist()]
        if way == "gaps":
            missing = self.pick(None, NAN, pd.NA, pd.NaT)
            return [missing if rng.random() < 0.1 else labels[c] for c in self.codes]
        if way == "all missing":
            return [None] * self.n
        if way == "infinite":
            return np.where(self.codes == 1, INF, 0.0)
        if way == "lists":
            return [[c] for c in self.codes.tolist()] if self.chance(0.5) else [{"g": c} for c in self.codes.tolist()]
        if way == "short":
            return forms_of_labels(rng, self.codes[:-3], labels)
        if way == "square":
            return np.column_stack([self.codes, self.codes])
        return forms_of_labels(rng, self.codes, labels)

    def outcome(self):
        """Outcome, and the options that go with it."""
        rng, n = self.rng, self.n
        way = self.mostly(
            "binary", "labels", "numbers", "gaps", "huge numbers", p=0.4,
            wrong=("constant", "three", "infinite", "text", "unsaid", "short", "numbers for errors"),
        )  # fmt: skip
        loss = self.mostly(
            "classification", "squared", cost_loss(1, 3), half_cost, far_cost, negative_cost, indifferent,
            cost_loss(0, 1), lambda d, y: d != y, Loss("own", half_cost, binary_outcome=True), p=0.3,
            wrong=(scalar_cost, broken_cost, "nonsense", 7),
        )  # fmt: skip
        options = {"loss": loss}
        self.numeric = False
        if way == "labels":
            labels = self.pick(("no", "yes"), (1, 2), (False, True), ("", "x"), (0, 1), (1.5, -2.0))
            options["positive"] = self.mostly(labels[1], labels[0], wrong=("absent",))
            return forms_of_labels(rng, self.y01, labels), options
        if way in ("numbers", "huge numbers"):
            self.numeric = True
            options["loss"] = self.mostly("squared", half_cost, far_cost, negative_cost)
            scale = 1.0 if way == "numbers" else self.pick(1e6, 1e150, 1e200, 1e-150)
            return forms_of_numbers(rng, scale * (self.y01 + 0.3 * rng.normal(size=n))), options
        if way == "constant":
            return np.full(n, self.pick(0, 1, 5)), options
        if way == "three":
            return forms_of_numbers(rng, rng.integers(0, 3, n)), options
        if way == "gaps":
            values = self.y01.astype(object)
            values[rng.random(n) < 0.1] = self.pick(None, NAN, pd.NA)
            return self.pick(list, pd.Series, np.array)(values), options
        if way == "infinite":
            return np.where(rng.random(n) < 0.05, INF, self.y01), options
        if way == "text":
            return self.y01.astype(str), options
        if way == "unsaid":
            return np.where(self.y01 == 1, "yes", "no"), options
        if way == "short":
            return self.y01[1:], options
        if way == "numbers for errors":
            return self.x[:, 0], options
        return forms_of_numbers(rng, self.y01), options

    def weights(self):
        rng, n = self.rng, self.n
        way = self.mostly(
            None, "exponential", "whole", "zeros", "gaps", "wild", "one row", p=0.4,
            wrong=("huge", "tiny", "group zero", "negative", "infinite", "text", "short"),
        )  # fmt: skip
        if way is None:
            return None
        w = rng.exponential(size=n)
        if way == "exponential":
            return forms_of_numbers(rng, w)
        if way == "whole":
            return forms_of_numbers(rng, rng.integers(1, 5, n))
        if way == "zeros":
            return np.where(rng.random(n) < 0.5, 0.0, w)
        if way == "group zero":
            return w * (self.codes == 1)
        if way == "negative":
            return w - 0.1
        if way == "gaps":
            return pd.Series(np.where(rng.random(n) < 0.1, NAN, w))
        if way == "infinite":
            return np.where(rng.random(n) < 0.1, INF, w)
        if way == "huge":
            return w * self.pick(1e150, 1e300, 1e306)
        if way == "tiny":
            return w * self.pick(1e-150, 1e-300, 1e-320)
        if way == "wild":
            return 10.0 ** rng.uniform(-12, 12, n)
        if way == "text":
            return w.astype(str)
        if way == "short":
            return w[:5]
        first = [np.flatnonzero(self.codes == c)[0] for c in (0, 1)]
        return np.where(np.isin(np.arange(n), first), 1.0, 0.0)

    def clusters(self):
        rng, n = self.rng, self.n
        way = self.mostly(None, "many", "each", "text", "gaps", p=0.25, wrong=("few", "one", "mixed"))
        if way is None:
            return None
        codes = rng.integers(0, {"many": max(n // 2, 2), "few": 3, "one": 1}.get(way, 12), n)
        if way == "each":
            codes = np.arange(n)
        if way == "text":
            return [f"c{c}" for c in codes]
        if way == "gaps":
            return np.where(rng.random(n) < 0.05, NAN, codes)
        if way == "mixed":
            return ["c" if c == 0 else int(c) for c in codes]
        return forms_of_labels(rng, codes, list(range(max(n, 12))))

    def bounds(self):
        rng, n = self.rng, self.n
        way = self.mostly(
            None,
            "numbers",
            "columns",
            "equal",
            "all",
            "none",
            p=0.25,
            wrong=("crossed", "outside", "gaps", "text", "short"),
        )
        if way is None:
            return {}
        low, high = np.sort(rng.random((2, n)), axis=0)
        return {
            "numbers": {"lower": 0.1, "upper": self.pick(0.9, 0.1, np.float32(0.5), 1)},
            "columns": {"lower": forms_of_numbers(rng, low), "upper": forms_of_numbers(rng, high)},
            "crossed": {"lower": 0.7, "upper": 0.3},
            "equal": {"lower": low, "upper": low},
            "outside": {"upper": 1.5},
            "gaps": {"lower": np.where(rng.random(n) < 0.1, NAN, low)},
            "text": {"upper": "a"},
            "short": {"lower": low[:3]},
            "all": {"lower": 0.0, "upper": 1.0},
            "none": {"upper": 0.0},
        }[way]

    def nuisance(self):
        """Predictions from outside, good and degenerate."""
        rng, n = self.rng, self.n
        noisy = self.pairs + 0.1 * rng.normal(size=(n, 2))
        angle = rng.uniform(0, 2 * np.pi)
        ray = np.array([np.cos(angle), np.sin(angle)])
        signs = rng.choice([-1.0, 1.0], n)[:, None]
        way = self.mostly(
            "noisy", "zero", "constant", "one ray", "opposite", "axis", "lattice", "nearly parallel", "perfect",
            "wrong way", "any size", "tiny", "huge", "frame", "list", "float32", "half zero", p=0.6,
            wrong=("gaps", "infinite", "shape", "text"),
        )  # fmt: skip
        dl = 1.0 - 2.0 * self.y01
        perfect = np.column_stack([dl * (self.codes == 1), dl * (self.codes == 0)])
        frame = pd.DataFrame(noisy, index=rng.permutation(n))
        return {
            "noisy": lambda: noisy,
            "zero": lambda: np.zeros((n, 2)),
            "constant": lambda: np.tile([0.2, -0.3], (n, 1)),
            "one ray": lambda: rng.exponential(size=(n, 1)) * ray,
            "opposite": lambda: signs * rng.exponential(size=(n, 1)) * ray,
            "axis": lambda: noisy * self.pick([1.0, 0.0], [0.0, 1.0]),
            "lattice": lambda: rng.integers(-2, 3, (n, 2)).astype(float),
            "nearly parallel": lambda: np.column_stack([np.ones(n), 1.0 + rng.normal(size=n) * 1e-14]),
            "perfect": lambda: perfect,
            "wrong way": lambda: -noisy,
            "any size": lambda: noisy * 10.0 ** rng.integers(-300, 300, (n, 1)),
            "tiny": lambda: noisy * 1e-310,
            "huge": lambda: noisy * 1e307,
            "gaps": lambda: np.where(rng.random((n, 2)) < 0.05, NAN, noisy),
            "infinite": lambda: np.where(rng.random((n, 2)) < 0.05, INF, noisy),
            "shape": lambda: self.pick(noisy[:-1], noisy[:, :1], noisy.T, noisy[:, 0], 3.0),
            "text": lambda: noisy.astype(str),
            "frame": lambda: self.pick(frame, pl.DataFrame(noisy, schema=["a", "b"])),
            "list": lambda: noisy.tolist(),
            "float32": lambda: noisy.astype(np.float32),
            "half zero": lambda: np.where(rng.random((n, 1)) < 0.5, 0.0, noisy),
        }[way]()

    def learner(self):
        """A learner and its options; cheap ones, and now and then a preset."""
        if self.chance(0.05) and self.n <= 80:
            name = PRESETS[self.rng.integers(len(PRESETS))]
            params = QUICK.get(name)
            return name, self.mostly(params, wrong=({"nonsense": 1}, 3, {"n_tuning_folds": 0}))
        own = self.mostly(LeastSquares(), Constant(), Frequencies(), LinearRegression(),
                          LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=2), Constant(0.0),
                          p=0.5)  # fmt: skip
        failing = (Failing(), Failing("nan"), Failing("short"), Failing("text"), LogisticRegression, 5, None)
        own = self.mostly(own, wrong=failing)
        if isinstance(own, LogisticRegression | DecisionTreeClassifier):
            self.foreign += ("lbfgs failed to converge", "The number of unique classes is gr", "overflow encountered")
            self.foreign += ("invalid value encountered in reduce",)
        return own, self.mostly(None, {}, p=0.05, wrong=({"tune_on_folds": True}, 3))

    def options(self):
        rng, n = self.rng, self.n
        options = {
            "n_folds": self.mostly(self.pick(2, 3, 5), wrong=(0, 1, n + 1, "3", 2.0, True, None, 8)),
            "n_rep": self.mostly(1, 2, 3, p=0.05, wrong=(0, "2", 1.5)),
            "n_boot": self.mostly(99, 100, 149, np.int64(120), p=0.08, wrong=(50, 0, "99", None, 99.0)),
            "alpha": self.mostly(
                self.pick(0.05, 0.1, 0.2, 0.49), np.float32(0.05), p=0.05,
                wrong=(0.01, 0.001, 0, 0.5, 1, NAN, "0.05", None, True),
            ),
            "random_state": self.mostly(
                int(rng.integers(100)), np.random.default_rng(1), np.random.SeedSequence(3), np.int64(3),
                wrong=(-1, "seed", 1.5),
            ),
            "missing": self.mostly(self.pick("raise", "drop", "drop", "drop"), wrong=("nonsense", None)),
            "jitter": self.mostly(0.0, 0.01, 0.5, 1.5, np.float32(0.1), p=0.15, wrong=(-0.1, NAN, "x", 2)),
            "groups": self.mostly(
                None, self.labels, self.labels[::-1], list(self.labels), p=0.15,
                wrong=(("nobody", "else"), (self.labels[0],) * 2, "ab", 3),
            ),
            "n_jobs": self.mostly(None, 1, p=0.3, wrong=("all", 0, 1.5)),
        }  # fmt: skip
        if self.chance(0.08):
            options |= {"bias_correction": self.mostly("regret", wrong=("nonsense", True))}
            options |= {"n_refits": self.mostly(2, 3, wrong=(1, 0, "3", None))}
        if self.chance(0.1):
            own = np.arange(n) % 3
            options["folds"] = self.mostly(
                "stratified", "independent", own, own.tolist(), pd.Series(own), p=0.8,
                wrong=(own + 0.5, own[:-1], "nonsense", np.zeros(n, dtype=int), np.stack([own, own[::-1]]), 4),
            )  # fmt: skip
        return options

    # --- calling ---

    def attempt(self, entry, action, check=None):
        """Do a call; return its result, or None if it was refused."""
        self.told.append(entry)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = action()
            except FairFrontierError as error:
                self.log.append((entry, self._sound_error(error)))
                self._sound_warnings(caught)
                return None
            except Exception as error:
                raise self._surprise(error) from error
            try:
                if check is not None:
                    check(result)
            except Exception as error:
                raise self._surprise(error) from error
        self._sound_warnings(caught)
        self.log.append((entry, "result"))
        return result

    def _surprise(self, error):
        last = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(f.filename).name}:{f.lineno} {f.line}" for f in last]
        ours = [
            p for p, f in zip(places, last, strict=True) if "fairfrontier" in f.filename and "tests" not in f.filename
        ]
        where = (ours or places)[-1]
        return Surprise(
            f"case {self.number}, {' > '.join(self.told)}: {type(error).__name__}: {error} at {where} ({places[-1]})"
        )

    def _sound_error(self, error):
        if len(str(error)) < SHORTEST_MESSAGE:
            raise Surprise(f"case {self.number}, {' > '.join(self.told)}: short message {error!r}")
        if isinstance(error, InputError):
            if error.code not in ERROR_CODES:
                raise Surprise(f"case {self.number}, {' > '.join(self.told)}: undocumented code {error.code!r}")
            return error.code
        return type(error).__name__

    def _sound_warnings(self, caught):
        for each in caught:
            if not issubclass(each.category, FairFrontierWarning) and not str(each.message).startswith(self.foreign):
                raise Surprise(
                    f"case {self.number}, {' > '.join(self.told)}: {each.category.__name__}: {each.message} at "
                    f"{Path(each.filename).name}:{each.lineno}"
                )


# --- what a result must hold --------------------------------------------------------------------------


def finite(values):
    array = np.asarray(values, dtype=float)
    assert np.isfinite(array).all(), f"not finite: {array}"


def is_p_value(p):
    p = np.asarray(p, dtype=float)
    assert ((p > 0.0) & (p <= 1.0)).all(), f"no p-value: {p}"


def ordered(low, high):
    """Ends of intervals; both are nan where no point passes the test."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    nothing = np.isnan(low) & np.isnan(high)
    assert (nothing | (low <= high)).all(), f"not ordered: {low}, {high}"
    finite(low[~nothing])
    finite(high[~nothing])


def is_text(text):
    assert isinstance(text, str)
    assert len(text) > 20
    assert " nan" not in text.lower().replace("nan to nan", "") or "R2" in text, text


def is_json(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def has_index(frame, groups):
    assert list(frame.index) == list(groups), f"{list(frame.index)} instead of {groups}"


def other_level(result, alpha=0.3):
    again = result.at(alpha)
    assert again.alpha == alpha
    return again


def sound_fit(case, ff):
    assert set(ff.groups_) == set(case.labels), f"{ff.groups_} instead of {case.labels}"
    finite(ff.points_)
    assert ff.points_.shape == (3, 4)
    r, b = ff.groups_
    assert ff.configuration_ in ("balanced", f"{r}-skewed", f"{b}-skewed")
    assert 0 < ff.n_obs_ <= case.n
    assert sum(ff.sample_.counts.values()) == ff.n_obs_
    finite(ff.nuisance_.predictions)
    assert all(isinstance(line, str) for line in ff.diagnostics_.lines())


def sound_risks(case, risks):
    finite(risks.risk)
    finite(risks.standard_error)
    assert (risks.standard_error >= 0).all()
    assert ((risks.selection_rate >= -1e-12) & (risks.selection_rate <= 1 + 1e-12)).all()
    has_index(risks.to_frame(), case.ff.groups_)
    finite(risks.gap)


def sound_curve(case, curve):
    finite(curve.points)
    finite(curve.directions)
    assert curve.points.shape == curve.directions.shape
    assert curve.tolerance >= 0
    inside = curve.contains(curve.points[:3])
    assert inside.shape == (min(3, len(curve.points)),)
    finite(curve.criterion(curve.points))


def sound_set(case, found):
    finite(found.vertices)
    assert found.area >= 0.0
    assert found.is_empty == (len(found.vertices) == 0)
    assert found.contains([[0.1, 0.2], [5.0, 5.0]]).shape == (2,)
    if not found.is_empty:
        finite(found.support([[1.0, 0.0], [-1.0, 2.0]]))


def sound_band(case, band):
    q = np.array([[1.0, 0.0], [-0.6, -0.8], [1.0, -1.0]])
    assert (band.lower(q) <= band.upper(q)).all()
    assert not np.isnan(band.lower(q)).any()
    finite(band.inner)
    finite(band.outer)
    finite(band.critical_value)
    other_level(band)


def sound_set_test(case, test):
    is_p_value(test.p_value)
    finite([test.statistic, test.critical_value])
    assert test.reject == (test.p_value <= test.alpha)
    other_level(test)


def sound_lda(case, found):
    tests = [found] if hasattr(found, "verdict") else list(found.values())
    assert tests
    for test in tests:
        is_p_value([test.p_value, test.p_value_adjusted, test.robust_p_value])
        finite([test.statistic, test.separation, test.feasibility, test.critical_value, test.critical_value_error])
        assert test.verdict in ("lda-shown", "no-evidence", "not-comparable")
        assert test.groups == case.ff.groups_
        assert (test.gain_bound is not None) == (test.verdict == "no-evidence")
        finite(test.gain_weights)
        is_json(test.to_json())
        is_text(test.summary())
        is_text(other_level(test).summary())
        if (witness := test.witness) is not None:
            low, high = witness.intervals(test.alpha).T
            ordered(low, high)
            finite(witness.gain)
    if len(tests) > 1:
        assert list(found.to_frame().index) == list(found)


def sound_points(case, tests):
    is_p_value(tests.p_value)
    finite(tests.statistic)
    finite(tests.critical_value)
    assert len(tests.to_frame()) == len(tests.p_value)
    other_level(tests)


def sound_skew(case, test):
    is_p_value(test.p_value)
    finite([test.statistic, test.critical_value])
    finite([test.best_r, test.best_b, test.closest_r, test.closest_b])
    is_text(test.summary())
    is_json(json.dumps(test.to_dict()))
    found = other_level(test).confidence_set
    finite(found.outline_r)
    finite(found.outline_b)


def sound_distance(case, found):
    each = [found] if hasattr(found, "metric") else list(found.values())
    for interval in each:
        ordered(*interval.conf_int())
        assert interval.estimate >= 0.0
        finite(interval.estimate)
        is_text(interval.summary())
        json.dumps(interval.to_dict())
        ordered(*other_level(interval).conf_int())
        sound_fairest(case, interval.fairest)
    if not hasattr(found, "metric"):
        names = list(found)
        difference = found.difference(names[0], names[-1])
        ordered(*difference.interval)
        is_text(difference.summary())
        assert len(found.to_frame()) == len(found)


def sound_fairest(case, point):
    finite(point.risk)
    finite(point.weights)
    ordered(*point.conf_int().T)
    has_index(point.to_frame(), case.ff.groups_)


def sound_region(case, region):
    p = region.p_value
    assert ((p >= 0.0) & (p <= 1.0)).all()
    finite(region.area)
    for ring in region.polygons:
        finite(ring)
    assert region.contains([[0.1, 0.2]]).shape == (1,)
    other_level(region).polygons  # noqa: B018


def sound_alternatives(case, found):
    r, b = case.ff.groups_
    assert {f"risk {r}", f"risk {b}", "flagged"} <= set(found.table.columns)
    finite(found.table.select_dtypes("number"))
    assert len(found) <= 20
    is_text(found.summary())


def sound_rule(case, rule):
    assert rule.groups_ == case.ff.groups_ if case.ff is not None else True
    finite(rule.direction_)
    finite(rule.group_shares_)
    assert len(rule.classes_) == 2


def sound_chances(chances, n):
    assert chances.shape == (n, 2)
    finite(chances)
    assert ((chances >= -1e-12) & (chances <= 1 + 1e-12)).all()


def sound_evaluation(case, found):
    has_index(found.table, found.groups)
    finite(found.risks)
    finite([found.gap, found.gap_error])


# --- playing a case -----------------------------------------------------------------------------------


class Play(Case):
    """A case whose fit is followed by some calls."""

    def run(self, tour=False):
        """Fit, and make some calls; on a ``tour`` all of them and no slips."""
        self.slip = 0.0 if tour else self.slip
        self.draw_rows()
        self.g = self.sensitive()
        self.y, outcome_options = self.outcome()
        outside = self.chance(0.5)
        self.X = None if outside and self.chance(0.5) else self.covariates()
        learner, params = self.learner()
        options = {"learner": learner, "learner_params": params} | self.options() | outcome_options
        arguments = {"sample_weight": self.weights(), "clusters": self.clusters()} | self.bounds()
        if outside:
            arguments["external_nuisance"] = self.nuisance()
            options["bias_correction"] = self.mostly(None, options.get("bias_correction"), p=0.02)
        if self.chance(0.1):
            arguments["ids"] = self.pick(np.arange(self.n), [None] * self.n, self.x[:, 0].tolist(), ["a"])
        self.arguments, self.fit_options = arguments, options
        self.ff = None
        unfitted = FairFrontier(**options)
        if self.chance(0.02):
            self.ff = unfitted
            name = self.pick("summary", "points", "feasible_set", "test_group_skew")
            self.attempt(f"{name} before fit", getattr(unfitted, name, unfitted.frontier))
            self.ff = None
        fit = functools.partial(unfitted.fit, self.X, self.y, sensitive_features=self.g, **arguments)
        self.ff = self.attempt("fit", fit, lambda ff: sound_fit(self, ff))
        self.slip = 0.0 if tour else 0.08
        if self.ff is not None:
            for name in ANSWERS if tour else self.some_calls():
                getattr(self, name)()
        if self.X is not None and (tour or self.chance(0.3 if self.ff is not None else 0.1)):
            for kind in ALONE if tour else (self.pick(*ALONE),):
                self.deploy_alone(kind)
        return self.log

    def some_calls(self):
        p = np.array(list(ANSWERS.values()))
        return self.rng.choice(list(ANSWERS), size=self.rng.integers(2, 6), p=p / p.sum())

    # --- arguments of calls ---

    def decisions(self, *, plain=0.75):
        """Decisions of algorithms, and the options that go with them."""
        rng, n = self.rng, self.n
        d = (self.x[:, 0] + rng.normal(size=n) > 0).astype(int)
        if not self.chance(self.slip) and self.chance(plain):
            values = self.pick(d, d, np.zeros(n), np.ones(n), self.y01, 1 - self.y01, self.codes)
            return forms_of_numbers(rng, values), {}
        chances = rng.random(n)
        ways = [
            lambda: (chances, {"randomised": True}),
            lambda: (forms_of_numbers(rng, self.x[:, 0]), {"threshold": self.pick(0.0, 1, np.float32(0.2), -100.0)}),
            lambda: ({"one": d, "two": pd.Series(1 - d), 3: d.tolist()}, {}),
            lambda: (np.column_stack([d, 1 - d]), {}),
            lambda: (pd.DataFrame({"u": d, "v": 1 - d}, index=rng.permutation(n)), {}),
            lambda: (pl.DataFrame({"u": d, "v": 1 - d}), {}),
            lambda: (chances, {}),
            lambda: (d[:-1], {}),
            lambda: (np.where(rng.random(n) < 0.1, NAN, d), self.pick({}, {"threshold": 0.5})),
            lambda: (np.where(d == 1, "yes", "no"), {}),
            lambda: (None, {}),
            lambda: ({}, {}),
            lambda: (d * 2, {}),
            lambda: (d, {"randomised": "yes"}),
            lambda: (chances, {"threshold": self.pick(NAN, "x", True, INF)}),
            lambda: (chances, {"threshold": 0.5, "randomised": True}),
            lambda: (pd.DataFrame({"u": d, "w": np.where(d == 1, "a", "b")}), {}),
            lambda: (np.zeros((n, 0)), {}),
            lambda: (np.zeros((n, 2, 2)), {}),
            lambda: ("decisions", {}),
            lambda: (5, {}),
            lambda: ([], {}),
            lambda: ({"a": d, "b": d[:3]}, {}),
            lambda: ({"1": d, 1: 1 - d}, {}),
        ]
        return ways[rng.integers(len(ways) if self.chance(self.slip) else 6)]()

    def poor_decisions(self):
        """Decisions wrong for one group and no better than a coin for the other, so that much can be gained."""
        wrong = (self.codes == 1) | (self.rng.random(self.n) < 0.5)
        return forms_of_numbers(self.rng, np.where(wrong, 1 - self.y01, self.y01))

    def pairs_of_risks(self):
        rng, ff = self.rng, self.ff
        points = ff.points_.to_numpy()[:, :2]
        centre = points.mean(axis=0)
        ways = [
            lambda: points[rng.integers(3)],
            lambda: centre,
            lambda: ff.support_set([[1, 0], [-1, 0]]).mean(axis=0),
            lambda: points,
            lambda: points + 0.01 * rng.random((3, 2)),
            lambda: {"a": points[0], "b": points[1].tolist()},
            lambda: [[0.3, 0.3]],
            lambda: (0.0, 0.0),
            lambda: pd.DataFrame(points),
            lambda: [NAN, 0.1],
            lambda: [INF, 0.1],
            lambda: [1e9, 1e9],
            lambda: [0.1],
            lambda: "ab",
            lambda: np.zeros((0, 2)),
            lambda: np.zeros((2, 3)),
            dict,
            lambda: None,
        ]
        return ways[rng.integers(len(ways) if self.chance(2 * self.slip) else 9)]()

    def algorithms(self, risks_name):
        if self.chance(0.35):
            return {risks_name: self.pairs_of_risks()}
        decisions, options = self.decisions()
        return {"decisions": decisions} | options

    def level(self):
        if self.chance(0.8):
            return {}
        return {"alpha": self.mostly(self.pick(0.05, 0.1, 0.3, 0.01), wrong=(0.001, 0.5, 0, NAN, "x", True))}

    def capacity(self, p=0.2):
        if not self.chance(p):
            return {}
        return {"capacity": self.mostly(self.pick(0.1, 0.5, 0.9, 1.0), 1, 1e-9, wrong=(0, 1.5, NAN, "half", True, -1))}

    # --- answers of a fitted frontier ---

    def ask_estimates(self):
        ff, rng = self.ff, self.rng
        q = self.mostly(
            rng.normal(size=(4, 2)), [1, 0], [[0, -1], [1e-300, 1e300]], pd.DataFrame({"a": [1], "b": [2]}), p=0.4,
            wrong=([0, 0], [NAN, 1], "x", [[1, 2, 3]], np.zeros((0, 2)), [[INF, 1]], None),
        )  # fmt: skip
        self.attempt("support", lambda: ff.support(q), finite)
        self.attempt("support_set", lambda: ff.support_set(q), finite)
        self.attempt("support_covariance", lambda: ff.support_covariance(q), finite)

    def ask_risks(self):
        decisions, _ = self.decisions(plain=0.9)
        self.attempt("risks", lambda: self.ff.risks(decisions), lambda x: sound_risks(self, x))

    def ask_curves(self):
        options = {"n_points": self.mostly(50, 2, 512, wrong=(1, 0, "x", 2.5, None))}
        options["tolerance"] = self.mostly(None, 0.0, 0.1, wrong=(-1.0, NAN, "x", INF))
        if self.chance(0.5):
            capped = options | self.capacity()
            self.attempt("frontier", lambda: self.ff.frontier(**capped), lambda x: sound_curve(self, x))
        else:
            self.attempt("pareto_frontier", lambda: self.ff.pareto_frontier(**options), lambda x: sound_curve(self, x))

    def ask_set(self):
        capped = self.capacity(0.15)
        found = self.attempt("feasible_set", lambda: self.ff.feasible_set(**capped), lambda x: sound_set(self, x))
        if found is None or capped:
            return
        what, level = self.pick("band", "test", "contains", "contained"), self.level()
        if what == "band":
            side = self.mostly("two-sided", "lower", "upper", p=0.4, wrong=("nonsense", None))
            band = lambda: found.confidence_band(side=side, **level)  # noqa: E731
            self.attempt("confidence_band", band, lambda x: sound_band(self, x))
            return
        points = self.pairs_of_risks()
        method = {"test": found.test, "contains": found.test_contains, "contained": found.test_contained_in}[what]
        self.attempt("feasible_set tests", lambda: method(points, **level), lambda x: sound_set_test(self, x))

    def ask_lda(self):
        method = self.mostly(self.pick("robust", "sharp", "paper"), wrong=("nonsense", None))
        options = self.algorithms("risks") | self.level() | self.capacity()
        if method == "paper" or self.chance(0.03):
            options |= {"directions": self.mostly(self.pick(None, 16, "exact"), wrong=(3, "x", 2.5, True))}
            options |= {"kinks": self.pick(True, False)}
        self.attempt("test_lda", lambda: self.ff.test_lda(method=method, **options), lambda x: sound_lda(self, x))

    def ask_points(self):
        options = self.algorithms("e") | self.level()
        options |= {"derivative": self.mostly("numerical", "contact", p=0.4, wrong=("nonsense",))}
        options |= {"directions": self.mostly(40, 8, wrong=("exact", 3, None, 1.5))}
        name = self.pick("test_frontier", "test_pareto")
        self.attempt(name, lambda: getattr(self.ff, name)(**options), lambda x: sound_points(self, x))

    def ask_best_points(self):
        first, second = self.pairs_of_risks(), self.pairs_of_risks()
        if self.chance(0.5):
            second = first
        options = {"directions": self.mostly("exact", 20, 8, p=0.4, wrong=(3, "x"))} | self.level()
        ask = lambda: self.ff.test_best_points(first, second, **options)  # noqa: E731
        self.attempt("test_best_points", ask, lambda x: sound_points(self, x))

    def ask_skew(self):
        options = {"method": self.mostly("sharp", "paper", p=0.4, wrong=("nonsense", None))} | self.level()
        self.attempt("test_group_skew", lambda: self.ff.test_group_skew(**options), lambda x: sound_skew(self, x))

    def ask_distance(self):
        options = self.algorithms("risks") | self.level()
        options |= {"metric": self.mostly(
            "sqeuclidean", "euclidean", "cityblock", "chebyshev", p=0.4,
            wrong=("nonsense", 3, lambda a, b: NAN, lambda a, b: -1.0, lambda a, b: 1 // 0, lambda a: 1,
                   own_distance),  # right, but takes long
        )}  # fmt: skip
        options |= {"method": self.mostly(None, "sharp", "paper", p=0.4, wrong=("nonsense",))}
        if self.chance(0.15):
            options |= {"kinks": True}

        def ask():
            found = self.ff.distance_to_fairest(**options)
            for each in [found] if hasattr(found, "metric") else found.values():
                each.conf_int(), each.to_dict()  # here a function of the user is first called
            return found

        self.attempt("distance_to_fairest", ask, lambda x: sound_distance(self, x))

    def ask_fairest(self):
        options = {"method": self.mostly(None, "sharp", "paper", p=0.4, wrong=("nonsense",))} | self.level()
        self.attempt("fairest_point", lambda: self.ff.fairest_point(**options), lambda x: sound_fairest(self, x))

    def ask_region(self):
        name = self.pick("frontier_confidence_set", "pareto_confidence_set")
        options = {"directions": self.mostly(12, 8, 30, p=0.3, wrong=("exact", 2))} | self.level()
        self.attempt(name, lambda: getattr(self.ff, name)(**options), lambda x: sound_region(self, x))

    def ask_text(self):
        self.attempt("summary", self.ff.summary, is_text)

    def ask_plot(self):
        decisions, _ = self.decisions()
        options = {"decisions": self.mostly(None, decisions, {"a $x$": decisions}, p=0.5), "zoom": self.chance(0.3)}
        if self.chance(0.15):
            options["skew"] = self.attempt("test_group_skew", self.ff.test_group_skew)

        def drawn(ax):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Glyph")  # the font may lack a letter of a label
                ax.figure.savefig(io.BytesIO(), format="svg")

        try:
            self.attempt("plot", lambda: self.ff.plot(**options), drawn)
        finally:
            plt.close("all")

    def ask_record(self):
        decisions, options = self.decisions()
        options = {key: value for key, value in options.items() if key == "randomised"} | self.capacity()
        options |= {"title": self.mostly(None, "", "<script>", "é", wrong=(5,))}
        decisions = self.mostly(decisions, None, {"x": decisions}, p=0.4)
        name = self.pick("to_json", "report")
        with tempfile.TemporaryDirectory() as folder:
            path = self.mostly(
                Path(folder) / "file", str(Path(folder) / "file"), wrong=(Path(folder) / "absent" / "file", folder)
            )

            def written(found):
                text = Path(found).read_text(encoding="utf-8")
                if name == "to_json":
                    is_json(text)
                else:
                    assert text.lower().startswith("<!doctype html>")
                    assert "<script></title>" not in text

            self.attempt(name, lambda: getattr(self.ff, name)(path, decisions, **options), written)

    def ask_rule(self):
        if self.ff.nuisance_.external and self.chance(0.8):
            self.ask_lda()  # there is no learner to make rules with
            return
        options = {"weights": self.preference()} | self.capacity()
        if self.chance(0.15):
            direction = self.mostly(self.pick((-1, -2), (1, 0)), wrong=((0, 0), (NAN, 1), "x", (1, 2, 3)))
            options |= {"direction": direction, "weights": self.mostly(None, wrong=("utilitarian",))}
        options |= self.rule_bounds()
        rule = self.attempt("rule", lambda: self.ff.rule(**options), lambda x: sound_rule(self, x))
        if rule is not None:
            self.use(rule)

    def ask_alternatives(self):
        if self.ff.nuisance_.external and self.chance(0.5):
            self.ask_distance()
            return
        decisions, options = self.decisions() if self.chance(0.4) else (self.poor_decisions(), {})
        options = options | self.capacity()
        options |= {"n": self.mostly(5, 3, 20, wrong=(2, 0, "x", 2.5)), "held_out": self.chance(0.3)}
        ask = lambda: self.ff.alternatives(decisions, **options)  # noqa: E731
        found = self.attempt("alternatives", ask, lambda x: sound_alternatives(self, x))
        if found is None or not self.chance(0.6):
            return
        names = (None, "rawlsian", "utilitarian", "population", "most-similar", f"best-for:{self.ff.groups_[0]}")
        wish = {"preference": self.mostly(self.pick(*names), wrong=("best-for:nobody", 3))}
        if self.chance(0.3):
            wish = {"nearest": self.pairs_of_risks(), "metric": self.mostly("euclidean", wrong=("nonsense",))}
        wish |= {"flagged": self.chance(0.7)}
        rule = self.attempt("select", lambda: found.select(**wish), lambda x: sound_rule(self, x))
        if rule is not None:
            self.use(rule)

    # --- rules ---

    def preference(self):
        names = [
            "utilitarian",
            "population",
            "majority",
            "rawlsian",
            "egalitarian",
            f"best-for:{self.labels[0]}",
            (1, 2),
            (0, 1),
        ]
        usual = names[self.rng.integers(len(names))]
        wrong = ("rawlsien", "best-for:nobody", (0, 0), (-1, 1), (NAN, 1), 3, [1, 2, 3], "")
        return self.mostly(usual, None, wrong=wrong)

    def rule_bounds(self):
        if not self.chance(0.2):
            return {}
        return self.mostly(
            {"upper": 0.8},
            {"lower": 0.1, "upper": 0.6},
            {"lower": lambda X: np.full(len(X), 0.2)},
            p=0.6,
            wrong=(
                {"lower": 0.9, "upper": 0.1},
                {"upper": lambda X: "x"},
                {"upper": lambda X: np.full(len(X), 2.0)},
                {"lower": "x"},
                {"upper": [0.5, 0.6]},
            ),
        )

    def use(self, rule):
        """Apply a rule to the rows it was learned from, to some of them, or to others."""
        X = self.mostly(self.X, wrong=(self.x, self.x[:5], None, self.x[:0], self.x[:, :0], "x", pd.DataFrame(self.x)))
        n = None if X is None or isinstance(X, str) else len(X)
        self.attempt("predict_proba", lambda: rule.predict_proba(X), lambda p: sound_chances(p, n))
        name = self.pick("predict", "draw", "decision_function", "recalibrate")
        options = {"random_state": self.mostly(1, None, p=0.3)} if name == "draw" else {}
        if name == "recalibrate":
            options = {
                "sample_weight": self.mostly(None, np.ones(n or 1), wrong=(np.zeros(n or 1), "x", [NAN] * (n or 1)))
            }

        def used(found):
            if name in ("predict", "draw"):
                assert set(np.unique(found)) <= set(rule.classes_)
            if name == "decision_function":
                finite(found)

        self.attempt(name, lambda: getattr(rule, name)(X, **options), used)
        if self.chance(0.5):
            self.evaluate(rule)

    def evaluate(self, rule):
        options = {} if self.chance(0.6) else {"loss": self.pick("classification", "squared", half_cost, "nonsense")}
        options |= {} if self.chance(0.7) else {"sample_weight": self.arguments["sample_weight"]}
        options |= {} if self.chance(0.7) else {"clusters": self.arguments["clusters"]}
        options |= {} if self.chance(0.7) else {"positive": self.fit_options.get("positive")}
        ask = lambda: evaluate(rule, self.X, self.y, self.g, **options)  # noqa: E731
        found = self.attempt("evaluate", ask, lambda x: sound_evaluation(self, x))
        if found is not None and self.chance(0.1):
            self.attempt("metric_frame", found.metric_frame)

    def deploy_alone(self, kind):
        """Rules without a frontier, and evaluations of other rules."""
        kept = {
            key: self.fit_options[key]
            for key in ("loss", "learner", "learner_params", "n_folds", "groups", "random_state")
        }
        options = kept | {"weights": self.preference(), "positive": self.fit_options.get("positive")}
        options |= self.capacity() | self.rule_bounds()
        weights = {} if self.chance(0.5) else {"sample_weight": self.arguments["sample_weight"]}
        weights |= {} if self.chance(0.7) else {"clusters": self.arguments["clusters"]}
        if kind == "evaluate":
            decisions, _ = self.decisions()
            self.evaluate(self.mostly(decisions, Frequencies().fit(self.x, self.y01), p=0.3, wrong=(3,)))
            return
        if kind == "LinearFrontierRule":
            options |= {"C": self.mostly(1.0, 100.0, wrong=(0.0, -1.0, "x", NAN))}
            options |= {
                "features": self.mostly(None, [0], self.names[:1], p=0.3, wrong=(["absent"], "x0", [], 3, [99]))
            }
        made = (FrontierRule if kind == "FrontierRule" else LinearFrontierRule)(**options)
        fit = functools.partial(made.fit, self.X, self.y, sensitive_features=self.g, **weights)
        ff, self.ff = self.ff, None
        rule = self.attempt(f"{kind}.fit", fit, lambda x: sound_rule(self, x))
        self.ff = ff
        if rule is not None:
            self.use(rule)
        if rule is not None and kind == "LinearFrontierRule" and ff is not None:
            self.attempt("restriction", lambda: rule.restriction(ff), lambda x: is_text(x.summary()))


ALONE = ("FrontierRule", "LinearFrontierRule", "evaluate")
ANSWERS = {
    "ask_estimates": 6,
    "ask_risks": 6,
    "ask_curves": 6,
    "ask_set": 8,
    "ask_lda": 12,
    "ask_points": 6,
    "ask_best_points": 6,
    "ask_skew": 2,
    "ask_distance": 6,
    "ask_fairest": 4,
    "ask_region": 0.8,
    "ask_text": 3,
    "ask_plot": 1,
    "ask_record": 0.4,
    "ask_rule": 7,
    "ask_alternatives": 5,
}
"""Calls after a fit and how often each is made; long ones are rare."""


def play(number, tour=False):
    """Play one case: list of (entry point, "result" or what it was refused with)."""
    return Play(number).run(tour)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(*play(int(each)), sep="\n")
