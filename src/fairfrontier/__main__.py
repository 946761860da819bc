"""``python -m fairfrontier`` is the same as ``fairfrontier``."""

from .cli import app

app(prog_name="fairfrontier")
