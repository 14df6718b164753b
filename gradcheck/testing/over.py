"""pytest's parametrization of a test of somebody's function, over dtypes and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: What kernels are mostly used in, and sizes on both sides of a block.
DTYPES, SIZES = ("float64", "float32", "bfloat16"), (1, 2, 7, 33)


def over(*names: str, dtypes: Iterable[Any] = DTYPES, **sizes: Iterable[int]) -> pytest.MarkDecorator:
    """A test with the parameters `dtype` and one for each size, in all combinations:

        @over("n", d=[1, 64])
        def test_gelu(check_function, dtype, n, d):
            check_function(Gelu.apply, x=(n, d), spec="gelu(x)")

    The `names` go over `SIZES`; dtypes are names, or torch's. The fixture `check_function` computes in the test's own.
    """
    import pytest

    all_sizes: Mapping[str, Iterable[int]] = {**dict.fromkeys(names, SIZES), **sizes}
    listed = [str(one).removeprefix("torch.") for one in dtypes]
    return pytest.mark.parametrize(("dtype", *all_sizes), list(product(listed, *all_sizes.values())))
