"""Redraw Figure 5 of the paper into `replication/results/figure5.png` and `.svg`."""

from pathlib import Path

from fairfrontier.replication.figure5 import draw_figure5

if __name__ == "__main__":
    for path in draw_figure5(Path(__file__).resolve().parent / "results"):
        print(path)
