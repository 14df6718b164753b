"""Wrong on purpose: the backward pass calls itself for every tensor, so that long graphs end in a RecursionError."""

from right import Tensor as Right


class Tensor(Right):
    def _order(self):
        order = []
        self._visit(set(), order)
        return reversed(order)

    def _visit(self, seen, order):
        if self in seen:
            return
        seen.add(self)
        for maker, _ in self.makers:
            maker._visit(seen, order)
        order.append(self)
