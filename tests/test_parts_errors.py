"""Rows in parts that cannot be read or used: each error names the part, or what to do instead."""

import tracemalloc
import warnings

import numpy as np
import polars as pl
import pytest
from support.parts import fitted, people, write_parts

from fairfrontier import FairFrontier, in_parts
from fairfrontier.data.parts import rows as part_rows
from fairfrontier.data.parts.sources import Part, rows_in_parts
from fairfrontier.errors import InputError

T = ["t_two", "t_one"]


class Nobody:
    """A client that is never asked to do anything."""

    submit = cancel = None


@pytest.fixture(scope="module")
def frame():
    return people(400)


@pytest.fixture
def folder(frame, tmp_path):
    return write_parts(frame, tmp_path / "rows", [150, 100, 150])


def test_folders_with_columns_in_their_names(frame, tmp_path):
    for label, own in frame.groupby("group"):
        (tmp_path / f"group={label}").mkdir()
        own.drop(columns="group").to_parquet(tmp_path / f"group={label}" / "0.parquet", index=False)
    ff = fitted(tmp_path, external_nuisance=T)  # every part has one group only
    whole = fitted(frame.sort_values("group", kind="stable"), external_nuisance=T)
    assert ff.points_.equals(whole.points_)


def test_a_value_that_cannot_be_used_names_its_part(frame, folder):
    for column, value, said, code in (
        ("in use", 2, "decisions of 'in use'", "bad-decisions"),
        ("in use", np.nan, "decisions of 'in use'", "bad-decisions"),
        ("weight", -1.0, "negative", "bad-weights"),
        ("t_one", np.nan, "The column 't_one' has 1 values that are missing", "bad-nuisance"),
    ):
        changed = frame.iloc[150:250].astype({column: float})
        changed.loc[200, column] = value
        changed.to_parquet(folder / "1.parquet", index=False)
        with pytest.raises(InputError, match=rf"1\.parquet: .*{said}") as caught:
            fitted(folder, external_nuisance=T, sample_weight="weight")
        assert caught.value.code == code
    changed = frame.iloc[150:250].assign(x1=np.inf)
    changed.to_parquet(folder / "1.parquet", index=False)
    with pytest.raises(InputError, match=r"1\.parquet: Infinite values in X\['x1'\]"):
        fitted(folder)


def test_outcomes_groups_and_gaps_of_all_parts_together(frame, folder):
    gaps = frame.iloc[150:250].copy()
    gaps.loc[200, "group"] = None
    gaps.to_parquet(folder / "1.parquet", index=False)
    with pytest.raises(
        InputError, match=r"Missing values in 1 of 400 rows \(by group: None: 1\), the first in .*1\.par"
    ):
        fitted(folder, external_nuisance=T)
    for changed, options, code in (
        (frame.assign(y=1), {}, "constant-outcome"),
        (frame.assign(y=frame["y"] + 1), {}, "outcome-not-binary"),
        (frame.assign(group="one"), {}, "one-group"),
        (frame.assign(group=frame["group"].where(frame["group"] == "one", "")), {}, "unknown-group"),
        (frame.assign(group="a & b", b=frame["group"]), {"sensitive_features": ["group", "b"]}, "unknown-group"),
        (frame.assign(group=frame["x1"].round()), {}, "too-many-groups"),
        (frame, {"groups": ("one", "none")}, "unknown-group"),
        (frame.assign(y=frame["x1"]), {"loss": "squared", "limit": 100}, "rows-needed"),
        (frame.iloc[:0], {}, "empty-data"),
        (frame, {"missing": "no"}, "bad-option"),
        (frame.assign(weight=0.0), {"sample_weight": "weight"}, "bad-weights"),
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(part_rows, "MOST_OUTCOMES", options.pop("limit", 10_000))
            with pytest.raises(InputError) as caught:
                fitted(changed, external_nuisance=T, **options)
        assert caught.value.code == code
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_parts, "MOST_CELLS", 50)
        with pytest.raises(InputError, match=r"more than 50 kinds of them .*y: 2, .*decisions of in use: 2"):
            fitted(frame, external_nuisance=T)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"y": "yy"}, "y names the column 'yy', which is not there. Did you mean 'y'"),
        ({"sensitive_features": ["group", "sex"]}, "sensitive_features names the column 'sex'"),
        ({"sensitive_features": None}, "must name the column of the groups"),
        ({"sample_weight": np.ones(400)}, "sample_weight must name columns, too"),
        ({"algorithms": {"a": [0, 1]}}, "algorithms must name columns, too"),
        ({"features": []}, "no column left to learn from"),
        ({"features": ["x1", "y"]}, "features names 'y', which y names as the outcome"),
        ({"features": ["group", "x1"]}, "features names 'group', which sensitive_features names as the group"),
        ({"features": ["weight"], "sample_weight": "weight"}, "which sample_weight names as the sampling weight"),
        ({"categorical": ["group"]}, "categorical names 'group', which is not a covariate"),
        ({"clusters": "code"}, "cannot be combined with `clusters`"),
        ({"bias_correction": "regret", "jitter": 0.1}, "cannot be combined with .*regret.* and jitter=0.1"),
        ({"folds": "sequential"}, "cannot be combined with `folds`"),
        ({"rules": "group-aware"}, "cannot be combined with rules='group-aware'"),
        ({"accuracy": "overall"}, "cannot be combined with .*overall"),
        ({"compress": False}, "cannot be combined with compress=False"),
        ({"copies": "keep-together"}, "cannot be combined with copies='keep-together'"),
        ({"learn_rows": 10}, "learn_rows must be an integer of at least 100"),
        ({"n_folds": 1}, "n_folds must be an integer of at least 2"),
        ({"external_nuisance": ["t_one"]}, r"must have shape \(400, 2\)"),
        ({"client": "local"}, "client must be a dask.distributed Client, not str"),
        ({"client": Nobody()}, "Parquet files, an Arrow dataset or a dask DataFrame, not of the frame"),
    ],
)
def test_options_that_rows_in_parts_do_not_take(frame, options, said):
    with pytest.raises(InputError, match=said):
        fitted(frame, **options)


def test_names_of_columns_need_rows_in_parts(frame):
    with pytest.raises(InputError, match="where y names a column, too"):
        FairFrontier().fit(frame[["x1"]], frame["y"], sensitive_features=frame["group"], algorithms=["in use"])


def test_what_needs_the_rows_says_so(frame):
    ff = fitted(frame, external_nuisance=T, algorithms={"in use": "in use", "lottery": "chance"})
    column = frame["in use"]
    for ask in (
        lambda: ff.alternatives("in use", held_out=True),
        lambda: ff.usual_figures("in use", score=frame["x1"]),
        lambda: ff.cost_of_ban(),
        lambda: ff.feasible_set(),
        lambda: ff.feasible_set(capacity=0.1),
        lambda: ff.frontier(capacity=0.1),
        lambda: ff.test_lda("in use", capacity=0.1),
        lambda: ff.report("report.html", {"in use": column}),
        lambda: ff.report("report.html", ["in use"], capacity=0.1),
        lambda: ff.test_lda(column),
        lambda: ff.risks(column),
    ):
        with pytest.raises(InputError, match="read in parts and counted") as caught:
            ask()
        assert caught.value.code == "rows-needed"
    for decisions, options, said in (
        ("other", {}, "There is no algorithm 'other': 'in use', 'lottery' were named"),
        ([], {}, "no algorithm to ask about"),
        (["in use", "in use"], {}, "different names"),
        ("lottery", {}, "strictly between 0 and 1"),
        ("lottery", {"threshold": 0.5}, "`threshold` needs the rows"),
    ):
        with pytest.raises(InputError, match=said):
            ff.test_lda(decisions, **options)
    assert ff.test_lda(risks=[0.4, 0.4]).p_value > 0.0
    text = ff.summary(ban=True)
    assert "400 rows read from the frame" in text
    assert "What a ban of the group costs needs the rows" in text


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")  # the predictions say nothing
def test_uneven_losses_are_those_of_people_and_not_of_cells(frame):
    few_cells = frame.assign(t_two=0.1, t_one=0.1)
    for large, uneven in ((2.0, False), (50.0, True)):
        changed = few_cells.assign(y=np.where(np.arange(400) == 3, large, 1.5))  # of one person
        ff = fitted(changed, loss="squared", external_nuisance=T)
        assert ff.fit_.n_rows < 10
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            ff.test_lda("in use")
        assert any("one row has" in str(each.message) for each in told) == uneven


def test_a_group_too_small_to_learn_from_is_named(frame):
    rare = frame.assign(group=np.where(np.arange(400) < 6, "rare", "other"))
    with pytest.raises(InputError, match=r"Of 400 rows .* 6 are of group 'rare': too few for 5 folds") as caught:
        fitted(rare, features=["x1"], n_folds=5)
    assert caught.value.code == "group-too-small"


def test_only_groups_in_use_are_judged(frame):
    others = np.arange(400) % 10 == 0
    odd = frame.assign(
        group=np.where(others, "other", frame["group"]),
        y=np.where(others, 2, frame["y"]),
        weight=np.where(others, 1e10, 1.0),
    )
    options = {"external_nuisance": T, "groups": ("two", "one"), "sample_weight": "weight"}
    ff = fitted(odd, **options)
    assert ff.sample_.left_out == {"other": 40}
    account = part_rows.Account(judged=False)
    roles = part_rows.read_roles(rows_in_parts(odd), "y", "group", sample_weight="weight", external_nuisance=T)
    for name, rows in part_rows.read_rows(rows_in_parts(odd), roles, "keep"):
        account.add(name, rows)
    coding = account.coding(positive=None, binary=True, groups=("two", "one"), merge=None, missing="keep")
    assert coding.largest_weight.tolist() == [1.0, 1.0]
    assert sorted(zip(coding.seen_in.tolist(), coding.outcomes.tolist(), strict=True)) == [
        (0, 0.0),
        (0, 1.0),
        (1, 0.0),
        (1, 1.0),
    ]
    constant = odd.assign(y=np.where(others, frame["y"], 1))
    with pytest.raises(InputError, match="y is 1 in all 360 rows") as caught:
        fitted(constant, **options)
    assert caught.value.code == "constant-outcome"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_rows, "MOST_OUTCOMES", 20)
        many = odd.assign(y=np.where(others, np.arange(400), frame["y"]))
        fitted(many, **options)
        with pytest.raises(InputError, match="more than 20 different values"):
            fitted(many, **options | {"groups": None})


def test_limits_hold_for_all_parts_together(frame):
    roles = part_rows.read_roles(rows_in_parts(frame), "y", "group", external_nuisance=T)

    def account(rows):
        found = part_rows.Account()
        for name, part in part_rows.read_rows(rows_in_parts(rows), roles, "keep"):
            found.add(name, part)
        return found

    first, second = (
        frame.iloc[part].assign(y=np.arange(200) + start) for part, start in ((slice(200), 0), (slice(200, 400), 200))
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_rows, "MOST_OUTCOMES", 150)
        with pytest.raises(InputError, match="more than 150 different values"):
            account(first).merge(account(second))
        patch.setattr(part_rows, "MOST_LABELS", 250)
        first, second = (each.assign(y=1, group=each["y"].astype(str)) for each in (first, second))
        with pytest.raises(InputError, match="more than 250 labels so far, such as '0'") as caught:
            account(first).merge(account(second))
        assert caught.value.code == "too-many-groups"
        patch.setattr(part_rows, "MOST_PAIRS", 150)
        with pytest.raises(InputError, match="more than 150 different pairs"):
            account(first)
    with pytest.raises(InputError, match="only one: 'a' \\(400 rows\\)"):
        fitted(frame.assign(group="a"), external_nuisance=T)
    with pytest.raises(InputError, match="y has values that cannot be told apart"):
        fitted(frame.assign(y=pl.Series([[1]] * 400).to_list()), external_nuisance=T)


class Generated:
    """Rows that nobody stores: every part is made when it is asked for."""

    name, starts = "the generator", None
    columns = ("y", "group", "in use", "t_two", "t_one")

    def __init__(self, n_parts, size):
        self.n_parts, self.size, self.n_rows = n_parts, size, n_parts * size

    def parts(self, columns, start=0, stop=None):
        for k in range(self.n_parts):
            rng = np.random.default_rng(k)
            t = np.random.default_rng(99).normal(size=(30, 2))[rng.integers(30, size=self.size)]
            y, one, decided = rng.integers(0, 2, (3, self.size))
            values = {
                "y": y,
                "group": np.where(one, "one", "two"),
                "in use": decided,
                "t_two": t[:, 0],
                "t_one": t[:, 1],
            }
            yield Part(f"part {k}", pl.DataFrame(values).select(columns), k * self.size)


class Changing(Generated):
    """Rows of which some are others when they are read once more."""

    def __init__(self, change):
        super().__init__(2, 300)
        self.change, self.passes = change, 0

    def parts(self, columns, start=0, stop=None):
        self.passes += 1
        for part in super().parts(columns, start, stop):
            yield part if self.passes == 1 else Part(part.name, self.change(part.frame), part.first)


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")  # the predictions are noise
@pytest.mark.parametrize(
    ("change", "named"),
    [(lambda frame: frame[:-1], "the generator"), (lambda frame: frame.with_columns(group=pl.lit("three")), "part 0")],
)
def test_rows_that_change_between_the_passes_are_refused(change, named):
    with pytest.raises(InputError, match=f"The rows of {named} changed while they were read") as caught:
        fitted(Changing(change), external_nuisance=T)
    assert caught.value.code == "bad-file"


@pytest.mark.filterwarnings("ignore::fairfrontier.errors.FairFrontierWarning")  # the predictions are noise
def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(in_parts, "BLOCK", 2000)
    peaks = []
    for n_parts in (3, 3, 12):  # the first one also pays for what is loaded and kept
        tracemalloc.start()
        ff = fitted(Generated(n_parts, 2000), external_nuisance=T, learn_rows=1000)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert ff.n_obs_ == 2000 * n_parts
    assert peaks[2] < 1.25 * peaks[1]
