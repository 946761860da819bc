"""An audit from a file: which columns are what (``plan``), the tests (``running``), what is written (``writing``)."""
