"""Whether the runs of an audit agree: how many come to the verdict, what the others say, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..data.number_formats import p_value_text
from .frame import Run
from .record import OtherRun, OtherRuns
from .sentences import CHIPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What was done to find out: whether more runs were asked for, repetitions of each, and runs that failed.

    ``could_see_group``: whether rules do not see the group here, and could with the same question.
    """

    robustness: bool = False
    repetitions: int = 1
    not_done: int = 0
    could_see_group: bool = False


_COMPARABLE = "a stronger learner, or the algorithm's own score as a covariate, may make it comparable."
_OWN_KIND = "if the algorithm sees the group, --rules group-aware compares it with its own kind."


def other_runs(runs: Sequence[Run], name: str, alpha: float, effort: Effort) -> OtherRuns:
    """Compare the runs of an audit, of which the first determines the verdict on algorithm ``name``."""
    decisive, verdict = runs[0], runs[0].algorithms[name].verdict
    others = [_other(run, name) for run in runs[1:]]
    counted = [run for run in others if run.covariates == decisive.covariates]
    differing = tuple(run for run in counted if run.verdict != verdict)
    p_values = [decisive.algorithms[name].p_value_adjusted, *(run.p_value for run in counted)]
    ends = min(p_values), max(p_values)
    straddles = ends[0] <= alpha < ends[1]
    step = _next_step(decisive, differing, effort)
    if verdict == "not-comparable":
        known = step if differing else f"What to do: {_COMPARABLE}"
        step = f"{known[:-1]}; {_OWN_KIND}" if effort.could_see_group else known
    return OtherRuns(
        counted=len(counted),
        same_verdict=len(counted) - len(differing),
        not_done=effort.not_done,
        differing=differing,
        p_values=ends,
        straddles_alpha=straddles,
        other_covariates=tuple(run for run in others if run.covariates != decisive.covariates),
        next_step=step,
        sentences=(
            *_counts(len(counted), len(differing), effort.not_done),
            *([f"Other verdicts: {'; '.join(_described(run, alpha) for run in differing)}."] if differing else []),
            *([_sides(ends, alpha)] if straddles else []),
            step,
        ),
    )


def _other(run: Run, name: str) -> OtherRun:
    found = run.algorithms[name]
    return OtherRun(
        learner=run.learner,
        seed=run.seed,
        covariates=run.covariates,
        verdict=found.verdict,
        p_value=found.p_value_adjusted,
    )


def _counts(counted: int, differing: int, not_done: int) -> list[str]:
    """Say how many of the runs agree, and how many could not be done."""
    same, lines = counted - differing, []
    if counted:
        noun, verb = "run" if counted == 1 else "runs", "comes" if 1 in (same, counted) else "come"
        lines.append(f"{same} of {counted} other {noun} (another seed or learner) {verb} to the same verdict.")
    if not_done:
        noun = "run" if not_done == 1 else "runs"
        lines.append(f"{not_done} planned {noun} with another seed or learner could not be done; see the warnings.")
    return lines


def _described(run: OtherRun, alpha: float) -> str:
    covariates = "" if run.covariates == "as given" else f", {run.covariates}"
    p_value = p_value_text(run.p_value, alpha)
    return f"{run.learner}, seed {run.seed}{covariates}: {CHIPS[run.verdict]}, p-value {p_value}"


def _sides(ends: tuple[float, float], alpha: float) -> str:
    low, high = (p_value_text(p, alpha) for p in ends)
    return f"The p-values of these runs and of the verdict, {low} to {high}, lie on both sides of the level {alpha:g}."


def _next_step(decisive: Run, differing: Sequence[OtherRun], effort: Effort) -> str:
    """What to do next: it depends on whether the seed makes the difference, or the learner, or both."""
    by_seed = any(run.learner == decisive.learner for run in differing)
    by_learner = any(run.learner != decisive.learner for run in differing)
    beyond = "to 5 or more" if effort.repetitions < 5 else f"above {effort.repetitions}"
    if by_seed and by_learner:
        return (
            "What to do: seed and learner both matter, so use more rows, or raise --repetitions "
            f"{beyond}, and name the learner beforehand."
        )
    if by_seed:
        return (
            f"What to do: the seed matters, so raise --repetitions {beyond}, which averages over several splits of the "
            "rows, instead of picking a seed."
        )
    if by_learner:
        more = "with more rows less depends on it" if effort.robustness else "--robustness shows what further ones say"
        return f"What to do: the learner matters, so name it beforehand and not by its verdict; {more}."
    if effort.robustness:
        return "As far as was tried, the verdict does not depend on seed or learner."
    return "As far as was tried, the verdict does not depend on seed or learner; --robustness tries more."
