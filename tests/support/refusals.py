"""What a call that must be refused says."""

import pytest

from fairfrontier.errors import InputError


def code_of(action):
    with pytest.raises(InputError) as caught:
        action()
    return caught.value.code


def refused(code, match, call):
    with pytest.raises(InputError, match=match) as caught:
        call()
    assert caught.value.code == code
