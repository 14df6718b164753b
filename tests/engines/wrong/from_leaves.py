"""Wrong on purpose: the pass takes tensors in topological order, and not in the reverse of it."""

from right import Tensor as Right


class Tensor(Right):
    def backward(self, gradient=None):
        self._receive(self._seed(gradient))
        for tensor in reversed(self._order()):
            for maker, share in tensor.makers if tensor.grad is not None else ():
                maker._receive(share(tensor.grad))

    def _receive(self, gradient):
        self.grad = gradient if self.grad is None else self.grad + gradient
