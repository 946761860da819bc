"""The public tables of the gallery, from the shared directory, where downloads would have kept them."""

import shutil

import pandas as pd

from fairfrontier.datasets import compas

from .shared import shared_path

TABLES = {
    "german_credit": "german_credit.csv",
    "hospital_holdout": "obermeyer_holdout.csv",
    "law_school": "law_school.csv",
    "open_university": "open_university.csv",
    "student_performance": "student_performance.csv",
}
"""Names in the cache and in the shared directory."""


def fill_cache(folder):
    """Put all tables where `fetch_csv` and `fetch_compas` look first; the test is skipped where they are absent."""
    for name, shared in TABLES.items():
        shutil.copyfile(shared_path("data", shared), folder / f"{name}.csv")
    public = folder / "public.csv"
    public_compas().to_csv(public, index=False, lineterminator="\n")
    (folder / "compas-two-years.csv").write_bytes(compas._reduced(public))
    public.unlink()


def public_compas():
    """The shared COMPAS file as the public one writes it: whole days."""
    rows = pd.read_csv(shared_path("data", "compas_two_years.csv"), dtype=str, keep_default_na=False)
    days = rows["days_b_screening_arrest"].str.removesuffix(".0")
    return rows.assign(days_b_screening_arrest=days)
