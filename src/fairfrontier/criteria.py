"""Measures of your own: a `Criterion` can be given as ``fairness`` of `FairFrontier`."""

from .data.criteria import Criterion

__all__ = ["Criterion"]
