"""COMPAS: look for a less discriminatory alternative to "a score above 4 means risky".

Run it as ``python examples/compas.py [--path FILE] [--out DIR] [--quick]``; it takes about two minutes. Without --path
the public file is downloaded once and kept, without names and dates of birth.
"""

import argparse
import textwrap
import warnings
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from fairfrontier import FairFrontier
from fairfrontier.datasets import fetch_compas

matplotlib.use("Agg")  # draws to a file, with or without a screen


def main():
    """Read the data, ask the question twice, list alternatives, draw the picture."""
    parser = argparse.ArgumentParser(description="Audit the COMPAS score of Broward County.")
    parser.add_argument("--path", help="the two-year COMPAS file, if it is not to be downloaded")
    parser.add_argument("--out", type=Path, default=Path("example-output"), help="directory of the picture")
    parser.add_argument("--quick", action="store_true", help="a faster learner, fewer repetitions and draws")
    options = parser.parse_args()
    # Folds are drawn at random: eleven repetitions keep a lucky draw from deciding.
    settings = {"learner": "factored-boosting", "n_rep": 11, "n_boot": 1000}
    if options.quick:
        settings = {"learner": "factored-logit", "n_rep": 1, "n_boot": 200}

    data = fetch_compas(path=options.path)
    risky = (data.decile_score > 4).astype(int)  # the algorithm: medium or high risk
    covariates = {"without the score": data.X, "with the score": data.X.assign(decile_score=data.decile_score)}
    fits = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name, X in covariates.items():
            fits[name] = FairFrontier(**settings, random_state=1)
            fits[name].fit(X, data.y, sensitive_features=data.sensitive_features)
    ff = fits["with the score"]

    print(f"{ff.n_obs_:,} people; {risky.mean():.1%} have a score above 4. How often that forecast errs:")
    in_use = ff.risks(risky)
    for label, risk, error in zip(in_use.groups, in_use.risk, in_use.standard_error, strict=True):
        print(f"  {label}: {risk:.1%} (standard error {error:.1%})")

    print("\nIs there a rule no worse for either group and no less fair, from the covariates")
    for name, fit in fits.items():
        test = fit.test_lda(risky)
        print(f"  {name}? {test.verdict}, p-value {test.p_value:.3f}\n    {in_words(test)}")
    print("Fair means alike in errors, not in shares called risky. The outcome is a recorded new arrest, which must")
    print("mean the same in both groups. This is evidence, not a legal finding.")
    for caveat in sorted({str(warning.message) for warning in caught}):
        print(textwrap.fill(caveat, 116))

    found = ff.alternatives(risky, 4 if options.quick else 8, capacity=float(risky.mean()))
    print(f"\nRules estimated to be better that call at most {risky.mean():.1%} of the people risky: {len(found)}")
    if len(found):
        columns = [f"{what} {label}" for what in ("risk", "selection rate") for label in found.groups]
        table = found.table[[*columns, "gain in gap", "agreement", "flagged"]]
        table.columns = ["risk C", "risk A", "risky C", "risky A", "gain in gap", "agreement", "in doubt"]
        print(table.to_string(float_format="{:.3f}".format))

    options.out.mkdir(parents=True, exist_ok=True)
    draw(ff, risky).savefig(options.out / "compas.png", dpi=150)
    print(f"\nPicture: {options.out / 'compas.png'}")


def in_words(test):
    """Say what a test of less discriminatory alternatives found."""
    if test.verdict == "not-comparable":
        return "Its risks lie outside the estimated set: it knows more than the covariates, or the learner is weak."
    if test.verdict == "no-evidence" and test.gain_bound is None:
        return f"Not shown, and nothing is excluded: {test.learner_sentences()[-1]}"
    if test.verdict == "no-evidence":
        weighted = " to ".join(f"{w:.2f} ({g})" for w, g in zip(test.gain_weights, test.groups, strict=True))
        possible = f"up to {100 * test.gain_bound:.1f} points less of the average risk weighted\n    {weighted}"
        return f"Not shown, and not excluded: {possible} remain possible, if the learner is consistent."
    gains, bounds = 100 * test.witness.gain, 100 * test.witness.lower_bounds(test.alpha)
    places = [f"for {test.groups[0]}", f"for {test.groups[1]}", "in the gap"]
    parts = [f"{g:.1f} points {where} (at least {b:.1f})" for g, b, where in zip(gains, bounds, places, strict=True)]
    return f"Shown. One such rule is estimated to gain {', '.join(parts)}."


def draw(ff, risky):
    """Draw all attainable risks and, enlarged, the frontier with its confidence set."""
    region = ff.frontier_confidence_set()
    figure, (whole, part) = plt.subplots(1, 2, figsize=(11, 5.5), layout="constrained")
    ff.plot(whole, decisions={"score above 4": risky}).set_title("All attainable risks")
    ff.plot(part, decisions={"score above 4": risky}, region=region).set_title("The frontier, enlarged")
    corners = np.vstack(region.polygons)
    ends = corners.min() - 0.01, corners.max() + 0.01
    part.set(xlim=ends, ylim=ends)
    part.legend(loc="upper right", fontsize=8, frameon=False)
    whole.get_legend().remove()
    return figure


if __name__ == "__main__":
    main()
