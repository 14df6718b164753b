"""Mistakes of the sweep, not of any rule: how the contributions of a tensor's uses are put together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess, Use

#: How many uses, other tensors and combinations are tried: it is one mistake that is looked for, not any sum that fits.
_MOST_USES, _MOST_PAIRED, _MOST_OTHERS, _MOST_COMBINATIONS = 64, 8, 64, 256


@hypothesis("mutated", covers=("factor", "mixed_up", "detached", "counted_twice"))
def root_changed(e: Evidence) -> Iterator[Guess]:
    """The incoming gradient of a root is not what it was when it came in."""
    if e.is_root and len(e.uses) == 1 and e.got is not None:
        text = (
            "mutated: the incoming gradient itself has changed during the pass; it is added to in place, in an array "
        )
        yield Guess("root", text + "that it shares with other gradients", e.got)


@hypothesis("mutated", covers=("factor", "mixed_up"))
def shared(e: Evidence) -> Iterator[Guess]:
    """Equal to another tensor's gradient as the engine has it, where the two should differ."""
    for name, gradient in islice(e.neighbours.items(), _MOST_OTHERS):
        right = e.others.get(name)
        if gradient.shape != e.want.shape or right is None:
            continue
        if not np.allclose(right, e.want, rtol=1e-6, atol=0, equal_nan=True):
            text = (
                f"mutated: it is the gradient that {name} has, as if the two shared one array that is added to in place"
            )
            yield Guess(name, text, gradient, bool(np.any(gradient)))


@hypothesis("stale", covers=("overwritten", "counted_twice", "factor", "mixed_up"))
def stale(e: Evidence) -> Iterator[Guess]:
    """What was there before this pass, or before zero_grad, is there again."""
    if e.earlier is None or not np.any(e.earlier) or e.earlier.shape != e.want.shape:
        return
    if not np.any(e.want):
        yield Guess("kept", "stale: what an earlier pass left is still there, it was not cleared", e.earlier)
        return
    text = "stale: an earlier pass's gradient takes part again, it was not cleared or was passed on a second time"
    yield Guess("again", text, e.want + e.earlier)
    yield Guess("unchanged", "stale: the tensor holds what an earlier pass left, nothing new", e.earlier)


@hypothesis("overwritten", covers=("factor",))
def later_pass(e: Evidence) -> Iterator[Guess]:
    """This pass's gradient replaces what had accumulated."""
    if e.earlier is not None and np.any(e.earlier) and e.earlier.shape == e.want.shape:
        text = (
            "accumulated by overwriting: each pass replaces the gradient of those before, to which it should be added"
        )
        yield Guess("passes", text, e.want - e.earlier)


@hypothesis("overwritten", covers=("factor", "mixed_up", "mutated"))
def one_use(e: Evidence) -> Iterator[Guess]:
    """The contribution of one use alone."""
    if len(e.uses) < 2:
        return
    for index, use in _uses(e):
        text = f"accumulated by overwriting: of its {len(e.uses)} uses only the one in {use} has arrived"
        yield Guess(index, text, use.share)


@hypothesis("use_dropped", covers=("factor", "path_dropped", "mixed_up", "mutated"))
def dropped(e: Evidence) -> Iterator[Guess]:
    """All contributions but one."""
    if len(e.uses) < 2:
        return
    for index, use in _uses(e):
        text = f"a use is dropped: of its {len(e.uses)} uses the one in {use} has not arrived"
        yield Guess(index, text, e.want - use.share)
    if 3 < len(e.uses) <= _MOST_PAIRED:
        for (i, one), (j, other) in combinations(enumerate(e.uses), 2):
            text = f"uses are dropped: of its {len(e.uses)} uses those in {one} and {other} have not arrived"
            yield Guess((i, j), text, e.want - one.share - other.share)


@hypothesis("counted_twice", covers=("factor", "mixed_up"))
def twice(e: Evidence) -> Iterator[Guess]:
    """One contribution more than once, or all of them."""
    for index, use in _uses(e):
        if len(e.uses) > 1:
            text = f"counted twice: its use in {use} contributes a second time"
            yield Guess(index, text, e.want + use.share)
    if e.uses:
        what = "its only use" if len(e.uses) == 1 else "every use"
        yield Guess("all", f"counted twice: {what} contributes a second time", 2 * e.want)


@hypothesis("passed_on_early", covers=("factor", "mixed_up", "mutated"))
def early(e: Evidence) -> Iterator[Guess]:
    """The tensors made from this one have passed on parts of their gradients."""
    options = [[("", use.share), *use.partial] for use in e.uses[:_MOST_USES]]
    if all(len(option) == 1 for option in options):
        return
    for chosen in islice(product(*options), 1, _MOST_COMBINATIONS):
        words = [name for name, _ in chosen if name]
        total = np.sum([share for _, share in chosen], axis=0)
        text = "passed on too early, before all children had reported: " + "; ".join(dict.fromkeys(words))
        yield Guess(tuple(words), text, total)


@hypothesis("mixed_up")
def mixed_up(e: Evidence) -> Iterator[Guess]:
    """Another tensor's gradient, alone or added: identities that collide, or arrays that are shared."""
    for name, gradient in islice(e.others.items(), _MOST_OTHERS):
        if gradient.shape != e.want.shape or not np.any(gradient):
            continue
        yield Guess((name, "instead"), f"mixed up: this is the gradient of {name}", gradient)
        text = f"mixed up: the gradient of {name} is added to it, as if the two were one tensor or shared one array"
        yield Guess((name, "too"), text, e.want + gradient)


@hypothesis("path_dropped", covers=("factor",))
def path_dropped(e: Evidence) -> Iterator[Guess]:
    """The gradient without what flows through one part of the graph, or with nothing else."""
    for path, without in e.cut.items():
        yield Guess(path, f"the path through {path} is dropped", without)
        if np.any(without):
            yield Guess((path, "twice"), f"the path through {path} is counted twice", 2 * e.want - without)
            text = f"the sign of the path through {path} is wrong"
            if len(e.cut) > 2:
                yield Guess((path, "only"), f"only the path through {path} is there", e.want - without)
            yield Guess((path, "sign"), text, 2 * without - e.want)


@hypothesis("detached", covers=("use_dropped", "path_dropped", "summed", "saved_value", "forward_value",
                                "incoming_ignored", "incoming_passed_on", "swapped", "factor"))  # fmt: skip
def detached(e: Evidence) -> Iterator[Guess]:
    """No gradient at all."""
    if not np.any(e.want) or (e.got is not None and np.any(e.got)):
        return
    zeros = np.zeros_like(e.arrived)
    if e.rule is None:
        yield Guess("detached", "detached: no gradient arrives, from any of its uses", zeros, e.got is None)
    else:
        name = e.rule.application.op.name
        yield Guess("detached", f"detached: {name} passes no gradient on to this tensor", zeros)


def _uses(e: Evidence) -> Iterator[tuple[int, Use]]:
    return islice(enumerate(e.uses), _MOST_USES)
