"""The names of parts are torch's, of every op that has any."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.autograd import TABLE
from gradcheck.autograd.parts import PARTS
from tests.autograd import table
from tests.tables import for_each

#: torch's records by the counterparts' names; it gives back tuples with names of these kinds alone.
RECORDS = {name for name in dir(torch.return_types) if not name.startswith("_") and not name.endswith("_out")}
#: No op of the table.
ABSENT = {"geqrf", "histogram", "histogramdd", "linalg_ldl_factor", "linalg_ldl_factor_ex"}


def of_torch(name: str) -> list[str]:
    return list(getattr(torch.return_types, name.replace("linalg.", "linalg_")).__match_args__)


@for_each(sorted(PARTS))
def test_parts_are_called_as_in_torch(name: str) -> None:
    assert list(PARTS[name]) == of_torch(name)


def test_none_is_left_out() -> None:
    kinds = {name for name in RECORDS if hasattr(getattr(torch.return_types, name), "__match_args__")}
    mine = {name.replace("linalg.", "linalg_") for name in PARTS}
    assert {name for name in kinds if name != "SequenceKey"} == mine | ABSENT


@pytest.mark.parametrize("name", sorted(name for name in PARTS if name in TABLE))
def test_there_are_as_many_parts_as_names(name: str) -> None:
    op = TABLE[name]
    made = [op(*call.args, **call.kwargs) for call in table.calls(op)]
    several = [one for one in made if isinstance(one, tuple)]
    assert several
    assert all(len(one) == len(PARTS[name]) for one in several)
    assert all(isinstance(part, np.ndarray) for one in several for part in one)
