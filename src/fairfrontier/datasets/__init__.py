"""Data sets: generated designs with known population values, and readers of public files."""

from .compas import Compas, fetch_compas
from .designs import Dataset, PopulationTruth, liu_molinari_truth, make_liu_molinari

__all__ = ["Compas", "Dataset", "PopulationTruth", "fetch_compas", "liu_molinari_truth", "make_liu_molinari"]
