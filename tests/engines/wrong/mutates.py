"""Wrong on purpose: gradients are added up in place, in arrays that several tensors share."""

from right import Tensor as Right


class Tensor(Right):
    def backward(self, gradient=None):
        self._receive(self._seed(gradient))
        for tensor in self._order():
            for maker, share in tensor.makers:
                maker._receive(share(tensor.grad))

    def _receive(self, gradient):
        if self.grad is None:
            self.grad = gradient  # the sender's own array, and that of whoever else it was sent to
        else:
            self.grad += gradient
