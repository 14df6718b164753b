import numpy as np

from gradcheck.oracles.exact.graph_regions import GraphRegions, Residues


def test_residues_are_found() -> None:
    residues = Residues()
    assert not residues.contains(np.array([1, 2])).any()
    residues.add(np.array([[5, 3], [1, 3]]))
    residues.add(np.array(7))
    assert residues.contains(np.array([1, 2, 7, 9, 3])).tolist() == [True, False, True, False, True]


def test_only_a_graph_is_noted() -> None:
    regions = GraphRegions()
    assert regions.is_defined("positive", np.array([1, 2]))
    regions.phase = "rule"
    assert regions.is_defined("positive", np.array([3]))
    regions.phase = "claim"
    assert regions.is_defined("positive", np.array([2, 1]))
    assert not regions.is_defined("positive", np.array([2, 3]))
    assert not regions.is_defined("positive", np.array([4]))
    assert not regions.is_defined("positive", np.array([3]))


def test_one_domain_within_another() -> None:
    regions = GraphRegions()
    regions.is_defined("nonnegative", np.array([1]))  # of a root; its derivative is undefined at 0
    regions.is_defined("nonzero", np.array([2]))
    regions.phase = "claim"
    assert regions.is_defined("nonzero", np.array([1, 2]))
    assert regions.is_defined("positive", np.array([1]))
    assert not regions.is_defined("nonnegative", np.array([2]))
    assert regions.are_never_zero(np.array([1, 2, 3])).tolist() == [True, True, False]
