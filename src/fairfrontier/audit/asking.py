"""Asking for the roles of columns one by one, with suggestions, and the command that needs no questions."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from ..data.columns import as_labels
from ..data.messages import did_you_mean, listed
from .request import AuditRequest, Kind, options
from .suggestions import FEWEST_SCORES, ColumnAtAGlance, columns_at_a_glance, suggested, table_of_columns

Ask = Callable[[str, str | None], str]
"""Asks a question, with an answer that is taken if none is given; returns the answer."""


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions about the columns of a table, to somebody who answers; ``say`` shows a line."""

    table: pd.DataFrame
    columns: Sequence[ColumnAtAGlance]
    ask: Ask
    say: Callable[[str], None]

    def column(self, question: str, role: str, taken: Sequence[str]) -> str:
        """Ask for a column until there is one of that name."""
        known = [column.name for column in self.columns if column.name not in taken]
        offered = suggested(self.columns, role)
        while True:
            name = self.ask(question, offered if offered in known else None).strip()
            if name in known:
                return name
            what = "has a role already" if name in taken else "is not a column"
            self.say(f"{name!r} {what}.{did_you_mean(name, known, f' There are: {listed(known, 20)}.')}")

    def label(self, question: str, column: str) -> str | None:
        """Ask which of two labels counts as 1; None if the column is of 0 and 1, or of more values."""
        values = self.table[column].dropna()
        labels = sorted(map(str, as_labels(values).unique()))
        if len(labels) != 2 or (pd.api.types.is_numeric_dtype(values.dtype) and set(values.unique()) <= {0, 1}):
            return None
        while True:
            label = self.ask(f"{question} ({' or '.join(labels)})", None).strip()
            if label in labels:
                return label
            self.say(f"{label!r} is neither {labels[0]!r} nor {labels[1]!r}.")

    def number(self, question: str, column: str) -> float:
        """Ask for a number, such as one of a column's."""
        values = pd.to_numeric(self.table[column], errors="coerce").dropna()
        while True:
            text = self.ask(f"{question}, which go from {values.min():g} to {values.max():g}", None)
            try:
                number = float(text)
            except ValueError:
                number = float("nan")
            if np.isfinite(number):
                return number
            self.say(f"{text!r} is not a number.")


def ask_for_roles(request: AuditRequest, table: pd.DataFrame, ask: Ask, say: Callable[[str], None]) -> AuditRequest:
    """Return the request with the roles that it lacks, as they are answered."""
    columns = columns_at_a_glance(table)
    for line in table_of_columns(columns):
        say(line)
    say("")
    questions = Questions(table, columns, ask, say)
    if not request.outcome:
        outcome = questions.column("Column of the outcome", "outcome", _taken(request))
        positive = request.positive or questions.label("Which outcome counts as 1", outcome)
        request = replace(request, outcome=outcome, positive=positive)
    if not request.group:
        request = replace(request, group=(questions.column("Column of the groups", "group", _taken(request)),))
    if request.decision is None and request.score is None and not request.models:
        request = _with_algorithm(request, questions)
    return request


def _with_algorithm(request: AuditRequest, questions: Questions) -> AuditRequest:
    """Ask for decisions, or for a score and a threshold: the values of the column say which."""
    role = "decision" if suggested(questions.columns, "decision") is not None else "score"
    name = questions.column("Column of the decisions, or of a score", role, _taken(request))
    distinct = next(column.distinct for column in questions.columns if column.name == name)
    if distinct < FEWEST_SCORES or not pd.api.types.is_numeric_dtype(questions.table[name].dtype):
        label = request.decision_positive or questions.label("Which decision selects", name)
        return replace(request, decision=name, decision_positive=label)
    if request.threshold or request.group_threshold or request.top is not None:
        return replace(request, score=name)
    return replace(request, score=name, threshold=(questions.number("People are selected above which score", name),))


def _taken(request: AuditRequest) -> tuple[str, ...]:
    return tuple(name for name in (request.outcome, *request.group) if name)


def command_of(request: AuditRequest) -> str:
    """Return the command that makes this request, as a shell reads it."""
    words = ["fairfrontier", "audit", *request.data]
    defaults = AuditRequest()
    for option in options():
        value = getattr(request, option.name)
        if option.positional or value == getattr(defaults, option.name):
            continue
        if option.kind is Kind.SWITCH:
            words.append(option.flag if value else f"--no-{option.flag[2:]}")
        elif option.kind in (Kind.NAMED_COLUMNS, Kind.NAMED_NUMBERS, Kind.NAMED_LISTS):
            for name, each in value.items():
                words += [option.flag, f"{name}={','.join(each) if isinstance(each, tuple) else _word(each)}"]
        elif option.kind in (Kind.TEXTS, Kind.NUMBERS):
            words += [part for each in value for part in (option.flag, _word(each))]
        else:
            words += [option.flag, _word(value)]
    return shlex.join(words)


def _word(value: object) -> str:
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
