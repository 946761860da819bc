"""Group codes of rows that a test describes by who belongs to the first of two groups."""

import numpy as np


def group_codes(first):
    """Return code 0 for the rows where ``first`` holds, code 1 for the others."""
    return np.where(first, 0, 1)
