"""People about whom runs with other seeds and learners disagree, and the command `audit` run on them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from fairfrontier.audit import run as running
from fairfrontier.cli import app

LEVEL = 0.04
"""A level between the p-values of the runs: 0.025 for the first, 0.055 and 0.065 for the others, of 199 draws."""


def disputed_table(n=400, seed=1):
    """Decisions that follow one covariate but for a few coins; the evidence of an alternative is near the level."""
    rng = np.random.default_rng(seed)
    a, b, second = rng.normal(size=n).round(3), rng.normal(size=n).round(3), rng.integers(0, 2, n)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * a - b * (2 * second - 1)))).astype(int)
    in_use = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), a > 0.0).astype(int)
    score = (a + rng.normal(size=n)).round(4)
    sex = np.where(second, "f", "m")
    return pd.DataFrame({"a": a, "b": b, "sex": sex, "y": y, "in use": in_use, "oracle": y, "score": score})


@dataclass(frozen=True)
class Done:
    """What the command left: its exit code, what it printed, and the directory that it wrote."""

    code: int
    printed: str
    errors: str
    folder: Path

    @property
    def record(self):
        """The record as JSON has it."""
        return json.loads((self.folder / "audit.json").read_text(encoding="utf-8"))

    @property
    def page(self):
        """The page."""
        return (self.folder / "report.html").read_text(encoding="utf-8")


_AUDITS = {}  # by their settings
_run_audit = running.run_audit


def _run_once(plan, *arguments, **options):
    """Run an audit, or return that of the same settings: what the gate makes of it is another matter."""
    settings = replace(plan.request, data="people.csv")
    if repr(settings) not in _AUDITS:
        _AUDITS[repr(settings)] = _run_audit(plan, *arguments, **options)
    return _AUDITS[repr(settings)]


def audit(folder, *words, asked=("--decision", "in use"), learner="factored-logit"):
    """Run the command on the disputed people, with two folds, 199 draws and two covariates."""
    path, out = folder / "people.csv", folder / "out"
    disputed_table().to_csv(path, index=False)
    fixed = ("--outcome", "y", "--group", "sex", "--features", "a,b", "--folds", "2", "--draws", "199", "--out", out)
    with patch.object(running, "run_audit", _run_once):
        done = CliRunner().invoke(app, ["audit", *map(str, (path, *fixed, "--learner", learner, *asked, *words))])
    return Done(done.exit_code, done.stdout, done.stderr, out)
