"""Wrong on purpose: a tensor passes its gradient on when the first of its children has reported, not the last."""

from right import Tensor as Right


class Tensor(Right):
    def backward(self, gradient=None):
        self._receive(self._seed(gradient))
        queue, seen = [self], {self}
        while queue:  # breadth first, each once: too early for whoever is reached by paths of different lengths
            tensor = queue.pop(0)
            for maker, share in tensor.makers:
                maker._receive(share(tensor.grad))
                if maker not in seen:
                    seen.add(maker)
                    queue.append(maker)

    def _receive(self, gradient):
        self.grad = gradient if self.grad is None else self.grad + gradient
