"""Which columns of a table are used as what, which are left out and why, and which rows are dropped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import BoolArray, FloatArray
from ..data.losses import get_loss
from ..errors import InputError
from .columns import FEW_ROWS, as_labels, dates, hashable, is_copy, printable, tells
from .request import AuditRequest
from .table import TableFile

MOST_CATEGORIES = 100
"""Text columns with more different values than this are left out."""
MOST_MISSING = 0.5
"""Covariates with a larger share of missing values are left out; otherwise rows with gaps are dropped."""
TELLING = 0.95
"""From this area under the curve on a covariate is told to predict the outcome very well."""
LEAK = 0.995
"""A covariate is a leak suspect if by itself it predicts outcome or group with at least this area under the curve."""
TIED = 0.9
"""If --top treats less than this part of the share asked for, it is told."""
IS_SCORE = 0.9999
"""A covariate that predicts the decisions so well seems to be the score behind them; it is kept, and told."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The audit's inputs, and an account of where they come from.

    ``excluded`` tells why each column is left out; those of ``warned`` look like mistakes. ``noted`` tells what to mind
    about covariates that are kept. ``dropped`` counts rows left out by reason and group; ``other_groups`` rows of
    groups not compared; ``categories`` the values of text covariates.
    """

    file: TableFile
    request: AuditRequest
    X: pd.DataFrame
    score: pd.Series | None
    y: FloatArray
    group: np.ndarray[Any, Any]
    groups: tuple[str, str]
    algorithms: Mapping[str, FloatArray]
    weights: FloatArray | None
    clusters: np.ndarray[Any, Any] | None
    roles: Mapping[str, str]
    excluded: Mapping[str, str]
    warned: tuple[str, ...]
    noted: Mapping[str, str]
    dropped: Mapping[str, Mapping[str, int]]
    other_groups: Mapping[str, int]
    categories: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Say what is used as what, in plain words; names from the data cannot break a line."""
        n, read = len(self.y), len(self.file.table)
        lines = [f"File        {self.file.name}: {read:,} rows, {self.file.table.shape[1]} columns"]
        lines += [f"{role.split(' ')[0].capitalize():<12}{column}" for column, role in self.roles.items()]
        shares = [f"{label} {int((self.group == label).sum()):,}" for label in self.groups]
        lines.append(f"Groups      {', '.join(shares)}")
        lines.append(f"Treated     {', '.join(f'{name}: {a.mean():.1%}' for name, a in self.algorithms.items())}")
        names = [f"{c} ({self.categories[c]} categories)" if c in self.categories else c for c in self.X.columns]
        lines.append(f"Covariates  {len(names)}: {', '.join(names)}")
        if self.categories:
            lines.append("Encoding    text and categories become indicators, one for each value")
        if self.score is not None:
            how = "used" if self.request.score_as_feature else "not used"
            lines.append(f"            The score is {how} as a covariate; the verdict is shown both ways.")
        for column, why in self.excluded.items():
            lines.append(f"{'WARNING' if column in self.warned else 'Left out':<12}{column}: {why}")
        lines += [f"Mind        {column}: {what}" for column, what in self.noted.items()]
        for label, count in self.other_groups.items():
            lines.append(f"Not used    {count:,} rows of group {label}")
        for reason, counts in self.dropped.items():
            listed = ", ".join(f"{label} {count:,}" for label, count in counts.items())
            lines.append(f"Dropped     {sum(counts.values()):,} rows, {reason} ({listed})")
        lines.append(f"Rows used   {n:,} of {read:,}")
        return [printable(line) for line in lines]


def make_plan(file: TableFile, request: AuditRequest) -> AuditPlan:
    """Read the columns of a table as a request says; nothing is guessed without being told."""
    request.check()
    table = file.table
    roles = _roles(table, request)
    reserved = set(roles)
    features = _names(table, request.features, "--features")
    unwanted = _names(table, request.exclude, "--exclude")
    for column in features:
        if column in reserved:
            raise InputError(
                "bad-features",
                f"{column!r} is the {roles[column]} and cannot be a covariate, too."
                + (" Use --score-as-feature for the score." if column == request.score else ""),
            )
    rows, group, groups, other, dropped = _group_rows(table, request)
    for column, role in roles.items():
        if role != "group":
            rows = _drop(rows, table[column].isna().to_numpy(), f"{column} ({role}) is missing", group, dropped)
    _refuse_empty(rows, group, groups, dropped)
    if request.clusters is not None and _merged(table[request.clusters]):
        raise InputError(
            "bad-features",
            f"{request.clusters!r} (clusters) was read as numbers too large to be told apart. Write them as text, for "
            "example with a letter in front.",
        )
    candidates = features or [c for c in table.columns if c not in reserved and c not in unwanted]
    excluded = {column: "named in --exclude" for column in unwanted if column not in reserved}
    complete = table.loc[rows]
    known = _Known(
        {column: complete[column] for column in roles},
        _outcome(complete[request.outcome], request) if get_loss(request.loss).binary_outcome else None,
        np.asarray(group[rows] == groups[0], dtype=float),
        _algorithms(complete, request),
        request,
    )
    warned, noted = [], {}
    for column in candidates:
        why, alarming = _unfit(complete[column], known, bool(features))
        if why:
            excluded[column] = why
            if alarming:
                warned.append(column)
        elif what := _notable(complete[column], known):
            noted[column] = what
    covariates = [column for column in candidates if column not in excluded]
    if not covariates:
        reasons = "; ".join(f"{column}: {why}" for column, why in list(excluded.items())[:8])
        raise InputError(
            "bad-features",
            f"No covariate is left ({reasons or 'the file has no other columns'}). Name some by --features.",
        )
    for column in covariates:
        rows = _drop(rows, table[column].isna().to_numpy(), f"{column} is missing", group, dropped)
    _refuse_empty(rows, group, groups, dropped)
    used = table.loc[rows]
    algorithms = _algorithms(used, request)
    if request.score is not None and request.top is not None:
        treated = float(next(iter(algorithms.values())).mean())
        if treated < TIED * request.top:
            noted[request.score] = f"top {request.top:g} treats {treated:.1%}, since people tied at the cut-off are not"
    X = used[covariates].reset_index(drop=True).infer_objects()
    text = [column for column in covariates if not pd.api.types.is_numeric_dtype(X[column])]
    for column in text:
        X[column] = as_labels(X[column])
    return AuditPlan(
        file,
        request,
        X,
        None if request.score is None else used[request.score].reset_index(drop=True),
        _outcome(used[request.outcome], request),
        group[rows],
        groups,
        algorithms,
        None if request.weights is None else used[request.weights].to_numpy(),
        None if request.clusters is None else used[request.clusters].to_numpy(),
        roles,
        excluded,
        tuple(warned),
        noted,
        {reason: counts for reason, counts in dropped.items() if sum(counts.values())},
        other,
        {column: int(X[column].nunique()) for column in text},
    )


def _roles(table: pd.DataFrame, request: AuditRequest) -> dict[str, str]:
    wanted = {"outcome": request.outcome, "group": request.group, "decision": request.decision, "score": request.score}
    wanted |= {"weights": request.weights, "clusters": request.clusters}
    wanted |= {f"decision ({name})": column for name, column in request.algorithms.items()}
    roles: dict[str, str] = {}
    for role, column in wanted.items():
        if column is None:
            continue
        _known_column(table, column, f"the {role}")
        if column in roles and not (role.startswith("decision") and roles[column].startswith("decision")):
            raise InputError("bad-option", f"{column!r} is given as {roles[column]} and as {role}: they must differ.")
        roles.setdefault(column, role)
    return roles


def _names(table: pd.DataFrame, given: Iterable[str], what: str) -> list[str]:
    """Column names of the table: each text is a column, or several separated by commas."""
    found: list[str] = []
    for text in given:
        for name in [text] if text in table.columns else [part.strip() for part in text.split(",")]:
            _known_column(table, name, what)
            if name not in found:
                found.append(name)
    return found


def _known_column(table: pd.DataFrame, name: str, what: str) -> None:
    if name not in table.columns:
        close = difflib.get_close_matches(name, table.columns, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" It has: {_listed(table.columns)}."
        raise InputError("bad-features", f"The file has no column {name!r}, given for {what}.{hint}")


def _group_rows(
    table: pd.DataFrame, request: AuditRequest
) -> tuple[BoolArray, Any, tuple[str, str], dict[str, int], dict[str, dict[str, int]]]:
    labels = as_labels(table[request.group])
    counts = labels.value_counts()
    present = [str(label) for label in counts.index]
    chosen = request.groups
    if not chosen:
        if len(present) < 2:
            raise InputError("one-group", f"{request.group!r} must hold two groups, and holds {present}.")
        if len(present) > 2:
            listed = ", ".join(f"{label} ({count:,})" for label, count in counts.head(8).items())
            raise InputError(
                "too-many-groups", f"{request.group!r} holds {len(present)} groups: {listed}. Name two by --groups A,B."
            )
        chosen = tuple(sorted(present, reverse=True))
    absent = [label for label in chosen if label not in present]
    if absent:
        raise InputError(
            "unknown-group",
            f"--groups: {absent} are not in {request.group!r}, which holds {present[:8]}. Choose two of these.",
        )
    group = labels.to_numpy(dtype=object)
    rows = labels.isin(list(chosen)).to_numpy()
    other = {label: int(counts[label]) for label in present if label not in chosen}
    missing = int(labels.isna().sum())
    dropped = {"group is missing": {"no group": missing}} if missing else {}
    return rows, group, (chosen[0], chosen[1]), other, dropped


def _drop(rows: BoolArray, gaps: BoolArray, reason: str, group: Any, dropped: dict[str, dict[str, int]]) -> BoolArray:
    lost = rows & gaps
    if lost.any():
        while reason in dropped:  # a column may be called "group", or "y (outcome)"
            reason = f"column {reason}"
        labels, counts = np.unique(group[lost].astype(str), return_counts=True)
        dropped[reason] = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
    return rows & ~gaps


def _refuse_empty(rows: BoolArray, group: Any, groups: tuple[str, str], dropped: Mapping[str, Any]) -> None:
    if not rows.any():
        raise InputError("empty-data", f"No row is complete: {_counted(dropped)}. Fill in or leave out columns.")
    for label in groups:
        if not (group[rows] == label).any():
            raise InputError(
                "one-group",
                f"No row of group {label!r} is complete: {_counted(dropped)}. Fill in or leave out columns.",
            )


def _merged(column: pd.Series) -> bool:
    """Whether a column was read as numbers so large that neighbouring whole numbers are one."""
    return pd.api.types.is_float_dtype(column) and bool((column.abs() >= 2.0**53).any())


def _outcome(column: pd.Series, request: AuditRequest) -> FloatArray:
    binary = get_loss(request.loss).binary_outcome
    column = column.infer_objects()
    if request.positive is not None:
        labels = as_labels(column)
        present = sorted(labels.unique())
        if request.positive not in present:
            raise InputError(
                "bad-option",
                f"--positive {request.positive!r} is not in {column.name!r}: {present[:8]}. Choose one of these.",
            )
        if len(present) > 2:
            raise InputError(
                "outcome-not-binary",
                f"{column.name!r} has {len(present)} values: {present[:8]}. --positive needs an outcome of two.",
            )
        values = np.asarray(labels == request.positive, dtype=float)
    elif pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=float)
        if binary and not np.isin(values, (0.0, 1.0)).all():
            raise InputError(
                "outcome-not-binary",
                f"{column.name!r} must hold 0 and 1, and holds {_some_labels(column)}. With two labels say which "
                "counts as 1: --positive LABEL.",
            )
        if not np.isfinite(values).all():
            raise InputError("non-finite", f"The outcome {column.name!r} holds infinite values. Give finite ones.")
    else:
        raise InputError(
            "outcome-not-binary",
            f"{column.name!r} holds {_some_labels(column)}: say which counts as 1, --positive LABEL.",
        )
    if (values == values[0]).all():
        label = _some_labels(column)[0]
        raise InputError(
            "constant-outcome", f"{column.name!r} is always {label}: nothing can be predicted. Check --outcome."
        )
    return values


def _some_labels(column: pd.Series, most: int = 6) -> list[str]:
    return sorted(as_labels(column).unique())[:most]


def _algorithms(used: pd.DataFrame, request: AuditRequest) -> dict[str, FloatArray]:
    algorithms: dict[str, FloatArray] = {}
    if request.decision is not None:
        algorithms[request.decision] = _decisions(used[request.decision])
    elif request.score is not None:
        score = used[request.score]
        if not pd.api.types.is_numeric_dtype(score):
            raise InputError("bad-decisions", f"The score {request.score!r} must hold numbers.")
        values = score.to_numpy(dtype=float)
        if not np.isfinite(values).all():
            raise InputError("non-finite", f"The score {request.score!r} holds infinite values. Give finite ones.")
        if request.threshold is not None:
            name, cut = f"{request.score} above {request.threshold:g}", request.threshold
        else:
            assert request.top is not None
            name, cut = f"{request.score}, top {request.top:.4g}", float(np.quantile(values, 1.0 - request.top))
        algorithms[name] = np.asarray(values > cut, dtype=float)
        if request.top is not None and not algorithms[name].any():
            raise InputError(
                "bad-decisions",
                f"--top {request.top:g} treats nobody: {np.mean(values == cut):.1%} of the rows share the highest "
                f"score, {cut:g}. Give --threshold, or --decision with a column of 0 and 1.",
            )
    for name, column in request.algorithms.items():
        if name in algorithms:
            raise InputError("bad-option", f"Two algorithms are called {name!r}.")
        algorithms[name] = _decisions(used[column])
    return algorithms


def _decisions(column: pd.Series) -> FloatArray:
    column = column.infer_objects()
    numeric = pd.api.types.is_numeric_dtype(column)
    if not numeric or not np.isin(column.to_numpy(dtype=float), (0.0, 1.0)).all():
        raise InputError(
            "bad-decisions",
            f"{column.name!r} must hold decisions 0 and 1, and holds {_listed(as_labels(column).unique())}."
            + (" If it is a score, use --score with --threshold or --top." if numeric else ""),
        )
    return column.to_numpy(dtype=float)


@dataclass(frozen=True, slots=True)
class _Known:
    """What no covariate may be a copy of: the columns in use, the outcome if it is 0/1, the group, the decisions."""

    columns: Mapping[str, pd.Series]
    outcome: FloatArray | None
    in_first_group: FloatArray
    decisions: Mapping[str, FloatArray]
    request: AuditRequest


def _unfit(column: pd.Series, known: _Known, named: bool) -> tuple[str, bool]:
    """Why a column cannot, or should not, be a covariate ("" if it can), and whether that looks like a mistake.

    A column named in --features is left out only if it cannot be used, is mostly missing, or is a copy.
    """
    values, n = column.dropna().infer_objects(), len(column)
    if not len(values):
        return "all of its values are missing", named
    if not hashable(values):
        return "its values are lists or the like", named
    different = int(values.nunique())
    numeric = pd.api.types.is_numeric_dtype(values)
    if different < 2:
        return "constant", named
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        return "a date or duration; turn it into a number, such as days since a date", named
    if numeric and not np.isfinite(values.to_numpy(dtype=float)).all():
        return "it holds infinite values", True
    if n - len(values) > MOST_MISSING * n:
        return f"{(n - len(values)) / n:.0%} of its values are missing", named
    kept = column.notna().to_numpy()
    for other, own in known.columns.items():
        if is_copy(values, own[kept]):
            return f"a copy of {other!r}, column for column or under other names", True
    for name, decisions in known.decisions.items():
        if is_copy(values, pd.Series(decisions[kept], index=values.index)):
            return f"a copy of the decisions {name!r}", True
    if named:
        return "", False
    if not numeric and dates(values):
        return "a date; turn it into a number, such as days since a date", False
    whole = not numeric or bool((values.to_numpy(dtype=float) % 1.0 == 0.0).all())
    if whole and different == len(values) and n >= FEW_ROWS:
        return "every value is different: an identifier", False
    if not numeric and different > MOST_CATEGORIES:
        return f"text with {different:,} different values", False
    if known.outcome is not None and tells(values, known.outcome[kept]) >= LEAK:
        return f"suspected leak: by itself it nearly determines {known.request.outcome!r}", True
    if tells(values, known.in_first_group[kept]) >= LEAK:
        return f"suspected leak: by itself it nearly determines {known.request.group!r}", True
    return "", False


def _notable(column: pd.Series, known: _Known) -> str:
    """What to mind about a covariate."""
    values, kept = column.dropna().infer_objects(), column.notna().to_numpy()
    told = []
    for name, decisions in known.decisions.items():
        if tells(values, decisions[kept]) >= IS_SCORE:
            told.append(f"it determines the decisions {name!r}, like a score; --exclude it if rules may not use it")
            break
    if known.outcome is not None and (area := tells(values, known.outcome[kept])) >= TELLING:
        told.append(
            f"by itself it predicts {known.request.outcome!r} very well (area under the curve {area:.2f}); "
            "--exclude it if it is known only after the decision"
        )
    return "; ".join(told)


def _listed(values: Any, most: int = 8) -> str:
    some = [str(value) for value in list(values)[:most]]
    return ", ".join(some) + (" ..." if len(list(values)) > most else "")


def _counted(dropped: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(f"{reason} {sum(counts.values()):,}" for reason, counts in dropped.items())
