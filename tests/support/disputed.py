"""People about whom learners disagree, by construction, and the command `audit` run on them."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from fairfrontier.audit import run as running
from fairfrontier.audit import write as writing
from fairfrontier.cli import app

LEVEL = 0.05
STRONG, WEAK = "factored-boosting", "factored-logit"
"""The learner that sees whether a covariate is far from zero, and the one that cannot."""


def disputed_table(n=900, seed=2):
    """Success depends on one covariate, mostly for m, and on whether another one is far from zero on either side.

    The decisions "in use" follow the first covariate, but for a few coins, about as well as a linear model can. A
    learner that sees the distance from zero improves on them by far, for both groups and in the gap; one that is linear
    in the covariates cannot. "Careless" decisions are wrong for most people, so that even coins are better.
    """
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(3)
    second = rng.integers(0, 2, n)
    slope, far = np.where(second, 0.5, 2.5), np.where(np.abs(b) > 0.674, 2.2, -2.2)
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-slope * a - far))).astype(int)
    coin = rng.integers(0, 2, n)
    in_use = np.where(rng.random(n) < 0.15, coin, a > 0.0).astype(int)
    careless = np.where(rng.random(n) < np.where(second, 0.65, 0.8), 1 - y, y)
    sex, score = np.where(second, "f", "m"), (a + rng.normal(size=n)).round(4)
    columns = {"a": a, "b": b, "sex": sex, "y": y}
    return pd.DataFrame(columns | {"in use": in_use, "careless": careless, "oracle": y, "score": score})


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


def audit(folder, *words, learner=STRONG, asked=("--decision", "in use")):
    """Run the command on the disputed people, with two folds, 199 draws and two covariates; it draws no figures."""
    path, out = folder / "people.csv", folder / "out"
    disputed_table().to_csv(path, index=False)
    fixed = (
        "--outcome",
        "y",
        "--group",
        "sex",
        "--features",
        "a,b",
        "--folds",
        "2",
        "--draws",
        "199",
        "--repetitions",
        "1",
        "--out",
        out,
    )
    with patch.object(running, "run_audit", _run_once), patch.object(writing, "_draw"):
        done = CliRunner().invoke(app, ["audit", *map(str, (path, *fixed, "--learner", learner, *asked, *words))])
    return Done(done.exit_code, done.stdout, done.stderr, out)
