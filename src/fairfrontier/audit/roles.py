"""The first stage of a plan: which columns of the table have a role, and which may be covariates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from ..data.declared import NOTHING, Declared, read_declared
from ..data.messages import COMMAND_LINE, did_you_mean, listed
from ..errors import InputError
from .models import LoadedModel, load_models
from .request import AuditRequest


@dataclass(frozen=True, slots=True)
class Roles:
    """Columns with a role, and the candidates for covariates.

    Attributes
    ----------
    by_column : mapping of columns to roles
        "outcome", "group", "decision", "decision (name)", "score", "weights", "clusters", "profit".
    candidates : tuple of columns
        Those named in the request, or all columns without a role that are not excluded.
    named : bool
        Whether the candidates were named in the request.
    unwanted : tuple of columns
        Those excluded in the request.
    declared : Declared
        Columns declared as categories, and as quantities.
    models : tuple of LoadedModel
        Models that decide about the rows.
    """

    by_column: Mapping[str, str]
    candidates: tuple[str, ...]
    named: bool
    unwanted: tuple[str, ...]
    declared: Declared = NOTHING
    models: tuple[LoadedModel, ...] = ()


def find_roles(table: pd.DataFrame, request: AuditRequest) -> Roles:
    """Find the columns that a request names."""
    roles = _by_column(table, request)
    features = _split_names(table, request.features, "--features")
    exclude = _split_names(table, request.exclude, "--exclude")
    for column in features:
        if column in roles:
            raise InputError(
                "bad-features",
                f"{column!r} is the {roles[column]} and cannot also be a covariate."
                + (" Use --score-as-feature for the score." if column == request.score else ""),
            )
    others = [column for column in table.columns if column not in roles and column not in exclude]
    return Roles(
        by_column=roles,
        candidates=tuple(features or others),
        named=bool(features),
        unwanted=tuple(column for column in exclude if column not in roles),
        declared=_declared(table, request, (*roles, *exclude)),
        models=load_models(request),
    )


def _declared(table: pd.DataFrame, request: AuditRequest, others: Iterable[str]) -> Declared:
    """Read which columns are categories and which are quantities; those with a role, or left out, are neither."""
    lists = [_split_names(table, given, f"--{name}") for name, given in _kinds(request).items()]
    for name, columns in zip(_kinds(request), lists, strict=True):
        for column in columns:
            if column in others:
                raise InputError("bad-features", f"--{name} names {column!r}, which is not among the covariates.")
    return read_declared(lists[0], lists[1], COMMAND_LINE)


def _kinds(request: AuditRequest) -> dict[str, tuple[str, ...]]:
    return {"categorical": request.categorical, "numeric": request.numeric}


def _by_column(table: pd.DataFrame, request: AuditRequest) -> dict[str, str]:
    wanted = [
        ("outcome", request.outcome),
        *(("group", column) for column in request.group),
        ("decision", request.decision),
        ("score", request.score),
        ("weights", request.weights),
        ("clusters", request.clusters),
        ("profit", request.profit),
        *((f"decision ({name})", column) for name, column in request.algorithms.items()),
    ]
    roles: dict[str, str] = {}
    for role, column in wanted:
        if column is None:
            continue
        _check_present(table, column, f"the {role}")
        if column in roles and not (role.startswith("decision") and roles[column].startswith("decision")):
            raise InputError(
                "bad-option", f"{column!r} is given as {roles[column]} and as {role}; they must be different columns."
            )
        roles.setdefault(column, role)
    return roles


def _split_names(table: pd.DataFrame, given: Iterable[str], option: str) -> list[str]:
    """Return column names of the table: each text is one column, or several separated by commas."""
    found: list[str] = []
    for text in given:
        for name in [text] if text in table.columns else [part.strip() for part in text.split(",")]:
            _check_present(table, name, option)
            if name not in found:
                found.append(name)
    return found


def _check_present(table: pd.DataFrame, name: str, use: str) -> None:
    if name not in table.columns:
        hint = did_you_mean(name, table.columns, f" It has: {listed(table.columns)}.")
        raise InputError("bad-features", f"The file has no column {name!r}, given for {use}.{hint}")
