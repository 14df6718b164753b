"""From files to cases: what is said comes out, with a place for everything."""

from __future__ import annotations

import gc
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Generalize, StatedTolerance
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load, load_text
from gradcheck.language.loader.core_schema import resolve

CHAIN = """\
name: chain of four matrices
source: hand derivation, notebook 2
inputs:
  x: [[2, 3], [1, 4]]
  y: [[3, 4], [5, 6], [7, 8]]
graph:
  p: y @ x
  loss: p.sum()
expected:
  x: [[15, 15], [18, 18]]
formulas:
  x: (torch.ones([x.shape[1], 1]) @ y.sum(dim=0, keepdim=True)).T
wrong_formulas:
  y: [x, 'y * 2']
shapes:
  x: [c, d]
  y: [b, c]
"""
VALID = "inputs:\n  x: [1, 2, 3]\ngraph:\n  y: x * 2\n  z: y.sum()\n"


def one(text: str, file: str = "f.yaml") -> Case:
    cases, errors = load_text(text, file)
    assert [str(e) for e in errors] == []
    (case,) = cases
    return case


def with_x(**sections: str) -> Case:
    return one(VALID + "".join(f"{name}: {text}\n" for name, text in sections.items()))


# What comes out ----------------------------------------------------------------------------------


def test_the_chain() -> None:
    case = one(CHAIN, "cases/chain.yaml")
    assert case.id == "cases/chain.yaml::chain of four matrices"
    assert case.place == Place("cases/chain.yaml", 1, 1)
    assert list(case.inputs) == ["x", "y"]
    assert case.inputs["y"].array.tolist() == [[3, 4], [5, 6], [7, 8]]
    assert case.inputs["y"].place == Place("cases/chain.yaml", 5, 6)
    assert [to_text(claim.expr) for claim in case.graph.values()] == ["y @ x", "sum(p)"]
    assert case.graph["loss"].place == Place("cases/chain.yaml", 8, 9)
    (step,) = case.steps
    assert step.action == "backward"
    assert step.roots == {"loss": None}
    assert [claim.text for claim in case.wrong_formulas["y"]] == ["x", "y * 2"]
    assert case.wrong_formulas["y"][1].place == Place("cases/chain.yaml", 14, 11)
    assert case.shapes == {"x": ("c", "d"), "y": ("b", "c")}
    assert case.words == {"b": 3, "c": 2, "d": 2}
    assert case.generalize == Generalize()
    assert case.places["expected.x"] == Place("cases/chain.yaml", 10, 3)
    assert case.places["formulas"] == Place("cases/chain.yaml", 11, 1)


def test_defaults() -> None:
    case = one(VALID, "some/where/stem.yaml")
    assert (case.name, case.id, case.dtype, case.seed) == ("stem", "some/where/stem.yaml::stem", "float64", 0)
    assert (case.tags, case.only, case.skip, case.xfail, case.generalize) == ((), (), None, None, None)
    assert case.steps[0].roots == {"z": None}


def test_documents_and_their_names() -> None:
    cases, errors = load_text(f"{VALID}---\n# nothing\n---\n{VALID}---\ninputs: [\n---\n{VALID}...\n", "dir/a.b.yaml")
    assert [case.name for case in cases] == ["a.b", "a.b-2", "a.b-4"]
    assert [case.place.line for case in cases] == [1, 9, 17]
    assert [error.place.line for error in errors] == [16]


def test_a_marker_inside_a_block_of_text_divides_documents_as_yaml_says() -> None:
    cases, errors = load_text(f"description: |\n  a\n  --- b\n{VALID}", "f.yaml")
    assert not errors
    assert cases[0].description == "a\n--- b\n"


def test_directives_belong_to_the_next_document() -> None:
    cases, errors = load_text(f"%YAML 1.2\n---\n{VALID}...\n# a\n%YAML 1.1\n# b\n--- # c\n{VALID}", "f.yaml")
    assert not errors
    assert [case.place.line for case in cases] == [3, 13]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("Null", None), ("nULL", "nULL"),
        ("true", True), ("False", False), ("yes", "yes"), ("no", "no"), ("on", "on"), ("y", "y"),
        ("0", 0), ("-1", -1), ("+7", 7), ("010", 10), ("0o17", 15), ("0x1F", 31), ("0b1", "0b1"), ("1_000", "1_000"),
        ("1.", 1.0), (".5", 0.5), ("-.5e3", -500.0), ("1e3", 1000.0), ("1e-3", 1e-3), ("1E+2", 100.0), ("e3", "e3"),
        (".inf", math.inf), ("-.INF", -math.inf), ("+.Inf", math.inf), ("inf", "inf"), (".", "."), ("-", "-"),
        ("1:30", "1:30"), ("2001-01-01", "2001-01-01"), ("0o8", "0o8"), ("-0x1", "-0x1"), ("٣", "٣"), ("1e", "1e"),
        ("9" * 18, int("9" * 18)), ("9" * 19, int("9" * 19)), ("x * 2", "x * 2"), ("1.2.3", "1.2.3"), ("+", "+"),
    ],
)  # fmt: skip
def test_the_core_schema(text: str, value: object) -> None:
    found = resolve(text)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_and_numbers_beyond_all_bounds() -> None:
    assert math.isnan(resolve(".NaN"))  # type: ignore[arg-type]
    for text in ("1e400", "-1e999", "9" * 2000, "0x" + "f" * 2000):
        with pytest.raises(OverflowError):
            resolve(text)


def test_keys_are_text_and_quoted_scalars_are_text() -> None:
    case = one("inputs: {on: 1, y: 2, e: 3, n: '4'}\ngraph: {no: on * y, sum: no.sum() + e + n}\n")
    assert list(case.inputs) == ["on", "y", "e", "n"]
    assert list(case.graph) == ["no", "sum"]
    assert case.inputs["n"].expr is not None


def test_numbers_are_expressions_too() -> None:
    case = with_x(let="{k: 2, b: true, i: .inf, j: -.inf, h: 0x1F}", formulas="{x: 2}")
    assert [to_text(claim.expr) for claim in case.let.values()] == ["2", "True", "inf", "-inf", "31"]


@pytest.mark.parametrize(
    ("text", "dtype", "shape"),
    [
        ("3", np.int64, ()), ("3.5", np.float64, ()), ("true", np.bool_, ()), ("[]", np.float64, (0,)),
        ("[[], []]", np.float64, (2, 0)), ("[1, 2.5]", np.float64, (2,)), ("[true, false]", np.bool_, (2,)),
        ("[1, '2+3j']", np.complex128, (2,)), ("['-1 - 2.5j']", np.complex128, (1,)), ("[.inf]", np.float64, (1,)),
        ("{values: [], shape: [0, 3]}", np.float64, (0, 3)), ("{shape: [2, 0]}", np.float64, (2, 0)),
        ("{values: [1, 2], dtype: int8}", np.int8, (2,)), ("{values: [1, 2], dtype: torch.half}", np.float16, (2,)),
        ("{values: [1, 2, 3, 4], shape: [2, 2]}", np.int64, (2, 2)), ("{values: 1, shape: [1, 1]}", np.int64, (1, 1)),
        ("{values: [0, 1], dtype: bool}", np.bool_, (2,)), ("[9223372036854775807]", np.int64, (1,)),
        ("[9223372036854775808]", np.float64, (1,)), ("[[[1]], [[2]]]", np.int64, (2, 1, 1)),
    ],
)  # fmt: skip
def test_values(text: str, dtype: type, shape: tuple[int, ...]) -> None:
    array = with_x(constants=f"{{c: {text}}}").constants["c"].array
    assert array.dtype == dtype
    assert array.shape == shape


def test_a_value_of_text_with_a_dtype_and_a_shape() -> None:
    value = with_x(constants="{c: {values: arange(6), shape: [2, 3], dtype: int32}}").constants["c"]
    assert to_text(value.expr) == "reshape(to(arange(6), torch.int32), [2, 3])"
    assert value.dtype == "int32"


def test_steps() -> None:
    text = """\
steps:
  - backward: z
    raises: non_scalar_backward
  - backward: {z: [1, 2], y: randn_like(y)}
    retain_graph: false
    expected: {x: null}
    checks: [x == x]
  - zero_grad: all
  - zero_grad: [x, y]
  - forward: {x: [3, 4, 5]}
  - forward: {}
"""
    steps = one(VALID + text).steps
    assert [step.action for step in steps] == ["backward", "backward", *["zero_grad"] * 2, "forward", "forward"]
    assert steps[0].raises == "non_scalar_backward"
    assert [step.retain_graph for step in steps[:2]] == [True, False]
    assert list(steps[1].roots) == ["z", "y"]
    assert steps[1].expected == {"x": None}
    assert [step.names for step in steps[2:4]] == [(), ("x", "y")]
    assert steps[4].inputs["x"].array.tolist() == [3, 4, 5]
    assert steps[3].place == Place("f.yaml", 14, 5)
    assert one(VALID + text).generalize == Generalize()


def test_settings() -> None:
    case = with_x(
        tags="[a, b]", dtype="float32", seed="7", dims="{n: 3}", only="[core]", skip="because", xfail="known",
        generalize="{trials: 5, dims: {n: [2, 4]}}", tolerance="{rtol: 1e-3, x: {atol: 1}, engines: {rtol: 0.5}}",
    )  # fmt: skip
    assert (case.tags, case.dtype, case.seed, case.dims, case.only) == (("a", "b"), "float32", 7, {"n": 3}, ("core",))
    assert (case.skip, case.xfail) == ("because", "known")
    assert case.generalize == Generalize(5, {"n": (2, 4)})
    assert case.tolerance == {"": StatedTolerance(rtol=1e-3), "x": StatedTolerance(atol=1.0)}
    assert case.engine_tolerance == StatedTolerance(rtol=0.5)


def test_generalize_is_for_claims_unless_said_otherwise() -> None:
    assert with_x(checks="[x == x]").generalize == Generalize()
    assert with_x(checks="[x == x]", generalize="false").generalize is None
    assert with_x(generalize="true").generalize == Generalize()


def test_values_may_use_those_above_them_in_either_section() -> None:
    case = one("constants: {a: 1}\ninputs: {x: a + 1}\ngraph: {y: x}\n")
    assert case.inputs["x"].expr is not None
    _, errors = load_text("inputs: {x: a + 1}\nconstants: {a: 1}\ngraph: {y: x}\n", "f.yaml")
    assert errors[0].message == "'a' is defined below, on line 2"


def test_words_of_shapes_are_sizes_in_expressions() -> None:
    case = one("inputs: {x: [1, 2, 3]}\ngraph: {y: x.sum() / n}\nformulas: {x: ones(n) / n}\nshapes: {x: [n]}\n")
    assert case.words == {"n": 3}


def test_a_word_of_shapes_may_be_called_like_a_tensor() -> None:
    case = one("inputs: {n: [1, 2]}\ngraph: {y: n.sum()}\nshapes: {n: [n]}\n")
    assert case.words == {"n": 2}


@pytest.mark.parametrize(
    "creator",
    ["randn(a, b)", "randn([a, b])", "uniform(0.1, 2, [a, b])", "rand(a, b) + 0.5", "uniform(0, 1, size=(a, b))"],
)
def test_shapes_by_a_creator(creator: str) -> None:
    case = one(f"inputs: {{x: [[1, 2, 3]]}}\ngraph: {{y: x.sum()}}\nshapes: {{x: '{creator}'}}\n")
    assert case.words == {"a": 1, "b": 3}


def test_parts_of_a_graph_entry() -> None:
    case = one(
        "inputs: {x: [[1, 2], [4, 3]]}\ngraph: {m: 'max(x, dim=1)', s: 'm[0].sum()'}\nbackward: {'m[0]': [1, 1]}\n"
        "values: {'m[1]': [1, 0]}\nformulas: {'m[0]': ones(2)}\nlet: {g: 'grad(m[0]) * 2'}\n"
    )
    assert list(case.steps[0].roots) == ["m[0]"]
    assert list(case.formulas) == ["m[0]"]


def test_no_gradient_of_a_constant_may_be_said() -> None:
    assert with_x(constants="{c: 1}", expected="{c: null}").expected == {"c": None}


def test_letters_beyond_ascii() -> None:
    case = one("inputs: {θ: [1, 2]}\ngraph: {λ: θ * 2, ŷ: λ.sum()}\n")
    assert list(case.graph) == ["λ", "ŷ"]
    _, errors = load_text("inputs: {µ: 1}\ngraph: {y: µ * 2}\n", "f.yaml")  # the micro sign, not the letter
    assert "write 'μ'" in errors[0].hint


def test_columns_count_characters() -> None:
    _, errors = load_text("inputs: {θθ: 1}\ngraph: {λ: θθ * q}\n", "f.yaml")
    assert errors[0].place == Place("f.yaml", 2, 17)


# Which files -------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("b/two.yaml", "b/a/one.yml", "b-c/three.YAML", ".hidden/no.yaml", "b/.git/no.yaml", "b/notes.txt"):
        path = tmp_path / "cases" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(VALID if "yaml" in name.lower() or "yml" in name else "no case")
    return tmp_path


def ids(*paths: str | Path, **options: object) -> list[str]:
    cases, errors = load(paths, **options)  # type: ignore[arg-type]
    assert [str(e) for e in errors] == []
    return [case.id for case in cases]


def test_folders_are_searched_in_order_without_hidden_ones(folder: Path) -> None:
    expected = ["cases/b/a/one.yml::one", "cases/b/two.yaml::two", "cases/b-c/three.YAML::three"]
    assert ids("cases") == ids("cases/") == ids("./cases") == ids(Path("cases")) == expected
    assert ids(".") == expected
    assert ids(folder / "cases")[0] == f"{folder.as_posix()}/cases/b/a/one.yml::one"


def test_a_file_is_read_once(folder: Path) -> None:
    assert len(ids("cases", "cases/b/two.yaml", "./cases/b")) == 3
    assert ids("cases/b/two.yaml", "cases/b")[0] == "cases/b/two.yaml::two"


def test_a_folder_without_cases_is_no_error(tmp_path: Path) -> None:
    loaded = load(tmp_path)
    assert (loaded.cases, loaded.errors) == ((), ())


def test_one_case_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_text(f"name: 'a::b'\n{VALID}---\nname: other\n{VALID}---\nname: broken\ninputs: {{x: 1}}\n")
    assert [case.name for case in load(f"{path}::a::b").cases] == ["a::b"]
    assert load(f"{path}::other").errors == ()
    assert load(f"{path}::broken").errors
    path.write_text(f"name: first one\n{VALID}")
    (error,) = load(f"{path}::first on").errors
    assert (error.message, error.hint) == ("no case is named 'first on'", "did you mean 'first one'?")


def test_selected_ids(folder: Path) -> None:
    assert ids("cases", select=["cases/b/two.yaml::two"]) == ["cases/b/two.yaml::two"]


def test_valid_cases_beside_broken_files(folder: Path) -> None:
    (folder / "cases/b/bad.yaml").write_text("inputs: [")
    cases, errors = load("cases")
    assert len(cases) == 3
    assert [error.place.file for error in errors] == ["cases/b/bad.yaml"]
    assert all(isinstance(error, InvalidCase) for error in errors)


def test_garbage_collection_is_left_as_it_was(tmp_path: Path) -> None:
    assert gc.isenabled()
    load(tmp_path)
    assert gc.isenabled()
    gc.disable()
    try:
        load(tmp_path)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_loading_imports_no_torch() -> None:
    code = "import sys; from gradcheck.language import sampling, schema, loader; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# What to try -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("formulae: {x: 2}", "did you mean 'formulas'?"),
        ("backward: zz", "known here: x, y, z"),
        ("let: {a: x * yy}", "known here: x, y, z"),
        ("let: {alpha: x, b: alhpa * 2}", "did you mean 'alpha'?"),
        ("let: {a: x & true}", "write True"),
        ("let: {a: b, b: x}", "a line may use the names above it; move it up"),
        ("let: {a: b, b: a}", "it depends on 'a' in turn, and a graph has no cycles"),
        ("constants: {c: [1 2]}", "numbers of a list have commas between them"),
        ("constants: {c: [yes, no]}", "booleans are true and false"),
        ("constants: {c: randn(2, 3)}", "in YAML's flow style a comma"),
        ("constants: {c: {values: 1, dtype: flaot32}}", "did you mean 'float32'?"),
        ("tags: linalg", "write [linalg]"),
        ("tolerance: 1e-3", "write {rtol: 1e-6, atol: 1e-9}"),
        ("backward: [y, z]", "write 'backward: z'"),
        ("steps: [{backward: z, formulas: {x: 2}}]", "'formulas' belongs to the case itself"),
        ("steps: [{backward: z, raises: no_grad_require}]", "did you mean 'no_grad_required'?"),
        ("wibble: 1", "the keys here are name, description"),
        ("description: shows: this", "needs quotes"),
        ("let: {a: @x}", "put quotes around text that begins with @"),
        ("generalize: {dims: {k: [1, 2]}}", "symbolic sizes are those of `dims`"),
        ("shapes: {x: n}", "write [a, b], or uniform(0.1, 2, [a, b])"),
        ("formulas: {x: randn(3)}", "draw it under `inputs` or `constants`"),
        ("graph: {w: x}", "it is first given on line 3"),
    ],
)
def test_hints(text: str, hint: str) -> None:
    _, errors = load_text(f"{VALID}{text}\n", "f.yaml")
    assert hint in errors[0].hint
    assert errors[0].place.line == 6
