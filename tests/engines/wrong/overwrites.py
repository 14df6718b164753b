"""Wrong on purpose: a gradient that arrives replaces the one that was there. It calls itself, too.

Right on `z = x + y`; wrong on `f = (a + b) + (b + c)`, where b gets 1 for 2.
"""

from right import Tensor as Right


class Tensor(Right):
    def __init__(self, data, makers=()):
        super().__init__(data, makers)
        self.owed = 0  # how many gradients its children have not sent yet
        for maker, _ in makers:
            maker.owed += 1

    def backward(self, gradient=None):
        self.grad = self._seed(gradient)
        self._pass_on()

    def _pass_on(self):
        for maker, share in self.makers:
            maker.grad = share(self.grad)
            maker.owed -= 1
            if maker.owed == 0:
                maker._pass_on()
