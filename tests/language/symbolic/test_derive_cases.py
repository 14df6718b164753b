"""Every shipped case: the gradients of its one backward pass, derived as formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.sampling import draw
from tests.claims import shipped_cases
from tests.language.symbolic.derived import check, in_steps
from tests.sampling import sample

#: A formula names its constants as they are at first; there, entries before change them in place. `explain`, which
#: looks at whether formulas hold, gives none.
CHANGED_IN_PLACE = {"running statistics"}
CASES = [
    case
    for case in shipped_cases().cases
    if [step.action for step in case.steps] == ["backward"] and case.name not in CHANGED_IN_PLACE
]
SOME = sample(CASES, 3, lambda case: case.name)


@pytest.mark.parametrize("case", SOME, ids=[f"{Path(case.place.file).stem}: {case.name}" for case in SOME])
def test_the_derivation_of_a_shipped_case_is_its_gradient(case: Case) -> None:
    problem = draw(case)
    evaluation = Core().evaluate(problem)
    if evaluation.error is None and evaluation.states[-1].error is None:
        let, formulas = in_steps(problem)
        check(formulas, problem, let)
    else:
        with pytest.raises(GradcheckError):
            in_steps(problem)
