"""pytest's parametrization of a test over dtypes and sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: What kernels are mostly used in, and sizes on both sides of a block.
DTYPES, SIZES = ("float64", "float32", "bfloat16"), (1, 2, 7, 33)


def over(*names: str, dtypes: Iterable[Any] = DTYPES, **sizes: Iterable[int]) -> pytest.MarkDecorator:
    """Parametrize a test by `dtype` and one parameter for each size.

        @over("n", d=[1, 64])
        def test_gelu(check_function, dtype, n, d):
            check_function(Gelu.apply, x=(n, d), spec="gelu(x)")

    The `names` take the values of `SIZES`; dtypes are names, or torch's. The fixture `check_function` uses the test's
    dtype.
    """
    import pytest

    all_sizes: Mapping[str, Iterable[int]] = {**dict.fromkeys(names, SIZES), **sizes}
    listed = [str(one).removeprefix("torch.") for one in dtypes]
    return pytest.mark.parametrize(("dtype", *all_sizes), list(product(listed, *all_sizes.values())))
