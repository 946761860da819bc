"""Compiled sums of rules over rows: gains, their products, and what repetitions of the cross-fitting disagree about."""

from __future__ import annotations

import numpy as np
from numba import njit

FULL_STEP = 1.6
"""A step replaces a decision for certain if the score is at least so many times the usual size of scores.

That is their mean size, each weighted by its size, so that people without a score, however many, have no say: scores of
one size are never cut off. With normal scores it is twice their standard deviation.
"""
ROUNDING = 1e-12
"""Variance of a person's chances of selection up to which repetitions agree."""


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "contract"})
def sum_selected(p, stops, vectors, columns, out):  # type: ignore[no-untyped-def]
    """Sum the columns over the rows that each rule selects, by criterion of the row."""
    n_criteria, n_columns = p.shape[1], columns.shape[1]
    total = np.empty(n_columns)
    for r in range(p.shape[0]):
        for g in range(n_criteria):
            total[:] = 0.0
            for i in range(stops[g], stops[g + 1]):
                score = 0.0
                for j in range(n_criteria):
                    score += p[r, j] * vectors[i, j]
                if score < 0.0:
                    for k in range(n_columns):
                        total[k] += columns[i, k]
            for k in range(n_columns):
                out[r, g, k] += total[k]


@njit(cache=True, nogil=True)
def sum_rules(p, cutoffs, steps, rows, decisions, shares, influence, sums):  # type: ignore[no-untyped-def]
    """Add up over units, for each rule, its gains x and their products with themselves, shares and influences.

    A rule may take a step: it replaces the algorithm's decision about a row by the better one with a chance in
    proportion to the score. The rows of a person are those of the repetitions: they disagree if the rule selects them
    with different chances.
    """
    n_criteria = p.shape[1]
    x, noise, touched = np.zeros(n_criteria), np.zeros(n_criteria), np.empty(n_criteria, dtype=np.intp)
    moves = np.zeros((3, n_criteria))  # chances of selection taken away and given, and the size of gains and losses
    for r in range(p.shape[0]):
        full = _full_score(p[r], rows) if steps else 0.0
        for u in range(rows.unit_stops.shape[0] - 1):
            n_touched, first, noisy, sum_chances, sum_squares = 0, rows.unit_stops[u], False, 0.0, 0.0
            for i in range(rows.unit_stops[u], rows.unit_stops[u + 1]):
                score = _score(p[r], rows, i)
                if steps:
                    moved = _step(score, full, decisions[i])
                    chance = decisions[i] - moved
                else:
                    chance = _selected(score, cutoffs[r])
                    moved = decisions[i] - rows.lower[i] - chance * rows.spread[i]
                sum_chances += chance
                sum_squares += chance * chance
                if moved != 0.0:
                    for j in range(n_criteria):
                        sums.predicted[r, j] += rows.mass[i] * rows.vectors[i, j] * moved
                    n_touched = _add_row(rows, i, moved, x, moves, touched, n_touched)
                if i + 1 == rows.unit_stops[u + 1] or rows.row[i + 1] != rows.row[i]:
                    n_rows = i + 1 - first
                    # twice the variance of the chances: of chances 0 and 1 the share of pairs that disagree
                    apart = sum_squares - sum_chances * sum_chances / n_rows
                    if n_rows > 1 and apart > ROUNDING * n_rows:
                        noisy = True
                        _add_noise(rows, first, i + 1, np.sqrt(2.0 * apart / (n_rows - 1.0)), noise)
                    sum_chances, sum_squares, first = 0.0, 0.0, i + 1
            _add_unit(r, u, x, moves, touched[:n_touched], shares, influence, sums)
            if noisy:
                for j in range(n_criteria):
                    for k in range(n_criteria):
                        sums.disagreement[r, j, k] += noise[j] * noise[k]
                noise[:] = 0.0


@njit(cache=True, nogil=True)
def sum_fixed_rules(p, full, steps, t, decisions, own, place, out):  # type: ignore[no-untyped-def]
    """Add to ``out`` (R, P, 9) what rules p (R, J) change of ``decisions`` (n,), by place of the row: see `rule_sums`.

    ``t`` (n_rep, n, J): predictions of each repetition; ``own`` (n, 3): weight, loss difference and loss of each row.
    """
    n_rep = t.shape[0]
    for r in range(p.shape[0]):
        for i in range(t.shape[1]):
            less, more, sum_chances, sum_squares = 0.0, 0.0, 0.0, 0.0
            for k in range(n_rep):
                score = 0.0
                for j in range(p.shape[1]):
                    score += p[r, j] * t[k, i, j]
                at_once = decisions[i] - (1.0 if score < 0.0 else 0.0)
                moved = _step(score, full[r], decisions[i]) if steps else at_once
                chance = decisions[i] - moved
                sum_chances += chance
                sum_squares += chance * chance
                less += max(moved, 0.0)
                more += max(-moved, 0.0)
            weight, at = own[i, 0], out[r, place[i]]
            change, less, more = weight * own[i, 1], less / n_rep, more / n_rep
            x, stake = change * (less - more), abs(change) * (less + more)
            at[0] += x
            at[1] += x * x
            at[2] += x * weight
            at[3] += x * weight * own[i, 2]
            apart = sum_squares - sum_chances * sum_chances / n_rep
            if n_rep > 1 and apart > ROUNDING * n_rep:
                at[4] += change * change * 2.0 * apart / (n_rep - 1.0)
            at[5] += weight * (less + more)
            at[6] += stake
            at[7] += stake * weight * less
            at[8] += stake * weight * more


@njit(cache=True, nogil=True, inline="always")
def _add_row(rows, i, moved, x, moves, touched, n_touched):  # type: ignore[no-untyped-def]
    """Add a row whose decision is moved to the sums of its unit; return how many criteria the unit has by now."""
    for e in range(rows.entry_stops[i], rows.entry_stops[i + 1]):
        j = rows.which[e]
        known = False
        for k in range(n_touched):
            known = known or touched[k] == j
        if not known:
            touched[n_touched] = j
            n_touched += 1
            x[j], moves[0, j], moves[1, j], moves[2, j] = 0.0, 0.0, 0.0, 0.0
        x[j] += rows.change[e] * moved
        moves[0, j] += rows.share[e] * max(moved, 0.0)
        moves[1, j] += rows.share[e] * max(-moved, 0.0)
        moves[2, j] += abs(rows.change[e] * moved)
    return n_touched


@njit(cache=True, nogil=True, inline="always")
def _add_unit(r, u, x, moves, touched, shares, influence, sums):  # type: ignore[no-untyped-def]
    """Add the gains of a unit by a rule, what it changes and its products, to the sums over units."""
    for j in touched:
        sums.gain[r, j] += x[j]
        sums.changed[r, j, 0] += moves[0, j] + moves[1, j]
        sums.changed[r, j, 1] += moves[2, j]
        sums.changed[r, j, 2] += moves[2, j] * moves[0, j]
        sums.changed[r, j, 3] += moves[2, j] * moves[1, j]
        for other in touched:
            sums.second[r, j, other] += x[j] * x[other]
        for c in range(shares.shape[1]):
            sums.with_shares[r, j, c] += x[j] * shares[u, c]
        for v in range(influence.shape[1]):
            sums.cross[r, j, v] += x[j] * influence[u, v]


@njit(cache=True, nogil=True)
def _score(p, rows, i):  # type: ignore[no-untyped-def]
    """Return the predicted change of p'c by selecting row i."""
    score = 0.0
    for j in range(p.shape[0]):
        score += p[j] * rows.vectors[i, j]
    return score


@njit(cache=True, nogil=True)
def _full_score(p, rows):  # type: ignore[no-untyped-def]
    """Return the score from which on a step replaces a decision for certain, 1 if all scores are 0."""
    squares, sizes = 0.0, 0.0
    for i in range(rows.vectors.shape[0]):
        score = _score(p, rows, i)
        squares += rows.mass[i] * score * score
        sizes += rows.mass[i] * abs(score)
    return FULL_STEP * squares / sizes if squares > 0.0 else 1.0


@njit(cache=True, nogil=True, inline="always")
def _step(score, full, decision):  # type: ignore[no-untyped-def]
    """Return by how much a step lowers the chance of selection."""
    return min(1.0, max(-1.0, score / full)) * (decision if score > 0.0 else 1.0 - decision)


@njit(cache=True, nogil=True)
def _selected(score, cutoff):  # type: ignore[no-untyped-def]
    """Return the chance with which a rule selects a score, by its cut-off: value, chance at it and width."""
    if score > cutoff[2] - cutoff[0]:
        return 0.0
    return 1.0 if score < -cutoff[0] - cutoff[2] else cutoff[1]


@njit(cache=True, nogil=True)
def _add_noise(rows, start, stop, root, noise):  # type: ignore[no-untyped-def]
    """Add the scores of a person's rows, times the root of how far repetitions disagree, to those of the unit."""
    for i in range(start, stop):
        for e in range(rows.entry_stops[i], rows.entry_stops[i + 1]):
            noise[rows.which[e]] += root * rows.spread[i] * rows.change[e]
