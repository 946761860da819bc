"""Gradient boosting of small trees on binned columns."""
