"""How tensors lie in memory."""

from __future__ import annotations

import torch

from gradcheck.engines.implementation.call_mode import PLAIN, Manner, laid_out


def test_the_numbers_stay() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    strided = laid_out(x, "strided")
    assert torch.equal(strided, x)
    assert not strided.is_contiguous()
    assert laid_out(x, "plain") is x
    assert laid_out(x, "expanded") is x  # its rows differ


def test_what_is_the_same_everywhere_is_expanded() -> None:
    assert laid_out(torch.ones(2, 3), "expanded").stride() == (0, 0)
    assert laid_out(torch.arange(3.0).expand(2, 3).clone(), "expanded").stride() == (0, 1)
    assert laid_out(torch.ones(()), "expanded").shape == ()


def test_the_plain_manner() -> None:
    assert not PLAIN.is_other
    assert Manner(between=True).is_other
