"""A class whose passes an optimizer runs, which is made of parameters by their names; tensors keep a gradient only if
they are told to when they are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class Tensor:
    def __init__(self, data: Any, *, requires_grad: bool = False, keep_grad: bool = False) -> None:
        self.data, self.requires_grad, self.keep_grad = np.asarray(data, float), requires_grad, keep_grad
        self.grad: Any = None
        self.makers: Any = ()

    def made(self, data: Any, *makers: Any) -> Tensor:
        made = Tensor(data, requires_grad=any(one.requires_grad for one, _ in makers))
        made.makers = makers
        return made

    def __add__(self, other: Tensor) -> Tensor:
        return self.made(self.data + other.data, (self, lambda g: g), (other, lambda g: g))

    def __mul__(self, other: Tensor) -> Tensor:
        a, b = self.data, other.data
        return self.made(a * b, (self, lambda g: g * b), (other, lambda g: g * a))

    def sum(self) -> Tensor:
        return self.made(self.data.sum(), (self, lambda g: np.full(self.data.shape, g)))


class Parameter(Tensor):
    def __init__(self, tensor: Tensor) -> None:
        super().__init__(tensor.data, requires_grad=True, keep_grad=True)


class Optimizer(ABC):
    def __init__(self, parameters: dict[str, Parameter]) -> None:
        assert all(isinstance(one, Parameter) for one in parameters.values())
        self.parameters = parameters

    def backward(self, loss: Tensor) -> None:
        assert loss.data.size == 1
        order: list[Tensor] = []
        self.visit(loss, order)
        loss.grad = np.ones(loss.data.shape)
        for tensor in reversed(order):
            for maker, rule in tensor.makers:
                if maker.requires_grad:
                    maker.grad = self.added(maker.grad, rule(tensor.grad))
        for tensor in order:
            tensor.grad, tensor.makers = tensor.grad if tensor.keep_grad else None, ()

    def added(self, so_far: Any, more: Any) -> Any:
        return more if so_far is None else so_far + more

    def visit(self, tensor: Tensor, order: list[Tensor]) -> None:
        if not any(one is tensor for one in order):
            for maker, _ in tensor.makers:
                self.visit(maker, order)
            order.append(tensor)

    @abstractmethod
    def step(self) -> None: ...


class SGD(Optimizer):
    def step(self) -> None:
        for one in self.parameters.values():
            one.data = one.data - 0.1 * one.grad
