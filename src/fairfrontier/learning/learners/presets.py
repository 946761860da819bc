"""Learners by name."""

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from ...data.checks import check_integer
from ...errors import InputError
from .auto import AutoLearner, Candidate
from .base import DirectLearner, FactoredLearner, Learner
from .composite import PartiallyLinearLearner, StackLearner
from .estimators import Family, family_of
from .families import boosting_family, forest_family, lasso_family, lasso_model, logit_family, neural_net_family
from .pooled import PooledLearner, pooled_family


def logit_lasso(
    penalty: float | None = None,
    n_penalties: int = 25,
    n_tuning_folds: int = 5,
    tune_on_folds: bool = True,
    adaptive: bool = True,
) -> Learner:
    """L1 multinomial logistic regression of z^g, a class for each of its few values.

    Parameters
    ----------
    penalty : float, optional
        A fixed penalty; by default cross-validated log loss chooses.
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose it.
    tune_on_folds : bool
        Choose the penalty in every fold from its training rows; False: once, from all rows.
    adaptive : bool
        Follow by a second fit in which each feature's penalty is divided by the size of its coefficients in
        the first (the adaptive lasso): more accurate. False is the plain lasso, as published.
    """
    family = logit_family(penalty, n_penalties, n_tuning_folds, adaptive, None)
    return DirectLearner("logit-lasso", family, penalty is None and not tune_on_folds)


def factored_logit(
    n_penalties: int = 25,
    n_tuning_folds: int = 5,
    tune_on_folds: bool = True,
    adaptive: bool = True,
) -> Learner:
    """L1 logistic regressions of the group, and of the loss difference within each group.

    A loss difference of many values is modelled by an L1 linear regression instead.

    Parameters
    ----------
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose them.
    tune_on_folds : bool
        Choose the penalties in every fold from its training rows; False: once, from all rows.
    adaptive : bool
        As for `logit_lasso`; it does not concern the linear regression.
    """
    regressor = lasso_model(n_penalties, n_tuning_folds)
    family = logit_family(None, n_penalties, n_tuning_folds, adaptive, regressor)
    return FactoredLearner("factored-logit", family, not tune_on_folds)


def pooled_logit(n_penalties: int = 25, n_tuning_folds: int = 3) -> Learner:
    """L1 logistic regressions of the group, and of the loss difference in one model of all groups.

    The second has coefficients that all groups share and deviations of each group from them, both shrunken, so that a
    small group borrows from the others. A loss difference of many values is modelled by an L1 linear regression.

    Parameters
    ----------
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose them, in every fold anew.
    """
    family = _tuned_logit(n_penalties, n_tuning_folds)
    return PooledLearner("pooled-logit", family, pooled_family(family, interactions=True))


def pooled_boosting(**options: Any) -> Learner:
    """Gradient boosting of the group, and of the loss difference in one model of all groups that sees the group.

    Parameters
    ----------
    **options
        As for `boosting`; the number of trees is chosen in every fold anew.
    """
    family = boosting_family(**options)
    return PooledLearner("pooled-boosting", family, pooled_family(family, interactions=False))


def auto(**options: Any) -> Learner:
    """Logistic regression and boosting, in each group by itself and with the help of the other groups, weighted.

    Candidates are separate logit, adjusted logit, separate boosting and pooled boosting. The pooled boosting is one
    model of all groups that sees the group. The adjusted logit is a logistic regression in each group that sees the
    log odds of the pooled boosting beside the covariates (`pooled_logit` is something else).

    For each factor, P(G = g | x) and E[dl | x, G = g], the weights rest on squared errors on inner folds of the
    training rows: those of smallest error, shrunken towards the simplest candidate that is as good.
    `FairFrontier.learner_report_` has the losses and weights.

    Parameters
    ----------
    **options
        Of boosting, as for `boosting`; by default cross-validated loss chooses the number of trees.
    """
    kinds = (Candidate("logit", _tuned_logit(25, 3)), Candidate("boosting", boosting_family(**options)))
    return AutoLearner("auto", kinds)


def _tuned_logit(n_penalties: int, n_tuning_folds: int) -> Family:
    return logit_family(None, n_penalties, n_tuning_folds, True, lasso_model(n_penalties, n_tuning_folds))


def lasso(n_penalties: int = 25, n_tuning_folds: int = 5, tune_on_folds: bool = True) -> Learner:
    """L1 linear regression of z^g.

    Parameters
    ----------
    n_penalties, n_tuning_folds : int
        Penalties tried, and folds used, to choose it.
    tune_on_folds : bool
        Choose the penalty in every fold from its training rows; False: once, from all rows.
    """
    return DirectLearner("lasso", lasso_family(n_penalties, n_tuning_folds), not tune_on_folds)


def forest(**options: Any) -> Learner:
    """Random forest of z^g.

    Parameters
    ----------
    **options
        n_estimators (100), min_samples_leaf (15), max_features (0.66), max_samples as in scikit-learn. By
        default ("auto") a tree draws half the rows, and at most 20 times the root of their number, which beyond
        1,600 rows saves most of the time at little cost in log loss.
    """
    return DirectLearner("forest", forest_family(**options))


def factored_forest(**options: Any) -> Learner:
    """Random forests of the group, and of the loss difference within each group.

    Parameters
    ----------
    **options
        As for `forest`.
    """
    return FactoredLearner("factored-forest", forest_family(**options))


def boosting(tune_on_folds: bool = True, **options: Any) -> Learner:
    """Gradient boosting of z^g with small trees.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the number of trees in every fold from its training rows; False: once, from all rows.
    **options
        max_iter (number of trees; by default cross-validated loss chooses), learning_rate (0.1; shortens the step
        of each tree), max_leaf_nodes (4; most leaves of a tree), min_samples_leaf (20; fewest rows of a leaf),
        l2_regularization (1; penalty of the squared values of leaves, in rows).
    """
    return DirectLearner("boosting", boosting_family(**options), not tune_on_folds)


def factored_boosting(tune_on_folds: bool = True, **options: Any) -> Learner:
    """Gradient boosting of the group, and of the loss difference within each group.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the numbers of trees in every fold from its training rows; False: once, from all rows.
    **options
        As for `boosting`.
    """
    return FactoredLearner("factored-boosting", boosting_family(**options), not tune_on_folds)


def neural_net(tune_on_folds: bool = True, **options: Any) -> Learner:
    """Neural net of z^g with one small hidden layer.

    Parameters
    ----------
    tune_on_folds : bool
        Choose the decay in every fold from its training rows; False: once, from all rows.
    **options
        n_hidden (8), decay (weight of the squared coefficients beside the summed loss; by default
        cross-validated loss chooses, starting from 0.01), max_iter (200).
    """
    return DirectLearner("neural-net", neural_net_family(**options), not tune_on_folds)


_BASES: Mapping[str, Callable[[], Family]] = MappingProxyType(
    {
        "lasso": lasso_family,
        "forest": forest_family,
        "boosting": boosting_family,
        "neural-net": neural_net_family,
    }
)


def partially_linear(
    linear: tuple[Any, Any] | None = None,
    base: Any = "boosting",
    n_inner_folds: int = 5,
    tune_on_folds: bool = True,
) -> Learner:
    """Linear in two covariates, any learner in the others (Robinson's method).

    Parameters
    ----------
    linear : pair of column names or positions
        The covariates that enter linearly.
    base : {"boosting", "lasso", "forest", "neural-net"} or scikit-learn regressor
        Learner for the others.
    n_inner_folds : int
        Folds on which residuals of the training rows are computed.
    tune_on_folds : bool
        Tune the base learner in every fold on its training rows; False: once, on all rows.
    """
    named = isinstance(linear, tuple | list) and len(linear) == 2
    if not named:
        raise InputError(
            "bad-option",
            "The learner 'partially-linear' needs the two covariates that enter linearly, as "
            f"linear=(first, second) with column names or positions; got linear={linear!r}.",
        )
    _check_inner_folds(n_inner_folds)
    family = _base_family(base)
    pair = (linear[0], linear[1])  # type: ignore[index]
    return PartiallyLinearLearner("partially-linear", family, pair, n_inner_folds, not tune_on_folds)


def _base_family(base: Any) -> Family:
    if isinstance(base, str):
        if base not in _BASES:
            raise InputError("bad-option", f"base must be one of {list(_BASES)} or a regressor, not {base!r}.")
        family = _BASES[base]()
    else:
        family = family_of(base)
        if family.regressor is None:
            raise InputError(
                "bad-learner",
                f"The base of 'partially-linear' must be a regressor, and {type(base).__name__} is not.",
            )
    return replace(family, classifier=None)


def stack(
    members: tuple[Any, ...] = ("factored-logit", "lasso", "factored-boosting"), n_inner_folds: int = 5
) -> Learner:
    """Weighted mean of several learners, weights chosen by inner cross-validation.

    Parameters
    ----------
    members : sequence of presets' names, estimators or learners
        At least two, with different names.
    n_inner_folds : int
        Number of inner folds.
    """
    _check_inner_folds(n_inner_folds)
    learners = tuple(resolve_learner(member) for member in members)
    names = [learner.name for learner in learners]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError("bad-option", f"A stack needs at least two members with different names; got {names}.")
    return StackLearner("stack", learners, n_inner_folds)


def _check_inner_folds(n_inner_folds: int) -> None:
    check_integer(n_inner_folds, "n_inner_folds", least=2)


PRESETS: Mapping[str, Callable[..., Learner]] = MappingProxyType(
    {
        "auto": auto,
        "pooled-logit": pooled_logit,
        "pooled-boosting": pooled_boosting,
        "logit-lasso": logit_lasso,
        "factored-logit": factored_logit,
        "lasso": lasso,
        "forest": forest,
        "boosting": boosting,
        "neural-net": neural_net,
        "factored-forest": factored_forest,
        "factored-boosting": factored_boosting,
        "partially-linear": partially_linear,
        "stack": stack,
    }
)
"""The builder of each preset, by name."""


def read_learner(learner: Any, learner_params: Any) -> Learner:
    """Return the `Learner` that users mean by ``learner`` and ``learner_params``, a mapping or None."""
    if not isinstance(learner_params, Mapping | None):
        raise InputError(
            "bad-option", f"learner_params must be a mapping from options to values, got {learner_params!r}."
        )
    return resolve_learner(learner, **(learner_params or {}))


def resolve_learner(learner: Any, **options: Any) -> Learner:
    """Turn a preset's name, a scikit-learn estimator or a `Learner` into a `Learner`.

    Parameters
    ----------
    learner : str, estimator or Learner
        What to use.
    **options
        Options of a preset; only with a name.

    Returns
    -------
    Learner
    """
    if isinstance(learner, str):
        if learner not in PRESETS:
            close = difflib.get_close_matches(learner.lower().replace("_", "-"), PRESETS, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
            raise InputError(
                "unknown-learner", f"No learner is called {learner!r}.{hint} Presets: {', '.join(PRESETS)}."
            )
        try:
            return PRESETS[learner](**options)
        except InputError:
            raise
        except (TypeError, ValueError) as error:
            raise InputError(
                "bad-option", f"The learner {learner!r} cannot be built with {options}: {error}."
            ) from error
    if options:
        raise InputError(
            "bad-option",
            f"Options {sorted(options)} go with the name of a preset; set them on the learner given.",
        )
    if isinstance(learner, Learner):
        return learner
    return DirectLearner(type(learner).__name__, family_of(learner))
