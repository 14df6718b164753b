"""torch's devices."""

from __future__ import annotations

import torch

from gradcheck.errors import UsageError


def device_of(name: str) -> torch.device:
    """Return the device of a name. Raises UsageError if torch cannot use it."""
    try:
        device = torch.device(name)
        torch.zeros(1, device=device).add(1).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        seen = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
        hint = f"torch computes on {', '.join(seen)} here"
        raise UsageError(f"torch cannot compute on {name!r}: {str(error).splitlines()[0]}", hint=hint) from None
    return device
