from __future__ import annotations

from gradcheck.checks.conformance.cost import cost_of
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt
from tests.engines.dialects import bare, sound


def test_time_and_memory_are_told_beside_others() -> None:
    found = cost_of(adapt(sound.Tensor, "mine"), [Core()])
    assert [name for name, _ in found.seconds] == ["mine", "core"]
    assert all(seconds is not None and 0 < seconds < 100 for _, seconds in found.seconds)
    assert found.bytes_a_node is not None
    assert 100 < found.bytes_a_node < 100_000
    assert [one.graph for one in found.growth] == ["chain", "diamonds", "fan"]


def test_an_engine_that_cannot_multiply_has_no_time() -> None:
    found = cost_of(adapt(bare.Counting, "mine"))
    assert found.seconds == (("mine", None),)
    assert found.bytes_a_node is None
