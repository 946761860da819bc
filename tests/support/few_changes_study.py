"""Attacks on the robust test where few decisions change and losses are rare and large.

One group can be improved and the other cannot: where the algorithm is not best for it, all decisions about its people
are equally good. It has the higher risk, so that an improvement of the first alone widens the gap and no alternative
exists. What looks like one are a few people of the second group with whom a change happened not to go wrong.

    cd tests; python -m support.few_changes_study 200 STORE.csv    # samples of each design; continues a store
"""

import sys
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.inference.fan.robust import fan_test
from support.attacks_study import newton
from support.study_store import KEYS, run_replications

N_FOLDS, N_REP = 5, 3


@dataclass(frozen=True)
class People:
    """Covariates (n, 3), of which the first is the group (n,), what selecting changes the loss by, and decisions."""

    X: np.ndarray
    group: np.ndarray
    dl: np.ndarray
    decisions: np.ndarray

    @property
    def l0(self):
        """Loss without selection, from 0 on, and 1 more for continuous losses of the second group."""
        return np.maximum(-self.dl, 0.0) + (self.group == 1) * self.continuous

    @property
    def continuous(self):
        return len(np.unique(self.dl)) > 2


def people(n, share, second, rng):
    """A first group that can be improved, and a second one: ``second(m, rng)`` has x, dl and decisions of m people."""
    m, cost = round(share * n), getattr(second, "cost", 1.0)
    x, own = rng.choice([-3.0, 3.0], n - m), rng.random(n - m) < 0.3
    first = x + 0.2 * rng.normal(size=n - m), np.where(x > 0.0, -cost, 1.0), (x > 0.0) | own
    other = second(m, rng)
    zero, group = (np.zeros(n - m), np.zeros(m)), np.repeat([0, 1], [n - m, m])
    X = np.column_stack([group, np.r_[first[0], zero[1]], np.r_[zero[0], other[0]]])
    return People(X, group, np.r_[first[1], other[1]], np.r_[first[2], other[2]].astype(float))


def tail(cost, cut):
    """A missed success costs ``cost`` times a failure; beyond ``cut`` nothing matters, but a line says otherwise."""

    def draw(m, rng):
        x = rng.normal(size=m)
        y = rng.random(m) < np.where(x > cut, 1.0 / (1.0 + cost), expit(logit(1.0 / (1.0 + cost)) - 2.5 * x))
        return x, np.where(y, -cost, 1.0), (x > cut) | (x < 0.0)

    draw.cost = cost
    return draw


def alike(cost):
    """All people are the same, all are selected, and nothing would be better."""

    def draw(m, rng):
        return np.zeros(m), np.where(rng.random(m) < 1.0 / (1.0 + cost), -cost, 1.0), np.ones(m)

    draw.cost = cost
    return draw


def coins(changed):
    """So many people far away, whose outcomes are coins; about the others the algorithm decides as is best."""

    def draw(m, rng):
        far = np.arange(m) < changed
        x = np.where(far, 3.0, rng.choice([-1.0, 1.0], m)) + 0.1 * rng.normal(size=m)
        y = np.where(far, rng.random(m) < 0.5, (x < 0.0) ^ (rng.random(m) < 0.25))
        return x, np.where(y, -1.0, 1.0), far | (x < 0.0)

    return draw


def lognormal(m, rng):
    """Continuous losses: beyond .8 of mean 0, with few that are large."""
    x, z = rng.normal(size=m), np.exp(1.3 * rng.normal(size=m) - 1.3**2 / 2.0)
    far = x > 0.8
    return x, np.where(far, 1.0 - z, 2.0 * x + 0.5 * rng.normal(size=m)), far | (x < 0.0)


DESIGNS = {f"{m} of 150, coins": (300, 0.5, coins(m)) for m in (3, 5, 7, 9, 15)}
DESIGNS |= {
    f"costs {cost:g} : 1, beyond {cut:g}, n = {n}": (n, 0.5, tail(cost, cut))
    for cost in (1.0, 4.0, 9.0)
    for cut in (1.2, 1.5)
    for n in (400, 1000)
}
DESIGNS |= {f"{m} people alike, costs 9 : 1": (400, m / 400.0, alike(9.0)) for m in (10, 20, 40)}
DESIGNS |= {f"lognormal losses, n = {n}": (n, 0.5, lognormal) for n in (400, 1000)}


def predictions(rows, fold):
    """Out of fold: logistic regressions of a success, linear ones for continuous losses; the group is known."""
    X, t = np.column_stack([np.ones(len(rows.dl)), rows.X]), np.zeros((len(rows.dl), 2))
    low, high = rows.dl.min(), rows.dl.max()
    for k, g in np.ndindex(N_FOLDS, 2):
        held, own = (fold == k) & (rows.group == g), (fold != k) & (rows.group == g)
        if rows.continuous:
            gram = X[own].T @ X[own] + 1e-3 * np.eye(X.shape[1])
            t[held, g] = X[held] @ np.linalg.solve(gram, X[own].T @ rows.dl[own])
        else:
            chance = expit(X[held] @ newton(X[own], (rows.dl[own] < 0.0) * 1.0))
            t[held, g] = (1.0 - chance) * high + chance * low
    return t


def replicate(number, n, design):
    """The p-value of one sample as one line."""
    rng = np.random.default_rng([number, n, *map(ord, design)])
    _, share, second = DESIGNS[design]
    rows, t = people(n, share, second, rng), []
    for _ in range(N_REP):
        fold = np.empty(n, dtype=np.intp)
        for g in range(2):
            own = np.flatnonzero(rows.group == g)
            fold[own] = rng.permutation(len(own)) % N_FOLDS
        t.append(predictions(rows, fold))
    made = risk_rows(rows.l0, rows.dl, np.concatenate(t), rows.group, np.ones(n))
    p = fan_test(made, rows.decisions, fold, smallest=1e-9).p_value
    return pd.DataFrame([dict(zip(KEYS, (number, n, design), strict=True)) | {"p": p}])


def no_alternative(design, n=400_000):
    """Whether the second group has the higher risk in the population, so that no alternative exists."""
    rows = people(n, DESIGNS[design][1], DESIGNS[design][2], np.random.default_rng(1))
    loss = rows.l0 + rows.decisions * rows.dl
    return loss[rows.group == 1].mean() > loss[rows.group == 0].mean()


def main(samples, store, n_jobs="1"):
    """Continue a store and print rejection rates at 5% and 1%."""
    tasks = [(k, DESIGNS[design][0], design) for k in range(int(samples)) for design in DESIGNS]
    found = run_replications(replicate, tasks, int(n_jobs), store)
    rates = found.groupby("design", sort=False)["p"].agg(
        [("at 5%", lambda p: (p <= 0.05).mean()), ("at 1%", lambda p: (p <= 0.01).mean()), ("samples", "count")]
    )
    print(rates.assign(null=[no_alternative(design) for design in rates.index]).round(3).to_string())


if __name__ == "__main__":
    from support import few_changes_study  # by its name, so that other processes find it

    few_changes_study.main(*sys.argv[1:])
