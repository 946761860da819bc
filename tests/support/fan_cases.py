"""Small discrete populations with several groups: does a less discriminatory alternative exist, by linear programmes?

`python -m support.fan_cases 1000 STORE.csv` (in `tests`) compares the cells of the fan with linear programmes on so
many populations, each stored as it is done; the counts are printed at the end.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from fairfrontier.frontier.criteria import CriteriaRows
from fairfrontier.frontier.fan import range_fan, reference_fan
from fairfrontier.frontier.standing import stand
from fairfrontier.inference.fan.cells import Refinement, cut_cells

ZERO = 1e-9


@dataclass(frozen=True)
class Population:
    """Values of x with ``mass`` (m,), ``share`` (m, K) = P(x | g), and in each group E[l0] and E[dl] (m, K)."""

    mass: np.ndarray
    share: np.ndarray
    l0: np.ndarray
    dl: np.ndarray

    @property
    def vectors(self):
        """Changes of the risks (m, K) by selecting x, per mass."""
        return self.share * self.dl / self.mass[:, None]

    def risks(self, a):
        return (self.share * (self.l0 + np.asarray(a)[:, None] * self.dl)).sum(axis=0)


def make_population(rng, n_groups, n_values=6, tied=False):
    """Draw a population; ``tied`` makes all groups' risks of every rule that of another group, or of its mirror."""
    size = rng.dirichlet(np.full(n_groups, 4.0))
    share = rng.dirichlet(np.ones(n_values), n_groups).T
    l0 = rng.random((n_values, n_groups))
    if tied:
        share[:, 1], l0[:, 1] = share[:, 0], l0[:, 0]
    return Population(share @ size, share, l0, 1.0 - 2.0 * l0)


def widths_of(criteria, reference):
    fan = range_fan(criteria) if reference is None else reference_fan(criteria, reference)
    return fan, fan.width(criteria)


def draw_algorithm(rng, population, changed, reference=None):
    """The best rule for a random direction of the fan, with the decision on some values of x changed."""
    n_values, n_groups = population.share.shape
    weight = np.where(rng.random(n_groups) < 0.6, rng.exponential(size=n_groups), 0.0)
    g, h = rng.choice(n_groups, 2, replace=False)
    weight[g], weight[h] = weight[g] + 0.5, weight[h] - rng.choice([0.0, 0.5, 1.0]) * (0.5 + weight[g])
    a = (population.vectors @ weight < 0.0).astype(float)
    at = rng.choice(n_values, changed, replace=False)
    a[at] = np.where(rng.random(changed) < 0.5, 1.0 - a[at], 0.5)
    return a


def generators(criteria, reference=None):
    """All generators: net weights (M, K) and rooms (M,), written out."""
    n = len(criteria)
    unit = np.eye(n)
    found = [(unit[g], 0.0) for g in range(n)]
    for g, h in product(range(n), repeat=2):
        if g != h and (reference is None or reference in (g, h)):
            other = g if h == reference else h
            width = np.ptp(criteria) if reference is None else abs(criteria[other] - criteria[reference])
            found.append((unit[g] - unit[h], width - (criteria[g] - criteria[h])))
    return np.array([p for p, _ in found]), np.array([room for _, room in found])


def least_best_slack(population, a, reference=None):
    """Smallest best slack over weights on all generators whose net weights have size one: a programme for each sign.

    The best slack of lam is room'lam + sum over x of mass (p'v(x) a(x) + (-p'v(x))_+), p the net weights.
    """
    p, room = generators(population.risks(a), reference)
    n_values, n_groups = population.share.shape
    v, mass = population.vectors, population.mass
    cost = np.concatenate([room + p @ (v.T @ (mass * a)), mass])
    kinks = np.hstack([-(v @ p.T), -np.eye(n_values)])  # -p'v(x) <= zeta(x)
    least = np.inf
    for signs in product((1.0, -1.0), repeat=n_groups):
        s = np.array(signs)
        rule = np.vstack([kinks, np.hstack([-s[:, None] * p.T, np.zeros((n_groups, n_values))])])
        size = np.concatenate([s @ p.T, np.zeros(n_values)])[None]
        found = linprog(cost, rule, np.zeros(len(rule)), size, [1.0], bounds=(0, None), method="highs")
        if found.status == 0:
            least = min(least, found.fun)
    return least


def largest_improvement(population, a, reference=None):
    """Largest sum of what a rule gains in the risks and in the widths, none of them getting worse.

    Positive if an alternative exists by the plain definition: better in one respect, and no worse in any.
    """
    criteria = population.risks(a)
    p, room = generators(criteria, reference)
    change = population.share * population.dl
    n_values, n_groups = population.share.shape
    # slack_m(b) = room_m + p_m'(sum over x of share dl (a - b)) >= narrowing of the width, or 0 for a risk
    width = np.zeros((len(p), 1 if reference is None else n_groups))
    for m in range(n_groups, len(p)):
        width[m, 0 if reference is None else next(g for g in np.flatnonzero(p[m]) if g != reference)] = 1.0
    rule = np.hstack([p @ change.T, width])
    limit = room + p @ (change.T @ a) + ZERO / 100
    bounds = [(0, 1)] * n_values + [(0, None)] * width.shape[1]
    if reference is not None:
        bounds[n_values + reference] = (0, 0)
    cost = np.concatenate([change.sum(axis=1), -np.ones(width.shape[1])])
    found = linprog(cost, rule, limit, bounds=bounds, method="highs")
    return change.sum(axis=1) @ a - found.fun if found.status == 0 else 0.0


def criteria_rows(population):
    """A population as rows: one for each x, which contributes to the risks of all groups."""
    n_values, n_groups = population.share.shape
    share = population.share.ravel()
    return CriteriaRows(
        row=np.arange(n_values),
        unit_stops=np.arange(n_values + 1),
        entry_stops=np.arange(n_values + 1) * n_groups,
        which=np.tile(np.arange(n_groups), n_values),
        share=share,
        base=share * population.l0.ravel(),
        change=share * population.dl.ravel(),
        vectors=np.ascontiguousarray(population.vectors),
        mass=population.mass,
        lower=np.zeros(n_values),
        spread=np.ones(n_values),
    )


def largest_smallest_slack(population, a, capacity, reference=None):
    """Largest smallest slack of a rule that selects at most a share ``capacity``: a programme over all such rules."""
    p, room = generators(population.risks(a), reference)
    change = population.share * population.dl
    # maximise z subject to z <= room_m + p_m'(sum over x of share dl (a - b)) and sum of mass b <= capacity
    rule = np.vstack([np.hstack([p @ change.T, np.ones((len(p), 1))]), np.append(population.mass, 0.0)])
    limit = np.append(room + p @ (change.T @ a), capacity)
    bounds = [(0, 1)] * len(a) + [(None, None)]
    found = linprog(np.append(np.zeros(len(a)), -1.0), rule, limit, bounds=bounds, method="highs")
    return -found.fun


def smallest_slack_of_cells(population, a, reference=None, budget=4000, capacity=np.inf):
    """Smallest slack of a cell's rule at a corner of the cell, everything known, and of a corner's own rule."""
    criteria = population.risks(a)
    fan, width = widths_of(criteria, reference)
    rows = criteria_rows(population)._replace(capacity=capacity)
    standing = stand(rows, a, fan.widths, np.zeros(len(a), dtype=int))
    standing = replace(standing, theta=np.concatenate([criteria, width]))
    cells = cut_cells(rows, standing, fan, Refinement(budget, loss=1e-7, band=0.0, hopeless=-np.inf))
    return float(cells.slacks().value.min()), float(cells.own_slacks().value.min())


def one_case(number):
    """One population and algorithm, by its number alone."""
    rng = np.random.default_rng([22, number])
    n_groups = 3 + number % 2
    tied = rng.random() < 0.2
    reference = 0 if rng.random() < 0.3 else None
    population = make_population(rng, n_groups, tied=tied)
    a = draw_algorithm(rng, population, changed=int(rng.integers(0, 3)), reference=reference)
    if rng.random() < 0.1:  # all risks equal: nobody is selected, and l0 is the same everywhere
        population = replace(population, l0=np.full_like(population.l0, 0.5), dl=rng.normal(size=population.dl.shape))
        a = np.zeros(len(a))
    cells, own = smallest_slack_of_cells(population, a, reference)
    return {
        "number": number,
        "groups": n_groups,
        "tied": tied,
        "reference": reference is not None,
        "range": np.ptp(population.risks(a)),
        "programme": least_best_slack(population, a, reference),
        "cells": cells,
        "own": own,
        "improvement": largest_improvement(population, a, reference),
    }


def main(n_cases, store):
    path = Path(store)
    done = len(pd.read_csv(path)) if path.exists() else 0
    for number in range(done, n_cases):
        pd.DataFrame([one_case(number)]).to_csv(path, mode="a", header=not path.exists(), index=False)
    table = pd.read_csv(path)
    exists, found = table["programme"] > ZERO, table["cells"] > ZERO
    print(f"{len(table)} cases, {(~exists).mean():.1%} nulls, {(table['range'] < ZERO).sum()} with zero range")
    print("alternative by programme, by cells:\n", pd.crosstab(exists, found))
    flat = (table["improvement"] > 1e-6) & ~exists
    print("better in one respect and exactly equal in another, which is not seen (flat edge):", int(flat.sum()))
    print("alternative by cells and not by the definition:", int((found & (table["improvement"] <= ZERO)).sum()))
    print("largest difference between programme and corners:", (table["own"] - table["programme"]).abs().max())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
