"""What random cases of use are made of: learners and losses of a user, data in every form, options good and bad."""

import datetime
import traceback
import warnings
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fairfrontier import Loss, cost_loss
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
    "logit-lasso": {"n_penalties": 20, "n_tuning_folds": 2},
    "factored-logit": {"n_penalties": 20, "n_tuning_folds": 2},
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
