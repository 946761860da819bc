"""What a record says of its origin: settings, the file and its rows, and how well the learner predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from .values import Count, Counts, Level, Limits, Positive, Texts


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """All settings of an audit as resolved; config.toml contains the same."""

    data: Texts
    """Paths of the table, as given."""
    sep: str | None
    """What separates the values of a text file; null if that was to be seen."""
    decimal: str
    """Decimal sign of a text file."""
    encoding: str
    """Encoding of a text file."""
    where: str | None
    """Condition on the rows to use."""
    sample: Positive | None
    """How many rows to draw at random; null for all."""
    outcome: str
    """Column of the outcome."""
    group: Texts
    """Column of the group; several are crossed."""
    decision: str | None
    """Column of decisions."""
    decision_positive: str | None
    """Label that selects, of columns of decisions with labels."""
    score: str | None
    """Column of the score."""
    threshold: tuple[float, ...]
    """People with scores above this are selected; one algorithm for each."""
    group_threshold: Mapping[str, float]
    """The same by group."""
    top: float | None
    """Share of people, those with the highest scores, who are selected."""
    algorithms: Mapping[str, str]
    """Columns of decisions of further algorithms, by name."""
    models: Mapping[str, str]
    """Files of fitted models, by name of the algorithm."""
    trust_model: bool
    """Whether these files were to be loaded, which runs code that is in them."""
    features: Texts
    """Covariates named; if empty, all columns that are suitable."""
    exclude: Texts
    """Columns to exclude from the covariates."""
    categorical: Texts
    """Columns declared as categories."""
    numeric: Texts
    """Columns declared as quantities."""
    missing: str
    """What is done with rows in which covariates are missing: keep or drop."""
    groups: Texts
    """The groups named; if empty, those in the data."""
    merge: Mapping[str, Texts]
    """Groups to put together, by the new label; * for all that are named nowhere else."""
    smallest_group: Count
    """Groups of fewer rows are left out unless they are named; 0: as many as the folds need."""
    reference: str | None
    """Group that the others are compared with."""
    positive: str | None
    """Label of the outcome that counts as 1."""
    score_as_feature: bool
    """Whether the rules of the verdict may use the score."""
    loss: str
    """Name of the loss."""
    cost_false_positive: float | None
    """Cost of selecting a person whose outcome is 0; null if the loss has a name."""
    cost_false_negative: float | None
    """Cost of not selecting a person whose outcome is 1; null if the loss has a name."""
    fairness: str
    """Measure that is compared between groups."""
    accuracy: str
    """For whom an alternative is no less accurate: by-group or overall."""
    keep: str | None
    """What share of people an alternative may select."""
    keep_tolerance: float | None
    """By how much that share may be off; null for the default."""
    profit: str | None
    """Column of what selecting a person earns."""
    learner: str
    """Name of the learner that determines the verdict."""
    folds: Annotated[int, Limits(minimum=2)]
    """Folds of the cross-fitting."""
    sequential: bool
    """Whether a fold learns only from the folds before it."""
    repetitions: Positive | None
    """Repetitions of the cross-fitting; null for the default, which the settings name."""
    draws: Positive
    """Bootstrap draws."""
    jitter: Annotated[float, Limits(minimum=0)]
    """Largest angle, in radians, by which pairs of predictions were turned at random."""
    capacity: float | None
    """Largest share of people a rule may select."""
    rules: str
    """Rules to compare with: group-blind, group-aware, or auto."""
    alpha: Level
    """Level of the tests."""
    seed: Count
    """Seed of everything random."""
    weights: str | None
    """Column of sampling weights."""
    clusters: str | None
    """Column of clusters."""
    copies: str
    """What is done about rows that repeat others: auto, keep-together or ignore."""
    robustness: bool
    """Whether more learners and seeds are shown beside the verdict."""
    read: str
    """How rows were to be read: auto, whole or parts."""
    learn_rows: Positive
    """Of rows read in parts, how many were to be learned from."""
    title: str | None
    """Heading asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the fit that determines the verdict."""

    loss: str
    """Name of the loss."""
    fairness: str
    """Measure that is compared between groups."""
    accuracy: str
    """For whom an alternative is no less accurate: by-group or overall."""
    keep: str | None
    """What share of people an alternative may select, compared with the algorithm."""
    keep_tolerance: float
    """By how much that share may be off."""
    profit: bool
    """Whether an alternative must earn no less."""
    learner: str
    """Name of the learner."""
    learner_params: Mapping[str, object]
    """Options of the learner."""
    n_folds: Annotated[int, Limits(minimum=2)] | None
    """Folds of the cross-fitting; null for predictions supplied from outside."""
    sequential: bool
    """Whether a fold learned only from the folds before it; the robust test is then proven for any learner."""
    n_rep: Positive
    """Repetitions of the cross-fitting."""
    n_boot: Positive
    """Bootstrap draws."""
    bias_correction: str | None
    """Correction of the estimates for the learner's regret, if any."""
    jitter: Annotated[float, Limits(minimum=0)]
    """Largest angle, in radians, by which pairs of predictions were rotated at random."""
    capacity: float | None
    """Largest share of people a rule may select."""
    rules: str
    """What the rules that algorithms are compared with may depend on: group-blind, or group-aware if they may see the
    group."""
    bounded: bool
    """Whether rules respect bounds on each person's chance of being selected."""
    weighted: bool
    """Whether rows have sampling weights."""
    clusters: Positive | None
    """Number of clusters of rows; null if rows are independent."""
    random_state: int | None
    """Seed of the fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The file that was audited, its columns and the rows left out."""

    file: str
    """Name of the file."""
    sha256: Annotated[str, Limits(pattern="^[0-9a-f]{64}$")]
    """SHA-256 of its bytes."""
    read: Texts
    """How the file was read, where that is not plain from its name."""
    rows_read: Positive
    """Rows of the file."""
    narrowed: Counts
    """Rows that are not used because of a condition, or because only some were drawn: reason, then count."""
    columns: Texts
    """All columns of the file."""
    outcome: str
    """Column of the outcome."""
    group: str
    """Column of the group."""
    roles: Mapping[str, str]
    """Columns in use other than covariates, with their role."""
    excluded: Mapping[str, str]
    """Columns left out, with the reason."""
    suspicious: Texts
    """Those of `excluded` that look like mistakes."""
    noted: Mapping[str, str]
    """Covariates that are kept but call for caution, with the reason."""
    dropped_by_reason: Mapping[str, Counts]
    """Rows dropped: reason, then group."""
    other_groups: Counts
    """Rows of groups that are not compared."""
    small_groups: Counts
    """Rows of groups that were left out because they are too small."""
    merged: Mapping[str, Counts]
    """Rows of the groups that were put together, by the label of the group that they make up."""
    categories: Counts
    """Number of distinct values of each text covariate; those that are not rare became indicators."""
    kinds: Mapping[str, str]
    """How covariates are used that are not used as they stand, and why: codes of categories, dates."""
    gaps: Counts
    """Rows in which a covariate is missing; they are kept, and left to the learner."""
    models: Mapping[str, str]
    """SHA-256 of the files of models, by name of the algorithm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """Rows that repeat others beyond what the distribution of the covariates explains."""

    rows: Count
    """Rows that repeat an earlier row in all covariates, group and outcome."""
    clusters: Positive
    """Clusters in which copies are kept together, single rows included."""
    sentence: str
    """The same in words: why they are taken for copies and what was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InParts:
    """Rows that were read in parts and counted, because they are too many to be kept."""

    rows_read: Positive
    """Rows that were read, those that are not used included."""
    rows_learned: Positive
    """Rows that were learned from, drawn at random; of predictions supplied from outside, those that were looked at."""
    cells: Positive
    """Kinds of people who are alike in direction of predictions, group, outcome, weight and decisions."""
    directions: Positive
    """Directions to which predictions were rounded."""
    sentence: str
    """The same in words: which parts of the report come from all rows, and which from those learned from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """The rows behind the numbers and what was left out."""

    rows: Positive
    """Rows used."""
    learning_rows: Count
    """Rows beside these that were used for learning only, with sequential folds."""
    rows_by_group: Counts
    """Rows used, by group."""
    dropped: Counts
    """Rows dropped for missing values, by group; 'no group' if the group itself is missing."""
    left_out: Counts
    """Rows of groups that were not chosen for the comparison, by group; of a file see other_groups of its source."""
    merged: Mapping[str, Counts]
    """Rows of the groups that were put together, by the label of the group that they make up."""
    copies: Copied | None
    """Rows taken for copies of others; null if none were, or if they were not looked for."""
    in_parts: InParts | None
    """How rows were counted that were read in parts; null if all rows were in memory."""
    covariates: Texts
    """Covariates of the fit that determines the verdict, in order."""
    source: Source | None
    """The file of an audit; null if the record was made from Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldQuality:
    """How well the learner predicts in one fold."""

    group: str
    """Label of the group."""
    repetition: Positive
    """Repetition of the cross-fitting, from 1."""
    fold: Count
    """Fold, from 1; 0 for predictions supplied from outside."""
    r2: Annotated[float, Limits(maximum=1)] | None
    """Share of the variation explained out of fold."""
    log_loss: float | None
    """Log loss out of fold, for learners that give probabilities."""
    mean_log_loss: float | None
    """The same with the mean as the prediction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """How a candidate of the learner did on inner folds of the training rows; means over folds and repetitions."""

    modelled: str
    """What it models: the group, or the loss difference within a group."""
    candidate: str
    """The candidate."""
    loss: float | None
    """Log loss, or squared error where a candidate gives no probabilities."""
    weight: Annotated[float, Limits(minimum=0, maximum=1)]
    """Its weight in the mean of all candidates."""
    first_in_folds: Count
    """In how many folds its weight was the largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnerRecord:
    """How well the learner predicts out of fold."""

    name: str
    """Its name."""
    external: bool
    """Whether the predictions were supplied from outside."""
    quality: tuple[FoldQuality, ...]
    """One entry per group, repetition and fold."""
    candidates: tuple[CandidateRecord, ...]
    """The candidates that the learner weighs; empty for other learners."""
    sentences: Texts
    """The same in words."""
    conditions: Texts
    """The conditions behind the inference, in words."""
