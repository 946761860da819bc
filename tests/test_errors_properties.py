"""The documented errors: stable codes, the promised base classes, the documentation page."""

import pickle
import re
from pathlib import Path

import pytest
import sklearn.exceptions

from fairfrontier import errors
from fairfrontier.errors import ERROR_CODES, FairFrontierError, FairFrontierWarning, InputError

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"


def test_documentation_lists_exactly_the_codes_with_their_meanings():
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows == list(ERROR_CODES.items())


def test_all_errors_and_warnings_are_listed():
    defined = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert defined | {"ERROR_CODES", "NotFittedError"} == set(errors.__all__) == set(dir(errors))
    assert pickle.loads(pickle.dumps(errors.NotFittedError)) is errors.NotFittedError
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        errors.absent  # noqa: B018


def test_codes_are_frozen():
    with pytest.raises(TypeError):
        ERROR_CODES["new"] = "no"  # type: ignore[index]


def test_unknown_code_is_refused():
    with pytest.raises(KeyError, match="not one of the documented"):
        InputError("no-such-code", "message")


@pytest.mark.parametrize("code", ERROR_CODES)
def test_input_error_keeps_code_and_message_between_processes(code):
    error = pickle.loads(pickle.dumps(InputError(code, "what to do")))
    assert isinstance(error, InputError)
    assert error.code == code
    assert str(error) == "what to do"


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("InputError", ValueError),
        ("LearnerError", RuntimeError),
        ("NotFittedError", sklearn.exceptions.NotFittedError),
        ("MissingDependencyError", ImportError),
    ],
)
def test_errors_have_their_standard_base(name, base):
    assert issubclass(getattr(errors, name), base)
    assert issubclass(getattr(errors, name), FairFrontierError)


@pytest.mark.parametrize(
    "name",
    [
        "WeakLearnerWarning",
        "MarginWarning",
        "GroupDeterminedWarning",
        "CopiedRowsWarning",
        "DroppedRowsWarning",
        "ManyFoldsWarning",
        "EmptySetWarning",
        "CapacityWarning",
        "FewDrawsWarning",
    ],
)
def test_warnings_can_be_silenced_together(name):
    assert issubclass(getattr(errors, name), FairFrontierWarning)
    assert issubclass(FairFrontierWarning, UserWarning)
