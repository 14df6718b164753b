"""Pooling by powers, and maximum pooling that returns indices."""

from __future__ import annotations

import math
from collections.abc import Callable
from math import prod
from typing import Any

from gradcheck.autograd import ops
from gradcheck.autograd.op import Op, composite
from gradcheck.autograd.ops.common.dims import require_integer
from gradcheck.autograd.ops.common.nn_functional import nn_functional_op
from gradcheck.autograd.ops.common.windows import per_dimension
from gradcheck.autograd.ops.convolution_pooling import pool_elements
from gradcheck.autograd.ops.rare_ops.resampling import adaptive_pool_elements as adaptive_elements

# Powers ----------------------------------------------------------------------------------------------


def _define_lp_pool(dims: int, samples: str) -> None:
    def count(input: Any, norm_type: Any, kernel_size: Any, stride: Any, ceil_mode: bool) -> int:
        return pool_elements(dims)(input, kernel_size, stride, 0)

    @nn_functional_op(
        name=f"lp_pool{dims}d",
        doc=f"The root of the sum of the powers `norm_type` in each window over {dims} dimensions; 0 where that is not "
        "above 0.",
        kinks="0; and ties, of infinite powers",
        elements=count,
        samples=samples,
    )
    def pool(input: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
        if math.isinf(norm_type):
            sign = math.copysign(1, norm_type)
            largest = getattr(ops, f"max_pool{dims}d")
            return sign * largest(sign * ops.abs(input), kernel_size, stride, 0, 1, ceil_mode)
        mean = getattr(ops, f"avg_pool{dims}d")(input**norm_type, kernel_size, stride, 0, ceil_mode)
        sizes = (
            per_dimension(kernel_size, dims, "kernel_size")
            if dims > 1
            else (require_integer(kernel_size, "kernel_size"),)
        )
        return (ops.sign(mean) * ops.relu(ops.abs(mean)) * prod(sizes)) ** (1 / norm_type)


_define_lp_pool(
    1,
    """
        {}(uniform(0.2, 2, [2, 3, 6]), 2, 2); {}(uniform(0.2, 2, [1, 7]), 3, 3, 2, True);
        {}(randn(2, 5), inf, 2); {}(randn(2, 5), -inf, 2, 1)
    """,
)
_define_lp_pool(2, "{}(uniform(0.2, 2, [1, 2, 4, 5]), 2, (2, 3)); {}(uniform(0.2, 2, [2, 3, 3]), 1.5, 2, (2, 1), True)")
_define_lp_pool(3, "{}(uniform(0.2, 2, [1, 1, 2, 4, 2]), 2, 2); {}(uniform(0.2, 2, [1, 2, 3, 2]), 4, (1, 2, 2), 1)")

# Places ----------------------------------------------------------------------------------------------


def _define_indexed(name: str, elements: Callable[..., int], samples: str) -> Callable[[Callable[..., Any]], Op]:
    """Enter a pool that returns indices, as `name` does with `return_indices`."""
    doc, torch = f"`{name}`, and where each stands.", "nn.functional.{}"
    return composite(
        name=f"{name}_with_indices",
        torch=torch,
        doc=doc,
        method=False,
        kinks="ties",
        elements=elements,
        samples=samples,
    )


def _define_indexed_max_pool(dims: int, samples: str) -> None:
    @_define_indexed(f"max_pool{dims}d", pool_elements(dims), samples)
    def pool(
        input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:  # fmt: skip
        return getattr(ops, f"max_pool{dims}d")(input, kernel_size, stride, padding, dilation, ceil_mode, True)


_define_indexed_max_pool(1, "{}(randn(2, 3, 6), 2); {}(randn(3, 7), 3, 2, 1, ceil_mode=True)")
_define_indexed_max_pool(2, "{}(randn(2, 3, 4, 6), 2); {}(randn(1, 2, 5, 5), (3, 2), 1, (1, 0))")
_define_indexed_max_pool(3, "{}(randn(1, 2, 2, 2, 2), 2); {}(randn(1, 3, 3, 3), 2, 1, 0, (1, 1, 2))")


def _define_indexed_adaptive_pool(dims: int, samples: str) -> None:
    @_define_indexed(f"adaptive_max_pool{dims}d", adaptive_elements(dims), samples)
    def pool(input: Any, output_size: Any, return_indices: bool = False) -> Any:
        return getattr(ops, f"adaptive_max_pool{dims}d")(input, output_size, True)


_define_indexed_adaptive_pool(1, "{}(randn(1, 2, 5), 3)")
_define_indexed_adaptive_pool(2, "{}(randn(1, 2, 5, 4), (3, None)); {}(randn(2, 4, 3), 2)")
_define_indexed_adaptive_pool(3, "{}(randn(1, 2, 3, 2, 4), (2, 1, 3))")
