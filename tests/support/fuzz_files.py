"""Cases for the command `audit`: tables as people have them, files as they break, options as they are typed.

A case is drawn from a number alone. What is certain about it is kept: whether it must work, whether it must be refused,
and how many rows its file has.
"""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from openpyxl.utils.exceptions import IllegalCharacterError

NAMES = (
    "<script>alert(1)</script>",
    "=cmd|' /C calc'!A0",
    "new\nline",
    "x\nDropped     7 rows, x (y 7)\nRows used   7 of 7",
    "\x1b[31mred",
    "self",
    "group",
    "ill (outcome)",
    "{{ 7 * 7 }}",
    "${x}$ \\frac{",
    "a,b",
    'quo"ted',
    "עברית",
    "😀",
    "_hidden",
    " spaced ",
    "n" * 300,
    "Unnamed: 0",
    "constant",
    "risk",
    "[bold]x[/bold]",
    "--top",
)
LABELS = (
    ("f", "m"),
    (0, 1),
    (True, False),
    (1.5, 2.5),
    ("Frauen", "Männer"),
    ("女", "男"),
    ("<b>f</b>", "$x_{"),
    ("a,b", 'c"d'),
    ("\x1b[31mf", "m\x00"),
    ("no group", "None of them"),
    ("f\nf", "m\tm"),
    ("_f", "m" * 200),
    ("2020-01-01", "2021-01-01"),
)
JUNK = (
    *(b"", b"\n", b"\x00", b"\x00" * 500, b"\xff\xfe", b"\xef\xbb\xbf", b"PK\x03\x04", b"PAR1", b"PAR1" * 9),
    *(b"ARROW1\x00\x00", b"{}", b'[{"a": 1}]', b",\n,", b'"', b"a", b"\x1f\x8b", b"<html></html>", bytes(range(256))),
)


@dataclass
class Case:
    """One call of the command, and what is certain about it.

    ``works`` is True if it must end with 0 or 3, False if it must be refused, None if either may happen. ``rows`` is
    the number of rows of the file, None where damage leaves that open. ``story`` tells what was done.
    """

    words: list[str]
    out: Path
    dry: bool
    works: bool | None
    rows: int | None
    story: list[str]


@dataclass
class Draft:
    """A case in the making: the table, the settings, what was done, and whether that leaves the end open."""

    rng: np.random.Generator
    table: pd.DataFrame
    settings: dict
    story: list[str] = field(default_factory=list)
    open_end: bool = False
    harm: float = 1.0

    def one(self, things):
        return list(things)[int(self.rng.integers(len(things)))]

    def chance(self, share):
        return bool(self.rng.random() < share)

    def damages(self, share):
        return self.chance(share * self.harm)

    def column(self, role):
        return self.table[self.settings[role]]

    def put(self, name, values, sure=True):
        self.table = self.table.copy()
        self.table[name] = values
        self.open_end |= not sure


def draw_case(number, folder, real=False):
    """Write the files of a case into a directory; return the case. With ``real`` the audit itself is to be run."""
    rng = np.random.default_rng([2025, number])
    draft = people(rng, int(rng.integers(80, 200) if real else rng.integers(40, 300)))
    if real:  # most should come to the audit itself
        draft.harm = 0.2
        draft.settings |= {"learner": "factored-logit", "draws": 99, "repetitions": 1, "folds": draft.one([2, 3])}
    for _ in range(draft.one([0, 1, 1, 2, 4])):
        oddity = draft.one(ODDITIES)
        draft.story.append(oddity.__name__)
        oddity(draft)
    works = None if draft.open_end else True
    rows = len(draft.table)
    name, content, damage = write_file(draft)
    (folder / name).write_bytes(content)
    draft.settings["data"] = str(folder / name)
    if damage == "open":
        works, rows = None, None
    elif damage == "fatal":
        works = False
    if draft.chance(0.3):
        add_settings(draft)
    if draft.damages(0.2):
        spoil_settings(draft)
        works = False
    words = typed(draft.settings)
    if draft.chance(0.2):
        words, fine = write_config(draft, folder)
        works = works if fine else False
    if draft.damages(0.05):
        wrong = (["--top", "many"], ["--folds", "2.5"], ["--alhpa", "0.1"], ["--fail-on", "gap"], ["more", "words"])
        words += draft.one(wrong)
        works = False
        draft.story.append(f"typed {words[-2:]}")
    elif draft.chance(0.3):
        words += ["--fail-on", "lda"]
    out = folder / "out"
    if real and draft.chance(0.15):
        works = spoil_place(draft, out, works)
    words += ["--out", str(out)] + ([] if real else ["--dry-run"])
    return Case(["audit", *words], out, not real, works, rows, draft.story)


def people(rng, n):
    """Two groups, an outcome that depends on a and b, decisions by a coin, and a score."""
    a, b = rng.normal(size=(2, n)).round(3)
    second = rng.permutation(np.arange(n) % 2 == 0)
    ill = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * a - b * (2.0 * second - 1.0)))
    ill[:4], second[:4] = [True, False, True, False], [True, True, False, False]
    table = pd.DataFrame(
        {
            "a": a,
            "b": b,
            "kind": rng.choice(["u", "v", "w"], n),
            "sex": np.where(second, "f", "m"),
            "ill": ill.astype(int),
            "chosen": rng.integers(0, 2, n),
            "rating": (a + rng.normal(size=n)).round(4),
        }
    )
    settings = {"outcome": "ill", "group": "sex"}
    scored = {"score": "rating"} | ({"threshold": 0.2} if rng.random() < 0.5 else {"top": 0.3})
    return Draft(rng, table, settings | (scored if rng.random() < 0.4 else {"decision": "chosen"}))


def another_column(draft):
    n, rng = len(draft.table), draft.rng
    columns = {
        "key": np.arange(n) + 10**6,
        "long key": [f"{10**25 + i}" for i in range(n)],
        "date": [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(n)],
        "percent": [f"{i % 90}%" for i in range(n)],
        "money": [f"1.{i % 9}00,50" for i in range(n)],
        "flag": np.arange(n) % 3 == 0,
        "yes or no": np.where(rng.random(n) < 0.5, "yes", "no"),
        "constant": np.ones(n),
        "empty": np.full(n, np.nan),
        "leak": draft.column("outcome").map(str) + "!",
        "infinite": np.where(np.arange(n) % 7 == 0, np.inf, 1.0),
        "integers": rng.integers(2**62, 2**63 - 1, n),
        "words": [" ".join(rng.choice(["x", "y", "z"], 3)) for _ in range(n)],
        "lines": [f"one\ntwo {i % 3}" for i in range(n)],
        "mixed": [(1, "a", 2.5, True)[i % 4] for i in range(n)],
        "large": rng.choice([1e308, -1e308, 0.0], n),
        "tiny": rng.choice([1e-308, 5e-324, 0.0], n),
        "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n).round(2)),
    }
    name = draft.one(columns)
    draft.put(name, columns[name], sure=name not in ("large", "tiny", "gaps"))


def hostile_name(draft):
    n, rng = len(draft.table), draft.rng
    values = pd.Series(rng.choice(["u", "v", "w"], n) if draft.chance(0.5) else rng.normal(size=n).round(3))
    name = draft.one(NAMES)
    if name not in draft.settings.values():
        gaps = draft.chance(0.4)
        draft.put(name, values.mask(rng.random(n) < 0.1) if gaps else values, sure=not gaps)


def hostile_role(draft):
    role, name = draft.one(sorted({"outcome", "group", "decision", "score"} & set(draft.settings))), draft.one(NAMES)
    if name not in draft.table.columns:
        draft.table = draft.table.rename(columns={draft.settings[role]: name})
        draft.settings[role] = name


def labels(draft):
    first = draft.column("group") == draft.column("group").iloc[0]
    pair = draft.one(LABELS)
    draft.put(draft.settings["group"], [pair[int(one)] for one in first])


def few_rows(draft):
    draft.table = draft.table.head(draft.one([1, 2, 3, 5, 12])).copy()
    draft.open_end = True


def small_minority(draft):
    n = len(draft.table)
    draft.put(draft.settings["group"], np.where(np.arange(n) < max(1, n // 100), "x", "y"), sure=False)


def more_groups(draft):
    values = draft.rng.choice(["f", "m", "x", "y"], len(draft.table), p=[0.45, 0.45, 0.09, 0.01])
    draft.put(draft.settings["group"], values, sure=False)
    if draft.chance(0.8):
        draft.settings["groups"] = ("f", draft.one(["m", "x", "f", "z"]))


def gaps(draft):
    name = draft.one(draft.table.columns)
    lost = draft.rng.random(len(draft.table)) < draft.one([0.02, 0.3, 0.9])
    draft.put(name, draft.table[name].astype(object).mask(lost, None), sure=False)


def words_for_gaps(draft):
    name, word = draft.one(draft.table.columns), draft.one(["NA", "null", "n/a", "?", "-", " ", "#N/A", "nan", "None"])
    lost = draft.rng.random(len(draft.table)) < 0.1
    draft.put(name, draft.table[name].astype(object).mask(lost, word), sure=False)


def many_columns(draft):
    n = len(draft.table)
    more = pd.DataFrame(draft.rng.normal(size=(n, 300)).round(2), columns=[f"x{k}" for k in range(300)])
    draft.table = pd.concat([draft.table.reset_index(drop=True), more.iloc[:, : draft.one([9, 40, 300])]], axis=1)
    draft.open_end = True


def weights(draft):
    n = len(draft.table)
    kinds = (
        *(draft.rng.normal(size=n), np.zeros(n), np.full(n, "one"), np.full(n, 1e308), np.full(n, 5e-324)),
        *(np.full(n, np.inf), (np.arange(n) == 0).astype(float), np.arange(n) % 2, draft.rng.random(n).round(3)),
    )
    draft.put("weight", draft.one(kinds), sure=False)
    draft.settings["weights"] = "weight"


def clusters(draft):
    n = len(draft.table)
    kinds = (
        np.arange(n) // 3,
        np.arange(n),
        np.zeros(n),
        np.where(np.arange(n) % 2, "c", "d"),
        draft.rng.normal(size=n),
    )
    draft.put("house", draft.one(kinds), sure=False)
    draft.settings["clusters"] = "house"


def outcomes(draft):
    column = draft.column("outcome")
    y, n = (column == column.iloc[0]).to_numpy(), len(column)
    fine = [(np.where(y, "yes", "no"), "yes"), (np.where(y, "oui", "né"), "né"), (y, None), (np.where(y, 2, 1), "2")]
    odd = [(np.where(y, "1", "no"), None), (np.where(y, 1e308, 0.0), None), (np.where(y, 3, np.arange(n)), "3")]
    odd += [(np.zeros(n), None), (np.where(y, np.inf, 0.0), None), (np.where(y, 1.0, 0.0), "0")]
    sure = draft.chance(0.5)
    values, positive = draft.one(fine if sure else odd)
    draft.put(draft.settings["outcome"], values, sure)
    draft.settings["positive"] = positive


def amounts(draft):
    """An outcome of numbers, for the squared loss."""
    values = draft.rng.normal(size=len(draft.table)) * 10.0 ** draft.one([-300, -9, 0, 0, 0, 3, 9, 150, 300])
    draft.put(draft.settings["outcome"], values, sure=False)
    draft.settings |= {"loss": "squared", "positive": None}


def odd_algorithm(draft):
    n, rng = len(draft.table), draft.rng
    kinds = (
        *(np.zeros(n), np.ones(n), rng.choice([True, False], n), rng.random(n), np.full(n, np.inf), np.full(n, "high")),
        *(rng.choice([1e308, -1e308], n), rng.normal(size=n) * 1e300, rng.integers(1, 4, n), rng.choice(["0", "1"], n)),
    )
    draft.put(draft.settings["score" if "score" in draft.settings else "decision"], draft.one(kinds), sure=False)


ODDITIES = (
    *(another_column, another_column, another_column, hostile_name, hostile_name, hostile_role, labels, labels),
    *(few_rows, small_minority, more_groups, gaps, words_for_gaps, many_columns, weights, clusters, outcomes, outcomes),
    *(amounts, odd_algorithm),
)


def write_file(draft):
    """Return name and bytes of a file, and "fatal" if it must be refused, "open" if it may, or ""."""
    suffix = draft.one([".csv"] * 8 + [".tsv", ".csv.gz", ".csv.zip", ".csv.bz2", ".csv.xz", ".CSV", ".parquet", ".pq"])
    suffix = draft.one([suffix] * 8 + [".feather", ".arrow", ".xlsx"])
    suffix = ".csv" if suffix == ".xlsx" and len(draft.table.columns) > 50 else suffix
    try:
        content, damage = as_book_or_binary(draft, suffix) if "sv" not in suffix.lower() else as_text(draft, suffix)
    except (TypeError, ValueError, IndexError, IllegalCharacterError):  # the format does not hold such values
        suffix = ".csv"
        content, damage = as_text(draft, suffix)
    name = draft.one(["people", "people", "people 2024 (1)", "पर.v2", "<b>"]) + suffix
    draft.story.append(f"as {name}")
    if draft.damages(0.06):
        draft.story.append("junk")
        return name, draft.one([*JUNK, draft.rng.bytes(3000)]), "fatal"
    if draft.damages(0.06) and content:
        draft.story.append("bytes changed")
        spoiled = bytearray(content)
        for place in draft.rng.integers(0, len(spoiled), draft.one([1, 3, 30])):
            spoiled[place] = draft.one([0, 34, 44, 10, 255, int(draft.rng.integers(256))])
        return name, bytes(spoiled), "open"
    if draft.damages(0.06) and content:
        draft.story.append("cut off")
        packed = "sv" not in suffix.lower() or suffix.count(".") > 1
        return name, content[: int(draft.rng.integers(0, len(content) - 1))], "fatal" if packed else "open"
    if draft.damages(0.04):
        name, sure = draft.one(
            [("people.json", True), ("people", True), ("people.txt", True), ("people.parquet", False)]
        )
        draft.story.append(f"called {name}")
        return name, content, "fatal" if sure or suffix in (".csv", ".tsv", ".xlsx") else "open"
    return name, content, damage


def as_text(draft, suffix):
    """Return a text file, plain or damaged, packed as its name says, and what must come of it."""
    table, damage, encoding, before, after = draft.table, "", "utf-8", "", ""
    style = {"sep": "\t" if "tsv" in suffix else ",", "index": False, "lineterminator": "\n"}
    plain = table.to_csv(**style)
    how = draft.one(TEXT_DAMAGES) if draft.damages(0.55) else "plain"
    draft.story.append(how)
    if how == "byte order mark":
        before = "\ufeff"
    elif how == "windows":
        style["lineterminator"] = "\r\n"
    elif how == "blank lines":
        before, after = "\n\n", "\n\n\n"
    elif how == "utf-16":
        draft.settings["encoding"] = encoding = "utf-16"
    elif how == "utf-16 untold":
        encoding, damage = "utf-16", "fatal"
    elif how == "latin-1":
        draft.settings["encoding"] = encoding = "latin-1" if _fits(plain, "latin-1") else "utf-8"
    elif how == "latin-1 untold" and _fits(plain, "latin-1"):
        table, encoding, damage = table.assign(town="Zürich"), "latin-1", "fatal"
    elif how == "semicolons":
        style["sep"], damage = ";", "fatal" if "," not in "".join(table.columns) else "open"
    elif how == "decimal commas":
        style["decimal"], damage = ",", "open"
    elif how == "columns twice":
        table, damage = pd.concat([table, table[["a"]]], axis=1), "fatal"
    elif how == "header only":
        table, damage = table.head(0), "fatal"
    elif how == "long row":
        after, damage = style["sep"].join(["1"] * (len(table.columns) + 2)) + "\n", "fatal"
    elif how == "short row":
        after, damage = "1\n", "open"
    elif how == "open quote":
        after, damage = '"1,2,3\n', "fatal"
    elif how == "no header":
        style["header"], damage = False, "open"
    elif how == "zero bytes":
        after, damage = style["sep"].join(["\0"] * len(table.columns)) + "\n", "open"
    return pack((before + table.to_csv(**style) + after).encode(encoding), suffix), damage


TEXT_DAMAGES = (
    *("byte order mark", "windows", "blank lines", "utf-16", "utf-16 untold", "latin-1", "latin-1 untold"),
    *("semicolons", "decimal commas", "columns twice", "header only", "long row", "short row", "open quote"),
    *("no header", "zero bytes"),
)


def _fits(text, encoding):
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def pack(content, suffix):
    if suffix.endswith(".zip"):
        data = io.BytesIO()
        with zipfile.ZipFile(data, "w") as archive:
            archive.writestr("people.csv", content)
        return data.getvalue()
    packers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
    return packers.get(suffix[-3:], packers.get(suffix[-4:], bytes))(content)


def as_book_or_binary(draft, suffix):
    """Return a file of another format than text, and what must come of it."""
    data, table, damage = io.BytesIO(), draft.table, ""
    if suffix in (".feather", ".arrow"):
        table.reset_index(drop=True).to_feather(data)
    elif suffix == ".xlsx":
        with pd.ExcelWriter(data) as book:
            table.to_excel(book, index=False)
            if draft.damages(0.1):
                draft.story.append("two sheets")
                table.to_excel(book, sheet_name="again", index=False)
                damage = "fatal"
    else:
        lists = draft.chance(0.2)
        if lists:
            table = table.assign(lists=[[i % 2] for i in range(len(table))])
        if draft.chance(0.2):
            table = table.set_index("a")
        table.to_parquet(data)
        if lists and draft.damages(0.5):
            draft.settings[draft.one(["outcome", "group", "weights", "clusters", "positive"])] = "lists"
            draft.story.append("lists")
            damage = "open"
    return data.getvalue(), damage


def add_settings(draft):
    """Settings that are fine wherever they stand."""
    other = {"by rating": "chosen"} if "score" in draft.settings else {"<b>": draft.settings["decision"]}
    fine = (
        *(
            ("alpha", 0.1),
            ("seed", 7),
            ("seed", 2**63 - 1),
            ("repetitions", 2),
            ("learner", "lasso"),
            ("algorithms", other),
        ),
        *(
            ("title", "<b>{{ 1 }}</b>\x1b"),
            ("title", ""),
            ("capacity", 0.4),
            ("exclude", ("b",)),
            ("learner", "logit-lasso"),
        ),
        *(("features", ("a,b", "kind")), ("robustness", False), ("sample", 10**6)),
    )
    for name, value in (draft.one(fine) for _ in range(draft.one([1, 2]))):
        if name in ("features", "exclude") and {"features", "exclude"} & set(draft.settings):
            continue
        if name == "algorithms" and "chosen" not in draft.table.columns and "score" in draft.settings:
            continue
        draft.story.append(f"{name} {value!r}")
        draft.settings[name] = value


def spoil_settings(draft):
    """One setting that cannot be."""
    wrong = (
        *(
            ("top", 1.5),
            ("top", 0.0),
            ("top", float("nan")),
            ("threshold", float("inf")),
            ("alpha", 0.5),
            ("alpha", 0.0),
        ),
        *(("alpha", float("nan")), ("draws", 5), ("draws", -3), ("draws", 10**30), ("folds", 1), ("folds", -(10**9))),
        *(
            ("repetitions", 0),
            ("seed", -1),
            ("seed", 2**70),
            ("loss", "hinge"),
            ("learner", "forrest"),
            ("capacity", 0.0),
        ),
        *(("capacity", 1.01), ("capacity", float("nan")), ("outcome", "absent"), ("group", "sxe"), ("outcome", "")),
        *(("group", draft.settings["outcome"]), ("positive", "absent"), ("groups", ("f",)), ("groups", ("f", "f"))),
        *(("groups", ("nobody", "f")), ("features", ("absent",)), ("features", ("a,,b",)), ("exclude", ("absent",))),
        *(("sample", 0), ("sample", -1), ("where", "age >="), ("where", "__import__('os')"), ("where", "absent == 1")),
        *(("sep", "::"), ("decimal", "x"), ("group_threshold", {"x": 1.0}), ("models", {"m": "absent.pkl"})),
        *(("weights", "absent"), ("clusters", "absent"), ("data", "absent.csv"), ("data", ""), ("data", ".")),
        *(
            ("data", "nul\0.csv"),
            ("title", "no \udcff text"),
            ("algorithms", {"x": "absent"}),
            ("weights", "ill (outcome) "),
        ),
    )
    name, value = draft.one(wrong)
    draft.story.append(f"{name} {value!r}"[:60])
    draft.settings[name] = value


def typed(settings):
    """Settings as words of a command line."""
    data = settings["data"]
    words = [data] * bool(data) if isinstance(data, str) else list(data)
    for name, value in settings.items():
        option = f"--{name.replace('_', '-')}"
        if name == "data" or value is None:
            continue
        flag = {"algorithms": "--algorithm", "models": "--model"}.get(name, option)
        if name in ("algorithms", "models", "group_threshold"):
            words += [part for key, each in value.items() for part in (flag, f"{key}={each}")]
        elif name == "merge":
            words += [part for key, old in value.items() for part in ("--merge", f"{key}={','.join(old)}")]
        elif isinstance(value, bool):
            words.append(option if value else f"--no-{option[2:]}")
        elif isinstance(value, tuple):
            words += [part for item in value for part in (option, str(item))]
        else:
            words += [option, str(value)]
    return words


def write_config(draft, folder):
    """Put settings into a config file, at times a broken one; return the words left, and whether it can be read."""
    kept = {name: value for name, value in draft.settings.items() if value is not None}
    tables = {name: kept.pop(name) for name in list(kept) if isinstance(kept[name], dict)}
    lines = [f"{name} = {_toml(value)}" for name, value in kept.items() if "\\ud" not in _toml(value)]
    for name, entries in tables.items():
        lines += [f"[{name}]", *(f"{_toml(key)} = {_toml(value)}" for key, value in entries.items())]
    path = folder / "settings.toml"
    text = "\n".join(lines) + "\n"
    lost = len(lines) < len(kept) + sum(1 + len(entries) for entries in tables.values())
    if not draft.damages(0.5):
        path.write_text(text, encoding="utf-8")
        return ["--config", str(path), *(["--title", draft.settings["title"]] if lost else [])], True
    wrong = (
        *(
            "outcom = 'y'",
            "outcome = 3",
            "folds = 2.5",
            "alpha = '0.05'",
            "features = 'a'",
            "groups = [1, 2]",
            "seed = ",
        ),
        *("title = 'a", "robustness = 1", "algorithms = 1", f"seed = {'9' * 5000}", f"top = {'9' * 400}", "jobs = 2"),
        *(
            f"outcome = 0x{'f' * 5000}",
            f"features = {'[' * 20000}",
            f"x = {'{a = ' * 5000}",
            "title = 1979-05-27",
            "\x00",
        ),
        *("seed = 1\nseed = 2", "title = '\udcff'", '"" = 1', "[outcome]\nx = 1", "[[algorithms]]\nx = 'y'"),
    )
    line = draft.one(wrong)
    draft.story.append(f"config {line[:30]!r}")
    name = line.split(" ")[0].strip('"[]')
    others = [entry for entry in lines if not entry.startswith(f"{name} =")]
    path.write_bytes(f"{line}\n".encode("utf-8", "surrogateescape") + "\n".join(others).encode())
    return ["--config", str(draft.one([path, path, path, folder / "absent.toml", folder]))], False


def _toml(value):
    if isinstance(value, float):
        return str(value)
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii="\udcff" in str(value))


def spoil_place(draft, out, works):
    """Put something where the audit is to be written."""
    kind = draft.one(["file", "strangers", "empty", "link"])
    draft.story.append(f"out is {kind}")
    if kind == "file":
        out.write_text("mine")
    elif kind == "link":
        out.symlink_to(out.parent / "nowhere")
    else:
        out.mkdir()
        if kind == "empty":
            return works
        (out / "notes.txt").write_text("mine")
    return False
