"""What is optional has a default, and errors keep their kinds."""

from __future__ import annotations

import numpy as np

from gradcheck.engines.base import OpComposition, as_tensor_error, op_composition, session, take_output, time_limit
from gradcheck.engines.core import Core
from gradcheck.errors import ShapeMismatch, TensorError, Unsupported

FLOAT32 = np.dtype(np.float32)


class Bare:
    """An engine with nothing but what every engine must have."""

    name = "bare"

    def evaluate(self, problem): ...

    def pull_back(self, applications, cotangents, dtype): ...


class Talking(Bare):
    timeout = 3

    def parts(self, application, dtype):
        return OpComposition(methods=("sum",))

    class output:  # noqa: N801
        @staticmethod
        def take() -> str:
            return "hello"


def test_a_bare_engine_asks_for_no_limit_prints_nothing_and_needs_no_session() -> None:
    assert time_limit(Bare()) == 0
    assert take_output(Bare()) == ""
    with session(Bare(), FLOAT32) as nothing:
        assert nothing is None


def test_what_an_engine_has_besides_is_read() -> None:
    assert time_limit(Talking()) == 3
    assert take_output(Talking()) == "hello"
    assert op_composition(Talking(), None, FLOAT32) == OpComposition(methods=("sum",))
    assert op_composition(Bare(), None, FLOAT32) == OpComposition()
    core = Core()
    with session(core, FLOAT32):
        assert core.host.call(_op("ones"), ((2,),), {}).data.dtype == FLOAT32
    assert core.host.call(_op("ones"), ((2,),), {}).data.dtype == np.float64


def _op(name: str):
    from gradcheck.autograd.op import TABLE
    from gradcheck.autograd.ops import log  # noqa: F401  (fills the table)

    return TABLE[name]


def test_an_error_of_a_tensor_stays_itself() -> None:
    error = ShapeMismatch("no")
    assert as_tensor_error(error) is error


def test_another_error_keeps_its_kind_its_hint_and_what_is_lacking() -> None:
    found = as_tensor_error(Unsupported("no exp", hint="write one", lacks="exp"))
    assert isinstance(found, TensorError)
    assert (found.kind, found.message, found.hint, found.lacks) == ("unsupported", "no exp", "write one", "exp")
