"""What makes the command `audit` fail if asked by ``--fail-on``: the words, their meaning and their exit codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.messages import did_you_mean, shown
from ..errors import InputError

if TYPE_CHECKING:
    from ..inference.lda.answer import Verdict
    from ..report.joint_record import GroupsRecord
    from ..report.record import Record

    AnyRecord = Record | GroupsRecord


@dataclass(frozen=True, slots=True)
class Condition:
    """A reason to fail: the ``word`` that asks for it, its exit ``code``, and whether it ``applies`` to a record."""

    word: str
    code: int
    meaning: str
    applies: Callable[[AnyRecord], bool]


def any_verdict(record: AnyRecord, verdict: Verdict) -> bool:
    """Whether any algorithm has this verdict."""
    return any(algorithm.verdict == verdict for algorithm in record.algorithms)


def disputed(record: AnyRecord) -> bool:
    """Whether a run with another seed or learner comes to another verdict on any algorithm."""
    return any(a.other_runs is not None and a.other_runs.differing for a in record.algorithms)


CONDITIONS = (
    Condition("lda", 3, "an alternative is shown", lambda record: any_verdict(record, "lda-shown")),
    Condition("not-comparable", 4, "an algorithm is not comparable", lambda r: any_verdict(r, "not-comparable")),
    Condition("disagreement", 5, "a run with another seed or learner comes to another verdict", disputed),
)
"""All conditions; of those asked for, the first that applies determines the exit code."""
HELP = (
    f"Exit with a special code if {', or '.join(f'{c.meaning} ({c.word}: {c.code})' for c in CONDITIONS)}; "
    "several separated by commas. The first of these that applies determines the code."
)
"""The conditions as help of the option."""


def read_conditions(given: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions asked for, in the order in which they apply; each text may have several, with commas."""
    words = [word.strip() for text in given for word in text.split(",")]
    known = [condition.word for condition in CONDITIONS]
    for word in words:
        if word not in known:
            raise InputError(
                "bad-option",
                f"--fail-on accepts {', '.join(known)}, several separated by commas, for example lda,disagreement; "
                f"got {shown(word)}." + did_you_mean(word, known),
            )
    return tuple(condition for condition in CONDITIONS if condition.word in words)


def failed(record: AnyRecord, conditions: Sequence[Condition]) -> Condition | None:
    """Return the first condition that applies to a record, or None: the command is then done with code 0."""
    return next((condition for condition in conditions if condition.applies(record)), None)
