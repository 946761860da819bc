"""Time of the tests in units of drawing their random numbers, and against the published grid algorithm.

The unit is drawing 1,000 times n exponential numbers with numpy in the same run, on one thread. The published
algorithm is transcribed plainly, vectorised over rows: for each draw and each grid direction it averages the
weighted score over all rows. Times are those of the processor, so that other programs disturb them less.
"""

import json
import time

import numpy as np
from threadpoolctl import threadpool_limits

from fairfrontier.bootstrap.draws import DrawingContext
from fairfrontier.frontier.criteria import risk_rows
from fairfrontier.frontier.plane import improvement_support, unit_circle
from fairfrontier.frontier.support import build_support_function, group_means, make_scores
from fairfrontier.inference.fan.robust import fan_test
from fairfrontier.inference.lda.evidence import lda_evidence
from fairfrontier.inference.p_values import step_size
from fairfrontier.inference.points import frontier_process, point_tests

N_BOOT = 1000


def sample(n, seed=0):
    """Return a support function and the losses of a mediocre algorithm, with informative nuisances."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < 0.6, 0, 1)
    signal = np.tanh(rng.normal(size=(n, 2)))
    own = np.where(group == 0, signal[:, 0], signal[:, 1])
    y = (rng.random(n) < 0.5 - 0.4 * own).astype(float)
    t = 0.8 * signal * np.array([0.6, 0.4])
    scores = make_scores(y, 1.0 - 2.0 * y, t, group, np.ones(n))
    decisions = (rng.random(n) < 0.5 - 0.2 * own).astype(float)
    return build_support_function(scores), (y + decisions * (1.0 - 2.0 * y))[None]


def seconds(call, *arguments, repeat=3, **options):
    """Best time of a few calls, on one thread."""
    times = []
    for _ in range(repeat):
        start = time.process_time()
        call(*arguments, **options)
        times.append(time.process_time() - start)
    return min(times)


def unit(n, draws=N_BOOT):
    """Seconds for 1,000 times n exponential numbers, measured on some and scaled up."""
    generator = np.random.default_rng(0)
    timed = max(1, min(draws, 50_000_000 // n))

    def call():
        for _ in range(timed):
            generator.standard_exponential(n)

    return seconds(call) * draws / timed


def published(function, losses, n_directions, n_boot, seed=0):
    """The published test with numerical derivative, direction by direction: statistic and draws."""
    s = function.scores
    n, step = function.n_obs, step_size(function.n_obs)
    rng = np.random.default_rng(seed)
    by_group = np.column_stack([s.group == 0, s.group == 1]).astype(float)
    L0, DL, Z = s.l0[:, None] * by_group, s.dl[:, None] * by_group, losses[0][:, None] * by_group
    half = unit_circle(n_directions, 0.75 * np.pi, 1.75 * np.pi, endpoint=True)
    circle = unit_circle(n_directions, endpoint=True)

    def process(w):
        mu = w @ by_group / n
        h = np.empty(2 * n_directions)
        for j, p in enumerate(np.vstack([half, circle]) / mu):
            h[j] = np.mean(w * (L0 @ p + (DL @ p) * (s.t @ p > 0.0)))
        return h, w @ Z / n / mu

    def inner(h, e):
        apart = (improvement_support(e, half) + h[:n_directions]).min()
        return (circle @ e - h[n_directions:]).max(), apart

    h_hat, e_hat = process(np.ones(n))
    f, d = inner(h_hat, e_hat)
    draws = np.empty(n_boot)
    for b in range(n_boot):
        w = rng.standard_exponential(n)
        h, e = process(w / w.mean())
        root = np.sqrt(n)
        moved = inner(h_hat + step * root * (h - h_hat), e_hat + step * root * (e - e_hat))
        draws[b] = max((moved[0] - f) / step, 0.0) + max((moved[1] - d) / step, 0.0)
    return np.sqrt(n) * (max(f, 0.0) + max(d, 0.0)), draws


def lda(function, losses, n_boot=N_BOOT, **options):
    context = DrawingContext(function, n_boot, np.random.SeedSequence(1), 1)
    return lda_evidence(context, losses, np.empty((0, 2)), **options)


def steps(function, losses):
    """The default test of decisions: steps over the fan, with three repetitions of the cross-fitting."""
    s, rng = function.scores, np.random.default_rng(3)
    t = np.concatenate([s.t + 0.05 * rng.normal(size=s.t.shape) for _ in range(3)])
    rows = risk_rows(s.l0, s.dl, t, s.group, s.weight)
    return fan_test(rows, (losses[0] - s.l0) / s.dl, np.arange(len(s.l0)) % 5, smallest=1.0 / (1 + N_BOOT))


def frontier_set(function, candidates, n_boot=N_BOOT):
    context = DrawingContext(function, n_boot, np.random.SeedSequence(1), 1)
    return point_tests(frontier_process(context, "fairness-accuracy"), candidates)


@threadpool_limits.wrap(limits=1)
def run() -> dict:
    """Measure everything on one thread."""
    small, small_losses = sample(500)
    grid = {"method": "paper", "directions": 1000}
    for options in ({"method": "robust"}, {"method": "sharp"}, {"method": "paper"}, grid):
        lda(small, small_losses, 99, **options)  # compile
    steps(small, small_losses)
    figures = {}
    for n in (10_000, 1_000_000):
        rows, one, repeat = sample(n), unit(n), 3 if n <= 10_000 else 1
        for method in ("robust", "sharp"):
            figures[f"{method}_units_{n}"] = seconds(lda, *rows, method=method, repeat=repeat) / one
        figures[f"steps_units_{n}"] = seconds(steps, *rows, repeat=repeat) / one
        if n == 10_000:
            figures["paper_exact_units_10000"] = seconds(lda, *rows, method="paper") / one
    function, losses = sample(50_000)
    centre = group_means(losses[0], function.scores.group, function.scores.weight)[0]
    candidates = centre + 0.05 * np.random.default_rng(2).normal(size=(5000, 2))
    frontier_set(small, candidates[:9], 99)  # compile
    figures["frontier_set_units_50000"] = seconds(frontier_set, function, candidates, repeat=1) / unit(50_000)
    rows, timed = sample(2000), 5
    reference = seconds(published, *rows, 1000, timed, repeat=1) * N_BOOT / timed
    figures["reference_draws_timed"] = timed
    figures["paper_grid_ratio_2000"] = reference / seconds(lda, *rows, **grid)
    figures["robust_ratio_2000"] = reference / seconds(lda, *rows, method="robust")
    statistic, _ = published(*rows, 200, 1)
    figures["largest_difference"] = abs(statistic - lda(*rows, 99, method="paper", directions=200)[0].statistic)
    return figures


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
