"""Slow, plain transcriptions of the formulas, and the nasty samples they are compared on."""

from collections import deque

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import poisson

from fairfrontier.bootstrap.studentised import STILL
from fairfrontier.frontier.support import make_scores
from support.codes import group_codes

AXES = np.array([[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)


def group_shares(scores):
    """Weighted shares (mu_r, mu_b)."""
    sums = np.array([scores.weight[scores.is_r].sum(), scores.weight[~scores.is_r].sum()])
    return sums / sums.sum()


def of_latest(function):
    """Keep what a function found for the two scores it was last asked about, which do not change."""
    latest = deque(maxlen=2)

    def ask(scores, **options):
        for kept, asked, found in latest:
            if kept is scores and asked == options:
                return found
        latest.append((scores, options, function(scores, **options)))
        return latest[-1][2]

    return ask


@of_latest
def plain_rows(scores):
    """Rows (l0, dl, (t_r, t_b), whether in group r, weight) as numbers of Python, with which loops are quick."""
    columns = (scores.l0, scores.dl, scores.t, scores.is_r, scores.weight)
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def support_set(scores, q):
    """M times the mean of L0 + (L1 - L0) 1{k > 0}, row by row, for one direction."""
    mu = group_shares(scores)
    p = (np.asarray(q) / mu).tolist()
    total = [0.0, 0.0]
    for l0, dl, t, r, w in plain_rows(scores):
        k = p[0] * t[0] + p[1] * t[1]
        loss = l0 + (dl if k > 0 else 0.0)
        total[0 if r else 1] += w * loss
    return np.array(total) / scores.weight.sum() / mu


def h(scores, q):
    """Support function at one direction."""
    return float(np.asarray(q) @ support_set(scores, q))


def plug_in(scores, q):
    """q'M mean(l0 by group) + mean of the positive part of q'M t."""
    mu = group_shares(scores)
    p = (np.asarray(q) / mu).tolist()
    total = 0.0
    for l0, _, t, r, w in plain_rows(scores):
        total += w * (p[0 if r else 1] * l0 + max(p[0] * t[0] + p[1] * t[1], 0.0))
    return total / scores.weight.sum()


@of_latest
def arcs(scores, *, plugged=False):
    """All arcs of the circle on which the rule is constant: list of (start angle, stop angle, value).

    The rule is read at the middle of each arc from its definition.
    """
    mu = group_shares(scores)
    scaled = scores.t / mu
    moving = scaled[(scores.t != 0).any(axis=1)]
    if len(moving) == 0:
        moving = np.array([[1.0, 0.0]])
    angle = np.arctan2(moving[:, 1], moving[:, 0])
    breaks = np.sort(np.concatenate([angle + np.pi / 2, angle - np.pi / 2]) % (2 * np.pi))
    breaks = breaks[np.diff(breaks, prepend=-1.0) > 1e-12]
    if breaks[0] + 2 * np.pi - breaks[-1] < 1e-12:
        breaks = breaks[:-1]
    result = []
    for start, stop in zip(breaks, np.append(breaks[1:], breaks[0] + 2 * np.pi), strict=True):
        middle = (start + stop) / 2
        q = np.array([np.cos(middle), np.sin(middle)])
        if plugged:
            chosen = scores.t @ (q / mu) > 0
            sums = np.array([(scores.weight * scores.l0)[scores.is_r].sum(), 0.0])
            sums[1] = (scores.weight * scores.l0)[~scores.is_r].sum()
            value = (sums + (scores.weight[:, None] * scores.t)[chosen].sum(axis=0)) / (mu * scores.weight.sum())
        else:
            value = support_set(scores, q)
        result.append((start, stop, value))
    return result


def pieces(scores, start, stop):
    """The parts of the arcs that lie between the angles start and stop (stop - start <= 2 pi)."""
    for low, high, value in arcs(scores):
        for shift in (-2 * np.pi, 0.0, 2 * np.pi):
            first, last = max(low + shift, start), min(high + shift, stop)
            if last - first > 1e-12:
                yield first, last, value


def max_excess(scores, e, start=0.0, stop=2 * np.pi):
    """Largest q'e - h(q) over the closed arcs: both ends and the interior stationary point of each."""
    best = -np.inf
    for first, last, value in pieces(scores, start, stop):
        d = np.asarray(e) - value
        candidates = [first, last]
        stationary = np.arctan2(d[1], d[0])
        candidates += [x for x in stationary + 2 * np.pi * np.arange(-2, 3) if first <= x <= last]
        best = max([best] + [np.cos(x) * d[0] + np.sin(x) * d[1] for x in candidates])
    return best


def improvement_support(e, q):
    """Support function of C(e) at q with q1 + q2 >= 0, by its two active points."""
    (e_r, e_b), (q_r, q_b) = np.asarray(e).tolist(), np.asarray(q).tolist()
    assert q_r + q_b >= -1e-9
    return max(q_r * min(e_r, 2 * e_b - e_r) + q_b * e_b, q_r * e_r + q_b * min(e_b, 2 * e_r - e_b))


def min_separation(scores, e, grid=40):
    """Smallest h_C(e)(-q) + h(q) over the half circle, arc by arc (minimised on a fine grid and its ends)."""
    best = np.inf
    for low, high in ((0.75 * np.pi, np.pi), (np.pi, 1.5 * np.pi), (1.5 * np.pi, 1.75 * np.pi)):
        for first, last, value in pieces(scores, low, high):
            corners = [[min(e[0], 2 * e[1] - e[0]), e[1]], [e[0], min(e[1], 2 * e[0] - e[1])]]
            stationary = [np.arctan2(c[1] - value[1], c[0] - value[0]) % (2 * np.pi) for c in corners]
            for x in [first, last, *[s for s in stationary if first <= s <= last]]:
                q = np.array([np.cos(x), np.sin(x)])
                best = min(best, improvement_support(e, -q) + q @ value)
    return best


def line_infimum(scores):
    """inf over c of h(u1 - c(1, -1)) from the arcs; -inf when an outer arc slopes down for ever."""
    best, found = np.inf, list(pieces(scores, 0.75 * np.pi, 1.75 * np.pi))
    size = max(np.abs(value).sum() for *_, value in found)
    for first, last, value in found:
        if first < np.pi < last:  # c = 0; matters where a single arc spans the whole line
            best = min(best, -value[0])
        for x, outer in ((first, 0.75 * np.pi), (last, 1.75 * np.pi)):
            if abs(x - outer) < 1e-12:
                slope = value[1] - value[0] if outer < np.pi else value[0] - value[1]
                if slope < -1e-13 * size:  # touching the line counts as crossing it
                    return -np.inf
            else:
                q = np.array([np.cos(x), np.sin(x)])
                best = min(best, float(q @ value / -(q[0] + q[1])))
    return best


def robust_grid(n):
    """The directions of the half circle q1 + q2 <= 0 whose rules the robust LDA test uses, in order."""
    spaced = np.linspace(0.75 * np.pi, 1.75 * np.pi, int(np.ceil(4 * n ** (1 / 3))))
    angle = np.sort([*spaced, np.pi, 1.5 * np.pi])
    grid = np.column_stack([np.cos(angle), np.sin(angle)])
    grid[np.abs(grid) < 1e-15] = 0.0
    return grid


def where_neighbours_are_equal(q, p, v, w):
    """The direction between q and p in which the points v and w are equally far, found by bisection, or None."""
    low, high = (np.arctan2(x[1], x[0]) % (2 * np.pi) for x in (q, p))

    def ahead(angle):
        return np.cos(angle) * (v - w)[0] + np.sin(angle) * (v - w)[1]

    if high - low < 1e-8 or ahead(low) * ahead(high) >= 0.0:
        return None
    angle = brentq(ahead, low, high, xtol=1e-15, rtol=1e-14)
    return np.array([np.cos(angle), np.sin(angle)])


def weights_of_draws(function, n_boot, seed):
    """The random multipliers (B, n) of every draw, in the order of the rows."""
    clusters = function.scores.clusters
    if clusters is None:
        return unit_weights(function.n_obs, n_boot, seed)
    return unit_weights(max(clusters) + 1, n_boot, seed)[:, clusters]


def studentised(scores, multipliers, q, shift=0.0):
    """(h~ - h^) / s~ at directions (K, 2) for one draw, the rules held; nan where sample or draw vary by rounding only.

    ``shift`` (K,) is added to the difference. ``multipliers`` (n,): the Exp(1) numbers of the draw, turned into
    Poisson numbers, .01 instead of 0.
    """
    drawn = np.maximum(poisson.ppf(-np.expm1(-multipliers), 1.0), 0.01)
    mean = 1.0 + 0.01 * np.exp(-1.0)
    spread = np.sqrt((2.0 + 0.0001 * np.exp(-1.0) - mean**2) / mean)
    cluster = np.arange(len(scores.l0)) if scores.clusters is None else scores.clusters
    chosen = scores.t @ (np.asarray(q) / group_shares(scores)).T > 0
    centre = np.array([np.average(scores.l0[own], weights=scores.weight[own]) for own in (scores.is_r, ~scores.is_r)])
    from_centre = scores.l0 - np.where(scores.is_r, *centre)
    largest = max(np.abs(from_centre).max(), np.abs(from_centre + scores.dl).max())
    values = []
    for w in (np.ones(len(drawn)), drawn):
        h, variance, size = np.zeros(len(q)), np.zeros(len(q)), np.zeros(len(q))
        influence = np.zeros((len(q), int(cluster.max()) + 1))
        for g, own in enumerate((scores.is_r, ~scores.is_r)):
            total = sum(w[own] * scores.weight[own])
            loss = scores.l0[own, None] + scores.dl[own, None] * chosen[own]
            e = (w[own] * scores.weight[own]) @ loss / total
            h += q[:, g] * e
            mass = np.bincount(cluster[own], scores.weight[own], influence.shape[1])
            times = np.zeros(influence.shape[1])
            times[cluster[own]] = w[own]
            size += (q[:, g] / total * largest) ** 2 * (times @ mass**2)
            np.add.at(influence.T, cluster[own], scores.weight[own, None] * q[:, g] / total * (loss - e))
        weight_of = np.zeros(influence.shape[1])
        weight_of[cluster] = w
        variance = influence**2 @ weight_of
        values.append((h, variance, variance > STILL * size))
    (h_hat, _, sample_varies), (h, s, draw_varies) = values
    varies = sample_varies & draw_varies
    return np.where(varies, (h - h_hat + shift) / np.sqrt(np.where(varies, s, 1.0)) / spread, np.nan)


def unit_weights(n_units, n_boot, seed, block=65_536):
    """Exp(1) numbers (B, n_units) of every draw, block by block: each has its own place in the PCG64 sequence."""
    p = 1.324717957244746025960908854  # p^3 = p + 1
    draw_step, block_step = 0xC13FA9A902A6328F434FF71B2D97724B, 0x91E10DA5C79E7B1CD438A0A8E6C9C0FD
    assert draw_step / 2**128 == 1 / p
    assert block_step / 2**128 == 1 / p**2
    found = np.empty((n_boot, n_units))
    for b in range(n_boot):
        for k, start in enumerate(range(0, n_units, block)):
            bits = np.random.PCG64(seed).advance((b * draw_step + k * block_step) % 2**128)
            length = min(block, n_units - start)
            found[b, start : start + length] = np.random.Generator(bits).standard_exponential(length)
    return found


@st.composite
def score_samples(draw, bounds=True):
    """Random samples with ties, zeros, opposite vectors, weights, odd losses and bounds."""
    n = draw(st.integers(2, 25))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["continuous", "lattice", "axis", "few", "zeros"]))
    t = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-3, 3)
    if kind == "lattice":
        t = rng.integers(-2, 3, size=(n, 2)).astype(float)
    elif kind == "axis":
        t[:, rng.integers(2)] = 0.0
    elif kind == "few":
        t = rng.normal(size=(2, 2))[rng.integers(2, size=n)] * rng.choice([-1.0, 1.0, 2.0], size=(n, 1))
    elif kind == "zeros":
        t[rng.random(n) < 0.7] = 0.0
    is_r = rng.random(n) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    is_r[0], is_r[1] = True, False
    weight = np.ones(n)
    if draw(st.booleans()):
        weight = rng.exponential(size=n) * (rng.random(n) < 0.8)
        weight[:2] = 1.0
    if draw(st.booleans()):
        y = (rng.random(n) < 0.5).astype(float)
        l0, dl = y, 1 - 2 * y
    else:
        l0, dl = rng.normal(size=n), rng.normal(size=n)
    limits = {}
    if bounds and draw(st.booleans()):
        limits["lower"] = rng.random(n) * (rng.random(n) < 0.5) * 0.5
        limits["upper"] = 1.0 - rng.random(n) * (rng.random(n) < 0.5) * 0.5
        fixed = rng.random(n) < 0.2
        limits["upper"] = np.where(fixed, limits["lower"], limits["upper"])
    return make_scores(l0, dl, t, group_codes(is_r), weight, **limits), rng
