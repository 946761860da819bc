"""What an audit is asked to do: one set of options for the command line, TOML files and Python."""

from __future__ import annotations

import json
import math
import numbers
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from ..data.messages import COMMAND_LINE, did_you_mean, shown
from ..errors import InputError

if TYPE_CHECKING:
    from ..data.losses import Loss

Value = (
    str
    | int
    | float
    | bool
    | tuple[str, ...]
    | tuple[float, ...]
    | Mapping[str, str]
    | Mapping[str, float]
    | Mapping[str, tuple[str, ...]]
    | None
)
"""What an option can be set to."""
T = TypeVar("T")
MISSING = ("keep", "drop")
"""What may be done with rows in which covariates are missing."""
READ = ("auto", "whole", "parts")
"""How rows may be read."""
IN_PARTS_ABOVE = 2_000_000
"""Rows above which files are read in parts unless something else is asked for."""
LARGEST = 2**63 - 1
"""The largest integer that an option takes; TOML files hold none that are larger."""


PANELS: Mapping[str, tuple[str, ...]] = {
    "Data": (
        *("data", "sep", "decimal", "encoding", "where", "sample", "weights", "clusters", "copies", "missing", "read"),
        "learn_rows",
    ),
    "Roles": (
        *(
            "outcome",
            "positive",
            "group",
            "groups",
            "merge",
            "smallest_group",
            "decision",
            "decision_positive",
            "score",
        ),
        *("threshold", "group_threshold", "top", "algorithms", "models", "trust_model", "features", "exclude"),
        *("categorical", "numeric", "score_as_feature", "profit"),
    ),
    "Question": (
        *("loss", "cost_false_positive", "cost_false_negative", "fairness", "accuracy", "keep", "keep_tolerance"),
        *("reference", "capacity", "rules", "alpha"),
    ),
    "Learning": ("learner", "folds", "sequential", "repetitions", "draws", "jitter", "seed", "robustness"),
    "Output": ("title",),
}
"""Options by what they are about, as the help of the command shows them."""
REQUIRED = {
    "data": "Required.",
    "outcome": "Required.",
    "group": "Required.",
    "decision": "Required, or --score, or --model.",
}
"""Options without which there is no audit."""


def _option(default: T, text: str, **more: str | bool) -> T:
    """Return a field of `AuditRequest` with its help text; ``more``: see `Option`."""
    return field(default=default, metadata={"help": text, **more})


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """Everything an audit depends on besides the data.

    The fields are the options of the command and the keys of a config file. ``decision`` names a column of decisions;
    or ``score`` a column of scores, of which those above ``threshold``, or in the highest ``top`` share, are selected.
    ``algorithms`` maps the names of further algorithms to columns of decisions, and ``models`` to files of models.
    Values become plain: a path becomes a text, a number of numpy one of Python, a list of names a tuple; values of
    other types are refused.
    """

    data: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Table with one row per person: CSV, Parquet, Feather, Excel or JSON lines; several with the same "
            "columns; a folder, or a pattern in quotes, of CSV or Parquet files; - for standard input.",
            "positional": True,
            "alone": True,
        },
    )
    sep: str | None = _option(
        None, "Separator of the values of a text file, such as ; or tab. Default: detected from its first line."
    )
    decimal: str = _option("point", "Decimal sign of a text file: point or comma.")
    encoding: str = _option("utf-8", "Encoding of a text file.")
    where: str | None = _option(
        None,
        "Condition on the rows to use, such as \"age >= 18 and state in ['NY', 'NJ']\"; rows left out are counted.",
    )
    sample: int | None = _option(None, "Use this many of the rows, drawn at random by --seed.")
    outcome: str = _option("", "Column of the outcome.")
    group: tuple[str, ...] = field(
        default=(),
        metadata={"help": "Column of the group; repeatable: several columns are crossed.", "alone": True},
    )
    decision: str | None = _option(None, "Column of the algorithm's decisions, 0 or 1.")
    decision_positive: str | None = _option(
        None, "Label that selects, for columns of decisions with labels such as yes and no."
    )
    score: str | None = _option(
        None,
        "Column of the algorithm's score, instead of its decisions; needs --threshold, --group-threshold or --top.",
    )
    threshold: tuple[float, ...] = field(
        default=(),
        metadata={
            "help": "Select people with a score above this. Several, separated by commas, make as many algorithms. "
            "Without --score it applies to the probabilities of each --model.",
            "split": True,
            "alone": True,
        },
    )
    group_threshold: Mapping[str, float] = field(
        default_factory=dict,
        metadata={"help": "Threshold of one group, instead of --threshold: GROUP=NUMBER; repeat it for every group."},
    )
    top: float | None = _option(
        None, "Share of people to select, those with the highest scores; people tied at the cut-off are not selected."
    )
    algorithms: Mapping[str, str] = field(
        default_factory=dict,
        metadata={"help": "Another algorithm: NAME=COLUMN of its decisions; repeatable.", "flag": "--algorithm"},
    )
    models: Mapping[str, str] = field(
        default_factory=dict,
        metadata={
            "help": "A fitted scikit-learn model as an algorithm: NAME=FILE, saved by joblib or pickle; repeatable. "
            "Its columns are found by name; its predict decides, or --threshold. Needs --trust-model.",
            "flag": "--model",
        },
    )
    trust_model: bool = _option(
        False, "Whether to load the files of --model, which runs code that is in them: only if you trust their authors."
    )
    features: tuple[str, ...] = _option(
        (), "Columns to use as covariates, separated by commas; repeatable. Without it: all that are suitable."
    )
    exclude: tuple[str, ...] = _option((), "Columns to exclude from the covariates, separated by commas; repeatable.")
    categorical: tuple[str, ...] = _option(
        (),
        "Columns of categories, such as codes, separated by commas; repeatable. Without it: text, and codes detected.",
    )
    numeric: tuple[str, ...] = _option((), "Columns of quantities, never taken for codes of categories; repeatable.")
    missing: str = _option("keep", "Rows in which covariates are missing: keep (the learner handles the gaps) or drop.")
    groups: tuple[str, ...] = _option(
        (), "The groups to compare, in this order: A,B,C; or give the option several times. Default: all.", split=True
    )
    merge: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict,
        metadata={
            "help": "Groups to put together: NEW=A,B; repeatable. NEW=* puts together all that neither --merge nor "
            "--groups names."
        },
    )
    smallest_group: int = _option(
        0,
        "Groups with fewer rows, or too few for the folds, are left out, and listed, unless --groups names them.",
    )
    reference: str | None = _option(
        None, "Group that the others are compared with: with more than two groups, no gap to it may be wider."
    )
    positive: str | None = _option(None, "Label of the outcome that counts as 1.")
    score_as_feature: bool = _option(False, "Whether rules may use the score as a covariate.")
    loss: str = _option(
        "classification",
        "Loss: classification (errors), or squared for a numeric outcome: (decision - outcome)^2, where a decision "
        "is 0 or 1.",
    )
    cost_false_positive: float | None = _option(
        None, "Cost of selecting a person whose outcome is 0, instead of --loss; with --cost-false-negative."
    )
    cost_false_negative: float | None = _option(
        None, "Cost of not selecting a person whose outcome is 1, instead of --loss; with --cost-false-positive."
    )
    fairness: str = _option(
        "risk",
        "Measure that is compared between groups: risk, selection-rate, selection-ratio, true-positive-rate or "
        "false-positive-rate.",
    )
    accuracy: str = _option(
        "by-group", "For whom an alternative must be no less accurate: by-group (for every group) or overall."
    )
    keep: str | None = _option(
        None,
        "What to keep of the share of people selected: selection-rate (about as many), no-more-selected or "
        "no-fewer-selected.",
    )
    keep_tolerance: float | None = _option(
        None, "By how much that share may differ. Default: 0.02 for selection-rate, else 0."
    )
    profit: str | None = _option(
        None, "Column with what selecting each person earns: an alternative must earn no less in total."
    )
    learner: str = _option(
        "auto",
        "Learner that determines the verdict: auto, pooled-logit, pooled-boosting, logit-lasso, factored-logit, lasso, "
        "forest, boosting, neural-net, factored-forest, factored-boosting, partially-linear or stack.",
    )
    folds: int = _option(5, "Number of folds of the cross-fitting.")
    sequential: bool = _option(
        False, "Whether a fold learns only from the folds before it: less power, but a level proven for any learner."
    )
    repetitions: int | None = _option(
        None, "Number of repetitions of the cross-fitting. Default: 3, or 1 with --sequential."
    )
    draws: int = _option(1000, "Number of bootstrap draws.")
    jitter: float = _option(0.0, "Largest angle, in radians, by which pairs of predictions are turned at random.")
    capacity: float | None = _option(None, "Largest share of people that a rule may select.")
    rules: str = _option(
        "auto",
        "Rules to compare with: group-blind, group-aware (they may see the group), or auto: group-aware if the "
        "decisions are seen to depend on the group, else group-blind.",
    )
    alpha: float = _option(0.05, "Level of the tests.")
    seed: int = _option(0, "Seed of all random numbers.")
    weights: str | None = _option(None, "Column of sampling weights.")
    clusters: str | None = _option(None, "Column of clusters.")
    copies: str = _option(
        "auto",
        "Rows that repeat others: auto keeps those together that chance does not explain, keep-together keeps all "
        "rows with the same covariates and group together, ignore keeps none together.",
    )
    robustness: bool = _option(False, "Whether to run more learners and seeds, to be shown beside the verdict.")
    read: str = _option(
        "auto",
        "How rows are read: whole (all at once), parts (CSV or Parquet files, of which only counts are kept), or "
        f"auto: in parts if there are more than {IN_PARTS_ABOVE:,} rows.",
    )
    learn_rows: int = _option(1_000_000, "How many rows, drawn at random, are learned from if rows are read in parts.")
    title: str | None = _option(None, "Heading of the report.")

    def __post_init__(self) -> None:
        """Make every value plain, as the record and config files hold it, or refuse it."""
        kinds = _kinds()
        for entry in fields(self):
            value = getattr(self, entry.name)
            if entry.metadata.get("alone"):
                value = _in_a_list(value)
            if value is not None or entry.default is not None:
                object.__setattr__(self, entry.name, _plain(entry.name, value, kinds[entry.name]))

    def check(self) -> AuditRequest:
        """Refuse contradictions and impossible values before any data are read; return the request itself."""
        for check in CHECKS:
            check(self)
        return self

    @property
    def lacks_roles(self) -> bool:
        """Whether a table is named, but not all columns that an audit of it needs."""
        algorithm = self.decision is not None or self.score is not None or bool(self.models)
        return bool(self.data) and not (self.outcome and self.group and algorithm)

    def resolved(self) -> dict[str, Any]:
        """All settings as plain values, for the record and for `write_config`."""
        return {name: _listed(value) for name, value in asdict(self).items()}


def _in_a_list(value: object) -> object:
    """Return a single text, path or number as a list of one; an empty text as an empty list."""
    if isinstance(value, bool) or not isinstance(value, str | os.PathLike | numbers.Real):
        return value
    return () if value == "" else (value,)


class Kind(Enum):
    """The type of an option; its value is how messages call it."""

    SWITCH = "true or false"
    INTEGER = "an integer"
    NUMBER = "a number"
    TEXT = "a text"
    TEXTS = "a list of texts"
    NUMBERS = "a list of numbers"
    NAMED_COLUMNS = "a table of names and columns"
    NAMED_NUMBERS = "a table of names and numbers"
    NAMED_LISTS = "a table of names and lists of texts"


KINDS: Mapping[object, Kind] = {
    bool: Kind.SWITCH,
    int: Kind.INTEGER,
    int | None: Kind.INTEGER,
    float: Kind.NUMBER,
    float | None: Kind.NUMBER,
    str: Kind.TEXT,
    str | None: Kind.TEXT,
    tuple[str, ...]: Kind.TEXTS,
    tuple[float, ...]: Kind.NUMBERS,
    Mapping[str, str]: Kind.NAMED_COLUMNS,
    Mapping[str, float]: Kind.NAMED_NUMBERS,
    Mapping[str, tuple[str, ...]]: Kind.NAMED_LISTS,
}
"""Kinds of options by their types in `AuditRequest`."""


@cache
def _kinds() -> Mapping[str, Kind]:
    """Return the kinds of all options by name."""
    return {name: KINDS[annotation] for name, annotation in get_type_hints(AuditRequest).items()}


@dataclass(frozen=True, slots=True)
class Option:
    """One option, read from a field of `AuditRequest`.

    ``flag`` is how the command line calls it; with ``split``, labels may be given there as one text separated by
    commas; ``positional`` is an argument without a flag; of a list with ``alone``, a single text may be given. The help
    has it under the heading ``panel``, and begins with ``required``.
    """

    name: str
    kind: Kind
    default: Value
    help: str
    flag: str
    split: bool
    positional: bool
    alone: bool
    panel: str
    required: str


def options() -> tuple[Option, ...]:
    """Return all options of an audit, in the order of the fields of `AuditRequest`."""
    kinds, defaults = _kinds(), asdict(AuditRequest())
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    return tuple(
        Option(
            name=entry.name,
            kind=kinds[entry.name],
            default=defaults[entry.name],
            help=entry.metadata["help"],
            flag=entry.metadata.get("flag", f"--{entry.name.replace('_', '-')}"),
            split=entry.metadata.get("split", False),
            positional=entry.metadata.get("positional", False),
            alone=entry.metadata.get("alone", False),
            panel=panels[entry.name],
            required=REQUIRED.get(entry.name, ""),
        )
        for entry in fields(AuditRequest)
    )


def _check_complete(request: AuditRequest) -> None:
    if not request.data:
        raise InputError("bad-option", "An audit needs the path of a table: fairfrontier audit FILE ...")
    for name, value in (("outcome", request.outcome), ("group", request.group)):
        if not value:
            raise InputError("bad-option", f"An audit needs `{name}`: give --{name}.")


def _check_text(request: AuditRequest) -> None:
    for name, value in request.resolved().items():
        if not _is_unicode(json.dumps(value, ensure_ascii=False)):
            raise InputError(
                "bad-option", f"`{name}` must be UTF-8 text, got {value!r}. Write it in UTF-8, or rename the file."
            )


def other_criteria(request: AuditRequest) -> bool:
    """Whether something else than the groups' risks is compared."""
    usual = request.fairness == "risk" and request.accuracy == "by-group"
    return not usual or request.keep is not None or request.profit is not None


RULES = ("auto", "group-blind", "group-aware")
"""What --rules may be."""
CONTRADICTIONS: tuple[tuple[Callable[[AuditRequest], bool], str], ...] = (
    (
        lambda r: (r.decision is None) == (r.score is None) and (r.decision is not None or not r.models),
        "Give either --decision, a column of decisions, or --score, a column of scores; or --model, a fitted model.",
    ),
    (
        lambda r: r.score is not None and _cut_offs(r) != 1,
        "With --score give either --threshold or --top, or --group-threshold: they determine who is selected.",
    ),
    (
        lambda r: r.score is None and r.top is not None,
        "--top belongs to --score.",
    ),
    (
        lambda r: r.score is None and not r.models and _cut_offs(r) > 0,
        "--threshold and --group-threshold belong to --score, or to --model.",
    ),
    (
        lambda r: bool(r.threshold) and bool(r.group_threshold),
        "Give either --threshold or --group-threshold, and not both.",
    ),
    (
        lambda r: r.decision_positive is not None and r.decision is None and not r.algorithms,
        "--decision-positive needs columns of decisions: --decision or --algorithm.",
    ),
    (
        lambda r: bool(r.models) and not r.trust_model,
        "Loading the file of a --model runs code that is in it. If you trust its author, add --trust-model; if "
        "not, have its decisions written into a column, and name that by --decision.",
    ),
    (lambda r: r.trust_model and not r.models, "--trust-model needs --model."),
    (lambda r: r.score is None and r.score_as_feature, "--score-as-feature needs --score."),
    (
        lambda r: r.sequential and (r.repetitions not in (None, 1) or r.capacity is not None),
        "--sequential cannot be combined with --repetitions or --capacity.",
    ),
    (
        lambda r: r.rules == "group-aware" and (r.sequential or r.jitter != 0.0),
        "--rules group-aware cannot be combined with --sequential or --jitter.",
    ),
    (
        lambda r: (r.cost_false_positive is None) != (r.cost_false_negative is None),
        "Give both --cost-false-positive and --cost-false-negative: only their ratio matters.",
    ),
    (
        lambda r: r.cost_false_positive is not None and r.loss != "classification",
        "--cost-false-positive and --cost-false-negative take the place of --loss: leave it out.",
    ),
    (
        lambda r: other_criteria(r) and (r.sequential or r.jitter != 0.0 or r.capacity is not None),
        "--fairness, --accuracy, --keep and --profit cannot be combined with --sequential, --jitter or --capacity; "
        "--keep no-more-selected keeps the share of people selected.",
    ),
    (
        lambda r: other_criteria(r) and r.rules == "group-aware",
        "--fairness, --accuracy, --keep and --profit cannot be combined with --rules group-aware.",
    ),
    (lambda r: bool(r.features and r.exclude), "Give either --features or --exclude, and not both."),
)
"""Combinations of options that make no sense, each with its message."""


def _cut_offs(request: AuditRequest) -> int:
    """Return how many options say who is selected by a score."""
    return bool(request.threshold) + bool(request.group_threshold) + (request.top is not None)


def _check_files(request: AuditRequest) -> None:
    from ..data.text_files import read_decimal, read_separator

    if "-" in request.data and (len(request.data) > 1 or request.read == "parts"):
        raise InputError(
            "bad-option", "Standard input, -, is read whole and by itself: leave out other files and --read parts."
        )
    if request.sep is not None:
        read_separator(request.sep)
    read_decimal(request.decimal)


def _check_contradictions(request: AuditRequest) -> None:
    for applies, message in CONTRADICTIONS:
        if applies(request):
            raise InputError("bad-option", message)


def _check_numbers(request: AuditRequest) -> None:
    from ..data.checks import MIN_DRAWS, check_capacity, check_integer, check_level

    cut_offs = {"--threshold": request.threshold, "--group-threshold": request.group_threshold.values()}
    for name, values in cut_offs.items():
        for value in values:
            if not math.isfinite(value):
                raise InputError("bad-option", f"{name} must be a finite number; got {value}.")
    if request.top is not None and not 0.0 < request.top < 1.0:
        raise InputError("bad-option", f"--top must be a share between 0 and 1, such as 0.1; got {request.top:g}.")
    if not 0.0 <= request.jitter < math.pi / 2.0:
        raise InputError(
            "bad-option", f"--jitter must be an angle in radians, at least 0 and below pi/2; got {request.jitter:g}."
        )
    check_integer(request.draws, "--draws", least=MIN_DRAWS, code="bad-draws")
    check_level(request.alpha, request.draws, ("--alpha", "--draws"))
    check_integer(request.folds, "--folds", least=2, code="bad-folds")
    if request.repetitions is not None:
        check_integer(request.repetitions, "--repetitions", least=1)
    check_integer(request.seed, "--seed", least=0)
    check_integer(request.learn_rows, "--learn-rows", least=100)
    if request.sample is not None:
        check_integer(request.sample, "--sample", least=1)
    if request.capacity is not None:
        check_capacity(request.capacity, "--capacity")


def _check_groups(request: AuditRequest) -> None:
    from ..data.checks import check_integer
    from ..data.grouping import check_merge
    from ..data.groups import check_choice

    twice = [column for j, column in enumerate(request.group) if column in request.group[:j]]
    if twice:
        raise InputError("bad-option", f"--group names {twice[0]!r} more than once: cross different columns.")
    if request.groups:
        check_choice(request.groups, "--groups")
    check_merge(dict(request.merge.items()), "--merge")
    check_integer(request.smallest_group, "--smallest-group", least=0)


def _check_names(request: AuditRequest) -> None:
    from ..data.conditions import read_condition
    from ..data.copies import COPIES
    from ..data.criteria import read_criteria
    from ..learning.learners import resolve_learner

    if request.missing not in MISSING:
        raise InputError("bad-option", f"--missing must be {' or '.join(MISSING)}; got {request.missing!r}.")
    if request.copies not in COPIES:
        raise InputError("bad-option", f"--copies must be {' or '.join(COPIES)}; got {request.copies!r}.")
    if request.read not in READ:
        raise InputError("bad-option", f"--read must be {' or '.join(READ)}; got {request.read!r}.")
    if request.rules not in RULES:
        raise InputError("bad-option", f"--rules must be {' or '.join(RULES)}; got {request.rules!r}.")
    if request.where is not None:
        read_condition(request.where)
    loss_of(request)
    read_criteria(
        request.fairness, request.accuracy, request.keep, request.keep_tolerance, request.profit, COMMAND_LINE
    )
    resolve_learner(request.learner)


def loss_of(request: AuditRequest) -> Loss:
    """Return the loss that a request names, or that of its costs."""
    from ..data.losses import cost_loss, get_loss

    positive, negative = request.cost_false_positive, request.cost_false_negative
    if positive is None or negative is None:
        return get_loss(request.loss, COMMAND_LINE)
    return cost_loss(positive, negative)


CHECKS: tuple[Callable[[AuditRequest], None], ...] = (
    _check_complete,
    _check_text,
    _check_files,
    _check_contradictions,
    _check_groups,
    _check_numbers,
    _check_names,
)
"""What a request must pass, in this order."""


def read_config(path: Path) -> AuditRequest:
    """Read settings from a TOML file; dashes and underscores in names are alike."""
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError(
            "bad-option",
            f"The config file {path} cannot be read: {error.strerror or error}. Give the path of a TOML file.",
        ) from error
    except (ValueError, RecursionError) as error:  # broken TOML, not UTF-8, numbers too long, lists too deep
        raise InputError("bad-option", f"The config file {path} is not valid TOML: {error}.") from error
    known = _kinds()
    values: dict[str, Any] = {}
    for name, value in found.items():
        key = name.replace("-", "_")
        if key not in known:
            hint = did_you_mean(key, known, f" Known: {', '.join(known)}.")
            raise InputError("bad-option", f"{path} sets {name!r}, which is not known.{hint}")
        values[key] = value
    return AuditRequest(**values)


RIVALS = {
    "decision": ("score", "threshold", "group_threshold", "top", "score_as_feature"),
    "score": ("decision",),
    "threshold": ("top", "group_threshold"),
    "group_threshold": ("top", "threshold"),
    "top": ("threshold", "group_threshold"),
    "features": ("exclude",),
    "exclude": ("features",),
}
"""Options that are reset when the option before them is given on the command line: the two exclude each other."""


def override(request: AuditRequest, given: Mapping[str, Value]) -> AuditRequest:
    """Return the request with the values given on the command line; None means not given.

    Options of the request that exclude a given one are reset: --score takes the place of a decision column.
    """
    wanted = {name: value for name, value in given.items() if value is not None}
    defaults = {option.name: option.default for option in options()}
    changes: dict[str, Any] = {rival: defaults[rival] for name in wanted for rival in RIVALS.get(name, ())}
    return replace(request, **changes | wanted)


def write_config(request: AuditRequest) -> str:
    """Return a request as TOML."""
    lines = ["# Settings of an audit; run it again with: fairfrontier audit --config THIS_FILE --out DIR"]
    tables = []
    for name, value in request.resolved().items():
        if isinstance(value, dict):
            if value:
                tables += ["", f"[{name}]", *(f"{_text(key)} = {_toml(item)}" for key, item in value.items())]
        elif value is not None:
            lines.append(f"{name} = {_toml(value)}")
    return "\n".join([*lines, *tables]) + "\n"


def _listed(value: object) -> object:
    """Return a value with lists in the place of tuples."""
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _toml(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # bytes of a file name or an argument that are not UTF-8
        return False
    return True


def _text(value: str) -> str:
    # JSON's escapes are TOML's, but for pairs of surrogates, and TOML escapes one character more
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(name: str, value: object, kind: Kind) -> Value:
    """Return a value as the plain type of its option, or refuse it."""
    if kind in (Kind.INTEGER, Kind.NUMBER) and _is_large(value):
        raise InputError("bad-option", f"`{name}` must be {kind.value} of at most {LARGEST}; got a larger one.")
    read = READERS[kind](value)
    if read is None:
        raise InputError("bad-option", f"`{name}` must be {kind.value}; got {shown(value)}.")
    return read


def _is_large(value: object) -> bool:
    return isinstance(value, numbers.Integral) and abs(int(value)) > LARGEST


def _as_switch(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    import numpy as np

    return bool(value) if isinstance(value, np.bool_) else None


def _as_integer(value: object) -> int | None:
    return int(value) if isinstance(value, numbers.Integral) and not isinstance(value, bool) else None


def _as_number(value: object) -> float | None:
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else None


def _as_text(value: object) -> str | None:
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    return text if isinstance(text, str) else None


def _as_texts(value: object) -> tuple[str, ...] | None:
    if isinstance(value, str | Mapping | Set) or not isinstance(value, Iterable):
        return None
    texts = tuple(_as_text(text) for text in value)
    return None if None in texts else tuple(text for text in texts if text is not None)


def _as_numbers(value: object) -> tuple[float, ...] | None:
    if isinstance(value, str | Mapping | Set) or not isinstance(value, Iterable):
        return None
    found = [None if _is_large(each) else _as_number(each) for each in value]
    return None if None in found else tuple(each for each in found if each is not None)


def _as_named_numbers(value: object) -> dict[str, float] | None:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return None
    found = {name: None if _is_large(each) else _as_number(each) for name, each in value.items()}
    numbers_ = {name: each for name, each in found.items() if each is not None}
    return numbers_ if len(numbers_) == len(found) else None


def _as_named_columns(value: object) -> dict[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    return dict(value) if all(isinstance(text, str) for text in [*value, *value.values()]) else None


def _as_named_lists(value: object) -> dict[str, tuple[str, ...]] | None:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        return None
    lists = {name: (each,) if isinstance(each, str) else _as_texts(each) for name, each in value.items()}
    found = {name: each for name, each in lists.items() if each is not None}
    return found if len(found) == len(lists) else None


READERS: Mapping[Kind, Callable[[object], Value]] = {
    Kind.SWITCH: _as_switch,
    Kind.INTEGER: _as_integer,
    Kind.NUMBER: _as_number,
    Kind.TEXT: _as_text,
    Kind.TEXTS: _as_texts,
    Kind.NUMBERS: _as_numbers,
    Kind.NAMED_COLUMNS: _as_named_columns,
    Kind.NAMED_NUMBERS: _as_named_numbers,
    Kind.NAMED_LISTS: _as_named_lists,
}
"""Readers of a value from Python, a TOML file or the command line; they return None if it is of another kind."""
