"""Conditions on the columns of rows, such as ``age >= 18 and sex == 'F'``: read by a small grammar, never executed.

A condition is true, false or, where a value it needs is missing, unknown; ``and``, ``or`` and ``not`` go on from there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..arrays import BoolArray
from ..errors import InputError
from .messages import did_you_mean, listed, shown

LONGEST = 2_000
"""Signs of a condition at most."""
GRAMMAR = (
    "Compare columns with values by ==, !=, <, <=, >, >=, in or not in, such as age >= 18, state in ['NY', 'NJ'] or "
    "income is not None; combine comparisons by and, or, not and brackets; put texts in quotes, and names of columns "
    "with blanks or signs in backticks."
)
QUOTED = re.compile(r"`([^`]+)`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True, eq=False)
class Met:
    """In which rows a condition holds, and in which it fails; in the others it is unknown."""

    holds: BoolArray
    fails: BoolArray

    @property
    def unknown(self) -> BoolArray:
        """Rows in which a value is missing that decides."""
        return ~(self.holds | self.fails)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that was read: its text, its syntax, and the names of columns that were in backticks."""

    text: str
    tree: ast.expr
    columns: Mapping[str, str]

    def met(self, table: pd.DataFrame) -> Met:
        """Return in which rows of a table the condition holds."""
        return self._of(self.tree, table)

    def _of(self, node: ast.expr, table: pd.DataFrame) -> Met:
        match node:
            case ast.BoolOp(op=op, values=values):
                parts = [self._of(value, table) for value in values]
                every, some = np.logical_and.reduce, np.logical_or.reduce
                if isinstance(op, ast.And):
                    return Met(every([p.holds for p in parts]), some([p.fails for p in parts]))
                return Met(some([p.holds for p in parts]), every([p.fails for p in parts]))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                found = self._of(operand, table)
                return Met(found.fails, found.holds)
            case ast.Compare(left=left, ops=ops, comparators=others):
                operands = [left, *others]
                links = [self._link(operands[k], op, operands[k + 1], table) for k, op in enumerate(ops)]
                return Met(
                    np.logical_and.reduce([one.holds for one in links]),
                    np.logical_or.reduce([one.fails for one in links]),
                )
            case ast.Name():
                column = self._column(node, table)
                if pd.api.types.infer_dtype(column.dropna()) != "boolean":
                    raise self._wrong(f"the column {column.name!r} is not of true and false: compare it with a value")
                present = column.notna().to_numpy()
                return self._compared(ast.Eq(), column, True, present)
        raise self._wrong(f"{ast.unparse(node)!r} is not a condition")

    def _link(self, left: ast.expr, op: ast.cmpop, right: ast.expr, table: pd.DataFrame) -> Met:
        """Return where one comparison holds."""
        if isinstance(op, ast.Is | ast.IsNot):
            gaps = self._column(left, table).isna().to_numpy()
            return _judged(np.ones(len(table), dtype=bool), gaps if isinstance(op, ast.Is) else ~gaps)
        if isinstance(op, ast.In | ast.NotIn):
            column, values = self._column(left, table), _constant(right)
            for value in values:
                self._check_kinds(column, value)
            found = column.astype(object).isin(values).to_numpy(dtype=bool)
            return _judged(column.notna().to_numpy(), found if isinstance(op, ast.In) else ~found)
        if _is_constant(left):
            first, other = _constant(left), self._column(right, table)
            self._check_kinds(other, first)
            return self._compared(op, first, other, other.notna().to_numpy())
        column = self._column(left, table)
        if _is_constant(right):
            value = _constant(right)
            self._check_kinds(column, value)
            return self._compared(op, column, value, column.notna().to_numpy())
        other = self._column(right, table)
        return self._compared(op, column, other, (column.notna() & other.notna()).to_numpy())

    def _compared(self, op: ast.cmpop, left: Any, right: Any, present: BoolArray) -> Met:
        sides = [_plain(side[present]) if isinstance(side, pd.Series) else side for side in (left, right)]
        try:
            dated = next((s for s in sides if isinstance(s, pd.Series) and s.dtype.kind == "M"), None)
            if dated is not None:
                sides = [pd.Timestamp(s) if isinstance(s, str) else s for s in sides]
            answers = COMPARISONS[type(op)](*sides)
        except (TypeError, ValueError) as error:
            raise self._wrong(f"its values cannot be compared ({' '.join(str(error).split())})") from error
        found = np.zeros(len(present), dtype=bool)
        found[present] = np.asarray(answers, dtype=bool)
        return _judged(present, found)

    def _column(self, node: ast.expr, table: pd.DataFrame) -> pd.Series:
        if not isinstance(node, ast.Name):
            raise self._wrong(f"{ast.unparse(node)!r} is not the name of a column")
        name = self.columns.get(node.id, node.id)
        if name not in table.columns:
            hint = did_you_mean(name, map(str, table.columns), f" There are: {listed(table.columns)}.")
            raise self._wrong(
                f"there is no column {name!r} (a text is written in quotes, {name!r}).{hint}", "bad-features"
            )
        return table[name]

    def _check_kinds(self, column: pd.Series, value: object) -> None:
        """Refuse a comparison of texts with numbers, which would be true of no row."""
        kind = pd.api.types.infer_dtype(column.dropna())
        is_text = isinstance(value, str)
        of_text = kind == "string" or (kind == "categorical" and column.cat.categories.dtype.kind not in "biuf")
        if kind == "empty" or column.dtype.kind == "M":
            return
        if is_text != of_text and not kind.startswith("mixed"):
            holds = "texts" if of_text else "numbers"
            advice = f"write {str(value)!r}" if of_text else f"write {value} without quotes"
            raise self._wrong(f"the column {column.name!r} holds {holds}, and {value!r} is none: {advice}")

    def _wrong(self, why: str, code: str = "bad-option") -> InputError:
        return InputError(code, f"--where {shown(self.text)}: {why.rstrip('.')}. {GRAMMAR}")


def _plain(column: pd.Series) -> pd.Series:
    return column.astype(column.cat.categories.dtype) if isinstance(column.dtype, pd.CategoricalDtype) else column


def _judged(present: BoolArray, found: BoolArray) -> Met:
    return Met(present & found, present & ~found)


def read_condition(text: str) -> Condition:
    """Read a condition; what is not in its grammar is refused, and nothing of it is ever executed."""
    names: dict[str, str] = {}

    def without_backticks(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0]
        names[f"_column_{len(names)}"] = found[1]
        return f"_column_{len(names) - 1}"

    wrong = InputError("bad-option", f"--where {shown(text)} cannot be read. {GRAMMAR}")
    if len(text) > LONGEST:
        raise wrong
    try:
        tree = ast.parse(QUOTED.sub(without_backticks, text).strip(), mode="eval").body
        readable = _readable(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise wrong from error
    if not readable:
        raise wrong
    return Condition(text, tree, names)


def _readable(node: ast.expr) -> bool:
    """Whether an expression is a condition by its form."""
    match node:
        case ast.BoolOp(values=values):
            return all(map(_readable, values))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _readable(operand)
        case ast.Compare(left=left, ops=ops, comparators=others):
            operands = [left, *others]
            return all(_link_readable(operands[k], op, operands[k + 1]) for k, op in enumerate(ops))
    return isinstance(node, ast.Name)


def _link_readable(left: ast.expr, op: ast.cmpop, right: ast.expr) -> bool:
    if isinstance(op, ast.Is | ast.IsNot):
        return isinstance(left, ast.Name) and isinstance(right, ast.Constant) and right.value is None
    if isinstance(op, ast.In | ast.NotIn):
        listed_ = isinstance(right, ast.List | ast.Tuple | ast.Set) and bool(right.elts)
        return isinstance(left, ast.Name) and listed_ and all(map(_is_constant, right.elts))  # type: ignore[attr-defined]
    sides = [isinstance(side, ast.Name) for side in (left, right)]
    return any(sides) and all(is_name or _is_constant(side) for is_name, side in zip(sides, (left, right), strict=True))


def _is_constant(node: ast.expr) -> bool:
    """Whether a node is a number, a text, True or False."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float, str, bool)


def _constant(node: ast.expr) -> Any:
    """Return the value of a constant, or of a list of them."""
    return ast.literal_eval(node)
