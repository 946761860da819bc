"""Rows in parts: samples, folds and counts by plain loops, the same bits from every source, and the fit in memory."""

import json
import os
import signal
from dataclasses import dataclass, replace
from importlib.resources import files as files_of
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pytest
from support.parts import FEATURES, fitted, people, sources

from fairfrontier import FairFrontier, in_parts
from fairfrontier.data.parts import files
from fairfrontier.data.parts import sources as kinds
from fairfrontier.data.parts.drawing import RowSample, folds_of_rows, row_hash
from fairfrontier.data.parts.rows import PartRows, join
from fairfrontier.data.parts.sources import DaskRows
from fairfrontier.errors import DroppedRowsWarning, FairFrontierError, InputError
from fairfrontier.frontier.cells import FINEST, add_cells, bins_of, count_cells
from fairfrontier.frontier.support import group_means
from fairfrontier.inference.usual.proportions import rate_of
from fairfrontier.learning.cross_fitting import as_seed, cross_fit
from fairfrontier.learning.learners import child_seeds

MASK = 2**64 - 1


def mixed(bits):
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def plain_hash(seed, row):
    a, b = (int(word) for word in seed.generate_state(2, np.uint64))
    return mixed(mixed((row * 0x9E3779B97F4A7C15 + a) & MASK) ^ b)


def bare(row):
    """Rows that have nothing but their numbers."""
    n, nothing = len(row), np.zeros((len(row), 0))
    return PartRows(
        row,
        np.zeros(n),
        np.zeros(n),
        np.ones(n),
        nothing,
        nothing,
        np.ones(n, dtype=bool),
        pd.DataFrame(index=range(n)),
    )


def test_hashes_and_folds_are_those_of_plain_integers():
    seed = np.random.SeedSequence(3)
    rows = np.array([0, 1, 2, 10**6, 10**12])
    assert row_hash(seed, rows).tolist() == [plain_hash(seed, int(row)) for row in rows]
    expected = [1 + ((plain_hash(seed, int(row)) >> 32) * 5 >> 32) for row in rows]
    assert folds_of_rows(seed, rows, 5).tolist() == expected
    many = folds_of_rows(seed, np.arange(20_000), 5)
    assert np.abs(np.bincount(many)[1:] - 4000).max() < 4.0 * np.sqrt(20_000 * 0.16)


@pytest.mark.parametrize("size", [1, 7, 60, 500])
def test_the_sample_has_the_smallest_hashes_whatever_the_parts(size):
    seed = np.random.SeedSequence(4)
    expected = sorted(sorted(range(300), key=lambda row: plain_hash(seed, row))[:size])
    for cuts in ([], [1, 2, 290], [100, 200]):
        sample = RowSample(size, seed, join)
        for part in np.split(np.arange(300), cuts):
            sample.add(bare(part))
        assert sample.drawn().row.tolist() == expected


def test_small_pieces_of_many_parts_are_put_together():
    pieces = []
    sample = RowSample(1000, np.random.SeedSequence(4), lambda parts: pieces.append(len(parts)) or join(parts))
    for row in range(600):
        sample.add(bare(np.array([row])))
    assert sample.drawn().row.tolist() == list(range(600))
    assert pieces == [256, 256, 2 + 600 - 512]


def test_cells_are_counted_as_in_a_dictionary_whatever_the_parts():
    rng = np.random.default_rng(0)
    n = 400
    t = rng.normal(size=(n, 2))[rng.integers(12, size=n)] * rng.choice([0.0, 1e-12, 0.3, 5.0], (n, 1))
    group, y, weight = rng.integers(0, 2, n), rng.choice([-0.0, 0.0, 1.0], n), rng.choice([0.5, 2.0], n)
    decisions = rng.choice([0.0, 1.0], (n, 2))
    whole = count_cells(t, group, y, weight, decisions, length=2.0)
    expected = {}
    for i in range(n):
        key = (int(bins_of(t[i : i + 1])[0]), group[i], y[i] + 0.0, weight[i], *decisions[i])
        units = round(float(np.hypot(*t[i])) / (2.0 * FINEST))
        units = 0 if key[0] < 0 else min(max(units, 1), 2**31)
        count, length = expected.get(key, (0, 0))
        expected[key] = (count + 1, length + units)
    assert [tuple(key) for key in whole.keys.tolist()] == sorted(expected)
    assert whole.counts.tolist() == [expected[key][0] for key in sorted(expected)]
    assert whole.lengths.tolist() == [expected[key][1] for key in sorted(expected)]
    pieces = [
        count_cells(t[part], group[part], y[part], weight[part], decisions[part], length=2.0)
        for part in np.array_split(rng.permutation(n), 5)
    ]
    again = add_cells(pieces)
    assert again.keys.tobytes() == whole.keys.tobytes()
    assert (again.counts == whole.counts).all()
    assert (again.lengths == whole.lengths).all()
    for j, direction in enumerate(whole.keys[:, 0]):  # one length for all cells of a direction
        own = whole.keys[:, 0] == direction
        people_ = (whole.keys[own, 3] * whole.counts[own]).sum()
        assert np.isclose(whole.mean_lengths()[j], (whole.keys[own, 3] * whole.lengths[own]).sum() / people_)


def test_group_means_of_cells_are_those_of_their_people():
    rng = np.random.default_rng(1)
    values, group, each, counts = rng.normal(size=20), np.arange(20) % 2, rng.random(20), rng.integers(1, 9, 20)
    repeated = np.repeat(np.arange(20), counts)
    by_person = group_means(values[repeated], group[repeated], each[repeated])
    by_cell = group_means(values, group, each * counts, counts=counts.astype(float))
    for one, other in zip(by_person, by_cell, strict=True):
        assert np.allclose(one, other, rtol=1e-12, atol=1e-15)


@pytest.fixture(scope="module")
def frame():
    return people(1000)


@pytest.fixture(scope="module")
def small_blocks():
    """Blocks and parts so small that there are several of each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_parts, "BLOCK", 256)
        patch.setattr(kinds, "PART_ROWS", 300)
        patch.setattr(files, "PART_ROWS", 300)
        yield


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    return sources(frame, tmp_path_factory.mktemp("parts"))


def learned(source, **options):
    """A fit by some of the rows with two repetitions of the cross-fitting."""
    return fitted(source, learn_rows=500, n_rep=2, **options)


@pytest.fixture(scope="module")
def by_source(folder, small_blocks):
    fits = {name: learned(folder[name]) for name in ("frame", "folder", "lazy frame", "CSV files")}
    # of others without a learner
    names = ("frame", "polars frame", "file", "dask frame")
    return fits, {name: fitted(folder[name], external_nuisance=["t_two", "t_one"]) for name in names}


def answers(ff):
    test, distance = ff.test_lda("in use"), ff.distance_to_fairest("in use")
    skew = ff.test_group_skew()
    return [ff.points_.to_numpy(), test.p_value, test.draws, skew.p_value, distance.estimate, *distance.conf_int()]


def test_every_source_gives_the_same_bits(by_source):
    for fits in by_source:
        for name, ff in fits.items():
            assert same_cells(fits["frame"], ff), name
    for one, other in zip(answers(by_source[0]["frame"]), answers(by_source[0]["folder"]), strict=True):
        assert np.array_equal(one, other)


def row_seeds():
    return child_seeds(child_seeds(as_seed(1), 4)[0], 7)[5:]


def test_all_rows_learned_from_give_the_fit_in_memory(frame):
    ff = fitted(frame, learn_rows=5000, n_rep=1)
    folds = folds_of_rows(row_seeds()[1], np.arange(len(frame)), 2)
    memory = FairFrontier(
        learner="factored-logit", folds=folds, n_rep=1, n_boot=99, random_state=1, compress=True, copies="ignore"
    ).fit(frame[FEATURES], frame["y"], sensitive_features=frame["group"])
    assert ff.groups_ == memory.groups_
    assert (ff.n_obs_, ff.sample_.counts) == (memory.n_obs_, memory.sample_.counts)
    assert np.allclose(ff.nuisance_.predictions, memory.nuisance_.predictions, atol=1e-12)
    q = np.column_stack([np.cos(np.arange(40.0)), np.sin(np.arange(40.0))])
    assert np.allclose(ff.support(q), memory.support(q), atol=1e-9)
    assert np.allclose(ff.support_covariance(q), memory.support_covariance(q), atol=1e-9)
    assert np.allclose(ff.points_, memory.points_, atol=1e-6)
    one, other = ff.risks("in use"), memory.risks(frame["in use"])
    assert np.allclose([one.risk, one.standard_error], [other.risk, other.standard_error], atol=1e-12)
    one, other = ff.test_lda("in use", method="paper"), memory.test_lda(frame["in use"], method="paper")
    assert np.isclose(one.statistic, other.statistic)  # that of the robust test depends on draws
    assert np.isclose(ff.distance_to_fairest("in use").estimate, memory.distance_to_fairest(frame["in use"]).estimate)
    assert np.allclose(ff.frontier(n_points=20).points, memory.frontier(n_points=20).points, atol=1e-3)
    one, other = ff.rule("utilitarian"), memory.rule("utilitarian")
    assert np.allclose(one.decision_function(frame[FEATURES]), other.decision_function(frame[FEATURES]), atol=1e-9)
    # the same table of usual figures, alternatives and comparison with the learner as of people one by one
    one, other = ff.usual_figures("in use").table, memory.usual_figures(frame["in use"]).table
    assert np.allclose(one.to_numpy(dtype=float), other.to_numpy(dtype=float), atol=1e-12, equal_nan=True)
    test, again = ff.test_lda("in use"), memory.test_lda(frame["in use"])
    one, other = test.learner_check, again.learner_check
    assert np.allclose(one.difference, other.difference, atol=2e-3)  # directions are rounded in memory only
    one, other = ff.alternatives("in use", test=test), memory.alternatives(frame["in use"], test=again)
    columns = [name for name in one.table if name.startswith(("risk", "se ", "gain", "selection", "agreement"))]
    assert len(one) > 2
    assert np.allclose(one.table[columns], other.table[columns], atol=1e-6)
    assert ff.test_pareto(decisions="in use").p_value.shape == (1,)
    assert ff.plot(decisions=["in use"]).get_title() == memory.plot(decisions={"in use": frame["in use"]}).get_title()


def test_the_robust_test_is_that_in_memory(frame):
    ff = fitted(frame, learn_rows=5000, n_rep=None, sample_weight="weight")
    seed = row_seeds()[1]
    seeds = [seed, *child_seeds(seed, 2)]  # three repetitions, as for frames
    folds = np.array([folds_of_rows(each, np.arange(len(frame)), 2) for each in seeds])
    assert ff.nuisance_.folds.tolist() == folds.tolist()
    memory = FairFrontier(learner="factored-logit", folds=folds, n_boot=99, random_state=1, copies="ignore")
    memory.fit(frame[FEATURES], frame["y"], sensitive_features=frame["group"], sample_weight=frame["weight"])
    one, other = ff.test_lda("in use"), memory.test_lda(frame["in use"])
    assert np.isclose(one.statistic, other.statistic, rtol=1e-6)
    assert np.isclose(one.p_value, other.p_value)
    assert other.evidence.share_changed > 0.0
    assert np.isclose(one.evidence.share_changed, other.evidence.share_changed)
    assert np.allclose(one.evidence.direction, other.evidence.direction)
    sharp = ff.test_lda("in use", method="sharp")
    assert sharp.p_value != one.p_value


@pytest.fixture(scope="module")
def of_three():
    """A frame with three groups, the fit of its rows in parts with two repetitions, and that in memory."""
    rows = people(1200, seed=7)
    rng = np.random.default_rng(1)
    group = np.where(rng.random(len(rows)) < 0.3, "three", rows["group"])
    noisy = np.where(rng.random(len(rows)) < 0.6, rows["x1"] > 0.0, rng.random(len(rows)) < 0.5)
    rows = rows.assign(**{"group": group, "in use": noisy.astype(int)})
    ff = fitted(rows, learn_rows=5000, n_rep=2)
    seed = row_seeds()[1]
    folds = np.array([folds_of_rows(each, np.arange(len(rows)), 2) for each in (seed, *child_seeds(seed, 1))])
    memory = FairFrontier(learner="factored-logit", folds=folds, n_boot=99, random_state=1, copies="ignore")
    return rows, ff, memory.fit(rows[FEATURES], rows["y"], sensitive_features=rows["group"])


def test_three_groups_have_the_joint_test_in_memory(of_three):
    rows, ff, memory = of_three
    one, other = ff.test_lda("in use"), memory.test_lda(rows["in use"])
    for name in (
        "risk",
        "widths",
        "width_errors",
        "slack",
        "standard_error",
        "weights",
        "p_value",
        "gain",
        "gain_error",
    ):
        assert np.allclose(getattr(one.evidence, name), getattr(other.evidence, name), rtol=1e-7), name
    assert 1e-6 < one.p_value < 0.999
    assert one.verdict == other.verdict
    assert np.isclose(one.evidence.share_changed, other.evidence.share_changed)
    assert np.allclose(one.selection_rate, other.selection_rate)
    assert np.allclose(ff.risks("in use").standard_error, memory.risks(rows["in use"]).standard_error)
    one, other = ff.usual_figures("in use").table, memory.usual_figures(rows["in use"]).table
    assert np.allclose(one.to_numpy(dtype=float), other.to_numpy(dtype=float), atol=1e-12, equal_nan=True)
    one, other = (each.rule([1.0, 0.5, 0.2]).decision_function(rows[FEATURES]) for each in (ff, memory))
    assert np.allclose(one, other)
    assert "Points, rules and pairs of more than two groups need the rows" in ff.summary()


def test_what_needs_the_rows_of_three_groups_says_so(of_three, tmp_path):
    _, ff, memory = of_three
    rows = of_three[0]
    shown = memory.test_lda(rows["x2"] < 0.0)
    assert shown.witness is not None
    for ask in (
        lambda: ff.points_,
        lambda: ff.alternatives("in use"),
        lambda: ff.pair("one", "two"),
        lambda: ff.pairs(),
        lambda: ff.rule("egalitarian"),
        lambda: ff.rule(shown),
        lambda: ff.usual_figures(shown.witness),
        lambda: ff.test_lda("in use", reference="one"),
        lambda: ff.test_lda("in use", capacity=0.2),
        lambda: ff.report(tmp_path / "report.html", ["in use"]),
        lambda: ff.cost_of_ban(),
    ):
        with pytest.raises(InputError) as caught:
            ask()
        assert caught.value.code == "rows-needed"
    six = rows.assign(group=np.arange(len(rows)) % 6)
    with pytest.raises(InputError, match="at most 5 groups") as caught:
        fitted(six, learn_rows=5000)
    assert caught.value.code == "too-many-groups"


def test_the_alternative_of_a_test_is_deployed_by_rows_learned_from(frame):
    changed = frame.assign(**{"in use": (frame["x2"] < 0.0).astype(int)})
    ff = fitted(changed, learn_rows=600)
    test = ff.test_lda("in use")
    rule = ff.rule(test)
    assert 0.0 < rule.predict_proba(changed[FEATURES])[:, 1].mean() < 1.0


def test_a_sample_is_learned_from_and_all_rows_are_predicted_out_of_fold(frame, by_source):
    ff = by_source[0]["folder"]
    sample_seed, fold_seed = row_seeds()
    rows = sorted(sorted(range(len(frame)), key=lambda row: plain_hash(sample_seed, row))[:500])
    assert ff.fit_.whole.y.tolist() == frame["y"].iloc[rows].tolist()
    folds = folds_of_rows(fold_seed, np.arange(len(frame)), 2)
    assert ff.nuisance_.folds.shape == (2, 500)
    assert ff.nuisance_.folds[0].tolist() == folds[rows].tolist()
    # without fold k: learned from the rows drawn that are not in it, by the in-memory path with two folds
    X = frame[FEATURES]
    t = np.full((len(frame), 2), np.nan)
    models = []
    cross_fit(
        ff.fit_.whole,
        1.0 - 2.0 * ff.fit_.whole.y,
        "factored-logit",
        folds=folds[rows],
        random_state=ff.fit_.seeds.learning,
        models=models,
    )
    for k, model in enumerate(models, start=1):
        t[folds == k] = model.predict(X[folds == k]).delta_theta
    assert np.allclose(t[rows], ff.nuisance_.predictions[0], atol=1e-12)
    memory = FairFrontier(n_boot=99, random_state=1, compress=True, copies="ignore")
    memory.fit(X, frame["y"], sensitive_features=frame["group"], external_nuisance=t)
    assert np.allclose(ff.points_, memory.points_, atol=1e-6)


def test_predictions_from_outside_weights_and_chances(frame):
    ff = fitted(
        frame,
        external_nuisance=["t_two", "t_one"],
        sample_weight="weight",
        algorithms={"lottery": "chance", "in use": "in use"},
        learn_rows=500,
    )
    t = frame[["t_two", "t_one"]].to_numpy()
    memory = FairFrontier(n_boot=99, random_state=1, compress=True, copies="ignore").fit(
        None, frame["y"], sensitive_features=frame["group"], sample_weight=frame["weight"], external_nuisance=t
    )
    assert np.allclose(ff.points_, memory.points_, atol=1e-6)
    assert np.allclose(ff.sample_.groups.shares, memory.sample_.groups.shares, atol=1e-14)
    q = [[-1.0, -0.5], [-0.2, -1.0]]
    assert np.allclose(ff.support_covariance(q), memory.support_covariance(q), atol=1e-9)
    assert np.allclose(ff.risks("lottery").standard_error, memory.risks(frame["chance"]).standard_error, atol=1e-12)
    both = ff.test_lda(randomised=True)
    assert list(both) == ["lottery", "in use"]
    assert ff.test_lda(["in use"])["in use"].statistic == both["in use"].statistic
    assert ff.nuisance_.external
    assert "predictions supplied from outside" in ff.summary()


def test_usual_figures_of_weighted_cells_are_those_of_their_people():
    rng = np.random.default_rng(2)
    a, each, counts = rng.choice([0.0, 0.3, 1.0], 30), rng.random(30), rng.integers(1, 9, 30).astype(float)
    repeated = np.repeat(np.arange(30), counts.astype(int))
    for chosen, weighted in ((a, True), (np.rint(a), False), (np.ones(30), True)):
        w = each if weighted else np.ones(30)
        by_person = rate_of(chosen[repeated], w[repeated], None, weighted=weighted)
        by_cell = rate_of(chosen, w * counts, None, weighted=weighted, people=counts)
        assert by_person.counted == by_cell.counted
        assert np.allclose([by_person.value, by_person.size], [by_cell.value, by_cell.size], rtol=1e-12)


def test_a_report_says_which_rows_it_is_of(by_source, tmp_path):
    ff = by_source[0]["folder"]
    record = json.loads(ff.to_json(tmp_path / "audit.json", ["in use"]).read_text(encoding="utf-8"))
    schema = json.loads(files_of("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(record, schema)
    told = record["data"]["in_parts"]
    assert (told["rows_read"], told["rows_learned"], told["cells"]) == (1000, 500, ff.fit_.n_rows)
    assert record["data"]["covariates"] == FEATURES
    own = record["algorithms"][0]
    assert own["lda"]["p_value"] == ff.test_lda("in use").p_value
    assert own["usual"]["algorithm"][0]["rows"] == record["data"]["rows_by_group"]["two"]
    assert record["ban"] is None
    assert "read in parts" in record["without_ban"]
    page = ff.report(tmp_path / "report.html", ["in use"]).read_text(encoding="utf-8")
    assert told["sentence"] in page


def test_groups_labels_and_gaps_are_read_as_in_memory(frame, tmp_path):
    changed = frame.assign(
        group=np.where(
            np.arange(len(frame)) % 7 == 0, "three", np.where(frame.index % 11 == 0, "four", frame["group"])
        ),
        y=np.where(frame["y"] == 1, "yes", "no"),
    )
    changed.loc[[3, 600, 999], "group"] = None
    changed.loc[[4, 5, 900], "y"] = None
    options = {"groups": ("two", "rest"), "merge": {"rest": ["one", "four"]}, "positive": "yes", "missing": "drop"}
    changed.to_parquet(tmp_path / "rows.parquet")  # with its row labels, which are no covariate
    with pytest.warns(DroppedRowsWarning):
        ff = fitted(tmp_path / "rows.parquet", features=["x1"], **options)
    memory = FairFrontier(learner="factored-logit", n_folds=2, n_rep=1, random_state=1, copies="ignore", **options)
    with pytest.warns(DroppedRowsWarning):
        memory.fit(changed[["x1"]], changed["y"], sensitive_features=changed["group"])
    one, other = ff.sample_, memory.sample_
    for name in ("counts", "left_out", "merged", "n_given"):
        assert getattr(one, name) == getattr(other, name), name
    assert one.dropped == other.dropped
    assert ff.outcome_labels_.tolist() == memory.outcome_labels_.tolist() == ["no", "yes"]
    assert ff.fit_.counted.n_rows == len(frame)


def same_cells(one, other):
    """Whether two fits have the same cells and the same models, to the bit."""
    cells, own = (ff.fit_.plane().function.scores for ff in (one, other))
    columns = ("l0", "dl", "t", "group", "weight", "counts")
    alike = [getattr(own, column).tobytes() == getattr(cells, column).tobytes() for column in columns]
    tests, again = (ff.fit_.counted.tests for ff in (one, other))
    alike += [tests[name].statistic == again[name].statistic for name in tests]
    return all(alike) and one.nuisance_ == other.nuisance_ and one.diagnostics_ == other.diagnostics_


def test_ranges_of_the_rows_on_workers_give_the_same_bits(by_source, folder, frame, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None) as client:
        ff = learned(folder["folder"], client=client)
        with pytest.raises(InputError, match="decisions of 'x1'"):
            fitted(folder["folder"], algorithms=["x1"], features=["x2"], client=client)
        frame.to_parquet(tmp_path / "one.parquet", index=False, row_group_size=190)
        options = {"external_nuisance": ["t_two", "t_one"]}
        assert len(kinds.rows_in_parts(tmp_path / "one.parquet").starts) == 6
        shared = fitted(tmp_path / "one.parquet", client=client, **options)
        with pytest.raises(InputError, match="not of the Arrow dataset"):
            fitted(pyarrow.dataset.dataset(pa.Table.from_pandas(frame)), client=client, **options)
    assert same_cells(by_source[0]["frame"], ff)
    assert same_cells(by_source[1]["frame"], shared)


def die_once(frame, flag):
    """Return a partition; who comes to the last one in the second pass is killed, once."""
    if len(frame) and frame.index[-1] == 999:
        with Path(flag).open("a") as file:
            file.write("x")
        if Path(flag).stat().st_size == 4:  # its size is asked for once, and two ranges of every pass have rows of it
            os.kill(os.getpid(), signal.SIGKILL)
    return frame


@pytest.mark.slow
def test_a_cluster_of_processes_survives_that_a_worker_is_killed(by_source, folder, tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        frame = folder["dask frame"]
        mortal = frame.map_partitions(die_once, str(tmp_path / "died"), meta=frame._meta)
        pids = set(client.run(os.getpid).values())
        survived = learned(mortal, client=client)
        assert len((tmp_path / "died").read_text()) >= 6
        assert set(client.run(os.getpid).values()) != pids
    assert same_cells(by_source[0]["frame"], survived)


def die(frame):
    """Whoever comes to the last partition is killed."""
    if len(frame) and frame.index[-1] == 999:
        os.kill(os.getpid(), signal.SIGKILL)
    return frame


@pytest.mark.slow
def test_rows_that_every_worker_dies_of_are_named(folder, small_blocks):
    distributed = pytest.importorskip("distributed")
    frame = folder["dask frame"]
    deadly = replace(DaskRows(frame).located(), frame=frame.map_partitions(die, meta=frame._meta))
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        asked = in_parts.over_ranges(Everywhere(deadly, client), length_of, None)
        with pytest.raises(FairFrontierError, match=r"Rows of the dask frame could not be .* several workers died"):
            list(asked)


@dataclass(frozen=True)
class Everywhere:
    """Something to do with all rows."""

    source: object
    client: object
    block: int = 256

    def here(self):
        return Everywhere(self.source, None, self.block)


def length_of(task, span, progress):
    return sum(len(part.frame) for part in task.source.parts(["x1"], *span))
