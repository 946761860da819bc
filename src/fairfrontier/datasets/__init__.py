"""Data sets: generated designs with known population values."""

from .designs import (
    Dataset,
    PopulationTruth,
    liu_molinari_truth,
    make_liu_molinari,
)

__all__ = ["Dataset", "PopulationTruth", "liu_molinari_truth", "make_liu_molinari"]
