"""A graph with somebody's code in place of an entry."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.code_run import CodeRun
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
