"""What is asked of an audit: from the command line, from a TOML file, or both."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from ..data.checks import check_capacity, check_level
from ..data.losses import get_loss
from ..errors import InputError
from ..learning.learners import resolve_learner

LARGEST = 2**63 - 1
"""No setting is larger; config files hold no larger whole numbers."""


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Everything an audit depends on besides the data; the same names serve in a config file.

    ``decision`` names a column of decisions; or ``score`` one of scores, treated above ``threshold`` or in the highest
    ``top`` share. ``algorithms`` maps further names to columns of decisions.
    """

    data: str = ""
    outcome: str = ""
    group: str = ""
    decision: str | None = None
    score: str | None = None
    threshold: float | None = None
    top: float | None = None
    algorithms: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    positive: str | None = None
    score_as_feature: bool = False
    loss: str = "classification"
    learner: str = "factored-logit"
    folds: int = 5
    repetitions: int = 1
    draws: int = 1000
    capacity: float | None = None
    alpha: float = 0.05
    seed: int = 0
    weights: str | None = None
    clusters: str | None = None
    robustness: bool = False
    encoding: str = "utf-8"
    title: str | None = None

    def check(self) -> AuditRequest:
        """Refuse what contradicts itself or cannot be done, before any data are read; return itself."""
        if not self.data:
            raise InputError("bad-option", "An audit needs the path of a table: fairfrontier audit FILE ...")
        for name in ("outcome", "group"):
            if not getattr(self, name):
                raise InputError("bad-option", f"An audit needs `{name}`: give --{name}.")
        for name, value in self.resolved().items():
            if not _is_unicode(json.dumps(value, ensure_ascii=False)):
                raise InputError(
                    "bad-option", f"`{name}` must be UTF-8 text, got {value!r}. Write it in UTF-8, or rename the file."
                )
        if (self.decision is None) == (self.score is None):
            raise InputError("bad-option", "Give either --decision, a column of decisions, or --score, one of scores.")
        if self.score is not None and (self.threshold is None) == (self.top is None):
            raise InputError("bad-option", "With --score give either --threshold or --top: who is treated?")
        if self.score is None and (self.threshold is not None or self.top is not None):
            raise InputError("bad-option", "--threshold and --top belong to --score.")
        if self.threshold is not None and not math.isfinite(self.threshold):
            raise InputError("bad-option", f"--threshold is a number, got {self.threshold}.")
        if self.top is not None and not 0.0 < self.top < 1.0:
            raise InputError("bad-option", f"--top is a share between 0 and 1, such as 0.1; got {self.top:g}.")
        if self.features and self.exclude:
            raise InputError("bad-option", "Give either --features or --exclude, and not both.")
        if self.groups and (len(self.groups) != 2 or self.groups[0] == self.groups[1]):
            raise InputError("bad-option", f"--groups names two groups, such as A,B; got {list(self.groups)}.")
        if self.score_as_feature and self.score is None:
            raise InputError("bad-option", "--score-as-feature needs --score.")
        check_level(self.alpha, self.draws)
        if self.capacity is not None:
            check_capacity(self.capacity)
        if self.folds < 2:
            raise InputError("bad-folds", f"--folds is a whole number of at least 2, got {self.folds}.")
        if self.repetitions < 1:
            raise InputError("bad-option", f"--repetitions is a whole number of at least 1, got {self.repetitions}.")
        if self.seed < 0:
            raise InputError("bad-option", f"--seed is a whole number of at least 0, got {self.seed}.")
        for name in ("seed", "folds", "repetitions", "draws"):
            if getattr(self, name) > LARGEST:
                raise InputError("bad-option", f"--{name} is a whole number of at most {LARGEST}, got a larger one.")
        get_loss(self.loss)
        resolve_learner(self.learner)
        return self

    def resolved(self) -> dict[str, Any]:
        """All settings as plain values, for the record and for `write_config`."""
        found = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()}


def read_config(path: Path) -> AuditRequest:
    """Read settings from a TOML file; dashes and underscores in names are alike."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            "bad-option",
            f"The config file {path} cannot be read: {error.strerror or error}. Give the path of a TOML file.",
        ) from error
    except (ValueError, RecursionError) as error:  # broken TOML, no UTF-8, numbers too long, lists too deep
        raise InputError("bad-option", f"The config file {path} is not valid TOML: {error}.") from error
    known = {entry.name: entry for entry in fields(AuditRequest)}
    values: dict[str, Any] = {}
    for name, value in found.items():
        key = name.replace("-", "_")
        if key not in known:
            close = difflib.get_close_matches(key, known, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else f" Known: {', '.join(known)}."
            raise InputError("bad-option", f"{path} sets {name!r}, which is not known.{hint}")
        values[key] = _checked(name, value, getattr(AuditRequest(), key), known[key].type)
    return AuditRequest(**values)


RIVALS = {
    "decision": ("score", "threshold", "top", "score_as_feature"),
    "score": ("decision",),
    "threshold": ("top",),
    "top": ("threshold",),
    "features": ("exclude",),
    "exclude": ("features",),
}
"""Settings that cannot stand beside others."""


def override(request: AuditRequest, given: Mapping[str, Any]) -> AuditRequest:
    """Return the request with what was given on the command line in place of what the config file says.

    What cannot stand beside a setting that was given goes, too: --score takes the place of a decision column.
    """
    wanted = {name: value for name, value in given.items() if value is not None}
    gone = {rival: getattr(AuditRequest(), rival) for name in wanted for rival in RIVALS.get(name, ())}
    return replace(request, **gone | wanted)


def write_config(request: AuditRequest) -> str:
    """Return a request as TOML."""
    lines = ["# Settings of an audit; run it again with: fairfrontier audit --config THIS_FILE --out DIR"]
    tables = []
    for name, value in request.resolved().items():
        if value is None:
            continue
        if isinstance(value, dict):
            if value:
                tables += ["", f"[{name}]", *(f"{_text(key)} = {_text(item)}" for key, item in value.items())]
        elif isinstance(value, list):
            lines.append(f"{name} = [{', '.join(_text(item) for item in value)}]")
        else:
            lines.append(f"{name} = {_text(value) if isinstance(value, str) else json.dumps(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of a file name or an argument that are no UTF-8
        return False
    return True


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for pairs of surrogates, and TOML escapes one character more
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


KINDS: tuple[tuple[str, Any, str], ...] = (
    ("bool", bool, "true or false"),
    ("float", int | float, "a number"),
    ("int", int, "a whole number"),
    ("str", str, "a text"),
)


def _shown(value: Any, longest: int = 200) -> str:
    try:
        text = repr(value)
    except ValueError:  # a number of more digits than Python writes
        return "a number of thousands of digits"
    return text if len(text) <= longest else f"{text[:longest]} ..."


def _checked(name: str, value: Any, default: Any, kind: Any) -> Any:
    """Refuse a value of another type than the setting's."""
    if isinstance(default, tuple):
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError("bad-option", f"{name!r} must be a list of texts, got {_shown(value)}.")
        return tuple(value)
    if isinstance(default, dict):
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise InputError("bad-option", f"{name!r} must be a table of names and columns, got {_shown(value)}.")
        return value
    expected, words = next((known, text) for name_of, known, text in KINDS if name_of in str(kind))
    if isinstance(value, bool) != (expected is bool) or not isinstance(value, expected):
        raise InputError("bad-option", f"{name!r} must be {words}, got {_shown(value)}.")
    if expected in (int, int | float) and isinstance(value, int) and abs(value) > LARGEST:
        raise InputError("bad-option", f"{name!r} must be {words} of at most {LARGEST}, got a larger one.")
    return float(value) if "float" in str(kind) else value
