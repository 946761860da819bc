"""``python -m fairfrontier`` is the same as ``fairfrontier``."""

from .cli import app

if __name__ == "__main__":
    app(prog_name="fairfrontier")
