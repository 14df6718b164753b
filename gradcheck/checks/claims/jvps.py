"""Forward mode: Jacobian-vector products along random directions.

Engines are compared with the reference for every op alone and every tensor of the graph, both with a complex step or
finite differences, and forward with reverse mode by `<u, J v> = <J.T u, v>`.

This is the dot-product test of adjoint codes (Claerbout, "Earth Soundings Analysis", 1992). `u` is the incoming
gradient of a backward pass, and `J.T u` what the pass adds to the inputs' gradients. `v` are random directions of all
inputs together, and `J v` the roots' tangents by the engine's forward mode, the reference's, or the numeric oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gradcheck.autograd.dtypes import real_of, wide
from gradcheck.checks.closeness.agreement import Allowance, Answer, is_found_wrong, who_is_wrong
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.rounding import capped_allowance
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Engine
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind

if TYPE_CHECKING:
    from gradcheck.checks.claims.jvp_points import JvpPoint

Arrays = Mapping[str, np.ndarray | None]


def applies(context: Context) -> bool:
    """Return whether the run checks forward mode."""
    return context.options.mode != "reverse" and context.can_be_checked


def check(context: Context) -> Iterator[Comparison]:
    """Check ops alone; at each trial all tensors, and in "both" the modes."""
    from gradcheck.checks.claims.jvp_points import JvpPoint  # not for runs without forward mode
    from gradcheck.checks.claims.op_jvps import check_op_jvps

    points, options = context.points, context.options
    uses_oracle = options.oracle != "none"
    yield from check_op_jvps(points.own, context.engines.tested, options.tolerance, uses_oracle)
    for point in (points.own, *points.trials):
        forward = JvpPoint(point, options.tolerance, uses_oracle)
        if not forward.directions:
            return
        for engine in context.engines.tested:
            yield from forward.check(engine)
        if options.mode == "both":
            for engine in context.engines.all:
                yield from check_dot_product(forward, engine)


def check_dot_product(forward: JvpPoint, engine: Engine) -> Iterator[Comparison]:
    """Yield one comparison; none if the last pass raises or is not finite."""
    gradients = _last_pass_gradients(forward, engine)
    if gradients is None:
        return
    source, tangents = _tangents(forward, engine)
    if tangents is None:
        return
    got, size = _product((gradients.get(name), direction) for name, direction in forward.directions.items())
    want, other_size = _product(_root_pairs(forward, tangents))
    if not np.isfinite([size, other_size]).all():
        return
    subject = replace(forward.subject(ClaimKind.DOT_PRODUCT, "", engine), reference=source)
    rtol = forward.tolerance(real_of(forward.problem.dtype)).rtol
    slack = np.asarray(rtol * (size + other_size))
    found = compare(np.asarray(got), np.asarray(want), Tolerance(rtol, 0.0), subject, slack)
    yield _explain_failure(found, forward, gradients) if found.status == "failed" else found


def _last_pass_gradients(forward: JvpPoint, engine: Engine) -> Arrays | None:
    """Return what the last pass added to the inputs' gradients, or None."""
    states, step = forward.point.evaluation(engine).states, forward.step
    if not forward.has_pass or step >= len(states) or states[step].error is not None:
        return None
    before: Arrays = states[step - 1].gradients if step else {}
    found: dict[str, np.ndarray | None] = {}
    for name in forward.directions:
        now, earlier = states[step].gradients.get(name), before.get(name)
        if now is None or earlier is None or now.shape != earlier.shape:
            found[name] = now
        else:
            found[name] = np.asarray(wide(now) - wide(earlier))
    return found


def _tangents(forward: JvpPoint, engine: Engine) -> tuple[str, Arrays | None]:
    """Return the source of the roots' tangents, and the tangents."""
    for one in (engine, forward.reference):
        pushed = forward.pushforward(one)
        if pushed is not None and pushed.error is None:
            return one.name, pushed.tangents
    known = forward.oracle_tangents
    method = next((one.method for one in known.values()), "differences")
    return method, {name: one.value for name, one in known.items()} if known else None


def _root_pairs(forward: JvpPoint, tangents: Arrays) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
    """Yield each root's tangent and its incoming gradient."""
    for name, seed in forward.problem.seeds[forward.step].items():
        tangent = forward.directions.get(name, tangents.get(name))
        if tangent is not None:
            yield tangent, np.ones(tangent.shape) if seed is None else seed


def _product(pairs: Iterable[tuple[np.ndarray | None, np.ndarray]]) -> tuple[float, float]:
    """Return a sum of products, and the sum of their magnitudes."""
    value = size = 0.0
    for one, other in pairs:
        if one is not None and one.shape == other.shape:
            terms = (wide(one).conj() * wide(other)).real
            value, size = value + float(np.sum(terms)), size + float(np.sum(np.abs(terms)))
    return value, size


def _explain_failure(failed: Comparison, forward: JvpPoint, gradients: Arrays) -> Comparison:
    allowed, explained = _rounding_allowances(forward, gradients)
    if failed.max_abs is not None and failed.max_abs <= allowed:
        return failed.without_numbers("passed").with_notes(fact("within_rounding", beyond=failed.max_abs))
    if failed.max_abs is not None and failed.max_abs <= explained:
        return replace(failed, status="undecided", mismatch=fact("too_ill_conditioned", extent=explained))
    roots = [
        forward.oracle_tangents[name] for name in forward.problem.seeds[forward.step] if name in forward.oracle_tangents
    ]
    if any(root.kinked.any() for root in roots):
        return replace(failed, status="not_differentiable", verdict=fact("convention_of_tangents"))
    verdict, reference = _verdict(failed, forward), forward.reference.name
    modes = [fact("forward_mode_of", engine=reference)] if failed.reference == reference else []
    if failed.engine == reference:
        modes.append(fact("reverse_mode_of", engine=reference))
    if verdict is not None and any(is_found_wrong(verdict, mode) for mode in modes):
        return failed.without_numbers("passed", verdict=fact("reference_wrong", reference=reference, what=verdict))
    if failed.engine == reference:
        return failed.without_numbers("passed", verdict=verdict)
    return replace(failed, verdict=verdict)


def _rounding_allowances(forward: JvpPoint, gradients: Arrays) -> tuple[float, float]:
    """Return the allowed and the full effect of rounding on both sides."""
    conditioning = forward.point.conditioning
    allowed = explained = 0.0
    factors: list[tuple[np.ndarray | None, np.ndarray | float]] = []
    for name, direction in forward.directions.items():
        if gradients.get(name) is not None:
            factors.append((conditioning.allowance(ClaimKind.GRADIENT, forward.step, name), np.abs(wide(direction))))
    for name, seed in forward.problem.seeds[forward.step].items():
        factors.append((forward.allowances.get(name), 1.0 if seed is None else np.abs(wide(seed))))
    for known, factor in factors:
        if known is not None:
            allowed += float(np.sum(capped_allowance(known, conditioning.limit) * factor))
            explained += float(np.sum(np.where(factor == 0.0, 0.0, known) * factor))
    return allowed, explained


def _verdict(failed: Comparison, forward: JvpPoint) -> Fact | None:
    known = forward.oracle_tangents
    if not known:
        return None
    ahead, _ = _product(_root_pairs(forward, {name: one.value for name, one in known.items()}))
    bar = sum(float(np.sum(known[name].error)) for name in forward.problem.seeds[forward.step] if name in known)
    method = next(iter(known.values())).method
    got = Answer(fact("reverse_mode_of", engine=failed.engine), np.array([failed.got]))
    want = Answer(fact("forward_mode_of", engine=failed.reference), np.array([failed.want]))
    allowance = Allowance(np.array([failed.atol or 0.0]), failed.rtol or 0.0)
    return who_is_wrong(got, want, [Answer(method, np.array([ahead]), bar, independent=True)], allowance)
