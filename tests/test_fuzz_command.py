"""Whatever `audit` is given: it does all of its work, or says why not and leaves everything as it was."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections import Counter
from decimal import Decimal
from importlib.resources import files
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from support.fuzz_files import draw_case
from typer.testing import CliRunner

from fairfrontier.audit.request import read_config
from fairfrontier.cli import app
from fairfrontier.errors import FairFrontierError, FairFrontierWarning, InputError

SCHEMA = json.loads(files("fairfrontier.report").joinpath("audit.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FIGURES = {f"figures/{name}.{kind}" for name in ("frontier", "feasible-set") for kind in ("png", "svg")}
ALWAYS = {"audit.json", "config.toml", "plan.txt", "report.html"} | FIGURES
ALWAYS |= {f"tables/{name}.csv" for name in ("algorithms", "learner", "points", "rules", "sensitivity")}
OF_MORE = {"audit.json", "config.toml", "plan.txt", "report.html"}
OF_MORE |= {f"tables/{name}.csv" for name in ("algorithms", "groups", "learner", "pairs", "points", "sensitivity")}
ADVICE = re.compile(
    r"\b(must|needs?|expected|give|name|use|say|save|rename|write|fill|choose|try|include|check|filter|merge|rescale"
    r"|such as|for example|at least|at most|did you mean|it has|known|either|belong to"
    r"|unpack|only|install|set the cut-off|not valid TOML|not known)\b",
    re.IGNORECASE,
)
"""Words by which a message says what was expected or what to do."""
LONGEST = 2500


def contents(folder):
    """Everything in a directory: bytes of files, places of links, names of directories."""
    return {
        path.relative_to(folder).as_posix(): os.readlink(path)
        if path.is_symlink()
        else path.read_bytes()
        if path.is_file()
        else None
        for path in folder.rglob("*")
    }


def cause_of(error):
    """The package's own error behind an exit, or None."""
    while error is not None and not isinstance(error, FairFrontierError | MemoryError):
        error = error.__cause__ or error.__context__
    return error


def rows_reported(text):
    """Rows used, rows read, and rows left out, as the plan reports."""
    number = r"([\d,]+)"
    used, read = re.findall(rf"^Rows used   {number} of {number}$", text, re.MULTILINE)[-1]
    out = re.findall(rf"^(?:Dropped|Not used|Too small) +{number} rows", text, re.MULTILINE)
    as_int = [int(found.replace(",", "")) for found in (used, read, *out)]
    return as_int[0], as_int[1], sum(as_int[2:])


def check_refusal(case, done, before, after):
    assert case.works is not True, done.stderr
    assert after == before
    assert not (case.dry and done.stdout)
    told = done.stderr
    if told.startswith("Usage:"):
        return "usage"
    *_, message = told.strip().split("\n")
    assert message.startswith("Error: "), told
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", message), repr(message)
    assert len(message) < LONGEST
    assert len(message.split()) > 4, message
    assert message[-1] in ".?)", message
    assert ADVICE.search(message), message
    error = cause_of(done.exception)
    return error.code if isinstance(error, InputError) else type(error).__name__


def check_account(case, done):
    used, read, out = rows_reported(done.stdout)
    assert used + out == read
    assert case.rows in (None, read)
    return used


def check_written(case, done, before, after):
    new = {name: content for name, content in after.items() if name not in before and content is not None}
    assert {name: after.get(name) for name in before} == before
    written = {name.removeprefix("out/"): content for name, content in new.items()}
    assert set(new) == {f"out/{name}" for name in written}
    record = json.loads(written["audit.json"])
    VALIDATOR.validate(record)
    two = "pairs" not in record
    others = {name for name in written if name.startswith("tables/alternatives-" if two else "figures/frontier-")}
    assert set(written) == (ALWAYS if two else OF_MORE) | others
    assert len(others) == (len(record["algorithms"]) if two else 2 * len(record["pairs"]))
    data = record["data"]
    source = data["source"]
    lost = sum(sum(counts.values()) for counts in (data["dropped"], source["other_groups"], source["small_groups"]))
    assert data["rows"] + lost == source["rows_read"] == (case.rows or source["rows_read"])
    assert sum(data["rows_by_group"].values()) == data["rows"] == check_account(case, done)
    assert sum(sum(counts.values()) for counts in source["dropped_by_reason"].values()) == sum(data["dropped"].values())
    assert read_config(case.out / "config.toml").resolved() == record["request"]
    assert done.stdout.startswith(written["plan.txt"].decode())
    page = written["report.html"].decode()
    assert page.rstrip().endswith("</html>")
    assert "<script>alert(1)" not in page
    for name, content in written.items():
        if name.endswith(".png"):
            assert content.endswith(b"IEND\xaeB`\x82")
        elif name.endswith(".svg"):
            ElementTree.fromstring(content)
        elif name.endswith(".csv"):
            header = pd.read_csv(case.out / name, header=None, nrows=1, dtype=str, keep_default_na=False).iloc[0]
            assert header.is_unique, list(header)
            assert len(pd.read_csv(case.out / name)) or name in others
            assert name != "tables/algorithms.csv" or len(header) == (16 if two else 8), list(header)
    shown = any(a["verdict"] == "lda-shown" for a in record["algorithms"])
    assert (done.exit_code == 3) == (shown and "lda" in case.words)


def try_case(number, folder, real):
    """Run a case and check what comes of it; return its exit code and the code of its error."""
    folder.mkdir()
    case = draw_case(number, folder, real)
    before = contents(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        done = CliRunner().invoke(app, case.words)
    after = contents(folder)
    assert done.exit_code in ((0, 2) if case.dry else (0, 2, 3)), repr(done.exception)
    assert "Traceback" not in done.output
    assert [str(one.message) for one in caught if not issubclass(one.category, FairFrontierWarning)] == []
    if done.exit_code == 2:
        return 2, check_refusal(case, done, before, after)
    assert case.works is not False
    if case.dry:
        check_account(case, done)
        assert after == before
    else:
        check_written(case, done, before, after)
    return done.exit_code, ""


def try_cases(numbers, folder, every):
    """Try many cases, each ``every``-th of them with the audit itself; count how they ended and keep what failed."""
    counts, failures = Counter(), []
    for number in numbers:
        place = folder / str(number)
        try:
            counts[try_case(number, place, real=number % every == 0)] += 1
        except Exception as error:  # whatever it is, the number of the case must be told
            story = draw_case(number, _emptied(place), number % every == 0).story
            failures.append(f"{number}: {'; '.join(story)}: {error}"[:3000])
            print(failures[-1])
        else:
            _emptied(place)
    return counts, failures


def _emptied(place):
    shutil.rmtree(place)
    place.mkdir()
    return place


def test_files_and_options_of_every_kind(tmp_path):
    counts, failures = try_cases(range(1, 130), tmp_path, every=60)
    assert not failures, "\n".join(failures)
    assert sum(count for (code, _), count in counts.items() if code == 0) > 30
    assert len({error for code, error in counts if code == 2}) > 8


@pytest.mark.slow
def test_many_files_and_options_of_every_kind(tmp_path):
    cases = int(os.environ.get("FAIRFRONTIER_FUZZ_CASES", "2500"))
    counts, failures = try_cases(range(1000, 1000 + cases), tmp_path, every=50)
    for (code, error), count in sorted(counts.items()):
        print(f"exit {code} {error:<20} {count:>6}")
    assert not failures, "\n".join(failures)


def people(**columns):
    """Forty people, and further columns."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40).round(3), "sex": ["f", "m"] * 20, "ill": [0, 1, 1, 0] * 10})
    table["chosen"] = rng.integers(0, 2, 40)
    for name, values in columns.items():
        table[name] = values
    return table


def dry_run(table, folder, *words, name="people.csv"):
    path = folder / name
    table.to_parquet(path) if name.endswith("parquet") else table.to_csv(path, index=False)
    options = ["--outcome", "ill", "--group", "sex", "--decision", "chosen", "--dry-run"]
    return CliRunner().invoke(app, ["audit", str(path), *options, *words])


def test_a_column_may_be_called_like_a_word_of_the_program(tmp_path):
    text = ["u", "v", "u", "w"] * 10
    done = dry_run(people(self=text, name=text[::-1]), tmp_path)
    assert "Covariates  3: a, self (3 categories), name (3 categories)\n" in done.output
    money = [Decimal(k % 7) for k in range(40)]
    assert "Covariates  2: a, self\n" in dry_run(people(self=money), tmp_path, name="people.parquet").output


def test_rows_dropped_for_reasons_of_the_same_words_are_all_counted(tmp_path):
    some = people()["a"]
    table = people(**{"group": some.mask(some.index < 3) ** 2, "ill (outcome)": some.mask(some.index > 37) ** 3})
    table["sex"] = table["sex"].mask(table.index.isin([10, 11, 12, 13]))
    table["ill"] = table["ill"].mask(table.index == 20)
    done = dry_run(table, tmp_path, "--missing", "drop")
    assert "Dropped     4 rows, group is missing (no group 4)\n" in done.output
    assert "Dropped     3 rows, column group is missing (f 2, m 1)\n" in done.output
    assert "Dropped     1 rows, ill (outcome) is missing (f 1)\n" in done.output
    assert "Dropped     2 rows, column ill (outcome) is missing (f 1, m 1)\n" in done.output
    assert "Rows used   30 of 40\n" in done.output


def test_names_cannot_break_lines_or_command_the_terminal(tmp_path):
    done = dry_run(people(**{"x\x1b[31m\nRows used   9 of 9": np.arange(40) % 5}), tmp_path)
    assert done.exit_code == 0
    assert "\x1b" not in done.output
    assert re.findall("^Rows used.*", done.output, re.MULTILINE) == ["Rows used   40 of 40"]
    done = dry_run(people(**{"\x1b[31mred": 1}), tmp_path, "--outcome", "\x1b[31mred")
    assert done.exit_code == 2
    assert "\\x1b[31mred" in done.stderr
    assert "\x1b" not in done.stderr


def test_large_whole_numbers_beside_gaps_are_no_clusters(tmp_path):
    houses = pd.array(2**53 + np.arange(40) // 4, dtype="Int64")
    assert dry_run(people(house=houses), tmp_path, "--clusters", "house").exit_code == 0
    houses[3] = pd.NA  # now they are read as floating-point numbers, neighbours as one
    done = dry_run(people(house=houses), tmp_path, "--clusters", "house")
    assert done.exit_code == 2
    assert "too large to be distinguished" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--title", "caf\udce9"], "`title` must be UTF-8 text, got 'caf\\udce9'."),
        (["--algorithm", "caf\udce9=a"], "`algorithms` must be UTF-8 text"),
        (["--seed", str(2**63)], "`seed` must be an integer of at most 9223372036854775807; got a larger one."),
        (["--draws", str(10**30)], "`draws` must be an integer of at most 9223372036854775807"),
    ],
)
def test_options_that_nobody_thinks_of_are_refused(words, told, tmp_path):
    done = dry_run(people(), tmp_path, *words)
    assert done.exit_code == 2, done.output
    assert told in done.stderr


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"seed = {'9' * 5000}", "is not valid TOML"),
        (f"features = {'[' * 20_000}", "is not valid TOML"),
        (f"seed = 0x{'f' * 5000}", "`seed` must be an integer of at most 9223372036854775807"),
        (f"outcome = 0x{'f' * 5000}", "`outcome` must be a text; got a number of thousands of digits."),
        (f"top = {'9' * 400}", "`top` must be a number of at most"),
        (f"outcome = {[1] * 5000}", "[1, 1, 1"),
    ],
)
def test_configs_that_nobody_writes_are_refused(line, told, tmp_path):
    (tmp_path / "settings.toml").write_text(line)
    done = CliRunner().invoke(app, ["audit", "--config", str(tmp_path / "settings.toml")])
    assert done.exit_code == 2, done.output
    assert told in done.stderr
    assert len(done.stderr) < 500


def test_a_zero_byte_at_the_end_of_a_label_is_part_of_it(tmp_path):
    table = people(sex=["m", "m\0"] * 20, b=people()["a"].mask(people().index < 2))
    done = dry_run(table, tmp_path, "--missing", "drop", name="people.parquet")
    assert done.exit_code == 0, done.stderr
    assert "Groups      m\\0 19, m 19\n" in done.output
    assert "Dropped     2 rows, b is missing (m 1, m\\0 1)\n" in done.output


def test_decisions_that_are_lists_are_refused(tmp_path):
    done = dry_run(people(chosen=[[1]] * 40), tmp_path, name="people.parquet")
    assert done.exit_code == 2
    assert "--decision 'chosen' must hold numbers, but it has array([1]), a ndarray." in done.stderr


def test_text_that_cannot_be_decoded_is_refused_when_it_is_read(tmp_path):
    broken = pa.array([b"\xff", b"u", b"v", b"u"] * 10).view(pa.string())
    table = pa.Table.from_pandas(people(kind=1)).set_column(4, "kind", broken)
    for name, write in (("people.feather", feather.write_feather), ("people.parquet", parquet.write_table)):
        write(table, tmp_path / name)
        words = ["audit", str(tmp_path / name), "--outcome", "ill", "--group", "sex", "--decision", "chosen"]
        done = CliRunner().invoke(app, [*words, "--dry-run"])
        assert done.exit_code == 2, repr(done.exception)
        assert f"{name} cannot be read as" in done.stderr


def test_zero_bytes_in_names_are_another_encoding(tmp_path):
    (tmp_path / "people.csv").write_bytes(people().to_csv(index=False).encode("utf-16-le"))
    words = ["audit", str(tmp_path / "people.csv"), "--outcome", "ill", "--group", "sex", "--decision", "chosen"]
    done = CliRunner().invoke(app, [*words, "--dry-run"])
    assert done.exit_code == 2
    assert "it has zero bytes. Give its encoding, for example --encoding utf-16." in done.stderr
    assert CliRunner().invoke(app, [*words, "--dry-run", "--encoding", "utf-16-le"]).exit_code == 0


def test_more_draws_than_memory_are_refused(tmp_path):
    people(b=np.arange(40) % 7).to_csv(tmp_path / "people.csv", index=False)
    words = ["--outcome", "ill", "--group", "sex", "--decision", "chosen", "--draws", str(10**14), "--folds", "2"]
    words += ["--learner", "factored-logit", "--repetitions", "1"]
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "people.csv"), *words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2, done.output
    assert "needs more memory than there is" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_signs_that_a_terminal_does_not_know_are_written_otherwise(tmp_path):
    people(女=np.arange(40) % 7).to_csv(tmp_path / "people.csv", index=False)
    words = ["--outcome", "ill", "--group", "sex", "--decision", "chosen", "--dry-run"]
    done = subprocess.run(
        [sys.executable, "-m", "fairfrontier", "audit", str(tmp_path / "people.csv"), *words],
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"Covariates  2: a, \\u5973" in done.stdout
