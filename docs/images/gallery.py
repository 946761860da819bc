"""Make the pictures of the gallery: the code of its pages with better settings, and what it finds then.

Run it as ``python docs/images/gallery.py [page ...]``; it takes some minutes and prints the verdicts that pages quote.
The tables are those of `fairfrontier.datasets.fetch_csv`.
"""

import contextlib
import io
import re
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
PAGES = HERE.parent / "gallery"
BETTER = 'quick = {"n_boot": 1000, "random_state": 1}'
"""The default learner and three repetitions."""


def main() -> None:
    """Make the pictures of the pages named, by default of all."""
    for page in sys.argv[1:] or sorted(path.stem for path in PAGES.glob("*.md") if path.stem != "index"):
        names = run(page)
        tests = names["tests"] if "tests" in names else {name_of(names["test"]): names["test"]}
        for name, test in tests.items():
            print(f"{page}: {name}: {test.verdict}, p-value {test.p_value_adjusted:.3f}", flush=True)
        draw(page, names)


def run(page: str) -> dict:
    """Run the code of a page with better settings, on all rows; return its names."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    code, changed = re.subn(r"^quick = .*$", BETTER, code, flags=re.MULTILINE)
    assert changed == 1, page
    code = re.sub(r"\.sample\([^)]*\)", "", code)
    names = {"__name__": "page"}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        exec(compile(code, page, "exec"), names)
    return names


def name_of(test: object) -> str:
    """The algorithm's name."""
    return str(test.name)


def draw(page: str, names: dict) -> None:
    """Draw the plane of risks, or overall risk against the gap, with the algorithms of the page."""
    ff, algorithms = names["ff"], names["algorithms"]
    options = {}
    if page == "open-university":
        ff = ff.pair("F & N", "M & N")
    if page == "law-school":  # the curve is of rules that may select any number of people
        ff.set_params(keep=None).fit(names["X"], names["passed"], sensitive_features=names["race"])
    if page == "hospital":
        options["capacity"] = names["room"]
    axes = ff.plot(decisions=algorithms, zoom=page not in ("law-school", "student-performance"), **options)
    axes.figure.savefig(HERE / f"gallery-{page}.png", dpi=90)
    plt.close(axes.figure)


if __name__ == "__main__":
    main()
