"""The questions of a report, each asked once of a fitted `FairFrontier`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..arrays import ArrayLike, FloatArray
from ..data.algorithms import Asked
from ..data.reading import Label
from ..data.risks import Risks
from ..data.variables import check_names
from ..errors import InputError
from ..inference import questions
from ..inference.ban.result import BanCost
from ..inference.distance.result import DistanceIntervals
from ..inference.fan.questions import joint_lda_tests
from ..inference.fan.result import JointLDATests
from ..inference.group_skew import GroupSkewTest
from ..inference.lda.result import LDATests
from ..inference.pairs import Pair, PairTests
from ..inference.regions import FrontierRegion
from ..rules.alternatives import Alternatives

if TYPE_CHECKING:
    from ..estimator import FairFrontier

N_ALTERNATIVES = 8
"""Alternatives listed per algorithm."""


OTHER_QUESTION = "Pairs of groups are compared by their risks, and another question is asked here."
"""Why pairs are not tested by other criteria."""


WITHOUT_ROWS = "What a ban of the group costs needs the rows themselves, and these were read in parts and counted."
"""Why there is no cost of a ban."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The answers: for each algorithm its risks, test, distance and alternatives, by name; and what concerns them all.

    ``capacity`` limits tests, alternatives and what is drawn; ``region`` is None if it was not asked for, and
    ``without_ban`` says why there is no cost of a ban.
    ``decisions`` (n,) of each algorithm are those in the rows used, as chances.
    """

    capacity: float | None
    decisions: Mapping[str, FloatArray]
    risks: Mapping[str, Risks]
    tests: LDATests
    distances: DistanceIntervals
    alternatives: Mapping[str, Alternatives]
    skew: GroupSkewTest
    ban: BanCost | None
    without_ban: str | None
    region: FrontierRegion | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JointFindings:
    """The answers for more than two groups, or by other criteria: the joint tests, and every pair with its tests.

    ``decisions`` (n,) of each algorithm in the rows used, as chances; ``pairs`` are fits of two groups, and
    ``without_pairs`` says why there are none; ``ban`` and ``without_ban`` as for two groups.
    """

    reference: Label | None
    decisions: Mapping[str, FloatArray]
    tests: JointLDATests
    pairs: Mapping[Pair, FairFrontier]
    pair_tests: PairTests | None
    without_pairs: str | None
    ban: BanCost | None
    without_ban: str | None


def ask_jointly(
    ff: FairFrontier,
    algorithms: Mapping[str, ArrayLike],
    *,
    randomised: bool = False,
    reference: Label | None = None,
    before_each: Callable[[], None] = lambda: None,
) -> JointFindings:
    """Ask everything that a report says about algorithms and more than two groups; see `ask`."""
    check_names([str(name) for name in algorithms])
    named = {str(name): values for name, values in algorithms.items()}
    before_each()
    tests = ask_lda(ff, named, randomised=randomised, reference=reference)
    assert isinstance(tests, JointLDATests)
    before_each()
    pairs: Mapping[Pair, FairFrontier] = {}
    pair_tests, without = None, None
    if ff.fit_.asked is not None:
        without = OTHER_QUESTION if len(ff.groups_) > 2 else None
    else:
        try:
            of_pairs = ff.pairs(reference)
        except InputError as error:  # predictions that do not serve pairs
            without = str(error)
        else:
            before_each()
            pairs, pair_tests = of_pairs, of_pairs.test_lda(named, randomised=randomised) if named else None
    before_each()
    ban, without_ban = ask_ban(ff)
    return JointFindings(
        reference=reference,
        decisions=_decisions(ff, named, randomised=randomised),
        tests=tests,
        pairs=pairs,
        pair_tests=pair_tests,
        without_pairs=without,
        ban=ban,
        without_ban=without_ban,
    )


def ask(
    ff: FairFrontier,
    algorithms: Mapping[str, ArrayLike],
    *,
    randomised: bool = False,
    capacity: float | None = None,
    n_alternatives: int = N_ALTERNATIVES,
    region: bool = True,
    before_each: Callable[[], None] = lambda: None,
) -> Findings:
    """Ask everything that a report says about algorithms.

    Parameters
    ----------
    ff : FairFrontier
        A fitted object.
    algorithms : mapping of names to columns (n,)
        Decisions for the rows given to `fit`, or of rows that were read in parts the name of each itself; may be empty.
    randomised : bool
        Whether decisions strictly between 0 and 1 are chances.
    capacity : float, optional
        Compare only with rules that select at most this share of people.
    n_alternatives : int
        Alternatives listed per algorithm.
    region : bool
        Whether to compute the confidence set of the frontier; with a capacity there is none.
    before_each : callable
        Called before each question; it may raise an exception to stop.

    Returns
    -------
    Findings
    """
    check_names([str(name) for name in algorithms])
    named = {str(name): values for name, values in algorithms.items()}
    before_each()
    tests = ask_lda(ff, named, randomised=randomised, capacity=capacity)
    assert isinstance(tests, LDATests)
    before_each()
    distances = _distances(ff, named, randomised=randomised)
    before_each()
    alternatives = {
        name: ff.alternatives(
            {name: values}, n_alternatives, capacity=capacity, randomised=randomised, test=tests[name]
        )
        for name, values in named.items()
    }
    before_each()
    skew = ff.test_group_skew()
    before_each()
    ban, without_ban = ask_ban(ff)
    before_each()
    return Findings(
        capacity=capacity,
        decisions=_decisions(ff, named, randomised=randomised),
        risks={name: ff.risks(values) for name, values in named.items()},
        tests=tests,
        distances=distances,
        alternatives=alternatives,
        skew=skew,
        ban=ban,
        without_ban=without_ban,
        region=ff.frontier_confidence_set() if region and capacity is None else None,
    )


def ask_ban(ff: FairFrontier) -> tuple[BanCost | None, str | None]:
    """Ask what a ban of the group costs; otherwise why that cannot be estimated."""
    if ff.fit_.counted is not None:
        return None, WITHOUT_ROWS
    try:
        return ff.cost_of_ban(), None
    except InputError as error:  # predictions that serve one side only
        return None, str(error)


def ask_lda(
    ff: FairFrontier,
    algorithms: Mapping[str, ArrayLike],
    *,
    randomised: bool = False,
    capacity: float | None = None,
    reference: Label | None = None,
) -> LDATests | JointLDATests:
    """Test algorithms together for less discriminatory alternatives; there may be none to test."""
    two = len(ff.groups_) == 2 and ff.fit_.asked is None
    if not algorithms:
        return LDATests({}) if two else JointLDATests({})
    read = questions.algorithms_of(ff.fit_, Asked(algorithms, randomised=randomised))
    if two:
        return questions.lda_tests(ff.fit_, read, capacity=capacity)
    return joint_lda_tests(ff.fit_, read, reference=reference)


def _decisions(ff: FairFrontier, algorithms: Mapping[str, ArrayLike], *, randomised: bool) -> dict[str, FloatArray]:
    """Decisions (n,) of each algorithm in the rows used, as chances."""
    if not algorithms:
        return {}
    read = questions.algorithms_of(ff.fit_, Asked(algorithms, randomised=randomised))
    return dict(zip(read.names, read.decisions, strict=True))


def _distances(ff: FairFrontier, algorithms: Mapping[str, ArrayLike], *, randomised: bool) -> DistanceIntervals:
    if not algorithms:
        return DistanceIntervals({})
    return questions.distances(ff.fit_, questions.algorithms_of(ff.fit_, Asked(algorithms, randomised=randomised)))
