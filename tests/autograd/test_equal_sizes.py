"""Calls in which all sizes are equal, against torch.

With different sizes, many calls with a wrong number of dimensions are rejected for their sizes.
"""

from __future__ import annotations

import warnings

import numpy as np

from gradcheck.errors import GradcheckError
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.autograd.test_edges import TORCH, UNLIKE, is_asked, unlike
from tests.autograd.test_variations import CREATORS, literals_within, with_value
from tests.samples import CALLS, OP_OF, drawn
from tests.tables import for_each_by_family

SIZE = 3


def of_equal_sizes(text: str) -> str:
    """The call with every size above 1 the same one."""
    expr = parse(text)
    within = literals_within(expr, CREATORS)
    sizes = {
        id(node) for node in expr.walk() if id(node) in within and type(value := getattr(node, "value", None)) is int
        and value > 1
    }  # fmt: skip
    return to_text(with_value(expr, sizes, SIZE))


#: Each text once, with the op that it is a call of.
ASKED = {of_equal_sizes(text): OP_OF[text] for text in CALLS if is_asked(OP_OF[text])}


@for_each_by_family(list(ASKED), ASKED.__getitem__)
def test_a_dimension_more_or_less_is_as_in_torch(text: str) -> None:
    try:
        expr, arrays = drawn(text)
    except GradcheckError:  # other sizes mean nothing there
        return
    wrong, known = [], UNLIKE.get(ASKED[text], "")
    with TORCH.session(np.dtype(np.float64)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, array in arrays.items():
            for other in (array[None], *((array[0],) if array.ndim and array.size else ())):
                how = unlike(expr, {**arrays, name: np.array(other)})
                if how and how.partition(":")[0] not in known:
                    wrong.append(f"{name} {list(other.shape)}: {how}")
    assert not wrong, "\n    " + "\n    ".join(wrong)
