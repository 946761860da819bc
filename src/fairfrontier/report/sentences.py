"""Sentences of a report that do not belong to a single result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from ..data.criteria import USUAL, Criteria
from ..data.number_formats import p_value_text, share_text
from ..data.reading import Label
from ..inference.ban.estimates import POPULATION
from ..inference.lda.answer import Verdict
from .frame import Run
from .joint_record import GroupsRecord, JointAlgorithmRecord
from .origin import Settings
from .record import AlgorithmRecord, AlternativeRecord, Record

HEADLINES: Mapping[Verdict, str] = {
    "lda-shown": "A less discriminatory alternative is shown to exist.",
    "no-evidence": "No evidence of a less discriminatory alternative; this does not show that there is none.",
    "not-comparable": "No verdict: the algorithm's risks lie outside the estimated feasible set, so the comparison "
    "does not apply.",
}
CHIPS: Mapping[Verdict, str] = {
    "lda-shown": "alternative shown",
    "no-evidence": "no evidence",
    "not-comparable": "not comparable",
}
_MEANINGS: Mapping[Verdict, str] = {
    "lda-shown": "The test rejects that there is none: some rule based on the covariates used here{group}{own} "
    "{better}.",
    "no-evidence": "The test does not reject that there is none. The data may be too few, or the learner too weak, to "
    "find an alternative that exists.",
    "not-comparable": "No rule based on the covariates{group} is estimated to have such risks. Either the learner is "
    "too weak, or the algorithm uses information outside the covariates{group}. This shows neither an alternative "
    "nor its absence. A stronger learner, or the algorithm's own score as a covariate, may help.",
}
_BETTER = {
    True: "is no worse for either group and no less fair, and better in at least one of these respects",
    False: "is no worse for any group, and differences in risk are no wider",
}
"""What an alternative is, for two groups and for more."""
_SEEN: Mapping[str, str] = {"group-blind": "", "group-aware": " and the group"}
"""What rules depend on beside the covariates."""


_BY_GROUP = (
    "The test rejects that there is none: other decisions about one group, by a rule based on the covariates used "
    "here, would lower its risk while all else stays as now; or another rule would do so for all groups together. "
    "Differences in risk get no wider."
)


def meanings(two: bool, settings: Settings) -> dict[Verdict, str]:
    """What the verdicts mean, for two groups or more and by what rules may depend on."""
    rules = settings.rules
    better = "is as the question says" if other_criteria(settings) else _BETTER[two]
    own = ", and on the algorithm's own decisions," if takes_steps(settings) else ""
    said = {verdict: text.format(group=_SEEN[rules], own=own, better=better) for verdict, text in _MEANINGS.items()}
    if rules == "group-aware":
        said["lda-shown"] = _BY_GROUP
    elif not other_criteria(settings):
        said["not-comparable"] += (
            " If the algorithm sees the group, compare it with rules of its own kind (--rules group-aware, in Python "
            'rules="group-aware").'
        )
    return said


def takes_steps(settings: Settings) -> bool:
    """Whether the rules of the test take steps from an algorithm's decisions."""
    limited = settings.bounded or (settings.capacity is not None and settings.capacity < 1.0)
    return settings.n_rep > 1 and not limited and not settings.sequential and settings.rules == "group-blind"


def other_criteria(settings: Settings) -> bool:
    """Whether rules are compared by other criteria than the groups' risks."""
    usual = settings.fairness == "risk" and settings.accuracy == "by-group"
    return not usual or settings.keep is not None or settings.profit


_OTHER_MEASURE = "Fairness here is {smaller}, and nothing about other measures. It is evidence, not a legal finding."
_LIMITS = (
    "Fairness here is a gap in expected loss (risk) between {several}groups. It is not a finding on selection rates, "
    "nor a legal finding.",
    "The outcome is taken at face value: it must be measured alike in {all} groups. If it is known only for people who "
    "were selected, or only for people who were not (selective labels), the risks here are not those of everyone.",
    "Alternatives use nothing but the covariates listed below{group}; where they leave decisions as they are now, "
    "these use whatever the algorithm uses. With other covariates there are other rules.",
    "If an algorithm was trained on these very rows, its risks here are too low, and the comparison favours it. "
    "The rows do not show whether it was.",
)


def limits(n_groups: int, rules: str, criteria: Criteria = USUAL) -> tuple[str, ...]:
    """What an audit of so many groups does not show, by what rules may depend on and what they are compared by."""
    words = {"several": "two ", "all": "both"} if n_groups == 2 else {"several": "", "all": "all"}
    said = _LIMITS if criteria.usual else (_OTHER_MEASURE, *_LIMITS[1:])
    smaller = criteria.smaller(n_groups)
    return tuple(text.format(**words, group=_SEEN[rules], smaller=smaller) for text in said)


SETTINGS = {
    "loss": "Loss",
    "fairness": "Measure compared between groups",
    "accuracy": "No less accurate",
    "keep": "Share of people selected",
    "keep_tolerance": "Tolerance of that share",
    "profit": "Profits",
    "learner": "Learner",
    "learner_params": "Options of the learner",
    "n_folds": "Folds of the cross-fitting",
    "sequential": "Folds in sequence",
    "n_rep": "Repetitions of the cross-fitting",
    "n_boot": "Bootstrap draws",
    "bias_correction": "Bias correction",
    "jitter": "Jitter of nuisance pairs",
    "capacity": "Largest share of people a rule may select",
    "rules": "What rules may depend on",
    "bounded": "Bounds on the chance of being selected",
    "weighted": "Sampling weights",
    "clusters": "Clusters of rows",
    "random_state": "Seed",
}
TARGET: Mapping[str, str] = {
    "group-blind": "how much being selected changes a person's loss, counted as zero in the other group",
    "group-aware": "how much being selected changes the loss of a person of this group",
}
"""What a learner predicts for a group, by what rules may depend on."""
REFERENCES = (
    'Liu, Yiqi and Molinari, Francesca (2025): "Inference for an Algorithmic Fairness-Accuracy Frontier". The tests, '
    "the confidence sets and the distance.",
    'Liang, Annie, Lu, Jay, Mu, Xiaosheng and Okumura, Kyohei: "Algorithm Design: A Fairness-Accuracy Frontier". The '
    "frontier, group skew and what it says about banning an input.",
    'Holm, Sture (1979): "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics '
    "6, 65-70. The p-values of several algorithms judged together.",
)
CITATION = (
    'Liu, Yiqi and Molinari, Francesca (2025): "Inference for an Algorithmic Fairness-Accuracy Frontier".',
    "fairfrontier {version}, the fairfrontier developers.",
)


def verdict_line(algorithm: AlgorithmRecord | JointAlgorithmRecord, record: Record | GroupsRecord) -> str:
    """Return the verdict on one algorithm as one line, with the p-value that decides."""
    return f"{algorithm.name}: {algorithm.headline} ({_p_values(algorithm, record)})"


def pair_lines(record: Record | GroupsRecord) -> list[str]:
    """Return the verdicts on pairs of groups, a line for each algorithm; none for two groups."""
    if isinstance(record, Record):
        return []
    if not record.pairs and record.without_pairs is None:
        return []
    if record.without_pairs is not None:
        return [f"Pairs of groups were not tested: {record.without_pairs}"]
    lines = []
    for k, algorithm in enumerate(record.algorithms):
        found = "; ".join(
            f"{pair.groups[0]} and {pair.groups[1]}: {CHIPS[own.verdict]}, p-value "
            f"{p_value_text(own.p_value_adjusted, record.alpha)}"
            for pair in record.pairs
            for own in [pair.algorithms[k]]
        )
        lines.append(f"{algorithm.name}, pair by pair (adjusted for {record.pair_tests} tests): {found}.")
    return lines


def learner_together(better_for: Sequence[Label], *, overall: bool = False) -> str:
    """Say whether the learner is good enough for an algorithm: for which groups its best rule does worse."""
    if overall:
        if not better_for:
            return "Overall the algorithm does no better, beyond chance, than the learner's best rule."
        return (
            "Overall the algorithm does better than the learner's best rule, beyond chance: the learner is too weak, "
            "or the algorithm uses information outside the covariates."
        )
    if not better_for:
        return "For no group does the algorithm do better, beyond chance, than the learner's best rule for the group."
    return (
        f"For group {' and for group '.join(map(str, better_for))} the algorithm does better than the learner's best "
        "rule, beyond chance: the learner is too weak, or the algorithm uses information outside the covariates."
    )


def better_rule(algorithm: AlgorithmRecord) -> AlternativeRecord | None:
    """Return the listed rule, not in doubt, with lower risks for both groups than an alternative that changes one.

    Of several that with the smallest sum of risks.
    """
    found = algorithm.lda.witness
    if found is None or found.changed is None:
        return None
    sure = [own for own in algorithm.alternatives if not own.flagged]
    better = [own for own in sure if own.risk[0] < found.risk[0] and own.risk[1] < found.risk[1]]
    return min(better, key=lambda own: sum(own.risk), default=None)


def ban_line(record: Record | GroupsRecord) -> str | None:
    """Return what a ban of the group adds to the risks, with population weights, and what is shown, as one line.

    None if that was not estimated, as with rules compared by other criteria.
    """
    if record.ban is None:
        return None
    point = next(point for point in record.ban.points if point.name == POPULATION)
    costs = ", ".join(
        f"{label} {cost:+.4f} ({low:+.4f} to {high:+.4f})"
        for label, cost, low, high in zip(record.groups, point.cost, point.low, point.high, strict=True)
    )
    return f"What a ban of the group adds to the risks at the point 'population': {costs}. {record.ban.remarks[0]}"


def beside_verdict(algorithm: AlgorithmRecord | JointAlgorithmRecord) -> list[str]:
    """Return what belongs under the verdict: is the learner good enough, do other runs agree, other covariates."""
    runs = [] if algorithm.other_runs is None else list(algorithm.other_runs.sentences)
    return [learner_line(algorithm), *runs, *([] if algorithm.both_ways is None else [algorithm.both_ways])]


def learner_line(algorithm: AlgorithmRecord | JointAlgorithmRecord) -> str:
    """Return whether the learner is good enough for one algorithm as one line."""
    if isinstance(algorithm, JointAlgorithmRecord):
        return algorithm.learner_sentence
    check = algorithm.learner_check
    if check is None:
        return "The learner is not compared with it: only its risks are known."
    return " ".join([check.sentences[0], *check.sentences[2:]])


def _p_values(algorithm: AlgorithmRecord | JointAlgorithmRecord, record: Record | GroupsRecord) -> str:
    """The p-value that decides, and beside it that of the algorithm alone if there are others."""
    adjusted, alone = (p_value_text(p, record.alpha) for p in (algorithm.lda.p_value_adjusted, algorithm.lda.p_value))
    return f"p-value {alone}" if len(record.algorithms) == 1 else f"adjusted p-value {adjusted}, unadjusted {alone}"


def explain_both_ways(first: Run, other: Run | None, name: str, alpha: float) -> str:
    """Return the verdict on a score with the score among the covariates and without it.

    ``first`` is the run that decides; ``other`` treats the score the other way, None if it failed.
    """
    way = f"This is {first.covariates} among the covariates."
    if other is None:
        return f"{way} The other way could not be computed; see the warnings."
    found = other.algorithms[name]
    p_value = p_value_text(found.p_value_adjusted, alpha)
    both = f"{way} {other.covariates.capitalize()}: {CHIPS[found.verdict]}, p-value {p_value}."
    if found.verdict == first.algorithms[name].verdict:
        return both
    return f"{both} So the answer depends on whether rules may use the score: decide that, and not by the verdict."


def explain_learner(quality: pd.DataFrame, groups: Sequence[Label], rules: str) -> list[str]:
    """Say how well the learner predicts out of fold, group by group."""
    lines, target = [], TARGET[rules]
    for label in groups:
        own = quality[[group == label for group in quality["group"]]]
        known = own["r2"].dropna()
        if known.empty:
            continue
        r2 = float(known.median())
        how = (
            f"predicts {target}, no better than its mean"
            if r2 <= 0.0
            else f"explains {share_text(r2)} of the variation in {target}"
        )
        lines.append(f"Group {label}: the learner {how} (median over folds).")
    if lines and rules == "group-blind":
        lines.append("This mixes how well the outcome is predicted with how well the group is.")
    return lines
