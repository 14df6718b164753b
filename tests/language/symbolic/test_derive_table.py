"""Every op of the table: its rule, called on formulas, says in the case language what it computes on arrays."""

from __future__ import annotations

import numpy as np

from gradcheck.engines.core import Core
from gradcheck.errors import NoGradRequired, Unsupported
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients
from tests.language.symbolic.derived import check
from tests.samples import CALLS, OP_OF, problem_of
from tests.sampling import few_of_each
from tests.tables import for_each_by_family


@for_each_by_family(few_of_each(CALLS, OP_OF.__getitem__), OP_OF.__getitem__, 2)
def test_the_formula_of_a_sample_is_its_gradient(text: str) -> None:
    """For every output that gradients can flow from, with a random incoming gradient; and so it is for other numbers
    than those it was derived from."""
    evaluation = Core().evaluate(problem_of(text))
    assert evaluation.error is None
    generator = np.random.default_rng(5)
    for output, value in evaluation.states[-1].values.items():
        if output.startswith("out"):
            roots = {output: generator.standard_normal(value.shape).astype(value.dtype)}
            other = problem_of(text, roots, seed=1)
            try:
                formulas = derive_gradients(problem_of(text, roots))
            except Unsupported as error:
                if "parts, more than" not in str(error):
                    raise
                continue  # too long for anybody to read
            except NoGradRequired:
                assert Core().evaluate(other).error is not None
            else:
                check(formulas, other)
