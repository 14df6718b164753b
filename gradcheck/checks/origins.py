"""Which formulas of a case equal the one that is derived from the core's own rules: right as they are, they are no
independent evidence for these rules. Two formulas are equal here if they simplify to the same expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.derivation import pass_alone, simplifier
from gradcheck.checks.ground import Ground
from gradcheck.checks.options import Settings
from gradcheck.checks.result import CaseResult
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.traverse import with_children
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.derive import derive
from gradcheck.language.symbolic.simplify.facts import Point

NOTE = "equals the derived formula; not independent evidence"


def with_origins(case: Case, found: CaseResult, settings: Settings) -> CaseResult:
    """The result with a note on each formula that equals the derived one; only where one backward pass is all."""
    if found.status != "passed" or not case.formulas or [step.action for step in case.steps] != ["backward"]:
        return found
    chosen = settings.apply(case)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[chosen.dtype])), np.errstate(all="ignore"):
        same = derived_claims(draw(chosen, settings.seed))
    comparisons = tuple(
        replace(c, notes=(*c.notes, NOTE))
        if c.what == "formula" and c.trial is None and (c.tensor, c.formula) in same
        else c
        for c in found.comparisons
    )
    return replace(found, comparisons=comparisons)


def derived_claims(problem: Problem) -> set[tuple[str, str]]:
    """The tensors and texts of the formulas that equal a derived one, by children or closed."""
    case = problem.case
    alone = pass_alone(problem, 0)
    try:
        ground = Ground(alone, Core().evaluate(alone).states[-1])
        candidates = {f"{kind} {name}": formula
                      for kind, expand in (("children", False), ("closed", True))
                      for name, formula in derive(alone, expand=expand, most=None).items()}  # fmt: skip
        claims = {
            f"claim {index} {name}": inlined(claim.expr, case.let)
            for name, listed in case.formulas.items() for index, claim in enumerate(listed)
        }  # fmt: skip
        point = Point(ground, ground.gradients, problem.dtype)
        simple = simplifier(alone, [point], True).simplify({**candidates, **claims})
    except GradcheckError:  # what cannot be derived equals nothing
        return set()
    return {
        (name, claim.text)
        for name, listed in case.formulas.items()
        for index, claim in enumerate(listed)
        if any(simple[f"claim {index} {name}"] == simple.get(f"{kind} {name}") for kind in ("children", "closed"))
    }


def inlined(root: Expr, let: Mapping[str, Claim]) -> Expr:
    """The expression with the steps of a derivation in place of their names; each is written out once."""
    done: dict[int, Expr] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        if id(node) in done:
            stack.pop()
            continue
        if isinstance(node, Name) and node.name in let:
            parts: tuple[Expr, ...] = (let[node.name].expr,)
        else:
            parts = node.children
        missing = [part for part in parts if id(part) not in done]
        if missing:
            stack.extend(missing)
            continue
        ready = [done[id(part)] for part in parts]
        done[id(node)] = ready[0] if isinstance(node, Name) and parts else with_children(node, ready) if parts else node
    return done[id(root)]
