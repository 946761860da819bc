"""The published numbers of the hospital study, by learner: 48,784 patients, 149 covariates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Algorithm(NamedTuple):
    """Tables II and C.I: one column."""

    risks: tuple[float, float]
    statistic: float
    critical_value: float
    distance: float
    interval: tuple[float, float]


class Spread(NamedTuple):
    """Tables C.III and C.IV: one line, over 20 seeds."""

    mean: float
    sd: float
    minimum: float
    maximum: float


ALGORITHMS: Mapping[str, Mapping[str, Algorithm]] = {
    "forest": {
        "hospital score": Algorithm((0.065, 0.034), 3.767, 1.885, 0.0005, (0.0, 0.001)),
        "predicted cost": Algorithm((0.059, 0.033), 2.753, 1.948, 0.0004, (0.0, 0.001)),
        "predicted avoidable cost": Algorithm((0.054, 0.023), 1.428, 1.732, 0.0007, (0.0, 0.002)),
        "predicted conditions": Algorithm((0.037, 0.015), 0.541, 1.642, 0.0013, (0.0, 0.003)),
    },
    "logit-lasso": {
        "hospital score": Algorithm((0.065, 0.034), 2.043, 2.014, 0.0009, (0.0, 0.002)),
        "predicted cost": Algorithm((0.059, 0.033), 0.787, 1.865, 0.0009, (0.0, 0.002)),
        "predicted avoidable cost": Algorithm((0.054, 0.023), 0.44, 1.937, 0.0017, (0.0, 0.003)),
        "predicted conditions": Algorithm((0.037, 0.015), 2.774, 1.886, 0.0029, (0.001, 0.006)),
    },
}
FAIREST: Mapping[str, float] = {"forest": 0.049, "logit-lasso": 0.063}
SPREADS: Mapping[str, Mapping[str, Spread]] = {
    "forest": {
        "F": Spread(0.052, 0.003, 0.049, 0.058),
        "hospital score statistic": Spread(3.338, 0.318, 2.666, 3.823),
        "hospital score critical value": Spread(1.894, 0.051, 1.81, 2.004),
        "hospital score rejected": Spread(1.0, 0.0, 1.0, 1.0),
        "hospital score distance": Spread(0.0005, 0.0, 0.0005, 0.0006),
        "hospital score low": Spread(0.0001, 0.0001, 0.0, 0.0002),
        "hospital score high": Spread(0.0012, 0.0003, 0.0008, 0.0018),
        "predicted cost statistic": Spread(2.149, 0.327, 1.475, 2.761),
        "predicted cost critical value": Spread(1.844, 0.066, 1.736, 1.998),
        "predicted cost rejected": Spread(0.8, 0.41, 0.0, 1.0),
        "predicted cost distance": Spread(0.0004, 0.0001, 0.0003, 0.0006),
        "predicted cost low": Spread(0.0, 0.0, 0.0, 0.0001),
        "predicted cost high": Spread(0.0013, 0.0004, 0.0007, 0.0022),
        "predicted avoidable cost statistic": Spread(1.488, 0.054, 1.398, 1.577),
        "predicted avoidable cost critical value": Spread(1.721, 0.06, 1.612, 1.836),
        "predicted avoidable cost rejected": Spread(0.0, 0.0, 0.0, 0.0),
        "predicted avoidable cost distance": Spread(0.0009, 0.0002, 0.0007, 0.0013),
        "predicted avoidable cost low": Spread(0.0, 0.0, 0.0, 0.0002),
        "predicted avoidable cost high": Spread(0.0024, 0.0005, 0.0018, 0.0033),
        "predicted conditions statistic": Spread(1.194, 0.346, 0.674, 1.812),
        "predicted conditions critical value": Spread(1.632, 0.049, 1.516, 1.725),
        "predicted conditions rejected": Spread(0.15, 0.366, 0.0, 1.0),
        "predicted conditions distance": Spread(0.0016, 0.0003, 0.0012, 0.0023),
        "predicted conditions low": Spread(0.0003, 0.0002, 0.0, 0.0006),
        "predicted conditions high": Spread(0.0041, 0.0006, 0.003, 0.0051),
        "weak skew rejected": Spread(0.0, 0.0, 0.0, 0.0),
    },
    "logit-lasso": {
        "F": Spread(0.063, 0.001, 0.061, 0.065),
        "hospital score statistic": Spread(2.037, 0.182, 1.784, 2.39),
        "hospital score critical value": Spread(1.976, 0.074, 1.762, 2.066),
        "hospital score rejected": Spread(0.55, 0.51, 0.0, 1.0),
        "hospital score distance": Spread(0.0008, 0.0001, 0.0007, 0.001),
        "hospital score low": Spread(0.0, 0.0, 0.0, 0.0001),
        "hospital score high": Spread(0.002, 0.0003, 0.0014, 0.0026),
        "predicted cost statistic": Spread(0.804, 0.173, 0.562, 1.154),
        "predicted cost critical value": Spread(1.915, 0.055, 1.801, 1.995),
        "predicted cost rejected": Spread(0.0, 0.0, 0.0, 0.0),
        "predicted cost distance": Spread(0.0009, 0.0001, 0.0008, 0.001),
        "predicted cost low": Spread(0.0, 0.0, 0.0, 0.0001),
        "predicted cost high": Spread(0.0022, 0.0003, 0.0017, 0.0025),
        "predicted avoidable cost statistic": Spread(0.478, 0.171, 0.1, 0.821),
        "predicted avoidable cost critical value": Spread(1.913, 0.057, 1.783, 2.006),
        "predicted avoidable cost rejected": Spread(0.0, 0.0, 0.0, 0.0),
        "predicted avoidable cost distance": Spread(0.0016, 0.0001, 0.0014, 0.0018),
        "predicted avoidable cost low": Spread(0.0003, 0.0001, 0.0, 0.0005),
        "predicted avoidable cost high": Spread(0.0035, 0.0004, 0.003, 0.0042),
        "predicted conditions statistic": Spread(2.769, 0.174, 2.47, 3.184),
        "predicted conditions critical value": Spread(1.873, 0.058, 1.768, 2.02),
        "predicted conditions rejected": Spread(1.0, 0.0, 1.0, 1.0),
        "predicted conditions distance": Spread(0.0028, 0.0002, 0.0026, 0.0032),
        "predicted conditions low": Spread(0.0009, 0.0003, 0.0005, 0.0016),
        "predicted conditions high": Spread(0.0054, 0.0004, 0.0047, 0.0062),
        "weak skew rejected": Spread(0.0, 0.0, 0.0, 0.0),
    },
}
SHARE_COLUMNS = ("original", "counterfactual", "Rawlsian", "Majority", "Egalitarian", "Utilitarian")
SHARES: Mapping[str, Mapping[int, tuple[float, ...]]] = {
    "forest": {
        55: (0.120, 0.184, 0.164, 0.164, 0.160, 0.164),
        69: (0.128, 0.255, 0.185, 0.184, 0.163, 0.185),
        82: (0.138, 0.327, 0.206, 0.207, 0.160, 0.206),
        89: (0.151, 0.407, 0.218, 0.223, 0.166, 0.219),
        94: (0.167, 0.498, 0.286, 0.262, 0.190, 0.273),
        97: (0.184, 0.592, 0.368, 0.300, 0.253, 0.338),
    },
    "logit-lasso": {
        55: (0.120, 0.184, 0.173, 0.173, 0.174, 0.172),
        69: (0.128, 0.255, 0.217, 0.200, 0.171, 0.202),
        82: (0.138, 0.327, 0.241, 0.224, 0.130, 0.223),
        89: (0.151, 0.407, 0.264, 0.247, 0.118, 0.249),
        94: (0.167, 0.498, 0.324, 0.284, 0.124, 0.294),
        97: (0.184, 0.592, 0.369, 0.318, 0.143, 0.339),
    },
}
"""Tables III and C.II: shares of Black patients among those selected at capacity thresholds."""
