"""For whoever comes from `torch.autograd.gradcheck`: the same signature, held to what gradcheck holds code to."""

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
    """Whether the gradients of `fn` at `inputs` are right; as `torch.autograd.gradcheck` is called.

    Tensors among the inputs that require no gradient are given as they are. `eps`, `atol`, `rtol`, `nondet_tol`,
    `fast_mode` and whatever else torch takes are not needed, and ignored: no step is guessed, and what may differ is
    measured. With `spec`, over the names `x0`, `x1`, …, the values are checked, too.

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
