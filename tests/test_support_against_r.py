"""The support function of two cases worked by the authors' R programs."""

import numpy as np
import pandas as pd
import pytest
from support.codes import group_codes
from support.shared import shared_path

from fairfrontier.frontier.support import build_support_function, make_scores


@pytest.mark.parametrize("case", ["case0", "case2"])
def test_support_function(case):
    rows = pd.read_csv(shared_path("reference", "r-cases", f"{case}.csv"))
    expected = pd.read_csv(shared_path("reference", "r-cases", f"{case}_sf.csv"))
    y = rows["Y"].to_numpy(dtype=float)
    scores = make_scores(
        y, 1 - 2 * y, rows[["dr", "db"]].to_numpy(), group_codes(rows["G"].to_numpy() == 1), np.ones(len(rows))
    )
    q = np.column_stack([np.cos(expected["theta"]), np.sin(expected["theta"])])
    h = build_support_function(scores).estimate.h(q)
    np.testing.assert_allclose(h, expected["h"], rtol=0, atol=1e-10)
