"""What is given to code that cannot be imported without it."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gradcheck.engines import folder_finder, import_stubs
from gradcheck.engines.resolve import resolve_engine
from gradcheck.errors import UsageError
from tests.engines.test_resolve import TENSOR, write


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name in import_stubs._added_names:  # to other tests in this process
        monkeypatch.delattr(np, name)
    monkeypatch.setattr(import_stubs, "_added_names", [])
    monkeypatch.setattr(import_stubs, "_stubbed_modules", [])
    modules = set(sys.modules)
    yield
    for name in import_stubs._added_names:
        delattr(np, name)
    for name in set(sys.modules) - modules:
        if type(sys.modules[name]).__module__ == import_stubs.__name__:
            del sys.modules[name]


def kinds() -> list[str]:
    return [one.kind for one in import_stubs.stub_facts()]


def test_names_of_an_older_numpy_are_given_where_nothing_goes_without_them() -> None:
    write(Path("mine.py"), "import numpy as np\nNUMBER = np.float\n" + TENSOR)
    found = resolve_engine("mine.py:Tensor")
    assert np.float is float  # type: ignore[attr-defined]
    assert kinds() == ["old_names_given"]
    assert found.conventions == ()  # before a case has run
    assert [one.kind for one in found.provided] == ["old_names_given"]
    write(Path("other.py"), TENSOR)
    assert resolve_engine("other.py:Tensor").provided == ()


def test_they_may_be_wanted_where_a_tensor_is_made() -> None:
    write(Path("late.py"), TENSOR.replace("np.asarray(data)", "np.asarray(data, np.float_)"))
    assert not kinds()
    assert resolve_engine("late.py:Tensor").api.tensor_type.__name__ == "Tensor"
    assert kinds() == ["old_names_given"]


def test_they_may_be_wanted_only_when_a_function_is_called() -> None:
    helper = "import numpy as np\ndef f(x):\n    return np.asarray(x, np.float)  # and np.int, if ever\n"
    write(Path("rules.py"), helper)
    write(Path("lazy.py"), "import rules\n" + TENSOR)
    found = resolve_engine("lazy.py:Tensor")
    assert [dict(one.data)["names"] for one in found.provided] == [("float",)]
    assert np.float is float  # type: ignore[attr-defined]


def test_a_module_that_raises_at_unknown_names_is_left_alone() -> None:
    """As `torch.classes` does, which is imported with a class that imports torch."""
    odd = "import sys, types\nclass Odd(types.ModuleType):\n    __file__ = '_odd.py'\n"
    odd += "    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
    odd += "sys.modules['odd.inner'] = Odd('odd.inner')\n"
    write(Path("mine.py"), odd + TENSOR)
    assert resolve_engine("mine.py:Tensor").api.tensor_type.__name__ == "Tensor"
    del sys.modules["odd.inner"]


def test_what_draws_is_stood_in_for_and_what_computes_is_not() -> None:
    write(Path("drawn.py"), "from manim.scene import Scene\n@Scene.shown\ndef helper(): return 7\n" + TENSOR)
    found = resolve_engine("drawn.py:Tensor")
    assert (
        sys.modules["drawn" if "drawn" in sys.modules else type(found.api.make(np.ones(1), True)).__module__].helper()
        == 7
    )
    assert [dict(one.data)["modules"] for one in import_stubs.stub_facts()] == [("manim",)]
    write(Path("other.py"), "import a_module_that_computes\n" + TENSOR)
    with pytest.raises(UsageError, match="a_module_that_computes"):
        resolve_engine("other.py:Tensor")


def test_classes_of_what_is_not_installed_are_types_and_values_are_unpacked() -> None:
    text = """import pygraphviz as pd
from pygraphviz import Frame
assert Frame is pd.Frame and not isinstance(1, (int, pd.Frame)[1:]) and not issubclass(int, Frame)
figure, (first, second) = pd.subplots(2)
assert [one for one in first.parts] == []
class Own(Frame):
    def __init__(self, number): self.number = number
assert Own(3).number == 3 and Frame(3).anything
"""
    write(Path("mine.py"), text + TENSOR)
    assert resolve_engine("mine.py:Tensor")
    assert kinds() == ["stood_in_for"]


def test_a_graphics_cards_numpy_is_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    monkeypatch.delitem(sys.modules, "cupy")
    ask = "import cupy as np\nmajor, minor = np.cuda.Device(0).compute_capability\nassert int(major) < 8\n"
    write(Path("card.py"), TENSOR.replace("import numpy as np", ask))
    found = resolve_engine("card.py:Tensor")
    np.testing.assert_array_equal(found.api.read(found.api.make(np.array([1.0, 2.0]), True)), [1.0, 2.0])
    assert kinds() == ["numpy_stood_in_for"]


def test_what_would_be_compiled_is_run_as_it_is_written() -> None:
    text = (
        "from numba import njit, prange\n@njit(inline='always')\ndef total(n):\n    return sum(i for i in prange(n))\n"
    )
    write(Path("fast.py"), text + "assert total(4) == 6\n" + TENSOR)
    assert resolve_engine("fast.py:Tensor").name == "fast.Tensor"


def test_a_compiled_function_of_numbers_is_one_of_arrays() -> None:
    text = "from numba import float32, vectorize\n@vectorize([float32(float32, float32)], target='parallel')\n"
    text += "def plus(a, b):\n    return a + b\nassert list(plus([1, 2], 3)) == [4, 5]\n"
    text += "@vectorize\ndef twice(a):\n    return a + a\nassert list(twice([1, 2])) == [2, 4]\n"
    write(Path("plus.py"), text + TENSOR)
    assert resolve_engine("plus.py:Tensor").name == "plus.Tensor"


def test_a_module_that_numpy_has_under_another_name_is_restored() -> None:
    write(Path("sets.py"), "from numpy.lib.arraysetops import isin\nassert isin(1, [1, 2])\n" + TENSOR)
    assert [dict(one.data)["names"] for one in resolve_engine("sets.py:Tensor").provided] == [("lib.arraysetops",)]
    import_stubs._added_names.remove("lib.arraysetops")
    del sys.modules["numpy.lib.arraysetops"]
    write(Path("other.py"), "import numpy.lib.never_there\n" + TENSOR)
    with pytest.raises(UsageError, match="never_there"):
        resolve_engine("other.py:Tensor")


def test_what_was_half_imported_begins_anew() -> None:
    write(Path("half") / "__init__.py", "")
    write(Path("half") / "first.py", "SEEN = []\n")
    write(
        Path("half") / "second.py",
        "import half.folder.fourth\nfrom half.first import SEEN\nSEEN.append(1)\nassert len(SEEN) == 1\nimport manim\n",
    )
    write(Path("half") / "folder" / "fourth.py", "")
    write(Path("half") / "third.py", "from half import second\n" + TENSOR)
    assert resolve_engine("half/third.py:Tensor").name == "third.Tensor"


def test_so_does_what_is_in_a_folder_that_does_not_say_that_it_is_a_package() -> None:
    """What its first try has left on the folder's module is from before."""
    write(Path("hollow") / "inner" / "helper.py", "from hollow import third\ndef kind(): return third.Tensor\n")
    write(Path("hollow") / "third.py", "from hollow.inner import helper\nimport manim\n" + TENSOR)
    found = resolve_engine("hollow/third.py:Tensor")
    assert sys.modules["hollow.inner.helper"].kind() is found.api.tensor_type
    assert sys.modules["hollow"].inner.helper.third is sys.modules["hollow.third"]


def test_so_does_a_package_that_has_failed_itself() -> None:
    write(Path("failing") / "__init__.py", "import failing.folder.inner\nimport manim\n")
    write(Path("failing") / "folder" / "inner.py", "")
    write(Path("failing") / "third.py", TENSOR)
    assert resolve_engine("failing/third.py:Tensor").name == "third.Tensor"


def test_a_record_of_pydantics_has_what_it_is_made_with() -> None:
    if importlib.util.find_spec("pydantic") is not None:
        pytest.skip("it is installed")
    text = "from pydantic import BaseModel\nclass Entry(BaseModel):\n    rule: object\nENTRY = Entry(rule=(1, 2))\n"
    write(Path("recorded.py"), text + TENSOR)
    kept = sys.modules[resolve_engine("recorded.py:Tensor").api.constructor.__module__].ENTRY
    assert kept.rule == (1, 2)
    assert kinds() == ["stood_in_for"]


def test_a_restored_function_is_named_like_numpys() -> None:
    """Code that puts functions of its own in NumPy's place looks them up by these names."""
    write(Path("sorted_ones.py"), "import numpy as np\nNAMES = np.msort.__module__, np.msort.__name__\n" + TENSOR)
    found = resolve_engine("sorted_ones.py:Tensor")
    assert sys.modules[found.api.constructor.__module__].NAMES == ("numpy", "msort")
    assert np.msort(np.array([[3, 1], [2, 4]])).tolist() == [[2, 1], [3, 4]]  # type: ignore[attr-defined]


@pytest.mark.parametrize("home", ["node.py", "parts/node.py"])
def test_annotations_may_name_what_comes_later_as_in_python_314(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_finder.UncachedLoader, "flags", 0)
    write(Path(home), "class Node:\n    def follow(self, other: Node) -> Later: ...\n\nclass Later: ...\n")
    write(Path("parts/__init__.py"), "")
    write(Path("mine.py"), f"import {home.removesuffix('.py').replace('/', '.')}\n" + TENSOR)
    assert resolve_engine("mine.py:Tensor").api.tensor_type.__name__ == "Tensor"
    write(Path("wrong.py"), "missing\n" + TENSOR)
    with pytest.raises(UsageError, match="name 'missing' is not defined"):
        resolve_engine("wrong.py:Tensor")
