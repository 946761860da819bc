"""Small discrete populations: does an alternative exist for any choice of criteria, by linear programmes?

`python -m support.criteria_cases 500 STORE.csv` (in `tests`) compares the cells of the fan with linear programmes on so
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
from fairfrontier.frontier.fan import Aims, Kept
from fairfrontier.frontier.standing import stand
from fairfrontier.inference.fan.cells import Refinement, cut_cells

ZERO = 1e-9
FAIRNESS = ["risk", "selection-rate", "selection-ratio", "true-positive-rate", "false-positive-rate"]
ACCURACY = ["overall", "by-group"]
LIMITS = ["", "keep", "no more", "profit"]


@dataclass(frozen=True)
class Population:
    """Chances ``mass`` (m, K) of covariate x and group g, P(Y = 1 | x, g) and E[profit | x, g] (m, K)."""

    mass: np.ndarray
    chance: np.ndarray
    profit: np.ndarray


@dataclass(frozen=True)
class Linear:
    """Criteria c(a) = sum over x of base + a change, both (m, J), and ``mass`` (m,) of x."""

    mass: np.ndarray
    base: np.ndarray
    change: np.ndarray
    share: np.ndarray

    def at(self, a):
        return (self.base + np.asarray(a)[:, None] * self.change).sum(axis=0)


def make_population(rng, n_groups, n_values):
    mass = (rng.dirichlet(np.ones(n_values), n_groups) * rng.dirichlet(np.full(n_groups, 4.0))[:, None]).T
    return Population(mass, rng.random((n_values, n_groups)), rng.normal(0.3, 1.0, (n_values, n_groups)))


def measure(population, name):
    """E[w; x, g], E[w b; x, g] and E[w psi; x, g], each (m, K), of a measure."""
    mass, chance = population.mass, population.chance
    if name == "risk":
        return mass, mass * chance, mass * (1.0 - 2.0 * chance)
    if name == "true-positive-rate":
        return mass * chance, 0.0 * mass, mass * chance
    if name == "false-positive-rate":
        return mass * (1.0 - chance), 0.0 * mass, mass * (1.0 - chance)
    if name == "profit":
        return mass, 0.0 * mass, -mass * population.profit
    return mass, 0.0 * mass, mass


def by_group(population, name):
    weight, base, change = measure(population, name)
    total = weight.sum(axis=0)
    return weight / total, base / total, change / total


def overall(population, name):
    parts = [part.sum(axis=1, keepdims=True) for part in measure(population, name)]
    return tuple(part / parts[0].sum() for part in parts)


def question(population, fairness, accuracy, limit, tolerance=0.05):
    """Aims and criteria of a choice: what must not be higher comes first, then the fairness measure by group."""
    n_groups = population.mass.shape[1]
    lower = [by_group(population, "risk") if accuracy == "by-group" else overall(population, "risk")]
    if limit == "profit":
        lower.append(overall(population, "profit"))
    n_lower = sum(part[0].shape[1] for part in lower)
    kept = ()
    if fairness == "risk" and accuracy == "by-group":
        parts, spread = lower, tuple(range(n_groups))
    else:
        parts = [*lower, by_group(population, fairness)]
        spread = tuple(range(n_lower, n_lower + n_groups))
    n = sum(part[0].shape[1] for part in parts)
    if limit in ("keep", "no more"):
        parts = [*parts, overall(population, "selection-rate")]
        kept = (Kept(n, 1, tolerance), Kept(n, -1, tolerance))[: 1 + (limit == "keep")]
        n += 1
    aims = Aims(n, n_lower, spread, "ratio" if fairness == "selection-ratio" else "range", kept=kept)
    share, base, change = (np.hstack([part[k] for part in parts]) for k in range(3))
    return aims, Linear(population.mass.sum(axis=1), base, change, share)


def generators(aims, criteria):
    """All generators written out: net weights (M, J), rooms (M,), and whether each belongs to the spread."""
    unit, found = np.eye(aims.n_criteria), []
    for j in range(aims.lower):
        found.append((unit[j], 0.0, False))
    own = criteria[list(aims.spread)]
    reference = None if aims.reference is None else aims.spread[aims.reference]
    for g, h in product(aims.spread, repeat=2):
        if g == h or (reference is not None and reference not in (g, h)):
            continue
        if aims.measure == "range":
            width = np.ptp(own) if reference is None else abs(criteria[g] - criteria[h])
            found.append((unit[g] - unit[h], width - (criteria[g] - criteria[h]), True))
        else:
            ratio = own.min() / own.max()
            found.append((ratio * unit[g] - unit[h], criteria[h] - ratio * criteria[g], True))
    for each in aims.kept:
        found.append((each.sign * unit[each.criterion], each.tolerance, False))
    return tuple(np.array(column) for column in zip(*found, strict=True))


def least_best_slack(aims, linear, a):
    """Smallest best slack over weights on all generators with net weights of size one: a programme for each sign.

    The best slack of lam is room'lam + sum over x of (p'change(x) a(x) + (-p'change(x))_+), p the net weights.
    """
    p, room, _ = generators(aims, linear.at(a))
    change = linear.change
    n_values, n = change.shape
    cost = np.concatenate([room + p @ (change.T @ a), np.ones(n_values)])
    kinks = np.hstack([-(change @ p.T), -np.eye(n_values)])  # -p'change(x) <= zeta(x)
    either = [(1.0, -1.0) if (p[:, j] < 0.0).any() else (1.0,) for j in range(n)]
    least = np.inf
    for signs in product(*either):
        s = np.array(signs)
        rule = np.vstack([kinks, np.hstack([-s[:, None] * p.T, np.zeros((n, n_values))])])
        size = np.concatenate([s @ p.T, np.zeros(n_values)])[None]
        found = linprog(cost, rule, np.zeros(len(rule)), size, [1.0], bounds=(0, None), method="highs")
        if found.status == 0:
            least = min(least, found.fun)
    return least


def largest_improvement(aims, linear, a):
    """Largest sum of what a rule gains in single criteria and in the spread, nothing getting worse."""
    p, room, spread = generators(aims, linear.at(a))
    change, n_values = linear.change, len(a)
    # room_m + p_m'(sum over x of change (a - b)) >= narrowing, or 0
    rule = np.hstack([p @ change.T, spread[:, None].astype(float)])
    limit = room + p @ (change.T @ a) + ZERO / 100
    cost = np.append(change[:, : aims.lower].sum(axis=1), -1.0)
    found = linprog(cost, rule, limit, bounds=[(0, 1)] * n_values + [(0, None)], method="highs")
    return change[:, : aims.lower].sum(axis=1) @ a - found.fun if found.status == 0 else 0.0


def best_without_spread(rng, aims, linear):
    """The rule with the least weighted mean of single criteria among those whose spread is 0."""
    change, base = linear.change, linear.base.sum(axis=0)
    first, *others = aims.spread
    equal = np.array([change[:, g] - change[:, first] for g in others])
    target = np.array([base[first] - base[g] for g in others])
    weight = rng.exponential(size=aims.lower) + 0.05
    found = linprog(change[:, : aims.lower] @ weight, A_eq=equal, b_eq=target, bounds=(0, 1), method="highs")
    return np.clip(found.x, 0.0, 1.0) if found.status == 0 else None


def draw_algorithm(rng, aims, linear):
    """A best rule for a direction of the fan, some decisions changed; or one without any spread."""
    n_values, kind = len(linear.mass), rng.choice(["best", "changed", "no spread", "lottery"], p=[0.3, 0.4, 0.15, 0.15])
    if kind == "lottery":  # the same chance for everybody: rates are equal
        return np.full(n_values, rng.uniform(0.2, 0.8))
    if kind == "no spread" and (a := best_without_spread(rng, aims, linear)) is not None:
        return a
    weight = np.zeros(aims.n_criteria)
    weight[: aims.lower] = rng.exponential(size=aims.lower)
    g, h = rng.choice(aims.spread, 2, replace=False)
    amount = rng.exponential() * rng.choice([0.0, 1.0])
    weight[g], weight[h] = weight[g] + amount, weight[h] - amount
    a = (linear.change @ weight < 0.0).astype(float)
    if kind == "changed":
        at = rng.choice(n_values, int(rng.integers(1, 3)), replace=False)
        a[at] = np.where(rng.random(len(at)) < 0.5, 1.0 - a[at], 0.5)
    if aims.measure == "ratio" and not a.any():
        a[rng.integers(n_values)] = 1.0
    return a


def rows_of(linear):
    """A population as rows: one for each x, which contributes to all criteria."""
    n_values, n = linear.change.shape
    return CriteriaRows(
        row=np.arange(n_values),
        unit_stops=np.arange(n_values + 1),
        entry_stops=np.arange(n_values + 1) * n,
        which=np.tile(np.arange(n), n_values),
        share=linear.share.ravel(),
        base=linear.base.ravel(),
        change=linear.change.ravel(),
        vectors=np.ascontiguousarray(linear.change / linear.mass[:, None]),
        mass=linear.mass,
        lower=np.zeros(n_values),
        spread=np.ones(n_values),
    )


def smallest_slack_of_cells(aims, linear, a, budget):
    """Smallest slack of a cell's rule at a corner of the cell, everything known, and of a corner's own rule."""
    rows = rows_of(linear)
    standing = stand(rows, a, aims.widths, np.arange(len(a)) % 2)
    criteria = linear.at(a)
    known = aims.fan(np.append(criteria, np.ones(len(aims.widths)))).width(criteria)
    standing = replace(standing, theta=np.concatenate([criteria, known]))
    fan = aims.fan(standing.theta)
    cells = cut_cells(rows, standing, fan, Refinement(budget, loss=1e-7, band=0.0, hopeless=-np.inf))
    return float(cells.slacks().value.min()), float(cells.own_slacks().value.min())


def one_case(number, budget=3000):
    """One population, choice of criteria and algorithm, by its number alone."""
    rng = np.random.default_rng([24, number])
    fairness, accuracy = FAIRNESS[number % 5], ACCURACY[(number // 5) % 2]
    limit = LIMITS[(number // 10) % 4]
    n_groups = 2 if accuracy == "by-group" and (limit or number % 4) else 2 + number % 3 // 2
    population = make_population(rng, n_groups, int(rng.integers(5, 8)))
    aims, linear = question(population, fairness, accuracy, limit)
    if n_groups == 3 and aims.measure == "range" and number % 4 < 2:
        aims = replace(aims, reference=number % 3)
    a = draw_algorithm(rng, aims, linear)
    cells, own = smallest_slack_of_cells(aims, linear, a, budget)
    own_spread = linear.at(a)[list(aims.spread)]
    return {
        "number": number,
        "fairness": fairness,
        "accuracy": accuracy,
        "limit": limit,
        "groups": n_groups,
        "reference": aims.reference is not None,
        "spread": np.ptp(own_spread),
        "programme": least_best_slack(aims, linear, a),
        "cells": cells,
        "own": own,
        "improvement": largest_improvement(aims, linear, a),
    }


def main(n_cases, store):
    path = Path(store)
    done = len(pd.read_csv(path)) if path.exists() else 0
    for number in range(done, n_cases):
        pd.DataFrame([one_case(number)]).to_csv(path, mode="a", header=not path.exists(), index=False)
    table = pd.read_csv(path, keep_default_na=False)
    exists, found = table["programme"] > ZERO, table["cells"] > ZERO
    print(f"{len(table)} cases, {(~exists).mean():.1%} nulls, {(table['spread'] < ZERO).sum()} without a spread")
    print("alternative by programme, by cells:\n", pd.crosstab(exists, found))
    print("nulls by choice:\n", (~exists).groupby([table["fairness"], table["accuracy"]]).mean().unstack())
    print("alternative by cells and not by the definition:", int((found & (table["improvement"] <= ZERO)).sum()))
    print("smallest of corners less programme:", (table["own"] - table["programme"]).min())
    print("different:\n", table[exists != found].to_string())


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
