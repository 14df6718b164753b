"""Classes whose leaves get their numbers when the graph is run."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.tensor_class.fed_graph import fed_graph_of
from tests.engines.dialects import fed
from tests.engines.dialects.test_dialects import judged, named
from tests.engines.tensor_class.plain import Plain


@pytest.mark.parametrize("kind", [fed.Node, fed.variable], ids=["the class", "what makes leaves"])
def test_a_graph_is_run_with_the_numbers_of_its_leaves(kind: type) -> None:
    for name in ("reuse", "matrices"):
        found = judged(kind, name)
        assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"]
        assert {"a", "b"} <= {c.tensor for c in found.comparisons if c.what == "gradient"}


def test_a_wrong_sum_of_gradients_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fed, "put_together", lambda first, second: second)
    found = judged(fed.Node, "reuse")
    assert found.status == "failed"
    assert named(found) & {"overwritten", "use_dropped"}


def test_a_leaf_has_its_own_numbers_in_each_run() -> None:
    graph = fed_graph_of(fed.Node, None)
    assert graph is not None
    data = np.array([1.0, 2.0])
    a, b = graph(data), graph([3.0, 4.0])
    data[:] = 0
    assert graph.values(a * b).tolist() == [3.0, 8.0]
    assert fed_graph_of(Plain, None) is None
