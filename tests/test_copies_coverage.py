"""Copied rows do not make an alternative out of nothing, by Monte Carlo."""

import pytest
from support.copies_study import run_study

pytestmark = pytest.mark.slow


def test_copies_kept_together_hold_the_level():
    found = run_study(100)
    print(found.to_string())
    assert (found["auto"]["sum"] == 0).all()


def test_without_care_copies_are_fatal():
    found = run_study(20, ways=("ignore",), designs=("2 copies",))
    assert found["ignore"]["sum"].item() >= 15
