"""Tables of every format are read alike or refused with a reason; an audit is written whole or not at all."""

import bz2
import decimal
import gzip
import hashlib
import importlib.util
import lzma
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from fairfrontier.audit import write as writing
from fairfrontier.audit.table import read_table
from fairfrontier.audit.write import check_folder, write_audit
from fairfrontier.errors import InputError, MissingDependencyError

TABLE = pd.DataFrame(
    {
        "number": [1, 2, 3],
        "share": [0.1, 0.30000000000000004, 1e-7],
        "text, with a comma": ["plain", "naïve", "two\nlines"],
        "<script>": ["a", '"quoted"', "עברית"],
    }
)
CSV = TABLE.to_csv(index=False).encode()


def refusal(path, **options):
    with pytest.raises(InputError) as error:
        read_table(path, **options)
    assert error.value.code == "bad-file"
    return str(error.value)


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


WRITERS = {
    "table.csv": lambda path: path.write_bytes(CSV),
    "TABLE.CSV": lambda path: path.write_bytes(CSV),
    "v1.2.table.csv": lambda path: path.write_bytes(CSV),
    "table.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV)),
    "table.csv.bz2": lambda path: path.write_bytes(bz2.compress(CSV)),
    "table.csv.xz": lambda path: path.write_bytes(lzma.compress(CSV)),
    "table.csv.zip": lambda path: write_zip(path, {"table.csv": CSV}),
    "table.tsv": lambda path: TABLE.to_csv(path, sep="\t", index=False),
    "table.tsv.gz": lambda path: TABLE.to_csv(path, sep="\t", index=False),
    "windows.csv": lambda path: path.write_bytes(b"\xef\xbb\xbf" + TABLE.to_csv(index=False).encode()),
    "table.parquet": lambda path: TABLE.to_parquet(path),
    "table.pq": lambda path: TABLE.to_parquet(path),
    "table.feather": lambda path: TABLE.to_feather(path),
    "table.arrow": lambda path: TABLE.to_feather(path),
    "table.xlsx": lambda path: TABLE.to_excel(path, index=False),
    "n" * 251 + ".csv": lambda path: path.write_bytes(CSV),
}


@pytest.mark.parametrize("name", WRITERS, ids=lambda name: name[:20])
def test_formats_give_the_same_table(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    found = read_table(path)
    pd.testing.assert_frame_equal(found.table, TABLE, check_dtype=False, check_exact=not name.endswith("xlsx"))
    assert found.name == name
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read_table(str(path)).sha256 == found.sha256


def test_encodings(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("né,town\n1,Zürich\n".encode("latin-1"))
    message = refusal(path)
    assert "table.csv is not utf-8 text" in message
    assert "--encoding latin-1" in message
    pd.testing.assert_frame_equal(
        read_table(path, encoding="latin-1").table, pd.DataFrame({"né": [1], "town": ["Zürich"]}), check_dtype=False
    )
    assert refusal(path, encoding="latin-77") == "The encoding 'latin-77' is not known."
    path.write_bytes(b"a,b\n" + b"x,1\n" * 100_000 + "é,1\n".encode("latin-1"))
    assert "has the byte b'\\xe9'" in refusal(path)
    path.write_bytes("a,b\né,1\n".encode("utf-16"))
    assert read_table(path, encoding="utf-16").table["a"].tolist() == ["é"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "is empty (0 bytes)"),
        ("header.csv", b"a,b\n", "has column names but no rows"),
        ("blank.csv", b"\n\n", "has no table"),
        ("picture.csv", bytes(range(256)), "is not utf-8 text"),
        ("long.csv", b"a,b\n1,2\n3,4,5\n", "Expected 2 fields in line 3, saw 3"),
        ("numbered.csv", b"a,b\n0,1,2\n1,3,4\n", "more values than there are column names"),
        ("quote.csv", b'a,b\n"x,2\n3,4\n', "EOF inside string"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "columns of the same name: ['a']"),
        ("twice.tsv", b"a\tb\ta\n1\t2\t3\n", "columns of the same name: ['a']"),
        ("broken.csv.gz", b"hello", "cannot be read as csv"),
        ("broken.csv.zip", b"hello", "cannot be read as csv"),
        ("broken.parquet", b"hello", "cannot be read as parquet"),
        ("broken.feather", b"hello", "cannot be read as feather"),
        ("broken.xlsx", b"hello", "cannot be read as xlsx"),
        ("table.parquet.gz", b"hello", "only CSV files can be read compressed"),
        ("table.json", b"{}", "The format of table.json is not known; expected CSV"),
        ("table.zip", b"PK", "The format of table.zip is not known"),
        ("table", b"a,b\n1,2\n", "The format of table is not known"),
    ],
)
def test_what_is_no_table_is_refused(name, content, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    message = refusal(path)
    assert words in message
    assert name in message
    assert "\n" not in message


def test_paths_without_a_file_are_refused(tmp_path):
    assert "There is no file" in refusal(tmp_path / "absent.csv")
    assert "There is no file" in refusal(tmp_path / "absent" / "table.csv")
    assert "There is no file" in refusal("nul\0.csv")
    assert "is a directory" in refusal(tmp_path)
    assert "cannot be read: File name too long" in refusal(tmp_path / ("n" * 5000 + ".csv"))
    (tmp_path / "file.csv").write_bytes(CSV)
    assert "There is no file" in refusal(tmp_path / "file.csv" / "table.csv")


def test_files_that_may_not_be_read_are_refused(tmp_path, monkeypatch):
    def forbid(self):
        raise PermissionError(13, "Permission denied")

    (tmp_path / "table.csv").write_bytes(CSV)
    monkeypatch.setattr(Path, "read_bytes", forbid)
    assert refusal(tmp_path / "table.csv").endswith("table.csv cannot be read: Permission denied.")


def test_absent_packages_are_named(tmp_path, monkeypatch):
    def absent(*args, **kwargs):
        raise ImportError("no such reader.")

    (tmp_path / "table.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(
        MissingDependencyError, match=r"table\.parquet needs a package that is not installed: no such reader\.$"
    ):
        read_table(tmp_path / "table.parquet")


def test_names_of_columns_are_kept(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b",,NA,null,a.1,a\n1,2,3,4,5,6\n")
    assert list(read_table(path).table.columns) == ["Unnamed: 0", "Unnamed: 1", "NA", "null", "a.1", "a"]
    pd.DataFrame({2024: [1], 2025: [2]}).to_excel(tmp_path / "years.xlsx", index=False)
    assert list(read_table(tmp_path / "years.xlsx").table.columns) == ["2024", "2025"]


def test_books_of_one_sheet_only(tmp_path):
    path = tmp_path / "book.xlsx"
    with pd.ExcelWriter(path) as book:
        TABLE.to_excel(book, sheet_name="people", index=False)
        TABLE.to_excel(book, sheet_name="notes", index=False)
    assert "book.xlsx has 2 sheets: people, notes." in refusal(path)
    pd.DataFrame([["a", "b", "a"], [1, 2, 3]]).to_excel(path, index=False, header=False)
    assert "columns of the same name: ['a']" in refusal(path)
    pd.DataFrame().to_excel(path, index=False)
    assert "its sheet is empty" in refusal(path)


def test_an_index_with_a_name_is_a_column(tmp_path):
    TABLE.set_index("number").to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read_table(tmp_path / "table.parquet").table, TABLE, check_dtype=False)


def test_decimal_numbers_are_numbers(tmp_path):
    table = pd.DataFrame({"money": [decimal.Decimal("1.50"), None, decimal.Decimal("2.25")], "text": ["a", None, "b"]})
    table.to_parquet(tmp_path / "table.parquet")
    found = read_table(tmp_path / "table.parquet").table
    assert found["money"].dtype == float
    assert found["money"].tolist()[::2] == [1.5, 2.25]
    assert found["money"].isna().tolist() == [False, True, False]


FILES = ["audit.json", "config.toml", "figures/frontier.svg", "plan.txt", "report.html", "tables/algorithms.csv"]


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture
def audit(monkeypatch):
    """An audit whose files hold its title."""

    def write(work, audit, *rest):
        for name in FILES:
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(audit.title)

    monkeypatch.setattr(writing, "_write", write)
    return lambda title: SimpleNamespace(title=title)


def test_an_audit_replaces_a_former_one_whole(audit, tmp_path):
    folder = tmp_path / "new" / "deep"
    assert write_audit(audit("first"), folder) == sorted(folder / name for name in FILES)
    assert contents(folder) == dict.fromkeys(FILES, "first")
    (folder / "tables" / "stale.csv").write_text("old")
    (folder / ".hidden").write_text("not ours")
    write_audit(audit("second"), folder)
    assert contents(folder) == {".hidden": "not ours"} | dict.fromkeys(FILES, "second")
    assert [path.name for path in folder.parent.iterdir()] == ["deep"]


def test_an_audit_may_go_to_a_link_and_to_the_directory_one_is_in(audit, tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    write_audit(audit("first"), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert contents(target) == dict.fromkeys(FILES, "first")
    monkeypatch.chdir(target)
    write_audit(audit("second"), Path())
    assert contents(Path()) == dict.fromkeys(FILES, "second")


def test_a_directory_that_is_a_disk_of_its_own_is_filled_from_within(audit, tmp_path, monkeypatch):
    folder = tmp_path / "disk"
    folder.mkdir()
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == folder)
    seen = []
    real = writing._write
    monkeypatch.setattr(writing, "_write", lambda work, *rest: (seen.append(work.parent.parent), real(work, *rest)))
    write_audit(audit("first"), folder)
    assert seen == [folder]
    assert contents(folder) == dict.fromkeys(FILES, "first")
    assert sorted(path.name for path in folder.iterdir()) == sorted({name.split("/")[0] for name in FILES})


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, OSError(28, "No space left on device")])
@pytest.mark.parametrize("former", [False, True])
@pytest.mark.parametrize("step", range(13))
def test_interrupted_writing_leaves_what_was_there(error, former, step, audit, tmp_path, monkeypatch):
    folder = tmp_path / "out"
    if former:
        write_audit(audit("first"), folder)
    expected = contents(tmp_path)
    moves = 0
    rename = os.rename

    def interrupted(*paths):
        nonlocal moves
        moves += 1
        if moves == step:
            raise error
        rename(*paths)

    def write(work, *rest):
        real(work, *rest)
        if step == 0:
            raise error

    real = writing._write
    monkeypatch.setattr(writing, "_write", write)
    monkeypatch.setattr(os, "rename", interrupted)
    if step > (12 if former else 1):
        write_audit(audit("second"), folder)
        assert contents(folder) == dict.fromkeys(FILES, "second")
    else:
        with pytest.raises(InputError if isinstance(error, OSError) else error) as told:
            write_audit(audit("second"), folder)
        if isinstance(error, OSError):
            assert str(told.value) == f"{folder} cannot be written: No space left on device."
        assert contents(tmp_path) == expected
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if former or step > 1 else [])


@pytest.mark.parametrize("strangers", [["notes.txt"], ["audit.json", "notes.txt"], ["report.html"], ["tables"]])
def test_directories_of_other_files_are_refused(strangers, audit, tmp_path):
    for name in strangers:
        (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match="contains files that fairfrontier did not write") as error:
        write_audit(audit("first"), tmp_path)
    assert error.value.code == "bad-file"
    assert strangers[-1] in str(error.value)
    assert contents(tmp_path) == dict.fromkeys(strangers, "mine")


def test_places_where_nothing_can_be_written_are_refused(tmp_path):
    file = tmp_path / "file"
    file.write_text("mine")
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    for place, words in ((file, "is a file"), (tmp_path / "broken", "is a file"), (file / "out", "Not a directory")):
        with pytest.raises(InputError, match=words) as error:
            check_folder(place)
        assert error.value.code == "bad-file"
    check_folder(tmp_path / "a" / "b")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind the administrator")
def test_directories_without_permission_are_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        check_folder(tmp_path / "out")


def test_packages_needed_for_writing_are_asked_for_first(tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "plotly" else find(name))
    with pytest.raises(MissingDependencyError, match=r"needs plotly: install fairfrontier\[report,plots\]"):
        check_folder(tmp_path / "out")
