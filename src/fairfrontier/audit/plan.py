"""The plan of an audit: which columns are used as what, which are left out and why, and which rows are dropped.

The stages are columns with a role (`roles`), rows that are complete (`rows`), covariates (`screening`), and reading
the columns (`inputs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import IntArray
from ..data.behaviour import group_specific
from ..data.columns import Kind, as_labels, kind_of
from ..data.copies import Copies, copies_in_words, find_copies
from ..data.criteria import Criteria, read_criteria
from ..data.declared import declared_column
from ..data.losses import SQUARED, SQUARED_DECISIONS
from ..data.messages import COMMAND_LINE, printable
from .inputs import Inputs, algorithms_of, clusters_of, outcome_of, profit_of, weights_of
from .models import remarks_on
from .narrowing import narrowed
from .prepared import PreparedRows
from .request import AuditRequest, loss_of, other_criteria
from .roles import Roles, find_roles
from .rows import Rows, complete_rows, without_small_groups
from .sanity import doubts
from .screening import Screening, screen_columns
from .table import TableFile

MOST_LOST = 0.05
"""A larger share of rows dropped for missing values is warned about."""
MOST_OF_TOP = 0.9
"""If --top selects less than this part of the share asked for, that is noted."""


@dataclass(frozen=True, slots=True)
class Account:
    """Where the inputs come from.

    Attributes
    ----------
    roles : mapping of columns to roles
    excluded : mapping of columns to the reasons why they are left out
    warned : tuple of columns
        Those of ``excluded`` that look like mistakes.
    noted : mapping of columns to remarks
    dropped : mapping of reasons to counts by group
        Rows that are left out because a value is missing.
    other_groups : mapping of labels to counts
        Rows of groups that are not compared.
    categories : mapping of text covariates to the number of their values
    kinds : mapping of covariates to words
        How those are used that are not used as they stand, and why.
    gaps : mapping of covariates to numbers of rows in which they are missing
    lost : float
        Share of the rows that are dropped because a value is missing.
    copied : Copies or None
        Copied rows, if some were found.
    small_groups : mapping of labels to counts
        Rows of groups that are left out because they are too small.
    merged : mapping of labels to mappings of labels to counts
        Rows of the groups that were put together, by the label of the group that they make up.
    group_specific : mapping of algorithms to words
        How the decisions of those depend on the group of which that is seen.
    doubts : tuple of sentences
        What makes the audit worth little: few rows, decisions that are all alike, thresholds that no score reaches.
    """

    roles: Mapping[str, str]
    excluded: Mapping[str, str] = field(default_factory=dict)
    warned: tuple[str, ...] = ()
    noted: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    other_groups: Mapping[str, int] = field(default_factory=dict)
    categories: Mapping[str, int] = field(default_factory=dict)
    kinds: Mapping[str, str] = field(default_factory=dict)
    gaps: Mapping[str, int] = field(default_factory=dict)
    lost: float = 0.0
    copied: Copies | None = None
    small_groups: Mapping[str, int] = field(default_factory=dict)
    merged: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    group_specific: Mapping[str, str] = field(default_factory=dict)
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanInParts:
    """Rows that are read in parts: those in use, and what is known of all.

    ``columns`` are those of the files and ``n_rows`` all their rows; ``sizes`` counts rows in use by group, ``rates``
    are shares selected by algorithm; the plan has looked at ``looked_at`` rows. ``client``: the cluster that reads.
    """

    rows: PreparedRows
    columns: tuple[str, ...]
    n_rows: int
    sizes: Mapping[str, int]
    rates: Mapping[str, float]
    looked_at: int
    client: Any = None


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """The file and the request of an audit, its inputs, and an account of where they come from.

    Of rows that are read in parts (``parts``), the table of the file and the inputs are those of some rows, drawn at
    random; the account is of all.
    """

    file: TableFile
    request: AuditRequest
    inputs: Inputs
    account: Account
    parts: PlanInParts | None = None

    @property
    def rows_read(self) -> int:
        """Rows of the file."""
        return self.file.rows_read if self.parts is None else self.parts.n_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the file."""
        return tuple(map(str, self.file.table.columns)) if self.parts is None else self.parts.columns

    @property
    def sizes(self) -> Mapping[str, int]:
        """Rows in use, by group."""
        if self.parts is not None:
            return self.parts.sizes
        return {label: int(np.count_nonzero(self.inputs.group == label)) for label in self.inputs.groups}

    @property
    def algorithms(self) -> dict[str, Any]:
        """What questions are asked about: decisions by name, or names alone of rows that are read in parts."""
        return {name: a if self.parts is None else name for name, a in self.inputs.algorithms.items()}

    def lines(self) -> list[str]:
        """Describe what is used as what, in plain words; names from the data cannot break a line."""
        lines = [*self._used(), *self._left_out(), *self._not_used()]
        first = f"File        {self.file.name}: {self.rows_read:,} rows, {len(self.columns)} columns"
        last = f"Rows used   {sum(self.sizes.values()):,} of {self.rows_read:,}"
        return [printable(line) for line in (first, *self._read(), *lines, last)]

    def _read(self) -> list[str]:
        """Say how rows are read, and which of them, unless that is plain."""
        lines = [f"Read        {text}" for text in self.file.how]
        if self.parts is None:
            return [*lines, *(f"Not used    {count:,} rows: {why}" for why, count in self.file.left_out.items())]
        learned, looked = min(self.request.learn_rows, sum(self.sizes.values())), self.parts.looked_at
        return [
            *lines,
            f"Read        in parts: {learned:,} rows drawn at random are learned from, and all are counted. Remarks "
            f"on covariates come from {looked:,} rows",
        ]

    def declared_numbers(self, with_score: bool) -> list[str]:
        """Return the covariates that are read as quantities, and the score if it is one of them."""
        floats = [str(c) for c in self.inputs.X.columns if pd.api.types.is_float_dtype(self.inputs.X[c].dtype)]
        return floats + ([str(self.request.score)] if with_score and self.request.score is not None else [])

    def _used(self) -> list[str]:
        """Say what is used: columns by their roles, groups, covariates, and what is asked with which learner."""
        sizes = [f"{label} {size:,}" for label, size in self.sizes.items()]
        shares = rates_of(self.inputs) if self.parts is None else self.parts.rates
        rates = [f"{name}: {share:.1%}" for name, share in shares.items()]
        lines = [f"{role.split(' ')[0].capitalize():<12}{column}" for column, role in self.account.roles.items()]
        lines += [f"Model       {model.described}" for model in self.inputs.models]
        lines.append(f"Groups      {', '.join(sizes)}")
        lines += [f"Merged      {new}: {_counted(old)}" for new, old in self.account.merged.items()]
        if self.request.reference is not None:
            lines.append(f"Reference   {self.request.reference}")
        lines.append(f"Selected    {', '.join(rates)}")
        lines += self._covariates()
        lines.append(f"Question    {self.question}")
        if loss_of(self.request) is SQUARED:
            lines.append(f"Loss        squared: {SQUARED_DECISIONS}")
        lines += [f"Rules       {text}" for text in self.compared_with() or [self._plain_rules()]]
        return [*lines, f"Learner     {self._learner()}"]

    def _covariates(self) -> list[str]:
        """Say what the covariates are, how they are encoded, and whether the score is one."""
        categories = self.account.categories
        covariates = [f"{c} ({categories[c]} categories)" if c in categories else c for c in self.inputs.X.columns]
        lines = [f"Covariates  {len(covariates)}: {', '.join(covariates)}"]
        if categories:
            lines.append("Encoding    text and categories become indicators, one for each value that is not rare")
        lines += [f"Kind        {column}: {words}" for column, words in self.account.kinds.items()]
        if self.account.gaps:
            gaps = ", ".join(f"{column} {count:,}" for column, count in self.account.gaps.items())
            lines.append(f"Gaps        {gaps} rows; kept, and left to the learner (--missing drop leaves them out)")
        if self.inputs.score is not None:
            how = "used" if self.request.score_as_feature else "not used"
            lines.append(f"            The score is {how} as a covariate; the verdict is shown both ways.")
        return lines

    @property
    def criteria(self) -> Criteria:
        """By what rules are compared."""
        r = self.request
        return read_criteria(r.fairness, r.accuracy, r.keep, r.keep_tolerance, self.inputs.profit, COMMAND_LINE)

    @property
    def question(self) -> str:
        """The question that is answered, in one sentence."""
        errors = loss_of(self.request).name == "classification"
        return self.criteria.question(len(self.inputs.groups), self.request.reference, errors=errors)

    @property
    def rules(self) -> str:
        """What the rules that algorithms are compared with may depend on."""
        request = self.request
        if request.rules != "auto":
            return request.rules
        return "group-aware" if self.account.group_specific and not self._against_aware() else "group-blind"

    def _against_aware(self) -> str:
        """The options that cannot be combined with rules that see the group; empty if there are none."""
        request = self.request
        found = {"--sequential": request.sequential, "--jitter": request.jitter != 0.0}
        found |= {"another question than risks by group": other_criteria(request)}
        found |= {"rows that are read in parts": self.parts is not None}
        return " and ".join(name for name, given in found.items() if given)

    def _plain_rules(self) -> str:
        """Say with which rules algorithms are compared whose decisions are not seen to depend on the group."""
        blind = "Algorithms are compared with rules that do not see the group"
        return blind if self._against_aware() else f"{blind}; if yours does, use --rules group-aware"

    def compared_with(self) -> list[str]:
        """Say with which rules algorithms are compared where that is not plain, and how their decisions depend."""
        found = [f"Decisions of {name} depend on the group: {how}" for name, how in self.account.group_specific.items()]
        if not found and self.rules == "group-blind":
            return []
        seen = "may see the group" if self.rules == "group-aware" else "do not see the group"
        why = f" (--rules {self.request.rules})"
        if self.request.rules == "auto" and self.rules == "group-blind":
            why = f" (--rules auto), because those that do cannot be combined with {self._against_aware()}"
        return [*found, f"Algorithms are compared with rules that {seen}{why}"]

    def _learner(self) -> str:
        """Name the learner that determines the verdict, and the candidates that it weighs."""
        from ..learning.learners import resolve_learner  # heavy: only when a plan is shown

        candidates = resolve_learner(self.request.learner).candidate_names
        weighs = f", which weighs {', '.join(candidates)} by their errors on inner folds" if candidates else ""
        return f"{self.request.learner}{weighs}"

    def _left_out(self) -> list[str]:
        account = self.account
        lines = [
            f"{'WARNING' if column in account.warned else 'Left out':<12}{column}: {reason}"
            for column, reason in account.excluded.items()
        ]
        return lines + [f"Note        {column}: {remark}" for column, remark in account.noted.items()]

    def _not_used(self) -> list[str]:
        lines = [f"Not used    {count:,} rows of group {label}" for label, count in self.account.other_groups.items()]
        lines += [
            f"Too small   {count:,} rows of group {label}: left out; put groups together with --merge, or name those "
            "to compare with --groups"
            for label, count in self.account.small_groups.items()
        ]
        for reason, counts in self.account.dropped.items():
            lines.append(f"Dropped     {sum(counts.values()):,} rows, {reason} ({_counted(counts)})")
        return lines + [f"WARNING     {text}" for text in self.warnings()] + self._copies()

    def warnings(self) -> list[str]:
        """Say what about the rows calls for caution."""
        lost, doubted = self.account.lost, list(self.account.doubts)
        if lost <= MOST_LOST:
            return doubted
        return [
            *doubted,
            f"{lost:.0%} of the rows are dropped because a value is missing; the others may not be like them",
        ]

    def _copies(self) -> list[str]:
        copied, n = self.account.copied, len(self.inputs.y)
        return [] if copied is None else [f"WARNING     {copies_in_words(copied, n, COMMAND_LINE)}"]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label} {count:,}" for label, count in counts.items())


def make_plan(file: TableFile, request: AuditRequest) -> AuditPlan:
    """Plan an audit: read the columns of a table as a request says; every inference about a column is reported."""
    request.check()
    file = narrowed(file, request)
    table = file.table
    roles = find_roles(table, request)
    rows = replace(complete_rows(table, roles, request), positions=file.positions)
    screening = screen_columns(table, roles, rows, request)
    for column in screening.covariates if request.missing == "drop" else ():
        rows = rows.drop(table[column].isna().to_numpy(), f"{column} is missing")
    rows = without_small_groups(rows, request)
    inputs = read_inputs(table, rows, screening.covariates, request, roles)
    return AuditPlan(
        file=file, request=request, inputs=inputs, account=make_account(roles, rows, screening, inputs, request)
    )


def read_inputs(
    table: pd.DataFrame, rows: Rows, covariates: tuple[str, ...], request: AuditRequest, roles: Roles
) -> Inputs:
    """Read what is fitted and tested, in the rows in use."""
    used = table.loc[rows.used]
    X = used[list(covariates)].reset_index(drop=True).infer_objects()
    for column in covariates:
        X[column] = declared_column(X[column], roles.declared)
        if kind_of(X[column]) is Kind.CATEGORY:
            X[column] = as_labels(X[column])
    return Inputs(
        X=X,
        y=outcome_of(used, request),
        group=rows.label[rows.used],
        groups=rows.groups,
        algorithms=algorithms_of(used, request, rows.at, rows.group, roles.models),
        score=None if request.score is None else used[request.score].reset_index(drop=True),
        weights=weights_of(used, request, rows.code[rows.used], rows.groups),
        clusters=clusters_of(used, request),
        profit=profit_of(used, request),
        models=roles.models,
    )


def make_account(
    roles: Roles,
    rows: Rows,
    screening: Screening,
    inputs: Inputs,
    request: AuditRequest,
    rates: Mapping[str, float] | None = None,
) -> Account:
    """Describe where the inputs come from; ``rates``: shares selected, if not those of the inputs."""
    text = [column for column in inputs.X.columns if kind_of(inputs.X[column]) is Kind.CATEGORY]
    gaps = inputs.X.isna().sum()
    return Account(
        roles=roles.by_column,
        excluded=screening.excluded,
        warned=screening.warned,
        noted={
            **screening.noted,
            **remarks_on(inputs.models),
            **_ties(inputs, request),
        },
        dropped=rows.dropped,
        other_groups=rows.other_groups,
        categories={column: int(inputs.X[column].nunique()) for column in text},
        kinds=screening.kinds,
        gaps={str(column): int(count) for column, count in gaps.items() if count},
        lost=rows.lost,
        copied=_copied(inputs, rows.code[rows.used], request),
        small_groups=rows.small_groups,
        merged=rows.merged,
        group_specific=_group_specific(inputs, rows.code[rows.used]),
        doubts=doubts(inputs, request, rates_of(inputs) if rates is None else rates, of_all=rates is None),
    )


def _group_specific(inputs: Inputs, group: IntArray) -> dict[str, str]:
    """Return how the decisions of algorithms depend on the group, where that is seen."""
    X = inputs.covariates(with_score=True)
    found = {name: group_specific(a, X, group, inputs.groups) for name, a in inputs.algorithms.items()}
    return {name: how for name, how in found.items() if how is not None}


def _copied(inputs: Inputs, group: IntArray, request: AuditRequest) -> Copies | None:
    """Return the copied rows of the fit that determines the verdict, as it finds them itself."""
    if inputs.clusters is not None or request.copies != "auto":
        return None
    return find_copies(inputs.covariates(request.score_as_feature), inputs.y, group)


def rates_of(inputs: Inputs) -> dict[str, float]:
    """Return the share of the rows that each algorithm selects."""
    return {name: float(decisions.mean()) for name, decisions in inputs.algorithms.items()}


def _ties(inputs: Inputs, request: AuditRequest) -> dict[str, str]:
    """Return a remark if --top selects far fewer people than asked for, because many are tied at the cut-off."""
    if request.score is None or request.top is None:
        return {}
    selected = float(next(iter(inputs.algorithms.values())).mean())
    if selected >= MOST_OF_TOP * request.top:
        return {}
    return {
        request.score: f"--top {request.top:g} selects {selected:.1%} of people, since those tied at the cut-off are "
        "not selected"
    }
