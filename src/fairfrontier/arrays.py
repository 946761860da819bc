"""Names for the array types used throughout the package."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
BoolArray: TypeAlias = NDArray[np.bool_]
IntArray: TypeAlias = NDArray[np.intp]
SignArray: TypeAlias = NDArray[np.int8]
AnyArray: TypeAlias = NDArray[Any]
ArrayLike: TypeAlias = npt.ArrayLike
"""Whatever numpy or narwhals reads: arrays, sequences, pandas and polars columns and frames."""
