"""Predictions of one variable, and their losses."""

from dataclasses import dataclass

import numpy as np

from ...arrays import FloatArray


@dataclass(frozen=True, slots=True)
class GroupPrediction:
    """Predictions of one variable for n rows.

    Attributes
    ----------
    mean : (n,) array
        Conditional expectation.
    values : (V,) array or None
        The values the variable takes, for learners that give probabilities.
    probabilities : (n, V) array or None
        Their conditional probabilities.
    """

    mean: FloatArray
    values: FloatArray | None = None
    probabilities: FloatArray | None = None


def log_loss(prediction: GroupPrediction, z: FloatArray) -> FloatArray:
    """Return -log P(z_i | x_i) for every row, probabilities bounded below by the float precision.

    Not a number for predictions without probabilities.
    """
    if prediction.values is None or prediction.probabilities is None:
        return np.full(len(z), np.nan)
    p = np.zeros(len(z))
    for value, column in zip(prediction.values, prediction.probabilities.T, strict=True):
        p += np.where(z == value, column, 0.0)
    return np.asarray(-np.log(np.clip(p, np.finfo(np.float64).eps, 1.0)))


def losses(prediction: GroupPrediction, z: FloatArray) -> FloatArray:
    """Return the log loss of every row, or its squared error if the prediction has no probabilities."""
    return (prediction.mean - z) ** 2 if prediction.values is None else log_loss(prediction, z)


def probabilities_of(values: FloatArray, prediction: GroupPrediction) -> FloatArray:
    """Return the probabilities (n, V) of the given values, sorted; zero for those that the prediction does not have.

    Values that are not among the given ones, such as that of a fit without rows, are left out.
    """
    assert prediction.values is not None
    assert prediction.probabilities is not None
    known = np.isin(prediction.values, values)
    found = np.zeros((len(prediction.mean), len(values)))
    found[:, np.searchsorted(values, prediction.values[known])] = prediction.probabilities[:, known]
    return found


def loss_of_mean(like: GroupPrediction, z: FloatArray, weight: FloatArray) -> float:
    """Return the summed loss of the shares of the values, or of the mean where ``like`` has no probabilities."""
    total = weight.sum()
    if like.values is None:
        return float(weight @ (z - weight @ z / total) ** 2)
    share = np.array([weight[z == value].sum() for value in np.unique(z)])
    share = share[share > 0.0]
    return float(-share @ np.log(share / total))


def expected_limit(at_zero: float, at_half: float, now: float) -> float:
    """Return a cautious guess at the smallest loss that a growing model reaches, from three stages equally far apart.

    If each step gained the same share of the step before, g1 of g0, all further ones would gain g1^2 / (g0 - g1); slow
    parts of the relation gain for longer, so it is three times that. Without a limit if gains have not fallen yet.
    """
    first, second = at_zero - at_half, at_half - now
    return now - 3.0 * second**2 / (first - second) if first > second else -np.inf
