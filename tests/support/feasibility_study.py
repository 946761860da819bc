"""Monte Carlo study of the studentised feasibility test: size on the boundary of the feasible set, and power.

Given group and outcome, two pairs of covariates are drawn independently from one normal distribution. The learner knows
the true nuisance functions of the first pair; an algorithm uses the second in the very same way. So an algorithm that
follows the best rule of a direction has risks exactly on the boundary of the feasible set, though its decisions are
not the learner's.

    cd tests; python -m support.feasibility_study 400 199  # samples, draws
"""

import sys

import numpy as np
from scipy.stats import norm

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.frontier.plane import unit_circle
from fairfrontier.frontier.support import build_support_function, make_scores
from fairfrontier.inference.lda.evidence import lda_evidence

DESIGNS = {"even": (2_000, 0.4), "small group": (20_000, 0.02)}
"""Number of rows, and share of the first group."""
BEST = unit_circle(5, 0.9 * np.pi, 1.6 * np.pi, endpoint=True)
NULLS = np.vstack([BEST, [[-1.0, 0.0], [0.0, -1.0]]])
"""Directions whose best rules the algorithms follow."""
SUCCESS = (0.5, 0.35)
SHIFT = np.array([[1.0, 0.2], [0.1, 0.9]])
"""Means of the covariates of people with the outcome, by group; of the others their negatives."""
DISCORDANT = 0.1
"""Share of a group whose decisions differ between an algorithm with a known deficit and the learner's best rule."""


def people(n, share, rng):
    """Outcome, group 0/1, two pairs of covariates."""
    group = (rng.random(n) >= share).astype(np.intp)
    y = (rng.random(n) < np.array(SUCCESS)[group]).astype(float)
    mean = np.where(y > 0, 1.0, -1.0)[:, None] * SHIFT[group]
    return y, group, mean + rng.normal(size=(n, 2)), mean + rng.normal(size=(n, 2))


def true_pairs(x, share):
    """t_g(x) = P(g, no outcome | x) - P(g, outcome | x), by Bayes' rule."""
    density = np.empty((len(x), 2, 2))
    for g, part in enumerate((share, 1.0 - share)):
        for outcome, sign, chance in ((0, -1.0, 1.0 - SUCCESS[g]), (1, 1.0, SUCCESS[g])):
            density[:, g, outcome] = part * chance * norm.pdf(x - sign * SHIFT[g]).prod(axis=1)
    return (density[:, :, 0] - density[:, :, 1]) / density.sum(axis=(1, 2))[:, None]


def better_for(g, rule, y, group, errors, rng):
    """Decisions of a rule, changed in group g so that its risk falls by so many standard errors of the difference."""
    own = group == g
    wrong = own & (rule != y)
    risk, n_own = wrong.sum() / own.sum(), own.sum()
    gain = errors * np.sqrt(DISCORDANT / n_own / (1.0 + errors**2 / n_own))
    mended, spoilt = (DISCORDANT + gain) / 2.0, (DISCORDANT - gain) / 2.0
    chance = np.where(wrong, mended / risk, spoilt / (1.0 - risk)) * own
    return np.where(rng.random(len(y)) < chance, 1.0 - rule, rule)


def p_values(number, design, n_boot=199, errors=5.0):
    """Feasibility p-values of the algorithms on the boundary, and of those with a deficit for each group."""
    n, share = DESIGNS[design]
    rng = np.random.default_rng([number, n])
    y, group, x, other = people(n, share, rng)
    mu = np.array([share, 1.0 - share])
    t = true_pairs(x, share)
    function = build_support_function(make_scores(y, 1.0 - 2.0 * y, t, group, np.ones(n)))
    second = true_pairs(other, share)
    decisions = [(second @ (q / mu) > 0.0).astype(float) for q in NULLS]
    decisions += [better_for(g, (t[:, g] < 0.0).astype(float), y, group, errors, rng) for g in (0, 1)]
    context = DrawingContext(function, n_boot, np.random.SeedSequence([number, 5]))
    losses = y + np.array(decisions) * (1.0 - 2.0 * y)
    return [found.feasibility_p_value for found in lda_evidence(context, losses, np.empty((0, 2)), method="sharp")]


def rejection_rates(samples, design, n_boot=199, alpha=0.05):
    """Rejection rates of each algorithm on the boundary, and of those with a deficit of 5 standard errors."""
    found = np.array([p_values(number, design, n_boot) for number in range(samples)]) <= alpha
    rates = found.mean(axis=0)
    return rates[: len(NULLS)], rates[len(NULLS) :]


def main(samples, n_boot):
    """Print the rates of both designs."""
    for design in DESIGNS:
        size, power = rejection_rates(int(samples), design, int(n_boot))
        print(f"{design}: size {size.round(4).tolist()}, power {power.round(4).tolist()}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
