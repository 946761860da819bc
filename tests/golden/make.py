"""Golden results: what one seed gave when it was last decided that this is right.

``python tests/golden/make.py`` computes everything again, prints what changed and writes the files beside this one;
with ``--check`` it only prints. How numbers are compared, and why so, is told in docs/numerics.md.
"""

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy.special import expit

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from support.everything import everything  # noqa: E402
from support.people import people  # noqa: E402

from fairfrontier import FairFrontier  # noqa: E402
from fairfrontier.errors import FairFrontierWarning  # noqa: E402

N, N_BOOT = 400, 199
LEARNERS = ("factored-logit", "boosting")
TOLERANCE = {"external": 1e-10, "factored-logit": 0.01, "boosting": 0.05}
"""Largest difference that counts as none, as a share of the loss of a wrong decision."""
P_TOLERANCE = {"external": 1e-9, "factored-logit": 0.05, "boosting": 0.2}
"""Largest difference between p-values; those of the external nuisances must come from the same number of draws."""
LONG = (": draws", "region: x", "region: y", "region: p-value", ": inner", ": outer", "feasible set", "skew set: R")
LONG += ("skew set: B",)
"""Endings of names that are left out because they are long; what is kept follows from them."""
OF_LEARNERS = ("points", "support", "risk", "standard error", "area", "distance sharp", "fairest sharp", "lda ", "skew")
UNSTEADY = ("gain", "closest", "direction", "intervals of the gain")
"""Places at which an extremum is attained, which jump when predictions move a little."""


def sample():
    """People, the true nuisance pairs, an algorithm, weights and clusters."""
    X, y, g = people(N, seed=3)
    women = expit(0.5 * X[:, 1] - 0.3)
    chances = expit(2.0 * X[:, 0] + X[:, 1]), expit(X[:, 1] - 0.7 * X[:, 0] + 0.3)
    t = np.column_stack([women * (1.0 - 2.0 * chances[0]), (1.0 - women) * (1.0 - 2.0 * chances[1])])
    rng = np.random.default_rng(4)
    return X, y, g, t, (X[:, 0] > 0.6).astype(int), rng.uniform(0.5, 2.0, N), rng.integers(0, N // 4, N)


def results(name):
    """Numbers by case and name."""
    X, y, g, t, decisions, weight, clusters = sample()
    options = {"n_boot": N_BOOT, "random_state": 11}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        if name != "external":
            ff = FairFrontier(learner=name, n_folds=3, n_rep=1, **options).fit(X, y, sensitive_features=g)
            found = {"plain": _numbers(ff, decisions)}
            return {
                case: {key: value for key, value in numbers.items() if _steady(key)} for case, numbers in found.items()
            }
        cases = {
            "plain": {},
            "weights, clusters and bounds": {
                "sample_weight": weight,
                "clusters": clusters,
                "lower": 0.05,
                "upper": 0.9,
            },
        }
        return {
            case: _numbers(
                FairFrontier(**options).fit(None, y, sensitive_features=g, external_nuisance=t, **fit), decisions
            )
            for case, fit in cases.items()
        }


def _numbers(ff, decisions):
    found = everything(ff, decisions)
    return {name: value.tolist() for name, value in found.items() if not name.endswith(LONG)}


def _steady(name):
    return name.startswith(OF_LEARNERS) and not name.endswith(UNSTEADY)


def changes(name, kept, found):
    """Say, line by line, what differs between kept and found numbers by more than the tolerance."""
    lines = []
    for case in sorted(kept.keys() | found.keys()):
        old, new = kept.get(case, {}), found.get(case, {})
        lines += [f"{case}: {key} is new" for key in sorted(new.keys() - old.keys())]
        lines += [f"{case}: {key} is gone" for key in sorted(old.keys() - new.keys())]
        for key in sorted(old.keys() & new.keys()):
            one, other = np.array(old[key], dtype=float), np.array(new[key], dtype=float)
            if one.shape != other.shape:
                lines.append(f"{case}: {key} had shape {one.shape} and has {other.shape}")
                continue
            largest = float(np.max(np.abs(one - other), initial=0.0))
            if not largest <= tolerance(name, key):  # a nan is a difference, too
                lines.append(f"{case}: {key} differs by {largest:.3g}")
    return lines


def tolerance(name, key):
    """Largest difference that counts as none: statistics and their draws are sqrt(n) times a difference of risks."""
    if key.endswith("p-value"):
        return P_TOLERANCE[name] + 0.5 / (N_BOOT + 1)
    inflated = "statistic" in key or "critical value" in key or key == "covariance"
    return TOLERANCE[name] * (np.sqrt(N) if inflated else 1.0)


def path(name):
    """File of the golden results of a learner, or of the external nuisances."""
    return FOLDER / f"{name}.json"


def kept(name):
    """Golden results by case and name."""
    return json.loads(path(name).read_text(encoding="utf-8"))["results"]


def main(check):
    """Compute, compare, print and, unless only to check, write."""
    for name in ("external", *LEARNERS):
        found = results(name)
        lines = changes(name, kept(name), found) if path(name).exists() else ["the file is new"]
        print(f"{name}: {len(lines) or 'no'} changes")
        print("".join(f"  {line}\n" for line in lines), end="")
        if not check:
            made_with = {package: version(package) for package in ("numpy", "scipy", "scikit-learn", "numba")}
            text = json.dumps({"made with": made_with, "results": found}, indent=1, allow_nan=False)
            path(name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(check="--check" in sys.argv[1:])
