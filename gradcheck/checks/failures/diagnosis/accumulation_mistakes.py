"""Mistakes in accumulating the contributions of a tensor's uses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, permutations, product

import numpy as np

from gradcheck.checks.failures.diagnosis.catalogue import Evidence, Guess, Rule, Use, hypothesis, rule_hypothesis
from gradcheck.facts import Fact, fact

#: One mistake is looked for, not any sum that fits. The most uses tried one by one;
_MOST_USES = 64
#: the most uses of which every pair is tried;
_MOST_PAIRED = 8
#: the most other tensors;
_MOST_OTHERS = 64
#: and the most combinations of early shares.
_MOST_COMBINATIONS = 256
#: Kinds that may give zeros as well.
_KINDS_GIVING_ZEROS = (
    *("use_dropped", "path_dropped", "summed", "saved_value", "forward_value", "incoming_ignored"),
    *("incoming_passed_on", "swapped", "factor"),
)


@hypothesis("mutated", covers=("factor", "mixed_up", "detached", "counted_twice"))
def root_changed(e: Evidence) -> Iterator[Guess]:
    """A root's incoming gradient has changed during the pass."""
    if e.is_root and len(e.uses) == 1 and e.got is not None:
        yield Guess("root", fact("mutated_incoming"), e.got)


@hypothesis("mutated", covers=("factor", "mixed_up"))
def shared_array(e: Evidence) -> Iterator[Guess]:
    """The gradient equals another tensor's, which should differ."""
    for name, gradient in islice(e.engine_gradients.items(), _MOST_OTHERS):
        right = e.others.get(name)
        if right is not None and gradient.shape == e.want.shape and not e.agree(right, e.want):
            yield Guess(name, fact("mutated_shared", tensor=name), gradient, bool(np.any(gradient)))


@hypothesis("stale", covers=("overwritten", "counted_twice", "factor", "mixed_up", "mutated"))
def stale(e: Evidence) -> Iterator[Guess]:
    """An earlier pass's gradient, or one before zero_grad, is there again."""
    if e.earlier is None or not np.any(e.earlier) or e.earlier.shape != e.want.shape:
        return
    if not np.any(e.want):
        yield Guess("kept", fact("stale_kept"), e.earlier)
        return
    yield Guess("again", fact("stale_again"), e.want + e.earlier)
    yield Guess("unchanged", fact("stale_unchanged"), e.earlier)


@hypothesis("overwritten", covers=("factor", "mutated"))
def later_pass(e: Evidence) -> Iterator[Guess]:
    """The gradient of this pass replaces that of earlier ones."""
    if e.earlier is not None and np.any(e.earlier) and e.earlier.shape == e.want.shape:
        yield Guess("passes", fact("overwritten_by_pass"), e.want - e.earlier)


@hypothesis("overwritten", covers=("factor", "mixed_up", "mutated"))
def single_use_kept(e: Evidence) -> Iterator[Guess]:
    """One use alone contributes."""
    if len(e.uses) < 2:
        return
    for index, use in _uses(e):
        yield Guess(index, fact("only_use_arrived", uses=len(e.uses), use=use.origin), use.share)


@rule_hypothesis("overwritten", covers=("factor", "mixed_up"))
def assigned(e: Evidence, rule: Rule) -> Iterator[Guess]:
    """Of elements that an index names twice, the last gradient is assigned."""
    place = {"getitem": 1, "embedding": 0}.get(rule.application.op.name)
    if rule.incoming is None or place is None or rule.position != 1 - place:
        return
    found = np.zeros(rule.tensor.shape, rule.incoming.dtype)
    try:
        found[rule.application.args[place]] = rule.incoming
    except (IndexError, ValueError, TypeError):
        return
    yield Guess("assigned", fact("index_assigned"), found)


@hypothesis("use_dropped", covers=("factor", "path_dropped", "mixed_up", "mutated"))
def dropped(e: Evidence) -> Iterator[Guess]:
    """One use, or two, contribute nothing."""
    if len(e.uses) < 2:
        return
    for index, use in _uses(e):
        yield Guess(index, fact("use_not_arrived", uses=len(e.uses), use=use.origin), e.want - use.share)
    if 3 < len(e.uses) <= _MOST_PAIRED:
        for (i, one), (j, other) in combinations(enumerate(e.uses), 2):
            found = fact("two_uses_not_arrived", uses=len(e.uses), one=one.origin, other=other.origin)
            yield Guess((i, j), found, e.want - one.share - other.share)


@hypothesis("counted_twice", covers=("factor", "mixed_up"))
def counted_twice(e: Evidence) -> Iterator[Guess]:
    """One use contributes twice, all but one do, or all."""
    if len(e.uses) > 1:
        for index, use in _uses(e):
            yield Guess(index, fact("use_counted_twice", use=use.origin), e.want + use.share)
            if len(e.uses) > 2:
                yield Guess(("but", index), fact("all_but_one_counted_twice", use=use.origin), 2 * e.want - use.share)
    if e.uses:
        yield Guess("all", fact("uses_counted_twice", uses=len(e.uses)), 2 * e.want)


@hypothesis("passed_on_early", covers=("factor", "mixed_up", "mutated"))
def passed_on_early(e: Evidence) -> Iterator[Guess]:
    """Children have passed on parts of their gradients."""
    options: list[list[tuple[Fact | None, np.ndarray]]] = [
        [(None, use.share), *use.partial] for use in e.uses[:_MOST_USES]
    ]
    if all(len(option) == 1 for option in options):
        return
    for chosen in islice(product(*options), 1, _MOST_COMBINATIONS):
        parts = tuple(part for part, _ in chosen if part is not None)
        total = np.sum([share for _, share in chosen], axis=0)
        yield Guess(parts, fact("passed_on_too_early", parts=tuple(dict.fromkeys(parts))), total)


@hypothesis("mixed_up")
def mixed_up(e: Evidence) -> Iterator[Guess]:
    """Another tensor's gradient or value is here, or added."""
    for name, gradient in islice(e.others.items(), _MOST_OTHERS):
        is_possible = gradient.shape == e.want.shape or (
            gradient.shape == e.got_or_zeros.shape and not _is_broadcast(e.want.shape, gradient.shape)
        )
        if not is_possible or not np.any(gradient) or np.isnan(gradient).any():
            continue
        value, other = fact("value_of_another", tensor=name), fact("gradient_of_another", tensor=name)
        yield Guess((name, "instead"), value if e.is_value else other, gradient)
        if gradient.shape == e.want.shape and not e.is_value:
            yield Guess((name, "too"), fact("gradient_of_another_added", tensor=name), e.want + gradient)


def _is_broadcast(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    """Return whether one shape is broadcast to another: a sum may be missing."""
    return len(shape) <= len(to) and all(m in (1, n) for m, n in zip(reversed(shape), reversed(to), strict=False))


@hypothesis("path_dropped", covers=("factor", "mixed_up"))
def path_dropped(e: Evidence) -> Iterator[Guess]:
    """One part of the graph contributes nothing, twice, alone, or negatively."""
    for path, without in e.without_path.items():
        yield Guess(path, fact("path_not_there", path=path), without)
    for path, without in e.without_path.items():
        if np.any(without):
            yield Guess((path, "twice"), fact("path_counted_twice", path=path), 2 * e.want - without)
            if len(e.without_path) > 2:
                yield Guess((path, "only"), fact("path_alone_there", path=path), e.want - without)
            yield Guess((path, "sign"), fact("path_sign", path=path), 2 * without - e.want)
    direct = [path for path in e.without_path if isinstance(path, Fact) and path.kind != "path_by_way_of"]
    for one, other in permutations(direct[:_MOST_PAIRED], 2):
        without, rest = e.without_path[one], e.without_path[other]
        if np.any(without) and np.any(rest) and not e.agree(rest, e.want):
            yield Guess((one, other), fact("path_for_another", got=one, want=other), e.want + rest - without)


@hypothesis("detached", covers=_KINDS_GIVING_ZEROS)
def detached(e: Evidence) -> Iterator[Guess]:
    """There is no gradient."""
    if not np.any(e.want) or (e.got is not None and np.any(e.got)):
        return
    zeros = np.zeros_like(e.got_or_zeros)
    if e.rule is None:
        yield Guess("detached", fact("nothing_arrives"), zeros, e.got is None)
    else:
        yield Guess("detached", fact("nothing_passed_on", op=e.rule.application.op.name), zeros)


def _uses(e: Evidence) -> Iterator[tuple[int, Use]]:
    return islice(enumerate(e.uses), _MOST_USES)
