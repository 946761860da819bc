"""Monte Carlo study of two groups by the code for several: level and power beside those of the planar robust test.

Both test the same algorithms on the same samples of the designs of `groups_study`, with true predictions: the optimal
rules of four weights (nulls), and the equally weighted rule with decisions flipped or mixed with a coin (false nulls).

    cd tests; python -m support.two_groups_study 1000 300 STORE.csv    # n, replications; continues a store
"""

import sys

import numpy as np
import pandas as pd

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.evidence import lda_evidence
from support.groups_study import draw, joint_p_values, population, rates
from support.study_store import KEYS, run_replications

DESIGNS = ("apart", "alike")
N_DRAWS = 500


def replicate(replication, n, design):
    rng = np.random.default_rng([replication, n, DESIGNS.index(design), 2])
    group, y, t = draw(design, 2, n, rng)
    size, weights = population(design, 2)
    optimal = [(t @ (p / size) < 0.0).astype(float) for p in weights]
    algorithms = {f"null {k + 1}": optimal[k] for k in (0, 1, 2, 5)}
    for share in (0.05, 0.1, 0.2):
        algorithms[f"flipped {share:g}"] = np.where(rng.random(n) < share, 1.0 - optimal[0], optimal[0])
    algorithms["lottery"] = 0.8 * optimal[0] + 0.1
    line = {f"{name} general": joint_p_values(t, group, y, a, None)[0] for name, a in algorithms.items()}
    function = build_support_function(make_scores(y, 1.0 - 2.0 * y, t, group, np.ones(n)))
    context = DrawingContext(function, N_DRAWS, np.random.SeedSequence([replication, n]), 1)
    losses = np.array([y + a * (1.0 - 2.0 * y) for a in algorithms.values()])
    planar = lda_evidence([context], [losses], np.empty((0, 2)), method="robust")
    line |= {f"{name} planar": found.robust_p_value for name, found in zip(algorithms, planar, strict=True)}
    return pd.DataFrame([dict(zip(KEYS, (replication, n, design), strict=True)) | line])


def main(n, replications, store):
    tasks = [(k, n, design) for k in range(replications) for design in DESIGNS]
    table = run_replications(replicate, tasks, n_jobs=1, store=store)
    print(rates(table[table["n"] == n]).unstack("design")[["mean", "se"]].round(3).to_string())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
