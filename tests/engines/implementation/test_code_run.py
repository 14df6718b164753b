"""A graph with somebody's code in place of an entry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.code_run import PLAIN_CALL, CallMode, CodeRun, with_layout
from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.language.sampling import draw
from tests.engines.implementation.build import TANH, engine_of
from tests.from_text import case_of

PROBLEM = draw(case_of(TANH))


def test_the_code_stands_in_for_its_entry_and_what_it_changes_is_seen() -> None:
    def code(x: torch.Tensor) -> torch.Tensor:
        x.data.zero_()
        return x + 1

    run = CodeRun(engine_of(code), PROBLEM)
    run.run_graph()
    assert np.array_equal(run.values["y"], np.ones((3, 2)))
    assert set(run.changed()) == {"x"}


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(CodeError, match="returned dict, no tensor"):
        CodeRun(engine_of(lambda x: {}), PROBLEM).run_graph()


def test_the_numbers_stay() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    strided = with_layout(x, "strided")
    assert torch.equal(strided, x)
    assert not strided.is_contiguous()
    assert with_layout(x, "plain") is x
    assert with_layout(x, "expanded") is x  # its rows differ


def test_layouts_of_images_and_slices() -> None:
    x = torch.arange(48.0).reshape(2, 2, 3, 4)
    last, offset = with_layout(x, "channels_last"), with_layout(x, "offset")
    assert torch.equal(last, x)
    assert last.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(offset, x)
    assert offset.is_contiguous()
    assert offset.storage_offset() == 24
    assert with_layout(x, "transposed").mT.is_contiguous()
    assert with_layout(x[0, 0, 0], "transposed").tolist() == [0, 1, 2, 3]


def test_what_is_the_same_everywhere_is_expanded() -> None:
    assert with_layout(torch.ones(2, 3), "expanded").stride() == (0, 0)
    assert with_layout(torch.arange(3.0).expand(2, 3).clone(), "expanded").stride() == (0, 1)
    assert with_layout(torch.ones(()), "expanded").shape == ()


def test_the_plain_manner() -> None:
    assert CallMode(calls_in_between=True) != PLAIN_CALL
