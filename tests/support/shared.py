"""Where the reference numbers and data sets kept outside the project are found."""

import os
from pathlib import Path

import pytest

_BESIDE_THE_PROJECT = Path(__file__).resolve().parents[3] / "shared"


def shared_path(*parts: str) -> Path:
    """Path of a file of the shared directory; the test is skipped where the file is absent.

    The directory is named by the environment variable FAIRFRONTIER_SHARED and is by default
    `shared` beside the project's root.
    """
    path = Path(os.environ.get("FAIRFRONTIER_SHARED", _BESIDE_THE_PROJECT)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{path} is absent (set FAIRFRONTIER_SHARED to the directory that holds it)")
    return path
