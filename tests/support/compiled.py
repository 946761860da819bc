"""Compile the kernels before processes that run side by side need them: each would compile them for itself."""

import warnings

from fairfrontier import FairFrontier
from fairfrontier.errors import FairFrontierWarning
from support.everything import everything
from support.people import people
from support.same_bits import fit, fit_external, in_use


def main():
    """Fit and ask everything once, on few rows; numba keeps what it has compiled beside the modules."""
    X, y, g = people(200, seed=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FairFrontierWarning)
        for ff in (fit("auto", n_rep=2), fit_external()):
            everything(ff, in_use())
        three = FairFrontier(learner="factored-logit", n_rep=1, n_folds=2, n_boot=99, random_state=0)
        three.fit(X, y, sensitive_features=[f"{label} {k % 2}" for k, label in enumerate(g)]).test_lda(in_use())
        three.set_params(fairness="true-positive-rate", accuracy="overall")
        three.fit(X, y, sensitive_features=g).test_lda(in_use())


if __name__ == "__main__":
    main()
