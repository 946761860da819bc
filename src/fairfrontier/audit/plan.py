"""Which columns of a table are used as what, which are left out and why, and which rows are dropped."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from .._typing import BoolArray, FloatArray, IntArray
from ..errors import InputError
from ..losses import get_loss
from .files import TableFile
from .request import AuditRequest

MOST_CATEGORIES = 100
"""Text columns with more different values than this are left out."""
MOST_MISSING = 0.5
"""Covariates with a larger share of missing values are left out; otherwise rows with gaps are dropped."""
LEAK = 0.995
"""A covariate is a leak suspect if by itself it predicts the outcome with at least this area under the curve."""
FEW_ROWS = 20
"""Below this many rows all-different values do not make an identifier."""


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The audit's inputs, and an account of where they come from.

    ``excluded`` tells why each column is left out; those of ``warned`` look like mistakes. ``dropped`` counts rows left
    out by reason and group; ``other_groups`` rows of groups that are not compared.
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
    dropped: Mapping[str, Mapping[str, int]]
    other_groups: Mapping[str, int]
    categories: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Say what is used as what, in plain words."""
        n, read = len(self.y), len(self.file.table)
        lines = [f"File        {self.file.name}: {read:,} rows, {self.file.table.shape[1]} columns"]
        lines += [f"{role.split(' ')[0].capitalize():<12}{column}" for column, role in self.roles.items()]
        shares = [f"{label} {int((self.group == label).sum()):,}" for label in self.groups]
        lines.append(f"Groups      {', '.join(shares)}")
        lines.append(f"Treated     {', '.join(f'{name}: {a.mean():.1%}' for name, a in self.algorithms.items())}")
        names = [f"{c} ({self.categories[c]} categories)" if c in self.categories else c for c in self.X.columns]
        lines.append(f"Covariates  {len(names)}: {', '.join(names)}")
        if self.score is not None:
            how = "used" if self.request.score_as_feature else "not used"
            lines.append(f"            The score is {how} as a covariate; the verdict is shown both ways.")
        for column, why in self.excluded.items():
            lines.append(f"{'WARNING' if column in self.warned else 'Left out':<12}{column}: {why}")
        for label, count in self.other_groups.items():
            lines.append(f"Not used    {count:,} rows of group {label}")
        for reason, counts in self.dropped.items():
            listed = ", ".join(f"{label} {count:,}" for label, count in counts.items())
            lines.append(f"Dropped     {sum(counts.values()):,} rows, {reason} ({listed})")
        lines.append(f"Rows used   {n:,} of {read:,}")
        return lines


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
    candidates = features or [c for c in table.columns if c not in reserved and c not in unwanted]
    excluded = {column: "named in --exclude" for column in unwanted if column not in reserved}
    y = _outcome(table.loc[rows, request.outcome], request)
    known = {column: table.loc[rows, column] for column in roles}
    warned = []
    for column in candidates:
        why, alarming = _unfit(table.loc[rows, column], y, group[rows], known, request, bool(features))
        if why:
            excluded[column] = why
            if alarming:
                warned.append(column)
    covariates = [column for column in candidates if column not in excluded]
    if not covariates:
        raise InputError("bad-features", f"No covariate is left: {_listed(excluded)}. Name some by --features.")
    for column in covariates:
        rows = _drop(rows, table[column].isna().to_numpy(), f"{column} is missing", group, dropped)
    if not rows.any():
        raise InputError("empty-data", f"No row is complete: {_counted(dropped)}.")
    used = table.loc[rows]
    X = used[covariates].reset_index(drop=True)
    return AuditPlan(
        file,
        request,
        X,
        None if request.score is None else used[request.score].reset_index(drop=True),
        _outcome(used[request.outcome], request),
        group[rows],
        groups,
        _algorithms(used, request),
        None if request.weights is None else used[request.weights].to_numpy(),
        None if request.clusters is None else used[request.clusters].to_numpy(),
        roles,
        excluded,
        tuple(warned),
        {reason: counts for reason, counts in dropped.items() if sum(counts.values())},
        other,
        {c: int(X[c].nunique()) for c in covariates if not pd.api.types.is_numeric_dtype(X[c])},
    )


def as_labels(column: pd.Series) -> pd.Series:
    """Labels as text; whole numbers without a decimal point, missing ones stay missing."""
    if pd.api.types.is_float_dtype(column) and (column.dropna() % 1 == 0).all():
        column = column.astype("Int64")
    return column.astype(object).map(str, na_action="ignore")


def _roles(table: pd.DataFrame, request: AuditRequest) -> dict[str, str]:
    wanted = {"outcome": request.outcome, "group": request.group, "decision": request.decision, "score": request.score}
    wanted |= {"weights": request.weights, "clusters": request.clusters}
    wanted |= {f"decision ({name})": column for name, column in request.algorithms.items()}
    roles: dict[str, str] = {}
    for role, column in wanted.items():
        if column is None:
            continue
        _names(table, (column,), f"the {role}")
        if column in roles and not (role.startswith("decision") and roles[column].startswith("decision")):
            raise InputError("bad-option", f"{column!r} is given as {roles[column]} and as {role}: they must differ.")
        roles.setdefault(column, role)
    return roles


def _names(table: pd.DataFrame, given: Iterable[str], what: str) -> list[str]:
    """Column names of the table: each text is a column, or several separated by commas."""
    found: list[str] = []
    for text in given:
        for name in [text] if text in table.columns else [part.strip() for part in text.split(",")]:
            if name not in table.columns:
                close = difflib.get_close_matches(name, table.columns, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else f" It has: {_listed(table.columns)}."
                raise InputError("bad-features", f"The file has no column {name!r}, given for {what}.{hint}")
            found.append(name)
    return found


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
            "unknown-group", f"--groups: {absent} are not in {request.group!r}, which holds {present[:8]}."
        )
    group = labels.to_numpy(dtype=object)
    rows = np.isin(group, chosen)
    other = {label: int(counts[label]) for label in present if label not in chosen}
    missing = int(labels.isna().sum())
    dropped = {"group is missing": {"no group": missing}} if missing else {}
    return rows, group, (chosen[0], chosen[1]), other, dropped


def _drop(rows: BoolArray, gaps: BoolArray, reason: str, group: Any, dropped: dict[str, dict[str, int]]) -> BoolArray:
    lost = rows & gaps
    if lost.any():
        labels, counts = np.unique(group[lost].astype(str), return_counts=True)
        dropped[reason] = {str(label): int(count) for label, count in zip(labels, counts, strict=True)}
    return rows & ~gaps


def _outcome(column: pd.Series, request: AuditRequest) -> FloatArray:
    binary = get_loss(request.loss).binary_outcome
    labels = as_labels(column)
    present = sorted(labels.unique())
    if request.positive is not None:
        if request.positive not in present:
            raise InputError("bad-option", f"--positive {request.positive!r} is not in {column.name!r}: {present[:8]}.")
        if len(present) > 2:
            raise InputError("outcome-not-binary", f"{column.name!r} has {len(present)} values: {present[:8]}.")
        return np.asarray(labels == request.positive, dtype=float)
    if pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
        values = column.to_numpy(dtype=float)
        if binary and not np.isin(values, (0.0, 1.0)).all():
            raise InputError(
                "outcome-not-binary",
                f"{column.name!r} must hold 0 and 1, and holds {present[:6]}. With two labels say which counts as 1: "
                "--positive LABEL.",
            )
        if binary and len(present) < 2:
            raise InputError("constant-outcome", f"{column.name!r} is always {present[0]}: nothing can be predicted.")
        return values
    raise InputError(
        "outcome-not-binary", f"{column.name!r} holds {present[:6]}: say which counts as 1, --positive LABEL."
    )


def _algorithms(used: pd.DataFrame, request: AuditRequest) -> dict[str, FloatArray]:
    algorithms: dict[str, FloatArray] = {}
    if request.decision is not None:
        algorithms[request.decision] = _decisions(used[request.decision])
    elif request.score is not None:
        score = used[request.score]
        if not pd.api.types.is_numeric_dtype(score):
            raise InputError("bad-decisions", f"The score {request.score!r} must hold numbers.")
        values = score.to_numpy(dtype=float)
        if request.threshold is not None:
            name, cut = f"{request.score} above {request.threshold:g}", request.threshold
        else:
            assert request.top is not None
            name, cut = f"{request.score}, top {request.top:.4g}", float(np.quantile(values, 1.0 - request.top))
        algorithms[name] = np.asarray(values > cut, dtype=float)
    for name, column in request.algorithms.items():
        if name in algorithms:
            raise InputError("bad-option", f"Two algorithms are called {name!r}.")
        algorithms[name] = _decisions(used[column])
    return algorithms


def _decisions(column: pd.Series) -> FloatArray:
    if not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)):
        raise InputError(
            "bad-decisions", f"{column.name!r} must hold decisions 0 and 1, and holds {_listed(column.unique())}."
        )
    values = column.to_numpy(dtype=float)
    if not np.isin(values, (0.0, 1.0)).all():
        raise InputError(
            "bad-decisions",
            f"{column.name!r} must hold decisions 0 and 1, and holds {_listed(column.unique())}. If it is a score, use "
            "--score with --threshold or --top.",
        )
    return values


def _unfit(
    column: pd.Series, y: FloatArray, group: Any, known: Mapping[str, pd.Series], request: AuditRequest, named: bool
) -> tuple[str, bool]:
    """Why a column cannot, or should not, be a covariate ("" if it can), and whether that looks like a mistake.

    A column named in --features is kept unless it cannot be used at all.
    """
    values, n = column.dropna(), len(column)
    different = int(values.nunique()) if _hashable(values) else n
    numeric = pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column)
    if different < 2:
        return "constant", False
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        return "a date or duration; turn it into a number, such as days since a date", named
    if n - len(values) > MOST_MISSING * n:
        return f"{(n - len(values)) / n:.0%} of its values are missing", named
    for other, own in known.items():
        if _same_partition(column, own):
            return f"a copy of {other!r}, column for column or under other names", True
    if named:
        return "", False
    whole = pd.api.types.is_integer_dtype(column) or not numeric
    if whole and different == len(values) and n >= FEW_ROWS:
        return "every value is different: an identifier", False
    if not numeric and different > MOST_CATEGORIES:
        return f"text with {different:,} different values", False
    if get_loss(request.loss).binary_outcome and numeric and len(values):
        kept = column.notna().to_numpy()
        if 0.0 < y[kept].mean() < 1.0:
            auc = float(roc_auc_score(y[kept], values.to_numpy(dtype=float)))
            if max(auc, 1.0 - auc) >= LEAK:
                return f"suspected leak: by itself it nearly determines {request.outcome!r}", True
    return "", False


def _same_partition(one: pd.Series, other: pd.Series) -> bool:
    """Whether two columns split the rows alike: each value of one goes with one value of the other."""
    if not (_hashable(one) and _hashable(other)):
        return False
    a, b = pd.factorize(one)[0], pd.factorize(other)[0]
    pairs = len(np.unique(_pair_codes(a, b)))
    return pairs == len(np.unique(a)) == len(np.unique(b))


def _pair_codes(a: IntArray, b: IntArray) -> IntArray:
    return np.asarray((a + 1) * (int(b.max(initial=0)) + 2) + b + 1, dtype=np.intp)


def _hashable(values: pd.Series) -> bool:
    try:
        values.nunique()
    except TypeError:
        return False
    return True


def _listed(values: Any, most: int = 8) -> str:
    some = [str(value) for value in list(values)[:most]]
    return ", ".join(some) + (" ..." if len(list(values)) > most else "")


def _counted(dropped: Mapping[str, Mapping[str, int]]) -> str:
    return "; ".join(f"{reason} {sum(counts.values()):,}" for reason, counts in dropped.items())
