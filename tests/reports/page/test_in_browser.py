"""The page as people use it, in a real browser: found, sorted, linked to, by keyboard alone, in the dark, on a phone,
on paper; without a word on the console, and without a request to anybody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gradcheck import load, run
from gradcheck.engines.traced_case import trace_case
from gradcheck.language.sampling import draw
from gradcheck.reports import render
from gradcheck.reports.commands.trace_page import render_trace_page as trace_page
from tests.browser import Visit, browser, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is a browser")

EVIL = "</script><img src=x onerror=alert(1)>"
LARGE = "a large layer"
Open = Callable[..., Visit]


def cases() -> list[dict[str, Any]]:
    large = {"dims": {"n": 192, "d": 61}, "inputs": {"X": "randn(n, d)", "w": "randn(d)"}, "graph": {"y": "X @ w",
             "loss": "(y ** 2).sum()"}, "formulas": {"X": "y[:, None] * w"}}  # fmt: skip
    small = {"inputs": {"x": [1.0, 2.0]}, "graph": {"y": "x * x", "s": "y.sum()"}, "tags": ["small"]}
    deep = {f"h{at}": f"tanh(h{at - 1}) + h{max(0, at - 9)}" for at in range(1, 60)}
    return [
        *({"name": f"good {at}", "formulas": {"x": "2 * x"}, **small} for at in range(3)),
        {"name": LARGE, "tags": ["large"], **large},
        {"name": EVIL, "description": EVIL, **small, "formulas": {"x": "3 * x"}, "tags": [EVIL]},
        {"name": "deep", "inputs": {"h0": "randn(3)"}, "graph": {**deep, "s": "h59.sum()"}},
        {"name": "no such op", "inputs": {"x": [1]}, "graph": {"y": "foo(x)"}},
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "all.yaml").write_text("\n---\n".join(map(json.dumps, cases())), encoding="utf-8")
    found = run(folder / "all.yaml", reference="core", engines=["core"], oracle="none", trials=0)
    assert [case.status for case in found.cases].count("passed") == 4
    file = folder / "report.html"
    file.write_text(render(found, "html"), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture
def visit(chromium: Any, report: Path) -> Iterator[Open]:
    """`visit("#status=failed")` opens the page there; nothing may have been heard of it in the end."""
    visits: list[Visit] = []

    def opened(place: str = "", file: Path = report, **settings: Any) -> Visit:
        visits.append(Visit(chromium, **settings))
        visits[-1].open(file, place)
        return visits[-1]

    yield opened
    heard = [line for one in visits for line in one.heard]
    for one in visits:
        one.close()
    assert heard == []


def names(page: Any) -> list[str]:
    found: list[str] = page.locator("#rows .name").all_text_contents()
    return found


def link(report: Path, name: str) -> str:
    return f"#case={quote(f'{report.parent}/all.yaml::{name}', safe='')}"


def test_what_failed_comes_first(visit: Open) -> None:
    page = visit().page
    assert names(page)[1:] == [LARGE, EVIL, "good 0", "good 1", "good 2", "deep"]
    assert page.locator(".cause").count() == 3
    assert page.locator("#shown").text_content() == "7 of 7"


def test_filter_and_sort(visit: Open) -> None:
    page = visit().page
    page.fill("#find", "good")
    assert names(page) == ["good 0", "good 1", "good 2"]
    page.fill("#find", "")
    page.click(".chip[data-status=failed]")
    assert names(page) == [LARGE, EVIL]
    page.select_option("#tag", "large")
    assert names(page) == [LARGE]
    assert page.evaluate("location.hash") == "#status=failed&tag=large"
    page.reload()
    page.wait_for_selector("#rows li")
    assert names(page) == [LARGE]
    page.click(".chip[data-status='']")
    page.select_option("#tag", "")
    page.select_option("#sort", "error")
    assert {LARGE, EVIL} < set(names(page)[:3])


def test_a_link_opens_its_case(visit: Open, report: Path) -> None:
    page = visit(link(report, LARGE)).page
    assert LARGE in page.locator("#case h2").first.text_content()
    assert page.locator("#overview").is_hidden()
    assert page.locator("#case .panel img").count() == 3
    images = "[...document.querySelectorAll('#case .panel img')].map((one) => [one.naturalWidth, one.naturalHeight])"
    assert page.evaluate(images) == [[61, 192]] * 3
    assert page.locator("#case math").count() >= 2
    page.evaluate("location.hash = '#case=nowhere'")
    page.wait_for_selector("#lost:not([hidden])")
    assert page.locator("#overview").is_visible()
    page.fill("#find", "good")
    page.click(".rows a")
    page.wait_for_selector("#case h2")
    assert page.locator("#lost").is_hidden()


def test_by_keyboard_alone(visit: Open) -> None:
    page = visit().page
    page.keyboard.press("/")
    page.keyboard.type("good")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("#case:not([hidden])")
    assert "good 1" in page.locator("#case h2").first.text_content()
    page.keyboard.press("j")
    page.wait_for_selector("#case h2:has-text('good 2')")
    page.keyboard.press("u")
    page.wait_for_selector("#overview:not([hidden])")
    assert names(page) == ["good 0", "good 1", "good 2"]


def test_nodes_tell_what_they_are(visit: Open, report: Path) -> None:
    page = visit(link(report, LARGE)).page
    page.locator(".graph .node", has_text="X @ w").hover()
    assert "value: [192] float64" in page.locator("#tip").text_content()
    page.locator(".graph .node.failed").focus()
    assert "X: wrong" in page.locator("#tip").text_content()
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_copy(visit: Open, report: Path) -> None:
    page = visit(link(report, EVIL), permissions=["clipboard-read", "clipboard-write"]).page
    for place, begins in (
        (".case-head .copy", "gradcheck run "),
        (".finding > .copy", "the formula of x is wrong\n"),
        (".diff .copy", "2 * x"),
    ):
        page.locator(place).click()
        page.wait_for_selector(f"{place}:text-is('copied')")
        assert page.evaluate("navigator.clipboard.readText()").startswith(begins)


def test_nothing_breaks_out(visit: Open, report: Path) -> None:
    opened = visit(link(report, EVIL))
    opened.page.on("dialog", lambda dialog: opened.heard.append(f"dialog: {dialog.message}"))
    assert opened.page.locator("img[src=x]").count() == 0
    assert EVIL in opened.page.locator("#case h2").first.text_content()
    assert opened.page.locator("#case").locator(f"text={EVIL}").count() >= 2


def test_dark(visit: Open) -> None:
    page, colours = visit().page, []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    light, dark = colours
    assert light == "rgb(255, 255, 255)"
    assert sum(map(int, dark.removeprefix("rgb(").removesuffix(")").split(","))) < 150


#: Buttons that lie upon the text that they copy.
_COVERED = """[...document.querySelectorAll("#case .copyable")].filter((one) =>
  one.querySelector(".copy").getBoundingClientRect().bottom > one.querySelector("pre").getBoundingClientRect().top
).map((one) => one.textContent)"""


def test_a_phone_scrolls_downwards_alone(visit: Open, report: Path) -> None:
    page = visit(viewport={"width": 360, "height": 740}).page
    for name in ("", LARGE, EVIL, "deep"):
        page.evaluate("(place) => { location.hash = place; }", link(report, name) if name else "#")
        page.wait_for_selector("#case h2" if name else "#rows li")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name
    assert page.evaluate(_COVERED) == []


def test_paper(visit: Open, report: Path) -> None:
    page = visit(link(report, EVIL)).page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator(".case-nav").is_hidden()
    assert page.locator("#case .copy").first.is_hidden()
    assert page.locator("#case .claims").is_visible()
    assert len(page.pdf()) > 5_000


def test_a_backward_pass_is_stepped_through(visit: Open, report: Path) -> None:
    (case,), _ = load([f"{report.parent}/all.yaml::{EVIL}"])
    file = report.with_name("trace.html")
    file.write_text(trace_page(trace_case(draw(case))), encoding="utf-8")
    page = visit(file=file).page
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert page.locator(".said").text_content().startswith("x receives")
    assert page.locator(".node .counter").all_text_contents() == ["1/2", "1/1", "1/1"]
    assert page.locator(".gradient.current").count() == 1
    page.click(".on")
    assert page.locator(".node .counter").first.text_content() == "2/2"
    page.keyboard.press("Home")
    assert page.locator(".now").text_content() == "0 of 6"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_happens_in_a_tall_picture_is_in_sight(visit: Open, report: Path) -> None:
    (case,), _ = load([f"{report.parent}/all.yaml::deep"])
    file = report.with_name("tall.html")
    file.write_text(trace_page(trace_case(draw(case))), encoding="utf-8")
    page = visit(file=file).page
    seen = """() => {
      const node = document.querySelector(".node.current").getBoundingClientRect();
      const box = document.querySelector(".picture").getBoundingClientRect();
      return node.top >= box.top && node.bottom <= box.bottom && box.height < 0.9 * innerHeight;
    }"""
    for key in ("ArrowRight", "End", "ArrowLeft"):
        page.keyboard.press(key)
        assert page.evaluate(seen), key


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(visit: Open, report: Path, scheme: str) -> None:
    """By the rules of axe-core, which ask for contrast, names of controls, order of headings and the like."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core is not here: pip install axe-playwright-python")
    source = files(axe).joinpath("axe.min.js").read_text(encoding="utf-8")
    wrong = []
    page = visit(color_scheme=scheme).page
    page.evaluate(source)
    for name in ("", LARGE if scheme == "light" else EVIL):
        page.evaluate("(place) => { location.hash = place; }", link(report, name) if name else "#")
        page.wait_for_selector("#case h2" if name else "#rows li")
        found = page.evaluate("axe.run()")
        assert len(found["passes"]) > 15
        wrong += [(name, one["id"], [node["html"] for node in one["nodes"]][:3]) for one in found["violations"]]
    assert wrong == []
