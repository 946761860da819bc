"""Losses: what a decision costs, given the outcome."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from ..arrays import FloatArray
from ..errors import InputError
from .messages import PYTHON, Interface, did_you_mean
from .reading import LARGEST, SMALLEST

_VECTORISE_HINT = (
    "The loss is called with two arrays of equal length, decisions d and outcomes y, and must return "
    "one finite number per row: write it with numpy operations (np.where instead of if), "
    "or wrap a function of two numbers as np.vectorize(loss, otypes=[float])."
)


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss l(d, y) of decision d in {0, 1} when the outcome is y.

    Attributes
    ----------
    name : str
        Shown in summaries.
    function : callable
        Maps arrays (d, y) of shape (n,) to losses of shape (n,).
    binary_outcome : bool
        Whether the loss only makes sense for an outcome coded 0/1.
    """

    name: str
    function: Callable[[FloatArray, FloatArray], FloatArray]
    binary_outcome: bool

    def at_decisions(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Losses of the two decisions, l(0, y) and l(1, y).

        Parameters
        ----------
        y : array (n,)
            Outcomes.

        Returns
        -------
        l0, l1 : arrays (n,)
            Finite losses of deciding 0 and of deciding 1.
        """
        l0, l1 = _evaluate(self, 0.0, y), _evaluate(self, 1.0, y)
        size = float(max(np.abs(l0).max(), np.abs(l1).max()))
        if size > LARGEST or 0.0 < size < SMALLEST:
            raise InputError(
                "bad-loss",
                f"The largest loss of {self.name!r} has the size {size:.3g}, and sums of squares would leave the range "
                f"of floating-point numbers; it must lie between {SMALLEST:g} and {LARGEST:g}. Express losses in "
                "another unit.",
            )
        return l0, l1


def _evaluate(loss: Loss, decision: float, y: FloatArray) -> FloatArray:
    """Losses of one decision in every row, checked."""
    outcome = y.view()
    outcome.flags.writeable = False  # a loss that changes its input would corrupt the sample
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below, with the value at fault
            returned = np.array(loss.function(np.full(y.shape, decision), outcome))
    except Exception as error:
        raise InputError(
            "bad-loss",
            f"The loss {loss.name!r} failed on {y.size} rows with d = {decision:g}: "
            f"{type(error).__name__}: {error}. {_VECTORISE_HINT}",
        ) from error
    if returned.shape != y.shape:
        raise InputError(
            "bad-loss",
            f"The loss {loss.name!r} returned shape {returned.shape} for {y.size} rows with d = {decision:g} "
            f"(first outcome y = {y[0]:g}); expected {y.shape}. {_VECTORISE_HINT}",
        )
    if returned.dtype.kind not in "biuf":
        raise InputError(
            "bad-loss",
            f"The loss {loss.name!r} returned {returned[0]!r} (dtype {returned.dtype}) for "
            f"d = {decision:g}, y = {y[0]:g}; expected numbers. {_VECTORISE_HINT}",
        )
    bad = np.flatnonzero(~np.isfinite(returned))
    if bad.size:
        first = bad[0]
        raise InputError(
            "bad-loss",
            f"The loss {loss.name!r} returned {returned[first]} for d = {decision:g}, y = {y[first]:g} "
            f"({bad.size} of {y.size} rows are not finite). Losses must be finite: bound them, or check y.",
        )
    losses: FloatArray = returned.astype(np.float64, copy=False)
    return losses


def _misclassified(d: FloatArray, y: FloatArray) -> FloatArray:
    # l(d, y) = 1{d != y}
    return np.not_equal(d, y).astype(np.float64)


def _squared_error(d: FloatArray, y: FloatArray) -> FloatArray:
    # l(d, y) = (d - y)^2
    return np.square(d - y)


def _weighted_errors(d: FloatArray, y: FloatArray, *, false_positive: float, false_negative: float) -> FloatArray:
    # l(d, y) = c_fp d (1 - y) + c_fn (1 - d) y
    return false_positive * d * (1.0 - y) + false_negative * (1.0 - d) * y


SQUARED_DECISIONS = (
    "a decision is 0 or 1 and costs (decision - outcome)^2, so 1 costs less than 0 where the outcome is above 0.5"
)
"""What decisions are under the squared loss."""
CLASSIFICATION = Loss("classification", _misclassified, binary_outcome=True)
"""One for a wrong decision, zero for a right one."""

SQUARED = Loss("squared", _squared_error, binary_outcome=False)
"""Squared distance between decision and outcome."""

LOSSES: Mapping[str, Loss] = MappingProxyType({loss.name: loss for loss in (CLASSIFICATION, SQUARED)})
"""The losses that can be asked for by name."""


def cost_loss(false_positive: float, false_negative: float) -> Loss:
    """Asymmetric costs of the two kinds of error.

    Parameters
    ----------
    false_positive : float
        Cost of deciding 1 when the outcome is 0.
    false_negative : float
        Cost of deciding 0 when the outcome is 1.

    Returns
    -------
    Loss
        For an outcome coded 0/1; right decisions cost nothing.
    """
    costs = {"false_positive": false_positive, "false_negative": false_negative}
    for name, cost in costs.items():
        is_number = isinstance(cost, int | float | np.integer | np.floating) and not isinstance(cost, bool)
        if not is_number or not np.isfinite(cost) or cost < 0:
            raise InputError("bad-loss", f"{name} must be a finite, non-negative number; got {cost!r}. Pass its cost.")
    if false_positive == 0 and false_negative == 0:
        raise InputError("bad-loss", "Both costs are zero, so every decision is equally good; make one positive.")
    fp, fn = float(false_positive), float(false_negative)
    return Loss(
        f"cost(false_positive={fp:g}, false_negative={fn:g})",
        partial(_weighted_errors, false_positive=fp, false_negative=fn),
        binary_outcome=True,
    )


def get_loss(loss: str | Loss | Callable[[FloatArray, FloatArray], FloatArray], interface: Interface = PYTHON) -> Loss:
    """Turn what a user passes as `loss` into a `Loss`.

    Parameters
    ----------
    loss : str, Loss or callable
        A name of `LOSSES`, a `Loss`, or a vectorised function loss(d, y).
    interface : Interface
        How users set options: only Python can pass more than a name.

    Returns
    -------
    Loss
        A bare callable is taken to suit any outcome; build a `Loss` to say otherwise.
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        if loss in LOSSES:
            return LOSSES[loss]
        others = "; or pass cost_loss(false_positive, false_negative) or any callable loss(d, y)"
        raise InputError(
            "bad-loss",
            f"No loss is called {loss!r}.{did_you_mean(loss, LOSSES)} Known names: {', '.join(LOSSES)}"
            f"{others if interface is PYTHON else ''}.",
        )
    if callable(loss):
        name = getattr(loss, "__name__", type(loss).__name__)
        return Loss("custom" if name == "<lambda>" else name, loss, binary_outcome=False)
    raise InputError(
        "bad-loss",
        f"loss must be a name ({', '.join(LOSSES)}), a Loss or a callable loss(d, y); got {loss!r}.",
    )
