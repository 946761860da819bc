"""Less discriminatory alternatives one can deploy: the part of the frontier that improves on an algorithm."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import FloatArray, IntArray
from ..data.checks import check_risks
from ..data.notebook import GREEN, GREY, ORANGE, Picture
from ..data.number_formats import confidence_text, p_value_text
from ..data.reading import Label
from ..data.result import ExplainedResult, PlainDict, axes_of, labels, plain_items
from ..errors import InputError, NotShownWarning
from ..frontier.attainable import Attainable
from ..frontier.support import group_means
from ..inference.distance.estimates import read_metric
from ..inference.lda.answer import Verdict
from ..inference.lda.result import LDATest
from ..inference.lda.witness import critical, forms, gains, gains_of
from .classifier import FrontierRule

FINE = 1441
"""Directions of the frontier among which the improving part is looked for."""
SURE = 1.645
"""Standard errors by which every gain must exceed zero for a rule not to be flagged."""
NOT_SHOWN: Mapping[Verdict, str] = {
    "no-evidence": "the robust test does not reject that there is no alternative",
    "not-comparable": "the algorithm's risks lie outside the estimated feasible set, so the comparison does not apply",
}
"""Why an improvement is not shown, by the verdict of the test."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Alternatives(ExplainedResult):
    """Rules of the frontier that are estimated to improve on an algorithm for both groups and in the gap.

    ``table`` has one line per rule, in order of direction. ``risk`` (2,) are the algorithm's own risks and
    ``selection_rates`` (2,) the shares that it selects; ``directions`` (k, 2) those of the rules. ``test`` is the test
    behind them: unless its verdict is "lda-shown", the rules are estimates of improvements, and none is shown.
    """

    name: str
    groups: tuple[Label, Label]
    risk: FloatArray
    selection_rates: FloatArray
    group_shares: FloatArray
    directions: FloatArray
    table: pd.DataFrame
    evaluated: str
    test: LDATest
    _make_rule: Callable[[FloatArray], FrontierRule] = field(compare=False)

    def __len__(self) -> int:
        """Return the number of rules."""
        return len(self.table)

    @property
    def verdict(self) -> Verdict:
        """Verdict of the robust test; an improvement is shown only if it is "lda-shown"."""
        return self.test.verdict

    @property
    def p_value(self) -> float:
        """P-value of the robust test on which the verdict rests, adjusted if algorithms were tested together."""
        return self.test.robust_p_value_adjusted

    def rule(self, number: int) -> FrontierRule:
        """Return the rule of one line of the table, learned from all rows and ready to be deployed."""
        if not isinstance(number, numbers.Integral) or not -len(self) <= number < len(self):
            raise InputError("bad-option", f"There are {len(self)} alternatives, numbered from 0; got {number!r}.")
        return self._make_rule(self.directions[number])

    def select(
        self, preference: str | None = None, *, nearest: Any = None, metric: Any = "euclidean", flagged: bool = False
    ) -> FrontierRule:
        """Return the rule that serves a stated preference best.

        Parameters
        ----------
        preference : str, optional
            "fairest" (the default: smallest gap), "rawlsian" (smallest risk of the group worse off), "utilitarian"
            (smallest sum of the two risks), "population" (risks weighted by the groups' shares), "best-for:<label>",
            "largest-smallest-gain" or "most-similar" (most decisions as now).
        nearest : pair, optional
            Instead: the rule whose risks are nearest to this pair, a metric projection on the improving part of the
            frontier.
        metric
            Distance for ``nearest``, as for `FairFrontier.distance_to_fairest`.
        flagged : bool
            Whether rules whose improvement is in doubt may be chosen.

        Returns
        -------
        FrontierRule

        Warns
        -----
        NotShownWarning
            If the test behind the alternatives does not show an improvement.
        """
        number = self.choose(preference, nearest=nearest, metric=metric, flagged=flagged)
        if self.verdict != "lda-shown":
            warnings.warn(f"{self.name}: {self.claim}", NotShownWarning, stacklevel=2)
        return self.rule(number)

    def choose(
        self, preference: str | None = None, *, nearest: Any = None, metric: Any = "euclidean", flagged: bool = False
    ) -> int:
        """Return the line that `select` takes."""
        if preference is not None and nearest is not None:
            raise InputError("bad-option", "Give either a preference or `nearest`, and not both.")
        open_to = np.flatnonzero(np.ones(len(self), dtype=bool) if flagged else ~self.table["flagged"].to_numpy())
        if len(open_to) == 0:
            found = f"all {len(self)} found are flagged; flagged=True allows them" if len(self) else "none was found"
            raise InputError("bad-option", f"There is no alternative to choose from: {found}.")
        if nearest is not None:
            target = check_risks(nearest)
            if len(target) != 1:
                raise InputError("bad-risks", f"`nearest` must be one risk pair, got {len(target)}.")
            distance = read_metric(metric).between
            cost = np.array([float(distance(pair, target[0])) for pair in self.risks])
        else:
            cost = self._cost("fairest" if preference is None else preference)
        return int(open_to[np.argmin(cost[open_to])])

    @property
    def risks(self) -> FloatArray:
        """Estimated risk pairs (k, 2)."""
        return self.table[[f"risk {label}" for label in self.groups]].to_numpy()

    def _cost(self, preference: str) -> FloatArray:
        risks, (r, b) = self.risks, self.groups
        costs: dict[str, FloatArray] = {
            "fairest": np.abs(risks[:, 0] - risks[:, 1]),
            "rawlsian": risks.max(axis=1),
            "utilitarian": risks.sum(axis=1),
            "population": risks @ self.group_shares,
            f"best-for:{r}": risks[:, 0],
            f"best-for:{b}": risks[:, 1],
            "largest-smallest-gain": -gains(risks, self.risk).min(axis=1),
            "most-similar": -self.table["agreement"].to_numpy(),
        }
        if preference not in costs:
            raise InputError("bad-option", f"`preference` must be one of {list(costs)}, got {preference!r}.")
        return costs[preference]

    @property
    def heading(self) -> str:
        """What the alternatives are compared with."""
        r, b = self.groups
        return (
            f"Alternatives to {self.name}, whose risks are {self.risk[0]:.4f} ({r}) and {self.risk[1]:.4f} ({b}), "
            f"gap {abs(self.risk[0] - self.risk[1]):.4f}."
        )

    @property
    def claim(self) -> str:
        """Whether the test behind the rules shows an improvement, in one sentence."""
        p_value = f"p-value {p_value_text(self.p_value, self.test.alpha)}"
        if self.verdict == "lda-shown":
            return f"That an alternative exists is shown by the robust test ({p_value})."
        what = "These rules are estimated to be better, but an" if len(self) else "An"
        return f"{what} improvement is not shown: {NOT_SHOWN[self.verdict]} ({self.verdict}, {p_value})."

    def _facts(self) -> dict[str, object]:
        shown = "shown to exist" if self.verdict == "lda-shown" else "estimated, not shown"
        facts: dict[str, object] = {
            "algorithm": self.name,
            "improvement": f"{shown} ({self.verdict}, p-value {p_value_text(self.p_value, self.test.alpha)})",
            "groups": labels(self.groups),
            "risk": self.risk,
            "selection_rates": self.selection_rates,
            "rules": len(self),
            "flagged": int(self.table["flagged"].sum()),
            "evaluated": self.evaluated,
        }
        if len(self):
            facts |= {"smallest_risks": self.risks.min(axis=0)}
            facts |= {"largest_gain_in_gap": float(self.table["gain in gap"].max())}
        return facts

    def to_dict(self) -> PlainDict:
        """Return plain numbers and text for JSON, with the table line by line."""
        found = {"verdict": self.verdict, "p_value": self.p_value, "alpha": self.test.alpha}
        return plain_items(self._facts() | found | {"group_shares": self.group_shares, "table": self.table})

    def _verdict(self) -> str:
        shown = self.verdict == "lda-shown"
        return "An alternative is shown to exist." if shown else "Estimated to be better; an improvement is not shown."

    def _frame(self) -> pd.DataFrame:
        kept = ("role", "risk", "gain", "selection rate", "flagged")
        return self.table[[name for name in self.table.columns if name.startswith(kept)]]

    def _picture(self) -> Picture:
        plane = Picture(axes_of(self.groups)).points(self.risk[None], ORANGE, self.name)
        sure = ~self.table["flagged"].to_numpy(dtype=bool)
        return plane.points(self.risks[~sure], GREY, "flagged").points(self.risks[sure], GREEN, "alternatives")

    def sentences(self) -> list[str]:
        """Say in plain words what was found and what that does not show."""
        if len(self) == 0:
            return [
                "No rule of the estimated frontier has lower risks for both groups and a smaller gap. This does not "
                "prove that there is none.",
                self.claim,
            ]
        flagged = int(self.table["flagged"].sum())
        lines = [
            self.claim,
            f"{len(self)} rules of the estimated frontier improve on it by the estimates; risks are {self.evaluated}.",
        ]
        if flagged:
            lines.append(
                f"{flagged} of them are flagged: at least one of their three gains is not distinguishable from chance "
                f"(within {SURE} standard errors of zero); rules at either end of the improving segment are always "
                "flagged."
            )
        lines += [self._sentence(line) for _, line in self.table[self.table["role"] != ""].iterrows()]
        lines.append(
            "Standard errors are those of single rules chosen from the same estimates. With "
            f"{confidence_text(self.test.alpha)} confidence the lower bounds (at least) of all rules hold together, "
            "whichever is chosen. Whether an alternative exists at all is what `test_lda` tests."
        )
        return lines

    def _sentence(self, line: Any) -> str:
        r, b = self.groups
        risks = f"risks {line[f'risk {r}']:.4f} ({r}) and {line[f'risk {b}']:.4f} ({b})"
        each = [(label, f"gain {label}", f"at least {label}") for label in (r, b)]
        each.append(("gap", "gain in gap", "at least in gap"))
        gained = "gains " + ", ".join(
            f"{line[gain]:.4f} ({name}; at least {line[least]:.4f})" for name, gain, least in each
        )
        rates = f"selects {line[f'selection rate {r}']:.1%} ({r}) and {line[f'selection rate {b}']:.1%} ({b})"
        same = f"agrees with {line['agreement']:.1%} of the decisions now"
        return f"- {line['role']}: {risks}; {gained}; {rates}; {same}{'; flagged' if line['flagged'] else ''}"


@dataclass(frozen=True, slots=True)
class Current:
    """The algorithm in use on the rows of evaluation: ``decisions`` and expected ``losses`` (n,)."""

    name: str
    decisions: FloatArray
    losses: FloatArray


def find_alternatives(
    choosing: Attainable,
    evaluating: Attainable,
    frontier_directions: FloatArray,
    e_choosing: FloatArray,
    current: Current,
    *,
    test: LDATest,
    groups: tuple[Label, Label],
    n: int,
    evaluated: str,
    make_rule: Callable[[FloatArray], FrontierRule],
) -> Alternatives:
    """Walk the improving part of the frontier and evaluate ``n`` of its rules.

    ``choosing`` decides which of the ``frontier_directions`` (k, 2) improve on risks ``e_choosing``;
    ``evaluating`` gives the risks that are reported, on the rows of ``current``. They may be the same. ``test`` answers
    whether an improvement is shown.
    """
    s = evaluating.scores
    risk = group_means(current.losses, s.group, s.weight)[0]
    rates = group_means(current.decisions, s.group, s.weight)[0]
    points = choosing.estimate.support_set(frontier_directions)
    chosen = _improving(points, e_choosing, n)
    q = frontier_directions[chosen]
    witness = test.evidence.witness
    reach = np.nan if witness is None else critical(witness.largest, test.alpha)
    lines = [_evaluate(evaluating, direction, current, risk, groups, reach=reach) for direction in q]
    table = pd.DataFrame(lines, columns=None if lines else _columns(groups))
    table.insert(0, "role", _roles(points[chosen], groups))
    for j, label in enumerate(groups):
        table.insert(1 + j, f"direction {label}", q[:, j])
    return Alternatives(current.name, groups, risk, rates, evaluating.mu, q, table, evaluated, test, make_rule)


def _improving(points: FloatArray, e: FloatArray, n: int) -> IntArray:
    """Positions of ``n`` points spread over the run of improving ones about that with the largest smallest gain."""
    smallest = gains(points, e).min(axis=1)
    best = int(np.argmax(smallest))
    nothing = 1e-12 * float(np.abs(e).max())  # prefix sums round
    if smallest[best] <= nothing:
        return np.empty(0, dtype=np.intp)
    worse = np.flatnonzero(smallest <= nothing)
    first = int(worse[worse < best].max(initial=-1)) + 1
    last = int(worse[worse > best].min(initial=len(points))) - 1
    run = np.arange(first, last + 1)
    # neighbouring directions between two breakpoints share one rule: count it once
    run = run[np.append(True, (np.diff(points[run], axis=0) != 0.0).any(axis=1))]
    chosen = np.unique(np.linspace(0, len(run) - 1, n).round().astype(np.intp))
    fairest = int(np.argmin(np.abs(points[run, 0] - points[run, 1])))
    if len(chosen) > 2 and fairest not in chosen:
        # the fairest rule takes the place of its nearest neighbour that is not an end
        chosen[1 + int(np.argmin(np.abs(chosen[1:-1] - fairest)))] = fairest
    result: IntArray = run[np.sort(chosen)]
    return result


def _roles(points: FloatArray, groups: tuple[Label, Label]) -> list[str]:
    roles = [""] * len(points)
    if len(points) == 0:
        return roles
    named = (
        (f"most accurate for {groups[0]}", points[:, 0]),
        (f"most accurate for {groups[1]}", points[:, 1]),
        ("fairest", np.abs(points[:, 0] - points[:, 1])),
    )
    for role, cost in named:
        k = int(np.argmin(cost))
        roles[k] = f"{roles[k]}, {role}" if roles[k] else role
    return roles


def _columns(groups: tuple[Label, Label]) -> list[str]:
    r, b = groups
    columns = [f"risk {r}", f"risk {b}", f"se {r}", f"se {b}", f"gain {r}", f"gain {b}", "gain in gap"]
    columns += [f"se gain {r}", f"se gain {b}", "se gain in gap", f"at least {r}", f"at least {b}", "at least in gap"]
    return [*columns, f"selection rate {r}", f"selection rate {b}", "agreement", "flagged"]


def _evaluate(
    function: Attainable,
    q: FloatArray,
    current: Current,
    risk: FloatArray,
    groups: tuple[Label, Label],
    *,
    reach: float,
) -> dict[str, Any]:
    """Risks, gains over the algorithm, their standard errors and bounds, selection rates and agreement of one rule.

    The bounds lie ``reach`` standard errors below the forms that make up the gains.
    """
    s = function.scores
    moved = function.selected(q)
    chances, losses = s.chances(moved), s.losses(moved)
    own, covariance = group_means(losses, s.group, s.weight, s.clusters)
    gain = gains(own, risk)
    _, gained = group_means(current.losses - losses, s.group, s.weight, s.clusters)
    # s d* - v d is the difference between the groups' means of s loss* - v loss
    gap_errors = {}
    for together in (1.0, -1.0):
        _, gap = group_means(current.losses - together * losses, s.group, s.weight, s.clusters)
        gap_errors[together] = float(np.sqrt(max(gap[0, 0] + gap[1, 1] - 2.0 * gap[0, 1], 0.0)))
    signs = [1.0 if pair[0] >= pair[1] else -1.0 for pair in (risk, own)]
    errors = np.array([*np.sqrt([gained[0, 0], gained[1, 1]]), gap_errors[signs[0] * signs[1]]])
    of_forms = np.array([*errors[:2], *[gap_errors[s * v] for s in (1.0, -1.0) for v in (1.0, -1.0)]])
    least = gains_of(forms(own, risk) - reach * of_forms)
    rates = group_means(chances, s.group, s.weight)[0]
    same = chances * current.decisions + (1.0 - chances) * (1.0 - current.decisions)
    values = [
        *own,
        *np.sqrt(np.diag(covariance)),
        *gain,
        *errors,
        *least,
        *rates,
        float(np.average(same, weights=s.weight)),
    ]
    return dict(zip(_columns(groups), [*values, bool((gain < SURE * errors).any())], strict=True))
