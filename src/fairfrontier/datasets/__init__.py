"""Data sets: generated designs with known population values, and readers of public files."""

from .compas import Compas, fetch_compas
from .designs import Dataset, liu_molinari_truth, make_liu_molinari
from .hospital import hospital_scores, hospital_truth, make_hospital, make_hospital_table
from .obermeyer import HospitalData, fetch_obermeyer, load_obermeyer_holdout
from .public import fetch_csv
from .truth import PopulationTruth

__all__ = [
    "Compas",
    "Dataset",
    "HospitalData",
    "PopulationTruth",
    "fetch_compas",
    "fetch_csv",
    "fetch_obermeyer",
    "hospital_scores",
    "hospital_truth",
    "liu_molinari_truth",
    "load_obermeyer_holdout",
    "make_hospital",
    "make_hospital_table",
    "make_liu_molinari",
]
