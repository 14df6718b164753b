import numpy as np
import pytest

from gradcheck.autograd.op import lookup
from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import ops  # noqa: F401 - enters the rules
from gradcheck.oracles.exact.dual_numbers import Dual
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.host import DualHost
from gradcheck.oracles.exact.modular_arithmetic import PRIMES

POINT = FieldPoint(PRIMES[0], 3)


def dual(*shape: int) -> Dual:
    generator = np.random.default_rng(0)
    return Dual(POINT, POINT.random(generator, shape), POINT.random(generator, shape))


CALLS = {
    "matmul": ((dual(2, 3), dual(3, 2)), {}),
    "mul": ((dual(2, 3), 3), {}),
    "sum": ((dual(2, 3),), {"dim": 1, "keepdim": True}),
    "permute": ((dual(2, 3), (1, 0)), {}),  # a tuple
    "cat": (([dual(2, 3), dual(1, 3)],), {}),  # a list of them
    "outer": ((dual(2), dual(3)), {}),  # a composite
    "where": ((np.array([True, False, True]), dual(2, 3), 0), {}),
}


def test_what_it_calls_is_what_the_op_gives() -> None:
    host = DualHost(POINT)
    for name, (args, kwargs) in CALLS.items():
        op = lookup(name)
        found, wanted = host.call(op, args, kwargs), op(*args, **kwargs)
        assert np.array_equal(found.value, wanted.value), name
        assert np.array_equal(found.tangent, wanted.tangent), name
        assert found.degree == wanted.degree, name


def test_casts_to_integers_are_refused_as_ever() -> None:
    with pytest.raises(Unsupported):
        DualHost(POINT).call(lookup("sum"), (dual(2, 3),), {"dtype": np.dtype(np.int64)})


def test_lists_of_dual_numbers_are_one_without_a_gradient() -> None:
    """As `torch.tensor` detaches."""
    one = dual()
    found = DualHost(POINT).call(lookup("tensor"), ([[1, one], [0.5, -2]],), {})
    assert found.tangent is None
    assert found.value.shape == (2, 2)
    assert found.value[0].tolist() == [1, int(one.value)]
    assert int(found.value[1, 0]) * 2 % POINT.prime == 1
    assert int(found.value[1, 1]) == POINT.prime - 2


def test_lists_of_dual_numbers_in_integers_are_refused() -> None:
    """What is cut off would be proved."""
    make, one = lookup("tensor"), dual()
    with pytest.raises(Unsupported):
        DualHost(POINT).call(make, ([one, 2],), {"dtype": np.dtype(np.int64)})
    assert DualHost(POINT).call(make, ([one, 2],), {"dtype": np.dtype(np.float32)}).shape == (2,)
