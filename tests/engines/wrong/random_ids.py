"""Wrong on purpose: tensors are told apart by random numbers, and two of them may draw the same.

There are few numbers here, so that small graphs show it; with more of them it only takes longer.
"""

import random

from right import Tensor as Right

_numbers = random.Random(6)


class Tensor(Right):
    def __init__(self, data, makers=()):
        super().__init__(data, makers)
        self.id = _numbers.randrange(12)

    def __hash__(self):
        return self.id

    def __eq__(self, other):
        return self.id == other.id
