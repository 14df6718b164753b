"""Which methods of a class call which."""

from __future__ import annotations

from functools import partial, partialmethod
from types import SimpleNamespace

from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.called_methods import methods_called


class Tensor:
    def __add__(self, other: object) -> Tensor:
        return self

    __radd__ = __add__

    def sum(self, axis: int | None = None) -> Tensor:
        return self

    def mean(self) -> Tensor:
        return helper(self.sum()) + 1

    def __truediv__(self, other: object) -> Tensor:
        return self.T + other

    @property
    def T(self) -> Tensor:  # noqa: N802
        return self

    @staticmethod
    def exp(x: Tensor) -> Tensor:
        return x


def helper(x: Tensor) -> Tensor:
    return Tensor.exp(x)


def softmax(x: Tensor) -> Tensor:
    return x.sum()


LIBRARY = Library((SimpleNamespace(softmax=softmax), Tensor))


def test_methods_in_the_order_of_calls_each_once() -> None:
    found = methods_called(LIBRARY, lambda: Tensor().mean())
    assert list(found) == ["mean", "sum", "exp", "add"]
    assert found["mean"] is Tensor.mean.__code__


def test_operators_properties_and_functions_count() -> None:
    assert list(methods_called(LIBRARY, lambda: Tensor() / 2)) == ["div", "T", "add"]
    assert list(methods_called(LIBRARY, lambda: 1 + Tensor())) == ["add"]
    assert list(methods_called(LIBRARY, lambda: softmax(Tensor()))) == ["softmax", "sum"]


def test_an_op_of_a_registered_class_is_its_forward() -> None:
    class Op:
        @classmethod
        def apply(cls, kind: type[Op], x: Tensor) -> Tensor:
            return kind.forward(x)

        @staticmethod
        def forward(x: Tensor) -> Tensor: ...

    class ReLU(Op):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x

    for method in (partialmethod(ReLU.apply, ReLU), partial(Op.apply, ReLU)):
        found = methods_called(Library((SimpleNamespace(relu=method),)), lambda: ReLU.apply(ReLU, Tensor()))
        assert found == {"relu": ReLU.forward.__code__}
    assert list(methods_called(Library((SimpleNamespace(softmax=partial(softmax)),)), lambda: softmax(Tensor()))) == [
        "softmax"
    ]


def test_a_profiler_that_was_there_stays() -> None:
    import sys

    seen: list[str] = []
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, _: seen.append(event))
    try:
        methods_called(LIBRARY, lambda: None)
        Tensor().sum()
    finally:
        sys.setprofile(before)
    assert seen
