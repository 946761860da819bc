"""Discrete populations given as weighted rows: the sample is the population, so estimates are exact."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Population:
    """Cells of covariates by group, each with both outcomes as two weighted rows."""

    x: np.ndarray
    group: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    within: np.ndarray  # E[dl | x, g] at every row, (n, G)
    share: np.ndarray  # P(g | x) at every row, (n, G)

    def fit(self, frontier, predictions):
        """Fit a `FairFrontier` on the population with known predictions."""
        return frontier.fit(
            None,
            self.y,
            sensitive_features=self.group,
            sample_weight=self.weight,
            external_nuisance=predictions,
        )


def discrete_population(seed, n_cells=6, n_groups=2, empty=False):
    """Draw a population: P(x, g) and P(y = 1 | x, g) of every cell; some cells may lack a group."""
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(n_cells * n_groups)).reshape(n_cells, n_groups)
    if empty:
        mass[0, 0] = mass[1, -1] = 0.0
        mass /= mass.sum()
    chance = rng.uniform(0.02, 0.98, (n_cells, n_groups))
    if empty:
        chance[2] = 0.5  # either decision is as good there
    rows = [(x, g, y) for x in range(n_cells) for g in range(n_groups) for y in (0, 1) if mass[x, g] > 0.0]
    x, g, y = np.array(rows).T
    weight = mass[x, g] * np.where(y == 1, chance[x, g], 1.0 - chance[x, g])
    # classification: dl = l(1, y) - l(0, y) = 1 - 2 y
    within = 1.0 - 2.0 * chance
    share = mass / mass.sum(axis=1, keepdims=True)
    # groups are listed last label first, so column k belongs to group n_groups - 1 - k
    turned = slice(None, None, -1)
    return Population(x, g, y, weight, within[x][:, turned], share[x][:, turned])
