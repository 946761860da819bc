"""The rows of a table that are audited at all: those that meet a condition, or some drawn at random."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.conditions import read_condition
from ..errors import InputError
from .request import AuditRequest
from .table import TableFile


def narrowed(file: TableFile, request: AuditRequest) -> TableFile:
    """Return a table with the rows of --where, of which --sample draws some; the others are counted by reason."""
    if request.where is None and request.sample is None:
        return file
    rows = np.arange(len(file.table))
    left_out: dict[str, int] = {}
    if request.where is not None:
        met = read_condition(request.where).met(file.table)
        left_out |= {
            f"--where {request.where}": int(np.count_nonzero(met.fails)),
            f"--where {request.where}: a value is missing": int(np.count_nonzero(met.unknown)),
        }
        rows = np.flatnonzero(met.holds)
        if not len(rows):
            raise InputError(
                "empty-data", f"No row of {file.name} meets --where {request.where!r}. Check the condition."
            )
    if request.sample is not None and request.sample < len(rows):
        drawn = np.random.default_rng([request.seed, len(rows)]).choice(len(rows), request.sample, replace=False)
        left_out[f"--sample {request.sample} of {len(rows)}, drawn at random by seed {request.seed}"] = (
            len(rows) - request.sample
        )
        rows = rows[np.sort(drawn)]
    return replace(
        file,
        table=file.table.iloc[rows].reset_index(drop=True),
        left_out={why: count for why, count in left_out.items() if count},
        positions=rows,
    )
