"""Models saved in files: loaded where their authors are trusted, and which columns of a table they get."""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..arrays import AnyArray
from ..data.columns import as_labels
from ..data.messages import COMMAND_LINE
from ..data.models import ModelRows, is_model
from ..errors import InputError
from .request import AuditRequest

FORMATS = (".joblib", ".pkl", ".pickle")
"""How files of models are called that can be loaded."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model from a file: its name as an algorithm, the file with its SHA-256, and what loading it warned of."""

    name: str
    fitted: Any
    file: str
    sha256: str
    remarks: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        """The model in a line."""
        steps = getattr(self.fitted, "steps", None)
        kinds = [self.fitted] if steps is None else [step for _, step in steps]
        return f"{self.name}: {', '.join(type(kind).__name__ for kind in kinds)} from {Path(self.file).name}"

    def rows_of(self, used: pd.DataFrame, request: AuditRequest, group: AnyArray) -> ModelRows:
        """Return what the model decides about: the columns of the rows in use, as they are in the file."""
        wanted = getattr(self.fitted, "feature_names_in_", None)
        if wanted is None:
            raise InputError(
                "bad-model",
                f"The model {self.name!r} was trained with columns without names, so that those of the file cannot be "
                "matched. Train it with a frame, or give a column of its decisions as --algorithm.",
            )
        if request.outcome in wanted:
            raise InputError(
                "bad-model",
                f"The model {self.name!r} was trained with {request.outcome!r} among its columns, the outcome. "
                "Train it without the outcome, or give another column as --outcome.",
            )
        return ModelRows(used, group, _class_called(self.fitted, request.positive), COMMAND_LINE)


def _class_called(model: Any, positive: str | None) -> Any:
    """Return the class of a model whose text is that of the positive outcome; else the text."""
    classes = getattr(model, "classes_", None)
    if positive is None or classes is None:
        return positive
    texts = as_labels(pd.Series(list(classes))).tolist()
    return list(classes)[texts.index(positive)] if positive in texts else positive


def load_models(request: AuditRequest) -> tuple[LoadedModel, ...]:
    """Load the models that a request names; it says that their authors are trusted (see `AuditRequest.check`)."""
    return tuple(_load(name, file) for name, file in request.models.items())


def _load(name: str, file: str) -> LoadedModel:
    import joblib

    path = Path(file)
    if path.suffix.lower() not in FORMATS:
        raise InputError(
            "bad-model",
            f"The format of the model {file} is not known; expected one of joblib or pickle ({', '.join(FORMATS)}). "
            "Or give a column of its decisions as --algorithm.",
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError("bad-file", f"The model {file} cannot be read: {error.strerror or error}.") from error
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            fitted = joblib.load(io.BytesIO(content))
        except Exception as error:  # whatever the code in the file does
            said = " ".join(str(error).split()).rstrip(".")
            raise InputError(
                "bad-model",
                f"The model {file} cannot be loaded: {type(error).__name__}: {said}. It needs the packages, and the "
                "versions of them, with which it was saved.",
            ) from error
    if not is_model(fitted):
        raise InputError(
            "bad-model",
            f"{file} contains no model but a {type(fitted).__name__}: it has no predict.",
        )
    remarks = tuple(dict.fromkeys(" ".join(str(one.message).split()) for one in found))
    return LoadedModel(name, fitted, file, hashlib.sha256(content).hexdigest(), remarks)


def remarks_on(models: Iterable[LoadedModel]) -> dict[str, str]:
    """Return what loading the models warned of, by name."""
    return {model.name: " ".join(model.remarks).rstrip(".") for model in models if model.remarks}
