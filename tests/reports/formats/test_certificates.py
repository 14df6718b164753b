"""How a proof is told: in the line of its case, and with everything it rests on under -v."""

from __future__ import annotations

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.reports import Look
from gradcheck.reports.achievements import achievements
from gradcheck.reports.comparison import table

CERTIFICATE = {
    "method": "exact",
    "arithmetic": "dual numbers modulo primes below 2^31",
    "sizes": [{"n": 2}, {"n": 3}],
    "trials": 6,
    "degree": 5,
    "bound": 1.26e-26,
    "unknowns": ["exp"],
}
PROVED = Comparison("formula", "x", "passed", formula="2 * x", shape=(2,), certificate=CERTIFICATE)


def case(*comparisons: Comparison) -> CaseResult:
    return CaseResult("a.yaml::a", "a.yaml", "a", "passed", comparisons=comparisons)


def test_the_line_of_the_case_gives_the_probability_of_being_wrong() -> None:
    assert achievements(case(PROVED)) == ["1 formula proved (p < 1.26e-26)"]


def test_formulas_of_which_some_are_proved() -> None:
    held = Comparison("formula", "y", "passed", formula="3 * y")
    assert achievements(case(PROVED, held)) == ["2 formulas hold (1 proved)"]


def test_the_table_names_method_sizes_trials_degree_bound_and_unknowns() -> None:
    (line,) = table(case(PROVED), Look(width=200))
    assert "proved at 2 sizes (exact, 6 trials, degree 5, p < 1.26e-26, for any exp)" in line.plain
