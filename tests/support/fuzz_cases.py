"""Random cases of use: data in every form, options good and bad, and calls of every public method.

A case is played from its number alone, so a failure is repeated by `play(number)`. Each call must end in a result that
holds what is promised or in an error of the package with a helpful message, and may warn in the package's words only.
"""

import functools
import io
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

from fairfrontier import FairFrontier, FrontierRule, LinearFrontierRule, evaluate
from support.fuzz_inputs import INF, NAN, Case, Frequencies, forms_of_numbers, half_cost, own_distance
from support.fuzz_results import (
    finite,
    is_json,
    is_text,
    sound_alternatives,
    sound_band,
    sound_chances,
    sound_curve,
    sound_distance,
    sound_evaluation,
    sound_fairest,
    sound_fit,
    sound_lda,
    sound_points,
    sound_region,
    sound_risks,
    sound_rule,
    sound_set,
    sound_set_test,
    sound_skew,
)


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
