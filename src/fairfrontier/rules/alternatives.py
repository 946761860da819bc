"""Less discriminatory alternatives one can deploy: the part of the frontier that improves on an algorithm."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from ..frontier.dependence import added_variance
from ..frontier.support import group_means
from ..inference.distance.metrics import read_metric
from ..inference.lda.answer import LDAAnswer, Verdict
from ..inference.lda.result import LDATest
from ..inference.lda.witness import Alternative, critical, forms, gains, gains_of
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
    """Rules of the frontier that are estimated to improve on an algorithm for all groups and in the gap.

    ``table`` has one line per rule, in order of direction. ``risk`` (G,) are the algorithm's own risks and
    ``selection_rates`` (G,) the shares that it selects; ``directions`` (k, G) those of the rules. ``test`` is the test
    behind them: unless its verdict is "lda-shown", the rules are estimates of improvements, and none is shown. With
    more than two groups the gap is the range of the risks, and rules are chosen from a menu of weights. With other
    criteria ``compared`` names them, in the order of their gains in the table, and ``directions`` (k, J) are theirs.
    """

    name: str
    groups: tuple[Label, ...]
    risk: FloatArray
    selection_rates: FloatArray
    group_shares: FloatArray
    directions: FloatArray
    table: pd.DataFrame
    evaluated: str
    test: LDAAnswer
    _make_rule: Callable[[FloatArray], FrontierRule] = field(compare=False)
    compared: tuple[str, ...] = ()

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
        return self.test.deciding_p_value

    @property
    def width(self) -> str:
        """What besides the risks is improved: the gap of two groups, the range of more."""
        return width_of(self.groups)

    @property
    def gained(self) -> tuple[str, ...]:
        """What rules gain in, as the columns of gains and of their bounds are called."""
        return self.compared or (*(str(label) for label in self.groups), f"in {self.width}")

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
            As for `FairFrontier.rule`: "egalitarian" (the default: smallest gap), "rawlsian" (smallest risk of the
            group worst off), "utilitarian" (smallest sum of the risks), "population" (risks weighted by the groups'
            shares), "majority" (smallest risk of the largest group), "best-for:<label>"; besides,
            "largest-smallest-gain" or "most-similar" (most decisions as now).
        nearest : numbers, one per group, optional
            Instead: the rule whose risks are nearest to these, a metric projection on the improving part of the
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
            raise InputError(
                "bad-option", " ".join([f"There is no alternative to choose from: {found}.", *self._way()])
            )
        if nearest is not None:
            target = check_risks(nearest, len(self.groups))
            if len(target) != 1:
                raise InputError("bad-risks", f"`nearest` must be one point, a risk per group, got {len(target)}.")
            distance = read_metric(metric).between
            cost = np.array([float(distance(pair, target[0])) for pair in self.risks])
        else:
            cost = self._cost("egalitarian" if preference is None else preference)
        return int(open_to[np.argmin(cost[open_to])])

    @property
    def risks(self) -> FloatArray:
        """Estimated risks (k, G)."""
        return self.table[[f"risk {label}" for label in self.groups]].to_numpy()

    def _cost(self, preference: str) -> FloatArray:
        risks, range_now = self.risks, np.ptp(self.risk)
        gained = np.column_stack([self.risk - risks, range_now - np.ptp(risks, axis=1)])
        apart = np.ptp(risks, axis=1)
        if self.compared:
            gained, apart = (
                self.table[[f"gain {name}" for name in self.gained]].to_numpy(),
                self.table["apart"].to_numpy(),
            )
        costs: dict[str, FloatArray] = {
            "egalitarian": apart,
            "rawlsian": risks.max(axis=1),
            "utilitarian": risks.sum(axis=1),
            "population": risks @ self.group_shares,
            "majority": risks[:, int(np.argmax(self.group_shares))],
            **{f"best-for:{label}": risks[:, j] for j, label in enumerate(self.groups)},
            "largest-smallest-gain": -gained.min(axis=1),
            "most-similar": -self.table["agreement"].to_numpy(),
        }
        if preference not in costs:
            raise InputError("bad-option", f"`preference` must be one of {list(costs)}, got {preference!r}.")
        return costs[preference]

    @property
    def heading(self) -> str:
        """What the alternatives are compared with."""
        if self.compared:
            return f"Alternatives to {self.name}. {self.test.question}"
        risks = _each(self.risk, self.groups, ".4f")
        return f"Alternatives to {self.name}, whose risks are {risks}, {self.width} {np.ptp(self.risk):.4f}."

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
            last = self.compared[-1] if self.compared else f"in {self.width}"
            facts |= {f"largest_gain_{last.replace(' ', '_')}": float(self.table[f"gain {last}"].max())}
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

    def _picture(self) -> Picture | None:
        if len(self.groups) != 2:
            return None
        plane = Picture(axes_of(self.groups)).points(self.risk[None], ORANGE, self.name)
        sure = ~self.table["flagged"].to_numpy(dtype=bool)
        return plane.points(self.risks[~sure], GREY, "flagged").points(self.risks[sure], GREEN, "alternatives")

    def sentences(self) -> list[str]:
        """Say in plain words what was found and what that does not show."""
        if len(self) == 0:
            return [self._none(), *self._about_one_group(), self.claim]
        flagged = int(self.table["flagged"].sum())
        lines = [
            self.claim,
            f"{len(self)} rules of the estimated frontier improve on it by the estimates; risks are {self.evaluated}.",
        ]
        if flagged:
            lines.append(
                f"{flagged} of them are flagged: at least one of their {_number(len(self.gained))} gains is not "
                "distinguishable from chance "
                f"(within {SURE} standard errors of zero); rules at either end of the improving segment are always "
                "flagged."
            )
        lines += [self._sentence(line) for _, line in self.table[self.table["role"] != ""].iterrows()]
        lines.append(
            "Standard errors are those of single rules chosen from the same estimates. With "
            f"{confidence_text(self.test.alpha)} confidence the lower bounds (at least) of all rules hold together, "
            "whichever is chosen. Whether an alternative exists at all is what `test_lda` tests."
        )
        return lines + self._about_one_group()

    def _none(self) -> str:
        """Say that no rule of the frontier improves on the algorithm."""
        if self.test.evidence.by_group and self.test.capacity is None:
            return (
                "The rule that is best for every group does not lower all risks and the "
                f"{self.width} by the estimates. This does not prove that there is no alternative."
            )
        better = f"lower risks for {'both' if len(self.groups) == 2 else 'all'} groups and a smaller {self.width}"
        if self.compared:
            better = f"a gain in every respect ({', '.join(self.compared)})"
        return f"No rule of the estimated frontier has {better}. This does not prove that there is none."

    def _about_one_group(self) -> list[str]:
        """Say what the rules of the frontier leave out if rules see the group."""
        if not self.test.evidence.by_group:
            return []
        return [
            "Other alternatives among rules that see the group change decisions about one group and leave all else as "
            "now. They are not listed here.",
            *self._way(),
        ]

    def _way(self) -> list[str]:
        """The way to the alternative that the test has found, if that is not a rule of the frontier."""
        found = self.test.witness
        if found is None:
            return []
        if found.changed is None:
            return ["What the test has found is `ff.rule(test)`."]
        return [f"What the test has found changes one group: {in_practice(found)}"]

    def _sentence(self, line: Any) -> str:
        risks = f"risks {_each([line[f'risk {label}'] for label in self.groups], self.groups, '.4f')}"
        each = [(name.removeprefix("in "), f"gain {name}", f"at least {name}") for name in self.gained]
        gained = "gains " + ", ".join(
            f"{line[gain]:.4f} ({name}; at least {line[least]:.4f})" for name, gain, least in each
        )
        selected = [line[f"selection rate {label}"] for label in self.groups]
        rates = f"selects {_each(selected, self.groups, '.1%')}"
        same = f"agrees with {line['agreement']:.1%} of the decisions now"
        return f"- {line['role']}: {risks}; {gained}; {rates}; {same}{'; flagged' if line['flagged'] else ''}"


def in_practice(found: Alternative) -> str:
    """Say how an alternative that changes decisions about one group alone is put into practice."""
    label, share = found.changed, float(found.shares[0])
    how = f"""`chance = ff.rule("best-for:{label}").predict_proba(X, sensitive_features=...)[:, 1]`"""
    if found.capacity is not None:
        how = f"the rule learned for that group, `{how[1:-1]}`, with a cut-off that selects no more of it than now"
    mixed = "`chance`" if share >= 1.0 else f"{share:.4g} * `chance` + {1.0 - share:.4g} * the decision now"
    return (
        f"all decisions stay as now but those about group {label}. For these take {how}, and select with the chance "
        f"{mixed}."
    )


def width_of(groups: Sequence[Label]) -> str:
    """What the difference between the groups' risks is called."""
    return "gap" if len(groups) == 2 else "range"


def _number(n: int) -> str:
    return {3: "three", 4: "four", 5: "five", 6: "six"}.get(n, str(n))


def _each(values: Iterable[float], groups: Sequence[Label], how: str) -> str:
    """Values of the groups, such as ``0.1 (a), 0.2 (b) and 0.3 (c)``."""
    texts = [f"{value:{how}} ({label})" for value, label in zip(values, groups, strict=True)]
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


@dataclass(frozen=True, slots=True)
class Current:
    """The algorithm in use on all rows of evaluation: ``decisions`` and expected ``losses``."""

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
    n_folds: int,
    evaluated: str,
    make_rule: Callable[[FloatArray], FrontierRule],
) -> Alternatives:
    """Walk the improving part of the frontier and evaluate ``n`` of its rules.

    ``choosing`` decides which of the ``frontier_directions`` (k, 2) improve on risks ``e_choosing``;
    ``evaluating`` gives the risks that are reported, on the rows of ``current``. They may be the same. ``test`` answers
    whether an improvement is shown. ``n_folds`` of the cross-fitting, if several repetitions evaluate.
    """
    s = evaluating.scores
    risk = group_means(current.losses, s.group, s.weight)[0]
    rates = group_means(current.decisions, s.group, s.weight)[0]
    points = choosing.estimate.support_set(frontier_directions)
    chosen = _improving(points, e_choosing, n)
    q = frontier_directions[chosen]
    witness = test.evidence.witness
    reach = np.nan if witness is None else critical(witness.largest, test.alpha)
    added = added_variance(evaluating, q, n_folds) / evaluating.n_obs
    lines = [
        _evaluate(evaluating, direction, current, risk, groups, reach=reach, added=more)
        for direction, more in zip(q, added, strict=True)
    ]
    table = pd.DataFrame(lines, columns=None if lines else columns_of(groups))
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


def columns_of(groups: Sequence[Label]) -> list[str]:
    """Names of the columns of a table of alternatives, without role and direction."""
    width = width_of(groups)
    columns = [f"{what} {label}" for what in ("risk", "se") for label in groups]
    for what in ("gain", "se gain", "at least"):
        columns += [*(f"{what} {label}" for label in groups), f"{what} in {width}"]
    return [*columns, *(f"selection rate {label}" for label in groups), "agreement", "flagged"]


def _evaluate(
    function: Attainable,
    q: FloatArray,
    current: Current,
    risk: FloatArray,
    groups: tuple[Label, Label],
    *,
    reach: float,
    added: FloatArray,
) -> dict[str, Any]:
    """Risks, gains over the algorithm, their standard errors and bounds, selection rates and agreement of one rule.

    The bounds lie ``reach`` standard errors below the forms that make up the gains. Dependent folds add ``added``
    (2, 2) to the covariance of the rule's risks.
    """
    s = function.scores
    moved = function.selected(q)
    chances, losses = s.chances(moved), s.losses(moved)
    own, covariance = group_means(losses, s.group, s.weight, s.clusters, counts=s.counts)
    gain = gains(own, risk)
    covariance = covariance + added
    gained = group_means(current.losses - losses, s.group, s.weight, s.clusters, counts=s.counts)[1] + added
    # s d* - v d is the difference between the groups' means of s loss* - v loss
    gap_errors = {}
    for together in (1.0, -1.0):
        apart = current.losses - together * losses
        gap = group_means(apart, s.group, s.weight, s.clusters, counts=s.counts)[1] + added
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
    return dict(zip(columns_of(groups), [*values, bool((gain < SURE * errors).any())], strict=True))
