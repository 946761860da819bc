"""The example scripts run and print what the package finds."""

import ast
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.pages import ROOT, blocks, same_with_gaps
from support.quick import quickly
from support.shared import shared_path

import fairfrontier
from fairfrontier import FairFrontier
from fairfrontier.datasets import fetch_compas, make_hospital, make_liu_molinari

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def compas():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("compas_example", EXAMPLES / "compas.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.MarginWarning")
def test_compas_prints_what_the_package_finds(tmp_path, monkeypatch, capsys):
    path = shared_path("data", "compas_two_years.csv")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["compas.py", "--path", str(path), "--out", str(tmp_path / "out"), "--quick"])
    example, fits = compas(), []

    class Kept(FairFrontier):
        def fit(self, X, y, **more):
            fits.append(self)
            return super().fit(X, y, **more)

    monkeypatch.setattr(example, "FairFrontier", Kept)
    example.main()
    printed = capsys.readouterr()
    assert printed.err == ""
    assert (tmp_path / "out" / "compas.png").read_bytes().startswith(b"\x89PNG")

    data = fetch_compas(path=path)
    risky = (data.decile_score >= 5).astype(int)
    told = dict(re.findall(r"^  (with\w* the score)\? (.+)$", printed.out, re.MULTILINE))
    for ff, (name, X) in zip(
        fits,
        {"without the score": data.X, "with the score": data.X.assign(decile_score=data.decile_score)}.items(),
        strict=True,
    ):
        pd.testing.assert_frame_equal(ff.sample_.X, X.reset_index(drop=True))
        np.testing.assert_array_equal(ff.sample_.y, data.y)
        assert (ff.n_boot, ff.n_rep, ff.random_state) == (200, 1, 1)
        test = ff.test_lda(risky)
        assert told.pop(name) == f"{test.verdict}, p-value {test.p_value:.3f}"
    assert told == {}

    found = ff.alternatives(risky, 4, capacity=risky.mean())
    assert f"people risky: {len(found)}\n" in printed.out
    for number, line in found.table.iterrows():
        expected = [f"{number}", *(f"{risk:.3f}" for risk in found.risks[number])]
        expected += [f"{line[f'selection rate {label}']:.3f}" for label in ("Caucasian", "African-American")]
        expected += [f"{line['gain in gap']:.3f}", f"{line['agreement']:.3f}", f"{line['flagged']}"]
        assert re.search(rf"^{r' +'.join(map(re.escape, expected))}$", printed.out, re.MULTILINE)
    assert re.search(r"^  Caucasian: 32\.8% ", printed.out, re.MULTILINE)
    assert re.search(r"^  African-American: 35\.1% ", printed.out, re.MULTILINE)
    assert "margin condition" not in printed.out  # discrete covariates, but thousands of directions


@pytest.mark.slow
def test_the_page_shows_what_the_compas_example_prints(tmp_path):
    """The one block of the pages that the tests of the pages leave alone, as it downloads its file."""
    path = shared_path("data", "compas_two_years.csv")
    (block,) = [block for block in blocks(ROOT / "docs/in-python.md") if block.not_run]
    command, _, shown = block.text.partition("\n")
    assert command == "$ python examples/compas.py"
    arguments = [sys.executable, EXAMPLES / "compas.py", "--path", path, "--out", tmp_path]
    printed = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert same_with_gaps(printed, shown + "...")


def test_compas_has_words_for_every_verdict():
    example = compas()
    X, y, group = make_liu_molinari(2000, design="skewed", random_state=1)
    ff = FairFrontier(learner="factored-logit", n_boot=200, n_rep=1, random_state=1).fit(X, y, sensitive_features=group)
    tests = [ff.test_lda(risks=risks) for risks in ([0.45, 0.5], [0.18, 0.38], [0.05, 0.05])]
    assert [test.verdict for test in tests] == ["lda-shown", "no-evidence", "not-comparable"]
    shown, open_, beaten = (example.in_words(test) for test in tests)
    gain, least = tests[0].witness.gain, tests[0].witness.lower_bounds(0.05)
    for g, b, where in zip(gain, least, ("for 1", "for 0", "in the gap"), strict=True):
        assert f"{100 * g:.1f} points {where} (at least {100 * b:.1f})" in shown
    assert f"up to {100 * tests[1].gain_bound:.1f} points" in open_
    assert "lie outside the estimated set" in beaten


@pytest.mark.filterwarnings("default::fairfrontier.errors.FairFrontierWarning")
def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    """With a quicker learner and fewer patients: it shows no numbers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fairfrontier, "FairFrontier", quickly(n_boot=99))
    monkeypatch.setattr(
        fairfrontier.datasets, "make_hospital", lambda n, random_state: make_hospital(n // 4, random_state)
    )
    notebook = json.loads((EXAMPLES / "five-minutes.ipynb").read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len({cell["id"] for cell in notebook["cells"]}) == len(notebook["cells"])
    names, shown = {"__name__": "__main__"}, []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            shown.append(_run_cell("".join(cell["source"]), names))
    (page,) = tmp_path.iterdir()
    assert page.name == "hospital.html"
    assert "A care programme" in page.read_text(encoding="utf-8")
    tables = [value for value in shown if isinstance(value, pd.DataFrame)]
    assert len(tables) == 4
    assert [type(value).__name__ for value in shown].count("Figure") == 1
    assert names["test"].question in capsys.readouterr().out


def _run_cell(source, names):
    """Run the code of a cell and return the value of its last line, which a notebook shows."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
