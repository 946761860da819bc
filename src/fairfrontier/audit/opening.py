"""Opening what is to be audited: a table that is read as a whole, or files that are read in parts, and their plan."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..data.groups import two_groups_needed
from ..data.parts.files import CsvRows, file_kind, files_behind, files_in_parts
from ..data.parts.sources import RowsInParts
from ..data.reading import Label
from ..data.text_files import separator_words, usual_separator
from ..errors import InputError
from ..in_parts import on_cluster
from ..progress import Heard
from .plan import Account, AuditPlan, PlanInParts, make_account, make_plan, read_inputs
from .prepared import PreparedRows
from .request import IN_PARTS_ABOVE, AuditRequest, other_criteria
from .roles import find_roles
from .rows import Rows, complete_rows, crossed_column, without_small_groups
from .screening import screen_columns
from .survey import InUse, Survey, SurveyTask, tables_of, take_survey
from .table import TableFile, read_table

SHORTEST_ROW = 4
"""Bytes of a row of text at least: two values, a separator and a line break."""


def open_plan(request: AuditRequest, *, client: Any = None, heard: Heard | None = None) -> AuditPlan:
    """Read what a request names, whole or in parts, and plan the audit of it.

    With a dask ``client``, its workers read the rows in parts. ``heard`` receives progress messages.
    """
    request.check()
    if client is not None and request.read == "whole":
        raise InputError("bad-option", "--dask is for rows that are read in parts: leave out --read whole.")
    if client is None and _as_tables(request):
        return make_plan(read_whole(request), request)
    source = files_in_parts(list(request.data), request.encoding, request.sep, request.decimal)
    many = source.n_rows is not None and source.n_rows > IN_PARTS_ABOVE
    if request.read == "parts" or client is not None or (many and request.read == "auto"):
        here = source if client is None else on_cluster(source, client)
        return plan_in_parts(here, request, client=client, heard=heard)
    if len(request.data) == 1 and Path(request.data[0]).is_file():
        return make_plan(read_whole(request), request)
    return make_plan(_whole(source, request), request)


def read_whole(request: AuditRequest) -> TableFile:
    """Read the files of a request as a whole."""
    return read_table(request.data, request.encoding, request.sep, request.decimal)


def _as_tables(request: AuditRequest) -> bool:
    """Whether it is plain without a look at the rows that files are read as a whole, each by itself."""
    if request.read == "parts":
        return False
    if len(request.data) > 1:  # several of kinds that can be read in parts are read as one source
        return all(Path(one).is_file() for one in request.data) and any(
            file_kind(one) == "other" for one in request.data
        )
    path = Path(request.data[0])
    if path.is_dir() or (not path.exists() and glob.has_magic(request.data[0])):
        return False
    if request.read == "whole" or not path.is_file():
        return True
    kind = file_kind(request.data[0])
    small = path.stat().st_size <= SHORTEST_ROW * IN_PARTS_ABOVE and path.suffix.lower() in (".csv", ".tsv")
    return kind == "other" or (kind == "text" and small)


def _whole(source: RowsInParts, request: AuditRequest) -> TableFile:
    """Read all rows of several files into one table."""
    tables = [table for _, _, table in tables_of(source, source.columns)]
    if not tables:
        raise InputError("bad-file", f"{source.name} has column names but no rows. Give a row for each person.")
    return TableFile(pd.concat(tables, ignore_index=True), source.name, _digest(request), _how(source))


def _how(source: RowsInParts) -> tuple[str, ...]:
    """Say what separates the values of text files, where their names do not."""
    if not isinstance(source, CsvRows):
        return ()
    signs = {sign for file in source.files if (sign := source.separator(file)) != usual_separator(file)}
    return tuple(f"values are separated by {separator_words(sign)}" for sign in sorted(signs))


def _digest(request: AuditRequest) -> str:
    """SHA-256 of the bytes of all files, one after the other in the order in which they are read."""
    digest = hashlib.sha256()
    for file in files_behind(list(request.data)):
        with Path(file).open("rb") as content:
            while block := content.read(2**20):
                digest.update(block)
    return digest.hexdigest()


def plan_in_parts(
    source: RowsInParts, request: AuditRequest, *, client: Any = None, heard: Heard | None = None
) -> AuditPlan:
    """Plan the audit of rows that are read in parts: who is used is counted, columns are judged by some of the rows."""
    _check_request(request)
    roles = find_roles(pd.DataFrame(columns=list(source.columns)), request)
    survey = take_survey(SurveyTask(source, roles, request, client), heard)
    rows = complete_rows(survey.kinds, roles, request, survey.counts)
    needed = [column for column, role in roles.by_column.items() if role != "group"]
    screening = screen_columns(
        survey.sample, roles, _sampled(survey, rows, _in_use(survey, rows, needed, request)), request
    )
    for column in screening.covariates if request.missing == "drop" else ():
        rows = rows.drop(survey.kinds[column].isna().to_numpy(), f"{column} is missing")
        needed.append(column)
    rows = without_small_groups(rows, request)
    if len(rows.groups) != 2:
        counts: dict[Label, int] = dict(rows.counts.items())
        raise two_groups_needed(
            sorted(rows.groups, key=lambda label: -counts[label]),
            "An audit of rows that are read in parts",
            counts,
            "Choose two by --groups A,B, put some together by --merge, or read all rows into memory by --read whole.",
        )
    in_use = _in_use(survey, rows, needed, request)
    sampled = _sampled(survey, rows, in_use)
    inputs = read_inputs(survey.sample, sampled, screening.covariates, request, roles)
    n_used = sum(rows.counts.values())
    rates = {name: int(selected[rows.used].sum()) / n_used for name, selected in survey.selected.items()}
    account = make_account(roles, sampled, screening, inputs, replace(request, copies="ignore"), rates)
    prepared = PreparedRows(
        source=source,
        request=request,
        in_use=in_use,
        algorithms=tuple(inputs.algorithms),
        covariates=screening.covariates,
        texts=frozenset(account.categories),
        declared=roles.declared,
        n_used=n_used,
    )
    parts = PlanInParts(
        prepared, source.columns, int(survey.counts.sum()), rows.counts, rates, len(survey.sample), client
    )
    alone = len(request.data) == 1 and Path(request.data[0]).is_file()
    how = () if client is not None else _how(source)
    file = TableFile(survey.sample, Path(request.data[0]).name if alone else source.name, _digest(request), how)
    return AuditPlan(file, request, inputs, _exact(account, survey, rows, screening.covariates), parts)


def _check_request(request: AuditRequest) -> None:
    """Refuse options that need all rows at once."""
    found = {
        "--top (give --threshold instead)": request.top is not None,
        "--group-threshold": bool(request.group_threshold),
        "--decision-positive (write 0 and 1)": request.decision_positive is not None,
        "--model (give a column of its decisions)": bool(request.models),
        "--where": request.where is not None,
        "--sample": request.sample is not None,
        "--capacity": request.capacity is not None,
        "--clusters": request.clusters is not None,
        "--copies keep-together": request.copies == "keep-together",
        "--sequential": request.sequential,
        "--rules group-aware": request.rules == "group-aware",
        "--jitter": request.jitter != 0.0,
        "--fairness, --accuracy, --keep and --profit": other_criteria(request),
    }
    against = [option for option, given in found.items() if given]
    if against:
        raise InputError(
            "bad-option",
            f"Rows that are read in parts cannot be combined with {' and '.join(against)}: leave it out, or read all "
            "rows into memory by --read whole; some of the rows may do.",
        )


def _in_use(survey: Survey, rows: Rows, needed: Sequence[str], request: AuditRequest) -> InUse:
    """Return which rows are used: those of the groups that are compared, with values in the columns ``needed``."""
    raw = crossed_column(survey.kinds, request)
    at = np.flatnonzero(rows.code >= 0)
    label_of = {str(raw.values[j]): str(rows.groups[rows.code[j]]) for j in at}
    return InUse(request.group, label_of, tuple(needed))


def _sampled(survey: Survey, rows: Rows, in_use: InUse) -> Rows:
    """Return the rows of the sample that are used."""
    label = in_use.labels(survey.sample)
    code_of = {label: code for code, label in enumerate(rows.groups)}
    code = np.array([code_of.get(each, -1) for each in label], dtype=np.intp)
    for k, name in enumerate(rows.groups):
        if not (code == k).any():
            raise InputError(
                "group-too-small",
                f"None of {len(code):,} rows drawn at random is of group {name!r}, which has {rows.counts[name]:,}: "
                "too few to learn from. Put groups together by --merge, or name those to compare by --groups.",
            )
    return Rows(label, code, rows.groups, code >= 0, {}, {})


def _exact(account: Account, survey: Survey, rows: Rows, covariates: Sequence[str]) -> Account:
    """Return an account of some of the rows with the counts of all."""
    gaps = {column: int(survey.gaps[column][rows.used].sum()) for column in covariates}
    return replace(
        account,
        dropped=rows.dropped,
        other_groups=rows.other_groups,
        gaps={column: count for column, count in gaps.items() if count},
        lost=rows.lost,
        small_groups=rows.small_groups,
        merged=rows.merged,
    )
