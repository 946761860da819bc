"""Points that are not what they are called: plain comparisons, standard errors by loops, and where it is said."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lda_cases import fit_arguments
from support.records import record_of
from support.small_samples import fit, rows

from fairfrontier.errors import FairFrontierWarning
from fairfrontier.inference.listed_points import TOO_WEAK
from fairfrontier.report.html import render

pytestmark = pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")
KINDS = ("plain", "weights", "clusters", "bounds", "ties")


def noisy(seed, kind="plain", n=60):
    """A fit whose learner knows little."""
    rng = np.random.default_rng(seed)
    data = rows(n, int(rng.integers(1000)))
    t = data.t + rng.choice([0.0, 0.3, 2.0]) * rng.normal(size=(n, 2))
    if kind == "ties":
        t = np.round(2 * t) / 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        return fit(data, t=t, options={"n_boot": 99}, **fit_arguments(kind, n, rng))


def quantities(ff):
    """Risks of both groups and gap (3,) at each listed point, as functions of the rows' weights, rules held."""
    s, points = ff.support_function_.scores, ff.fit_.plane().points
    losses = {}
    for name, q, tie in (("R", [-1, 0], [0, -1]), ("B", [0, -1], [-1, 0]), ("F", points.q_F, [0, 0])):
        first, second = (s.t @ (np.array(x) / ff.support_function_.mu) for x in (q, tie))
        losses[name] = s.l0 + s.dl * ((first > 0) | ((first == 0) & (second > 0)))

    def values(weight):
        found = []
        for name, loss in losses.items():
            e = np.array([np.average(loss[s.group == g], weights=weight[s.group == g]) for g in (0, 1)])
            if name == "F" and points.position == "crosses":
                e = np.full(2, points.q_F @ e / points.q_F.sum())
            found.append([*e, abs(e[0] - e[1])])
        return np.array(found)

    return values


def jackknife(ff, own, other, which):
    """Infinitesimal jackknife: squares of the derivatives in the weights, rows of a cluster together."""
    s, values = ff.support_function_.scores, quantities(ff)
    clusters = np.arange(ff.n_obs_) if s.clusters is None else s.clusters
    total = 0.0
    for c in np.unique(clusters):
        moved = []
        for step in (1e-5, -1e-5):
            found = values(s.weight * (1.0 + step * (clusters == c)))
            moved.append(found[own, which] - found[other, which])
        total += ((moved[0] - moved[1]) / 2e-5) ** 2
    return np.sqrt(total)


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS))
@settings(max_examples=40)
def test_contradictions_and_their_standard_errors(seed, kind):
    ff = noisy(seed, kind)
    table, names = quantities(ff)(ff.support_function_.scores.weight), list(ff.points_.index)
    np.testing.assert_allclose(table[:, :2], ff.points_.to_numpy()[:, :2], atol=1e-9)
    found = {each.point: each for each in ff.contradictions_}
    for own, name in enumerate(names):
        column = table[:, own]  # the first must have the smallest first risk, the third the smallest gap
        other = int(np.argmin(column))
        if column[own] - column[other] <= 1e-8 * np.abs(table).max():
            assert name not in found
            continue
        each = found.pop(name)
        assert each.other == names[other] or column[other] == pytest.approx(column[names.index(each.other)])
        assert each.by == pytest.approx(column[own] - column[other], abs=1e-9)
        assert each.what == ("gap" if own == 2 else f"risk of group {ff.groups_[own]}")
        if not (own == 2 and 0.0 in np.sign(table[:, 0] - table[:, 1])):  # no derivative where a gap is 0
            expected = jackknife(ff, own, names.index(each.other), own)
            assert each.standard_error == pytest.approx(expected, rel=1e-4, abs=1e-7)
    assert not found


def test_a_good_learner_has_none():
    ff = fit(rows(4000, 1), options={"n_boot": 99})
    assert ff.contradictions_ == ()
    assert TOO_WEAK not in ff.summary()


@pytest.fixture(scope="module")
def contradicted():
    return next(ff for ff in map(noisy, range(100)) if len(ff.contradictions_) == 2)


def test_it_is_said_everywhere(contradicted):
    ff = contradicted
    for each in ff.contradictions_:
        (sentence,) = each.sentences()
        assert f'"{each.point}" should have the smallest {each.what}' in sentence
        assert f'"{each.other}" is {each.by:.4f} smaller (s.e. {each.standard_error:.4f})' in sentence
        assert f"Caution: {sentence}" in ff.summary()
        assert each == pickle.loads(pickle.dumps(each))
        assert each.to_dict()["by"] == each.by > 0
    record = record_of(ff, {})
    assert [each.point for each in record.contradictions] == [each.point for each in ff.contradictions_]
    page = render(record)
    assert page.count(TOO_WEAK) == 1 + len(record.contradictions)
    assert "Not what they are called" in page


def test_a_note_under_the_picture(contradicted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    ax = contradicted.plot()
    (note,) = [text for text in ax.texts if TOO_WEAK in text.get_text().replace("\n", " ")]
    ax.figure.canvas.draw()
    label = ax.xaxis.label.get_window_extent()
    assert note.get_window_extent().y1 <= label.y0 + 1.0  # below the name of the axis
    assert note.get_window_extent().y0 >= 0.0  # and within the figure
    pyplot.close(ax.figure)
    ax = fit(rows(4000, 1), options={"n_boot": 99}).plot()
    assert [text for text in ax.texts if TOO_WEAK in text.get_text()] == []
    pyplot.close(ax.figure)
