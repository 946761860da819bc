"""Sources of rows in parts: what cannot be read is named, and types hold the values of all parts."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from support.parts import people, sources, write_parts

from fairfrontier import in_parts
from fairfrontier.data.parts import files
from fairfrontier.data.parts.sources import rows_in_parts
from fairfrontier.errors import InputError


@pytest.fixture(scope="module")
def frame():
    return people(400)


@pytest.fixture
def folder(frame, tmp_path):
    return write_parts(frame, tmp_path / "rows", [150, 100, 150])


def everything(source):
    """Read all parts of a source."""
    rows = rows_in_parts(source)
    return sum(len(part.frame) for part in rows.parts(rows.columns))


def test_a_part_that_cannot_be_read_is_named(folder):
    whole = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"1\.parquet cannot be read") as caught:
        everything(folder)
    assert caught.value.code == "bad-file"
    # the end of the file, where its schema is, in order: what is wrong shows only when rows are read
    (folder / "1.parquet").write_bytes(whole[:4] + b"\xff" * 3000 + whole[3004:])
    with pytest.raises(InputError, match=r"1\.parquet cannot be read"):
        everything(folder)
    (folder / "0.parquet").write_bytes(b"PAR1")  # the first one is looked at first
    with pytest.raises(InputError, match=r"0\.parquet cannot be read"):
        everything(folder)


def test_other_columns_and_other_types_are_named(frame, folder):
    for changed, said in (
        (frame.drop(columns="x1"), r"1\.parquet lacks 'x1', unlike the parts before it"),
        (frame.assign(more=1), r"1\.parquet also has 'more'"),
        (frame.assign(x1=frame["x1"].astype(str)), r"1\.parquet: the column 'x1' has the type .*string, and double in"),
    ):
        changed.to_parquet(folder / "1.parquet", index=False)
        with pytest.raises(InputError, match=said):
            rows_in_parts(folder)
    frame[["x1"]].to_csv(folder.parent / "0.csv", index=False)
    frame[["x2"]].to_csv(folder.parent / "1.csv", index=False)
    with pytest.raises(InputError, match=r"1\.csv lacks 'x1' and also has 'x2'"):
        rows_in_parts(str(folder.parent / "*.csv"))
    (folder.parent / "0.csv").write_text("a,a\n1,2\n")
    with pytest.raises(InputError, match=r"0\.csv has columns of the same name: 'a'"):
        rows_in_parts(folder.parent / "0.csv")


def test_integers_and_decimal_numbers_in_different_parts_are_numbers(tmp_path):
    for k, values in enumerate(([1, 2], [0.5, None], [None, None])):
        pd.DataFrame({"x": pd.Series(values, dtype=None if k < 2 else "float")}).to_parquet(tmp_path / f"{k}.parquet")
        pd.DataFrame({"x": values, "text": ["1", ["b", "01", "c"][k]]}).to_csv(tmp_path / f"{k}.csv", index=False)
    for pattern in ("*.parquet", "*.csv"):
        rows = rows_in_parts(str(tmp_path / pattern))
        assert rows.n_rows == 6
        read = pd.concat([pl.DataFrame(part.frame).to_pandas() for part in rows.parts(rows.columns)])
        assert read["x"].dropna().tolist() == [1.0, 2.0, 0.5]
        assert read["x"].dtype == np.float64
    assert read["text"].tolist() == ["1", "b", "1", "01", "1", "c"]  # text as it is written


def test_a_column_without_values_in_some_chunks_has_the_type_of_the_others(tmp_path):
    (tmp_path / "0.csv").write_text("whole,true,x\n1,True,a\n2,False,b\n")
    (tmp_path / "1.csv").write_text("whole,true,x\n,,a\n")
    (tmp_path / "2.CSV").write_text("whole,true,x\n")  # nobody
    rows = rows_in_parts(tmp_path)
    read = pd.concat([part.frame for part in rows.parts(rows.columns)])
    assert read["whole"].tolist()[:2] == [1.0, 2.0]
    assert read["true"].tolist()[:2] == ["True", "False"]  # as within one chunk that has gaps
    assert read.iloc[2].isna().tolist() == [True, True, False]


def test_categories_may_be_plain_text_in_other_parts(tmp_path):
    pd.DataFrame({"x": pd.Categorical(["a", "b"])}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"x": ["c", None]}).to_parquet(tmp_path / "1.parquet")
    rows = rows_in_parts(tmp_path)
    assert [value for part in rows.parts(["x"]) for value in part.frame["x"].to_pylist()] == ["a", "b", "c", None]


def test_no_row_is_lost_or_counted_twice_in_silence(tmp_path):
    (tmp_path / "0.csv").write_text("a,b\n1,x,7\n2,y,8\n")
    with pytest.raises(InputError, match=r"0\.csv cannot be read: its rows have more values than there are column"):
        rows_in_parts(tmp_path)
    (tmp_path / "0.csv").write_text("a,b\n1,x\n")
    with pytest.raises(InputError, match=r"0\.csv' is given more than once"):
        rows_in_parts([tmp_path, tmp_path / "0.csv"])
    (tmp_path / "readme.txt").write_text("what this is")
    assert everything(tmp_path) == 1
    (tmp_path / "1.csv.lz4").write_text("?")
    with pytest.raises(InputError, match=r"also has .*1\.csv\.lz4', which cannot be read in parts"):
        rows_in_parts(tmp_path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere/*.parquet", "There is no file 'nowhere/\\*.parquet'"),
        (np.zeros((5, 2)), "come from a path .* got ndarray"),
        ([1, 2], "got list"),
    ],
)
def test_sources_that_are_none(source, said):
    with pytest.raises(InputError, match=said):
        rows_in_parts(source)


def test_files_of_other_kinds(tmp_path):
    (tmp_path / "a.xlsx").write_text("no")
    with pytest.raises(InputError, match=r"read from Parquet files .* found '\.xlsx'"):
        rows_in_parts(tmp_path / "a.xlsx")
    with pytest.raises(InputError, match=r"also has .*a\.xlsx"):
        rows_in_parts(tmp_path)
    (tmp_path / "a.xlsx").unlink()
    with pytest.raises(InputError, match="There is no file"):
        rows_in_parts(tmp_path)
    (tmp_path / "a.csv").write_text("")
    with pytest.raises(InputError, match=r"a\.csv cannot be read"):
        rows_in_parts(tmp_path / "a.csv")
    with pytest.raises(InputError, match="the lazy frame cannot be read"):
        everything(pl.scan_parquet(tmp_path / "missing.parquet"))
    broken = pl.LazyFrame({"x": ["a"]}).select(pl.col("x").cast(pl.Int64))
    with pytest.raises(InputError, match="the lazy frame cannot be read"):
        everything(broken)
    empty = pyarrow.dataset.dataset([], schema=pa.schema([("x", pa.int64())]))
    with pytest.raises(InputError, match="has no parts"):
        rows_in_parts(empty)


@pytest.fixture(scope="module")
def row_groups(tmp_path_factory):
    """A Parquet file of 20 row groups of 10,000 rows, and one of 50 rows behind it."""
    folder = tmp_path_factory.mktemp("groups")
    values = np.random.default_rng(0).random((200_050, 4))
    table = pa.table({f"x{j}": values[:, j] for j in range(4)})
    pq.write_table(table[:200_000], folder / "0.parquet", row_group_size=10_000, use_dictionary=False)
    pq.write_table(table[200_000:], folder / "1.parquet")
    return folder, values


def test_memory_does_not_grow_with_a_parquet_file(row_groups):
    folder, values = row_groups
    rows, seen, before = rows_in_parts(folder), [], pa.total_allocated_bytes()
    for part in rows.parts(["x0", "x1", "x2", "x3"]):
        seen.append(pa.total_allocated_bytes() - before)
        assert part.frame["x1"][0].as_py() == values[part.first, 1]
    assert len(seen) == 21
    assert max(seen) < 0.4 * values.nbytes


def test_reading_begins_with_a_row_group_and_ends_where_it_is_told(row_groups, monkeypatch):
    folder, _ = row_groups
    rows = rows_in_parts(folder)
    assert rows.starts == (*range(0, 200_001, 10_000),)
    monkeypatch.setattr(files, "PART_ROWS", 1000)
    before = [part.first for part in rows.parts(["x0"], 30_000, 40_500)]
    assert before == list(range(30_000, 41_000, 1000))
    read = []
    monkeypatch.setattr(files, "reading", lambda name, frames: (read.append(name) or frame for frame in frames))
    assert sum(part.frame.num_rows for part in rows.parts(["x0"], 199_000, 200_001)) == 1050
    assert len(read) == 11  # of two row groups out of 21
    read.clear()
    assert sum(part.frame.num_rows for part in rows.parts(["x0"], 0, 1)) == 1000
    assert len(read) == 1  # the row group is not read to its end


def test_ranges_begin_with_blocks_and_are_not_many(monkeypatch):
    assert in_parts.range_ends((0, 90, 100, 120, 350), 400, 100) == [0, 100, 200, 400]
    assert in_parts.range_ends((0,), 400, 100) == [0, 400]
    monkeypatch.setattr(in_parts, "MOST_RANGES", 4)
    assert in_parts.range_ends(range(0, 1000, 10), 1010, 10) == [0, 260, 520, 780, 1010]


def test_what_libraries_raise_about_a_source_is_named(frame):
    filtered = pyarrow.dataset.dataset(pa.table({"x": [1, 2]})).filter(pyarrow.dataset.field("x") > 1)
    with pytest.raises(InputError, match="the Arrow dataset cannot be read"):
        rows_in_parts(filtered)
    held = rows_in_parts(pyarrow.dataset.dataset(pa.table({"x": [1, 2]})))
    assert held.starts is None  # it cannot be sent to workers
    assert len(next(held.parts(["x"])).frame) == 2
    twice = pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"])
    with pytest.raises(InputError, match=r"the frame cannot be read|columns of the same name"):
        rows_in_parts(twice).columns  # noqa: B018


def test_every_kind_of_source_has_the_same_rows(frame, tmp_path):
    for name, source in sources(frame, tmp_path).items():
        rows = rows_in_parts(source)
        assert sorted(rows.columns) == sorted(frame.columns), name
        assert rows.n_rows in (None, len(frame)), name
        read = pd.concat([pl.DataFrame(part.frame).to_pandas() for part in rows.parts(["y", "x1"])])
        assert list(read.columns) == ["y", "x1"], name
        assert read["x1"].tolist() == frame["x1"].tolist(), name
