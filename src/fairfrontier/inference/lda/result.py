"""What users get back from tests: frozen, in their own words, another level without new draws."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from ...arrays import FloatArray
from ...data.checks import check_level
from ..p_values import confidence_text, critical_value, critical_value_error, holm
from .evidence import Evidence, Method
from .witness import Witness

Verdict = Literal["lda-shown", "no-evidence", "not-comparable"]


@dataclass(frozen=True, slots=True)
class LDATest:
    """Result of testing whether an algorithm has a less discriminatory alternative (LDA).

    The null hypothesis is that there is none. ``verdict`` is one of

    * ``"lda-shown"``: the robust test rejects, so an alternative exists that is no worse for either group
      and no less fair, and better in at least one respect. Never claimed on another test.
    * ``"no-evidence"``: it does not; ``gain_bound`` tells what the data leave possible.
    * ``"not-comparable"``: the algorithm's risks lie outside the estimated feasible set. The learner is too weak, or
      the algorithm uses information outside the covariates.

    ``p_value`` belongs to ``method``; ``p_value_adjusted`` is Holm's over the algorithms tested together. The
    alternatives considered treat at most a share ``capacity`` of people, if it is given, and keep to the bounds of the
    fit, if ``bounded``. With several repetitions of the cross-fitting p-values combine them all, and everything else is
    of the most central one.
    """

    name: str
    groups: tuple[Any, Any]
    method: Method
    alpha: float
    evidence: Evidence
    selection_rate: FloatArray | None
    p_value_adjusted: float
    capacity: float | None = None
    bounded: bool = False

    @property
    def risk(self) -> FloatArray:
        """The algorithm's risks (2,)."""
        return self.evidence.risk

    @property
    def statistic(self) -> float:
        """Test statistic."""
        return self.evidence.statistic

    @property
    def separation(self) -> float:
        """Separation part: positive when no direction separates the improvements from the feasible set."""
        return self.evidence.separation

    @property
    def feasibility(self) -> float:
        """Feasibility part: positive when the algorithm's risks lie outside the estimated set."""
        return self.evidence.feasibility

    @property
    def draws(self) -> FloatArray:
        """Bootstrap draws (B,) of the statistic under the null."""
        return self.evidence.draws

    @property
    def p_value(self) -> float:
        """(1 + draws at or above the statistic) / (1 + draws); never 0."""
        return self.evidence.p_value

    @property
    def robust_p_value(self) -> float:
        """P-value of the robust test, on which alone an LDA is claimed."""
        return self.evidence.robust_p_value

    @property
    def reject(self) -> bool:
        """Whether the null of no LDA is rejected by ``method`` at level ``alpha``."""
        return self.p_value <= self.alpha

    @property
    def critical_value(self) -> float:
        """Value that the statistic must exceed."""
        return critical_value(self.draws, self.alpha)

    @property
    def critical_value_error(self) -> float:
        """Standard error of the critical value due to the finite number of draws."""
        return critical_value_error(self.draws, self.alpha)

    @property
    def verdict(self) -> Verdict:
        """One of three outcomes, never merged."""
        if self.robust_p_value <= self.alpha:
            return "lda-shown"
        return "not-comparable" if self.evidence.feasibility_p_value <= self.alpha else "no-evidence"

    @property
    def witness(self) -> Witness | None:
        """A rule, or mixture of two, that improves on the algorithm; None unless an LDA is shown."""
        return self.evidence.witness if self.verdict == "lda-shown" else None

    @property
    def gain_bound(self) -> float | None:
        """Largest improvement the data leave possible, if the learner is consistent; for "no-evidence" only.

        No alternative lowers the average of the two risks, weighted by ``gain_weights``, by more than this
        (level 1 - alpha).
        """
        if self.verdict != "no-evidence":
            return None
        return self.evidence.gain_bound.upper(self.alpha) / float(np.abs(self.evidence.gain_bound.direction).sum())

    @property
    def gain_weights(self) -> FloatArray:
        """Weights (2,) of the groups' risks, summing to one, to which ``gain_bound`` refers."""
        size = np.abs(self.evidence.gain_bound.direction)
        weights: FloatArray = size / size.sum()
        return weights

    @property
    def selection_ratio(self) -> float | None:
        """Smaller selection rate over the larger one, or None for risks without decisions."""
        return None if self.selection_rate is None else _ratio(self.selection_rate)

    @property
    def limits(self) -> str:
        """What limits the rules that the algorithm is compared with, in words; empty if nothing does."""
        capacity = [] if self.capacity is None else [f"at most {100 * self.capacity:.4g}% of people treated"]
        return ", ".join(capacity + ["bounds on the chance of treatment"] * self.bounded)

    def at(self, alpha: float) -> LDATest:
        """The same evidence judged at another level."""
        return replace(self, alpha=check_level(alpha, len(self.draws)))

    def to_dict(self) -> dict[str, Any]:
        """Everything but the draws, as plain numbers and text."""
        r, b = (str(label) for label in self.groups)
        result: dict[str, Any] = {
            "algorithm": self.name,
            "groups": [r, b],
            "method": self.method,
            "alpha": self.alpha,
            "verdict": self.verdict,
            "statistic": self.statistic,
            "separation": self.separation,
            "feasibility": self.feasibility,
            "critical_value": self.critical_value,
            "critical_value_error": self.critical_value_error,
            "p_value": self.p_value,
            "p_value_adjusted": self.p_value_adjusted,
            "robust_p_value": self.robust_p_value,
            "feasibility_p_value": self.evidence.feasibility_p_value,
            "reject": self.reject,
            "n_boot": len(self.draws),
            "capacity": self.capacity,
            "bounded": self.bounded,
            "risk": self.risk.tolist(),
            "selection_rate": None if self.selection_rate is None else self.selection_rate.tolist(),
            "selection_ratio": self.selection_ratio,
            "gain_bound": self.gain_bound,
            "gain_weights": self.gain_weights.tolist(),
            "witness": None,
        }
        if (w := self.witness) is not None:
            result["witness"] = {
                "directions": w.directions.tolist(),
                "shares": w.shares.tolist(),
                "risk": w.risk.tolist(),
                "gain": w.gain.tolist(),
                "lower_bounds": w.lower_bounds(self.alpha).tolist(),
                "intervals": w.intervals(self.alpha).tolist(),
                "confirmed": w.confirmed(self.alpha),
                "selection_rate": w.selection_rate.tolist(),
                "selection_ratio": _ratio(w.selection_rate),
            }
        return result

    def to_json(self) -> str:
        """`to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=1)

    @property
    def heading(self) -> str:
        """The question that is answered."""
        return f"Is there a less discriminatory alternative to {self.name}?"

    def summary(self) -> str:
        """The heading and the sentences, one to a line."""
        return "\n".join([self.heading, *self.sentences()])

    def sentences(self) -> list[str]:
        """Say in plain words what the test shows and what it does not show."""
        r, b = self.groups
        level = confidence_text(self.alpha)
        lines = [
            f"Risks: group {r} {self.risk[0]:.4f}, group {b} {self.risk[1]:.4f}, "
            f"gap {self.risk[0] - self.risk[1]:+.4f}.",
            f"Test ({self.method}): statistic {self.statistic:.3f}, critical value {self.critical_value:.3f} at "
            f"alpha {self.alpha:g}, p-value {self.p_value:.4f}"
            + (f" (Holm {self.p_value_adjusted:.4f})" if self.p_value_adjusted != self.p_value else "")
            + (f"; robust p-value {self.robust_p_value:.4f}" if self.method != "robust" else "")
            + ".",
        ]
        if self.verdict == "lda-shown":
            lines.append(
                "Shown: some rule based on the covariates used here is no worse for either group and no less "
                "fair, and better in at least one of these respects."
            )
            if (w := self.witness) is not None:
                lines += _describe(w, self.groups, self.alpha, level)
        elif self.verdict == "not-comparable":
            lines.append(
                "The comparison does not apply: the algorithm's risks lie outside the estimated feasible set (p-value "
                f"{self.evidence.feasibility_p_value:.4f}). Either the learner is too weak to reach them or "
                "the algorithm uses information outside the covariates"
                + (f", or the limits set on the rules ({limits}) exclude it" if (limits := self.limits) else "")
                + "; try a stronger learner, or add the "
                "algorithm's own score as a covariate. This shows neither an alternative nor its absence."
            )
        else:
            weights = self.gain_weights
            lines.append(
                "No evidence of one. This does not show that none exists: if the learner is consistent, the data "
                f"leave possible at most {self.gain_bound:.4f} ({level} bound) in the average of the two risks "
                f"weighted {weights[0]:.2f} ({r}) to {weights[1]:.2f} ({b})."
            )
        if self.selection_rate is not None:
            lines.append(_rates("The algorithm", self.selection_rate, self.groups))
        lines.append(
            '"Less discriminatory" means a gap in expected loss no wider, not equal selection rates: evidence, '
            "not a legal finding. It presumes that outcomes are measured alike in both groups and known for all "
            "rows, and is optimistic about an algorithm that was trained on these rows."
        )
        return lines


def _describe(w: Witness, groups: tuple[Any, Any], alpha: float, level: str) -> list[str]:
    bounds = w.lower_bounds(alpha)
    names = (f"group {groups[0]}", f"group {groups[1]}", "the gap")
    gains = ", ".join(
        f"{name} {gain:+.4f} (at least {bound:+.4f})" for name, gain, bound in zip(names, w.gain, bounds, strict=True)
    )
    kind = (
        "one rule" if len(w.shares) == 1 else f"a lottery between two rules ({w.shares[0]:.0%} and {w.shares[1]:.0%})"
    )
    status = (
        "all three bounds clear zero, so this alternative counts as confirmed"
        if w.confirmed(alpha)
        else "existence is shown, this particular alternative is not yet confirmed"
    )
    return [
        f"An alternative, {kind}. Gains: {gains}; {status}. The bounds ({level}, all three together) are those of a "
        "rule named beforehand; this one is shown because the test rejected on the same rows, so its gains tend to be "
        "overstated.",
        _rates("The alternative", w.selection_rate, groups),
    ]


def _rates(who: str, rates: FloatArray, groups: tuple[Any, Any]) -> str:
    return (
        f"{who} selects {rates[0]:.1%} of group {groups[0]} and {rates[1]:.1%} of group {groups[1]} "
        f"(ratio {_ratio(rates):.2f})."
    )


def _ratio(rates: FloatArray) -> float:
    return float(rates.min() / rates.max()) if rates.max() > 0.0 else 1.0


class LDATests(Mapping[str, LDATest]):
    """Results for several algorithms tested on the same draws, by name."""

    def __init__(self, tests: Mapping[str, LDATest]) -> None:
        self._tests = dict(tests)

    def __getitem__(self, name: str) -> LDATest:
        return self._tests[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tests)

    def __len__(self) -> int:
        return len(self._tests)

    def to_frame(self) -> pd.DataFrame:
        """One row per algorithm."""
        columns = ("verdict", "statistic", "critical_value", "p_value", "p_value_adjusted", "robust_p_value")
        return pd.DataFrame(
            {name: {column: getattr(test, column) for column in columns} for name, test in self.items()}
        ).T

    def sentences(self) -> list[str]:
        """The question and the sentences of every algorithm in turn."""
        return [sentence for test in self.values() for sentence in (test.heading, *test.sentences())]

    def summary(self) -> str:
        """The summaries of all algorithms."""
        return "\n\n".join(test.summary() for test in self.values())


def adjust(tests: list[LDATest]) -> list[LDATest]:
    """Set Holm's adjusted p-values over tests made together."""
    adjusted = holm(np.array([test.p_value for test in tests]))
    return [replace(test, p_value_adjusted=float(p)) for test, p in zip(tests, adjusted, strict=True)]
