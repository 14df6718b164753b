"""torch as an engine: its settings are restored, its dtypes go there and back, a freed graph is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch, TorchHost
from gradcheck.errors import BackwardTwice, ShapeMismatch, Unsupported
from tests.from_text import problem_from

FLOAT64 = np.dtype(np.float64)


def test_torch_is_left_as_it_was() -> None:
    one = problem_from("{dtype: float64, inputs: {x: [1, 2]}, graph: {loss: x.sum()}}")
    known = torch.get_default_dtype(), torch.get_num_threads()
    with torch.no_grad():
        (state,) = Torch().evaluate(one).states
        assert state.gradients["x"] is not None
        assert not torch.is_grad_enabled()
    assert (torch.get_default_dtype(), torch.get_num_threads()) == known
    assert torch.get_default_dtype() == torch.float32


def test_bfloat16_goes_to_torch_and_back() -> None:
    one = problem_from("{dtype: bfloat16, inputs: {x: [1.5, 2]}, graph: {loss: (x * x).sum()}}")
    (state,) = Torch().evaluate(one).states
    gradient = state.gradients["x"]
    assert gradient is not None
    assert (gradient.dtype.name, gradient.astype(float).tolist()) == ("bfloat16", [3, 4])


@pytest.mark.parametrize("dtype", [np.float16, BFLOAT16, np.complex64, np.int32, np.bool_])
def test_an_array_is_copied_and_comes_back(dtype: np.dtype) -> None:
    array = np.array([0, 1, 1]).astype(dtype)
    tensor = Torch().leaf(array, False)
    tensor += tensor
    np.testing.assert_array_equal(array, np.array([0, 1, 1]).astype(dtype))
    assert Torch().array(tensor).dtype == dtype
    assert Torch().array(Torch().leaf(array, False).conj()).dtype == dtype


def test_a_number_that_comes_first_stays_a_number() -> None:
    x = torch.tensor([1.0], dtype=torch.float16)
    result = TorchHost().call(TABLE["sub"], (2, x), {})
    assert (result.dtype, result.tolist()) == (torch.float16, [1])
    assert TorchHost().call(TABLE["lt"], (0, x), {}).tolist() == [True]  # torch's own function takes no number first


def test_calls_as_torch_wants_them() -> None:
    host, x = TorchHost(), torch.arange(6.0).reshape(2, 3)
    assert host.call(TABLE["permute"], (x, 1, 0), {}).shape == (3, 2)
    assert host.call(TABLE["sum"], (x,), {"axis": 0, "keepdims": True}).shape == (1, 3)
    assert type(host.call(TABLE["max"], (x, 1), {})) is tuple
    assert torch.equal(host.call(TABLE["mT"], (x,), {}), x.mT)


def test_an_argument_that_is_handed_back_is_a_tensor_of_its_own() -> None:
    x = torch.ones(2, requires_grad=True)
    result = TorchHost().call(TABLE["contiguous"], (x,), {})
    assert result is not x
    assert result.requires_grad


def test_an_op_that_this_torch_lacks_is_unsupported() -> None:
    absent = Op(name="absent", forward=lambda x: x, parameters=(), torch="special.absent")
    with pytest.raises(Unsupported, match=r"no torch.special.absent, the counterpart of absent"):
        TorchHost().call(absent, (), {})


def test_several_roots_are_one_pass() -> None:
    engine = Torch()
    with engine.session(FLOAT64):
        x = engine.leaf(np.array([1.0, 2.0]), True)
        engine.backward([x * x, x * 3], [np.array([1.0, 1.0]), np.array([1.0, 2.0])], False)
    assert x.grad.tolist() == [5, 10]


def test_a_wrong_incoming_gradient_is_torchs_to_refuse() -> None:
    engine = Torch()
    with engine.session(FLOAT64), pytest.raises(ShapeMismatch):
        engine.backward([engine.leaf(np.ones(2), True) * 2], [np.ones(3)], False)


@pytest.mark.parametrize(("saves", "hint"), [(True, ""), (False, "torch itself would go on")])
def test_a_freed_graph_is_refused_also_where_torch_would_not_mind(saves: bool, hint: str) -> None:
    engine = Torch()
    with engine.session(FLOAT64):
        x = engine.leaf(np.ones(2), True)
        y = x * x if saves else x + x
        engine.backward([y], [np.ones(2)], False)
        with pytest.raises(BackwardTwice) as caught:
            engine.backward([y], [np.ones(2)], False)
        assert caught.value.hint.startswith(hint)
        assert bool(caught.value.hint) is bool(hint)
    with engine.session(FLOAT64):  # which begins anew
        engine.backward([x + x], [np.ones(2)], False)


def test_complex_roots_are_differentiated_as_their_gradients_say() -> None:
    engine = Torch()
    with engine.session(np.dtype(np.complex128)):
        z = engine.leaf(np.array([1 + 2j]), True)
        (found,) = engine.differentiate([z * z], [z], [np.array([1j])])
    assert found.detach().tolist() == [1j * (2 * (1 - 2j))]


def test_a_complex_gradient_of_a_real_tensor_is_refused() -> None:
    problem = problem_from(
        "dtype: complex128\ninputs: {x: [1, 2]}\ngraph: {y: abs(x)}\nbackward: {y: 'tensor([1j, 2])'}"
    )
    for engine in (Torch(), Core()):
        (state,) = engine.evaluate(problem).states
        assert state.error is not None
        assert state.error.kind == "dtype_mismatch"


def test_complex_numbers_of_half_precision_are_beyond_numpy() -> None:
    problem = problem_from("dtype: float16\ninputs: {x: [1, 2]}\ngraph: {y: 'complex(x, x)', z: x.sum()}\nbackward: z")
    with pytest.warns(UserWarning, match="ComplexHalf"):
        found = Torch().evaluate(problem)
    assert found.error is not None
    assert (found.error.kind, found.error.lacks) == ("unsupported", "complex32")
