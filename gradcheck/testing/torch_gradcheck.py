"""The signature of `torch.autograd.gradcheck`, with gradcheck's checks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcheck.testing.function_check import as_sequence, check_function


def gradcheck(
    fn: Callable[..., Any],
    inputs: Any,
    *,
    raise_exception: bool = True,
    spec: str | None = None,
    **ignored: Any,
) -> bool:
    """Return whether the gradients of `fn` at `inputs` are right.

    It is called as `torch.autograd.gradcheck` is. Tensors among the inputs that require no gradient are constants.
    `eps`, `atol`, `rtol`, `nondet_tol`, `fast_mode` and torch's other options are ignored: steps and tolerances are
    determined. With `spec`, over the names `x0`, `x1`, …, the values are checked, too.

    Raises AssertionError with the report, unless `raise_exception` is False.
    """
    named = {f"x{number}": value for number, value in enumerate(as_sequence(inputs))}
    try:
        check_function(fn, spec=spec, inputs=named)
    except AssertionError:
        if raise_exception:
            raise
        return False
    return True
