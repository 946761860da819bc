"""Kinds of columns: the test for order against a plain transcription, dates, labels, and integers that are codes."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.shared import shared_path

from fairfrontier.data.columns import (
    FEWEST_CODES,
    LAX,
    MOST_CODES,
    RARE,
    ROWS_PER_CODE,
    STRICT,
    Kind,
    as_labels,
    day_first,
    days_of,
    holds_integers,
    judge_codes,
    kind_of,
    level_codes,
    no_order_p_value,
    numbers_of,
)

# --- the test for order ------------------------------------------------------------------------------------


def pooled(means, weights):
    """Isotonic regression by pooling neighbours that violate the order, as long as there are any."""
    blocks = [([m], [w]) for m, w in zip(means, weights, strict=True)]

    def mean(block):
        return sum(m * w for m, w in zip(*block, strict=True)) / sum(block[1])

    j = 0
    while j + 1 < len(blocks):
        if mean(blocks[j]) >= mean(blocks[j + 1]):
            blocks[j : j + 2] = [(blocks[j][0] + blocks[j + 1][0], blocks[j][1] + blocks[j + 1][1])]
            j = max(j - 1, 0)
        else:
            j += 1
    return [mean(block) for block in blocks for _ in block[0]], len(blocks)


def slow_p_value(level, y):
    """The definition, one row after the other."""
    rows = {}
    for one, value in zip(level, y, strict=True):
        rows.setdefault(int(one), []).append(float(value))
    levels = sorted(one for one, values in rows.items() if len(values) >= RARE)
    n, k = sum(len(rows[one]) for one in levels), len(levels)
    if k < 3:
        return 1.0
    means = [sum(rows[one]) / len(rows[one]) for one in levels]
    counts = [len(rows[one]) for one in levels]
    within = sum((v - m) ** 2 for one, m in zip(levels, means, strict=True) for v in rows[one])
    p_values = []
    for sign in (1.0, -1.0):
        fit, steps = pooled([sign * m for m in means], counts)
        left = sum(c * (sign * m - f) ** 2 for c, m, f in zip(counts, means, fit, strict=True))
        freedom = k - steps
        p_values.append(1.0 if freedom == 0 else stats.f.sf(left / freedom / (within / (n - k)), freedom, n - k))
    return max(p_values)


@pytest.mark.parametrize("seed", range(12))
def test_p_value_of_order_against_a_plain_transcription(seed):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3 + seed, 400)
    shift = rng.normal(size=3 + seed)
    shift = np.sort(shift) if seed % 3 == 0 else shift
    y = 0.2 * shift[level] + rng.normal(size=400)
    assert no_order_p_value(level, y) == pytest.approx(slow_p_value(level, y), rel=1e-9)


def test_weights_in_the_test_of_order():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 6, 600)
    y = 0.3 * rng.normal(size=6)[level] + rng.normal(size=600)
    assert no_order_p_value(level, y, np.full(600, 3.7)) == pytest.approx(no_order_p_value(level, y), rel=1e-9)
    # rows that weigh next to nothing are as good as absent
    light = np.arange(600) % 3 == 0
    weight = np.where(light, 1e-12, 1.0)
    assert no_order_p_value(level, y, weight) == pytest.approx(no_order_p_value(level[~light], y[~light]), rel=1e-6)
    zero = judge_codes(level.astype(float), y, np.where(light, 0.0, 1.0))
    assert zero == judge_codes(level[~light].astype(float), y[~light])
    # in the population that the rows are weighted to, the outcome rises with the level; among the rows it does not
    member = rng.random(6000) < 0.5
    rank = rng.integers(0, 5, 6000)
    outcome = np.where(member, 0.5 * rank, np.array([0.0, 3.0, 0.0, 3.0, 0.0])[rank]) + rng.normal(size=6000)
    assert no_order_p_value(rank, outcome) < STRICT
    assert no_order_p_value(rank, outcome, np.where(member, 1.0, 1e-3)) > LAX


@pytest.mark.parametrize("seed", range(6))
def test_classes_are_compared_with_the_most_common_one_and_a_correction(seed):
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 6, 900)
    y = rng.choice(2 + seed % 3, 900, p=[[0.6, 0.4], [0.3, 0.5, 0.2], [0.3, 0.2, 0.3, 0.2]][seed % 3]).astype(float)
    values = sorted(set(y.tolist()))
    common = max(values, key=lambda v: (sum(y == v), -v))
    others = [v for v in values if v != common]
    p_values = [1.0]
    for value in others:
        rows = [i for i in range(900) if y[i] in (value, common)]
        p_values.append(len(others) * slow_p_value(level[rows], [float(y[i] == value) for i in rows]))
    assert no_order_p_value(level, y) == pytest.approx(min(p_values), rel=1e-9)


def test_an_ordered_outcome_of_a_few_values_has_order():
    rng = np.random.default_rng(3)
    level = rng.integers(0, 7, 3000)
    y = rng.binomial(4, 0.15 + 0.1 * level).astype(float)
    assert no_order_p_value(level, y) > LAX


def test_order_is_rejected_rarely_where_it_holds_and_always_where_it_plainly_does_not():
    rng = np.random.default_rng(0)
    found = {"none": 0, "rising": 0, "hump": 0}
    for _ in range(300):
        level = rng.integers(0, 8, 600)
        chance = {
            "none": np.full(8, 0.4),
            "rising": np.linspace(0.2, 0.7, 8),
            "hump": np.array([1, 6, 2, 8, 1, 7, 3, 5]) / 10,
        }
        for name, p in chance.items():
            found[name] += no_order_p_value(level, (rng.random(600) < p[level]).astype(float)) < LAX
    assert found["none"] <= 0.05 * 300 + 3 * np.sqrt(0.05 * 0.95 * 300)
    assert found["rising"] <= 0.05 * 300
    assert found["hump"] == 300


@given(
    st.lists(st.integers(0, 5), min_size=100, max_size=200),
    st.lists(st.integers(0, 1), min_size=200, max_size=200),
)
def test_p_value_is_a_probability_and_does_not_know_up_from_down(level, y):
    rank = np.unique(level, return_inverse=True)[1]
    outcome = np.array(y[: len(level)], dtype=float)
    p = no_order_p_value(rank, outcome)
    assert 0.0 <= p <= 1.0
    assert no_order_p_value(rank.max() - rank, outcome) == pytest.approx(p, abs=1e-12)
    assert no_order_p_value(rank, 1.0 - outcome) == pytest.approx(p, abs=1e-9)


def test_a_relation_without_noise_has_order_or_not():
    level = np.repeat(np.arange(5), 30)
    assert no_order_p_value(level, level.astype(float)) == 1.0
    assert no_order_p_value(level, -(level**2.0)) == 1.0
    assert no_order_p_value(level, level % 2.0) == 0.0
    assert no_order_p_value(level, (level > 2) * 1.0) == 1.0
    assert no_order_p_value(level, np.ones(150)) == 1.0


# --- integers that are codes -----------------------------------------------------------------------------------


def shuffled_outcome(level, strength, seed=0):
    rng = np.random.default_rng(seed)
    order = rng.permutation(level.max() + 1)
    chance = 0.5 + strength * (order[level] / order.max() - 0.5)
    return (rng.random(len(level)) < chance).astype(float)


def test_integers_are_codes_only_if_few_with_enough_rows_and_an_outcome_without_order():
    rng = np.random.default_rng(1)
    level = rng.integers(0, 12, 1200)
    values, y = level.astype(float), shuffled_outcome(level, 0.8)
    assert judge_codes(values, y).coded
    assert not judge_codes(values, None).coded
    assert not judge_codes(values, (rng.random(1200) < level / 12).astype(float)).coded
    assert not judge_codes(values[: ROWS_PER_CODE * 12 - 1], y[: ROWS_PER_CODE * 12 - 1]).coded
    two = (level % 2).astype(float)
    assert judge_codes(two, y).n_levels == 2 < FEWEST_CODES
    assert not judge_codes(two, y).coded
    many = rng.integers(0, MOST_CODES + 1, 50_000)
    assert not judge_codes(many.astype(float), shuffled_outcome(many, 0.9)).coded
    with_gaps = np.where(rng.random(1200) < 0.2, np.nan, values)
    assert judge_codes(with_gaps, y).coded
    assert judge_codes(np.full(100, np.nan), np.arange(100) % 2.0).n_levels == 0


def test_gaps_between_integers_make_the_test_laxer_and_rare_values_make_no_gap():
    level = np.repeat(np.arange(6), 100)
    assert not judge_codes(level.astype(float), level % 2.0).gaps
    assert not judge_codes(10.0 * level, level % 2.0).gaps
    assert judge_codes(np.array([1.0, 2, 3, 4, 5, 9])[level], level % 2.0).gaps
    tail = np.append(level, [20] * (RARE - 1)).astype(float)
    assert not judge_codes(tail, tail % 2).gaps
    for seed in range(200):  # one between the two levels of the test
        y = shuffled_outcome(level, 0.14, seed)
        if STRICT < judge_codes(level.astype(float), y).p_value < LAX:
            assert not judge_codes(level.astype(float), y).coded
            assert judge_codes(np.array([1.0, 2, 3, 4, 5, 9])[level], y).coded
            return
    raise AssertionError("no such outcome was drawn")


REAL = {
    "german_credit.csv": ("class-label", 1, set()),
    "law_school.csv": ("pass_bar", 1, set()),
    "open_university.csv": ("final_result", "Pass", set()),
    "student_performance.csv": ("class", "High", set()),
    "compas_two_years.csv": ("two_year_recid", 1, set()),
}


@pytest.mark.parametrize("name", REAL)
def test_quantities_of_real_tables_are_not_taken_for_codes(name):
    outcome, positive, coded = REAL[name]
    table = pd.read_csv(shared_path("data", name))
    y = (table.pop(outcome) == positive).to_numpy(float)
    numeric = {c: numbers_of(table[c]) for c in table if kind_of(table[c]) in (Kind.NUMBER, Kind.INTEGER)}
    assert {c for c, v in numeric.items() if holds_integers(v) and judge_codes(v, y).coded} == coded


@pytest.mark.parametrize("column", ["purpose", "credit-history"])
def test_categories_of_a_real_table_are_found_out_when_coded(column):
    table = pd.read_csv(shared_path("data", "german_credit.csv"))
    y = table["class-label"].to_numpy(float)
    rates = table.groupby(column)["class-label"].mean()
    for seed in range(5):
        codes = dict(zip(rates.index, np.random.default_rng(seed).permutation(len(rates)) * 10, strict=True))
        shuffled = judge_codes(table[column].map(codes).to_numpy(float), y)
        ordered = judge_codes(table[column].map(rates.rank()).to_numpy(float), y)
        assert not ordered.coded
        assert shuffled.p_value < ordered.p_value


# --- kinds and labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.0], Kind.NUMBER),
        ([1, 2], Kind.INTEGER),
        (pd.array([1, None], dtype="Int64"), Kind.INTEGER),
        ([True, False], Kind.NUMBER),
        (pd.Categorical([1, 2]), Kind.CATEGORY),
        (["a", "b"], Kind.CATEGORY),
        ([1, "b"], Kind.CATEGORY),
        ([True, None], Kind.CATEGORY),
        ([Decimal("1.5"), None], Kind.NUMBER),
        (pd.to_datetime(["2024-01-01"]), Kind.DATE),
        (pd.to_timedelta([1], unit="D"), Kind.DURATION),
        ([datetime.date(2024, 1, 1), None], Kind.DATE),
        (["2024-01-01", None], Kind.DATE),
        (["31.1.2024", "1.2.2024"], Kind.DATE),
        (["2024-02-31"], Kind.CATEGORY),
        (["13/13/2024"], Kind.CATEGORY),
        (["13/1/2024", "1/13/2024"], Kind.CATEGORY),
        ([None, None], Kind.CATEGORY),
    ],
)
def test_kind_follows_from_dtype_and_values(values, kind):
    assert kind_of(pd.Series(values)) is kind


def test_dates_are_days_since_1970_however_they_are_written():
    day = datetime.date(2024, 3, 31)
    expected = float((day - datetime.date(1970, 1, 1)).days)
    forms = [
        pd.Series(pd.to_datetime([day, None])),
        pd.Series(pd.to_datetime([day, None])).dt.tz_localize("UTC"),
        pd.Series([day, None], dtype=object),
        pd.Series(["2024-03-31", None]),
        pd.Series(["2024-03-31T10:00:00", None]),
        pd.Series(["31.3.2024", None]),
        pd.Series(["31/03/2024", "no date"]),
    ]
    for column in forms:
        np.testing.assert_array_equal(days_of(column), [expected, np.nan])
    np.testing.assert_array_equal(days_of(pd.Series(["03/31/2024"]), first=False), [expected])
    np.testing.assert_array_equal(days_of(pd.Series(pd.to_timedelta([36, None], unit="h"))), [1.5, np.nan])
    assert days_of(pd.Series(pd.to_datetime(["1970-01-02 12:00"])))[0] == 1.5


def test_order_of_day_and_month_is_read_off_all_dates_together():
    assert day_first(np.array(["1.2.2024", "31.2.2023".replace("31.2", "28.2")])) is True
    assert day_first(np.array(["1/2/2024", "2/28/2023"])) is False
    assert day_first(np.array(["1/2/2024"])) is False
    assert day_first(np.array(["1.2.2024"])) is True
    assert day_first(np.array(["13/2/2024", "2/13/2024"])) is None
    assert day_first(np.array(["2024-01-01", "x"])) is None


def test_labels_are_the_same_text_whatever_holds_them():
    for column in (
        pd.Series([1, 2, 1]),
        pd.Series([1.0, 2.0, 1.0]),
        pd.Series(pd.Categorical([1.0, 2.0, 1.0])),
        pd.Series(["1", "2", "1"]),
        pd.Series([1, "2", "1"], dtype=object),
        pl.Series(["1", "2", "1"]).to_pandas(),
    ):
        codes, texts = level_codes(column)
        assert [texts[code] for code in codes] == ["1", "2", "1"]
    codes, texts = level_codes(pd.Series([True, 1, None, 1.5, "True"], dtype=object))
    assert [texts[code] if code >= 0 else None for code in codes] == ["True", "1", None, "1.5", "True"]


def test_labels_are_text_and_gaps_stay_gaps():
    assert as_labels(pd.Series([1.0, np.nan, 2.0])).tolist()[::2] == ["1", "2"]
    assert as_labels(pd.Series([1.0, np.nan])).isna().tolist() == [False, True]
    assert as_labels(pd.Series([0.5, 1.0])).tolist() == ["0.5", "1.0"]
