"""How often a test repeats: a few times in `make test`, often in `make test-long`."""

from __future__ import annotations

import pytest


def counts(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test its `count`; the large one runs only in `make test-long`."""
    return pytest.mark.parametrize("count", [few, pytest.param(many, marks=pytest.mark.long)])
