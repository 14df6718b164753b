"""A pytest plugin: in the suites of other projects, gradcheck beside torch's `gradcheck` and `gradgradcheck`.

    SUITE_LOG=calls.jsonl python -m pytest -p benchmarks.suites -p no:gradcheck PROJECT/tests

Each call is checked by both, from the same state of torch's generator. The test gets torch's verdict; the log gets a
line for each call, with both verdicts and processor times. `python -m benchmarks.suites calls.jsonl` sums it up.
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError
from torch.utils import _pytree as pytree

import gradcheck.testing

#: Torch's checkers, and those of `gradcheck.testing` that take their place.
CHECKERS = ("gradcheck", "gradgradcheck")
Checker = Callable[..., Any]


def verdict_of(check: Checker, *args: Any, **options: Any) -> tuple[dict[str, Any], Exception | None]:
    """Return the verdict and seconds of one checker, and what it raised."""
    state, start, error = torch.get_rng_state(), time.process_time(), None
    grads = [(leaf, leaf.grad) for leaf in leaves_of(args)]
    try:
        check(*args, **{**options, "raise_exception": True})
    except Exception as raised:
        error = raised
    seconds = round(time.process_time() - start, 3)
    torch.set_rng_state(state)
    for leaf, grad in grads:
        leaf.grad = grad
    told = "pass" if error is None else f"{type(error).__name__}: {error}"
    return {"verdict": told[:1000], "seconds": seconds}, error


def leaves_of(args: Any) -> list[torch.Tensor]:
    """Return the leaves that take part in gradients, for their `.grad`."""
    return [each for each in pytree.tree_leaves(args) if isinstance(each, torch.Tensor) and each.is_leaf]


def checked_by_both(name: str, torchs: Checker, log: Path) -> Checker:
    """Return torch's checker, which logs both verdicts."""

    @functools.wraps(torchs)
    def check(function: Any, inputs: Any, *args: Any, **options: Any) -> bool:
        theirs, error = verdict_of(torchs, function, inputs, *args, **options)
        ours = {"verdict": "did not end", "seconds": 0.0}
        try:
            ours, _ = verdict_of(getattr(gradcheck.testing, name), function, inputs, *args, **options)
        finally:
            row = {"test": os.environ.get("PYTEST_CURRENT_TEST", ""), "checker": name, "torch": theirs, "ours": ours}
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        is_verdict = isinstance(error, GradcheckError)
        if error is not None and (options.get("raise_exception", True) or not is_verdict):
            raise error
        return error is None

    return check


def pytest_collection_modifyitems() -> None:
    """Replace torch's checkers, also where a module has imported them by name."""
    for name in CHECKERS:
        torchs = getattr(torch.autograd, name)
        both = checked_by_both(name, torchs, Path(os.environ.get("SUITE_LOG", "calls.jsonl")).absolute())
        for module in list(sys.modules.values()):
            is_user = not module.__name__.startswith(("torch.autograd.gradcheck", "gradcheck.", "benchmarks."))
            if is_user and module.__dict__.get(name) is torchs:
                setattr(module, name, both)


def summary(rows: Iterable[dict[str, Any]]) -> str:
    """Return the calls, the differing verdicts, and the seconds of both."""
    listed = list(rows)
    kinds = Counter((row["torch"]["verdict"] == "pass", row["ours"]["verdict"] == "pass") for row in listed)
    lines = [f"{len(listed)} calls: {kinds[True, True]} pass and {kinds[False, False]} fail with both"]
    seconds = [sum(row[who]["seconds"] for row in listed) for who in ("ours", "torch")]
    lines.append(f"processor time {seconds[0]:.1f} s, torch {seconds[1]:.1f} s")
    for row in listed:
        theirs, ours = row["torch"]["verdict"], row["ours"]["verdict"]
        if (theirs == "pass") != (ours == "pass"):
            lines.append(f"{row['test']} {row['checker']}\n  torch: {theirs:.200}\n  ours: {ours:.400}")
    return "\n".join(lines)


if __name__ == "__main__":
    logs = [Path(name).read_text(encoding="utf-8").splitlines() for name in sys.argv[1:]]
    print(summary(json.loads(line) for log in logs for line in log))
