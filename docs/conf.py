"""How the documentation is built: ``make docs``, or ``sphinx-build -W -n docs docs-output``."""

import sys
from pathlib import Path

import fairfrontier

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "fairfrontier"
author = "the fairfrontier developers"
copyright = author
release = version = fairfrontier.__version__

extensions = ["house", "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "fairfrontier"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_math_renderer = "mathml"
templates_path: list[str] = []
exclude_patterns = ["images/*.py"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_inherit_docstrings = False
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
smartquotes = False
default_role = "code"  # single backquotes in docstrings are names
