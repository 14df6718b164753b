"""Names of ops are attributes of classes, found when they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import Tensor
from gradcheck.autograd.methods import Methods, offer
from gradcheck.autograd.op import every_name, lookup
from gradcheck.autograd.operators import Operators


def test_every_name_of_the_table_is_offered() -> None:
    names = [name for name in every_name() if name.isidentifier()]
    assert [name for name in names if name not in vars(Methods)] == []
    assert Tensor(np.ones((2, 2))).det().tolist() == 0


def test_what_is_no_method_is_no_attribute() -> None:
    offer("no_such_op")
    try:
        with pytest.raises(AttributeError, match="Tensor has no attribute 'no_such_op'"):
            _ = Tensor(1.0).no_such_op
        assert not hasattr(Tensor(1.0), "no_such_op")
    finally:
        del Methods.no_such_op  # type: ignore[attr-defined]
    entry = lookup("cat")
    assert entry is not None
    assert not entry.method
    assert not hasattr(Tensor, "cat")


def test_no_class_asks_for_attributes_the_long_way() -> None:
    assert [kind for kind in (Tensor, Operators) if any("__getattr__" in vars(base) for base in kind.__mro__)] == []
