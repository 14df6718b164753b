"""A case as nodes and edges; what is drawn of a large one; the three notations."""

from __future__ import annotations

import xml.dom.minidom

from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.reports.commands.graph_picture import to_dot, to_mermaid
from gradcheck.reports.picture import svg
from gradcheck.reports.picture.diagram import Diagram, DiagramNode, Edge, diagram_of_case, nearest_nodes, with_verdicts


def case_of(text: str) -> Case:
    (case,), errors = load_text(text, "a.yaml")
    assert not errors
    return case


CASE = case_of("{inputs: {x: [1, 2]}, constants: {c: [1, 1], unused: 1}, graph: {y: x * x, z: y + c, loss: z.sum()}}")
EVIL = '</text><script>alert(1)</script>" onload="x'


def test_inputs_constants_entries() -> None:
    graph = diagram_of_case(CASE)
    assert [(node.name, node.kind) for node in graph.nodes] == [
        *(("x", "input"), ("c", "constant"), ("y", "entry"), ("z", "entry"), ("loss", "entry"))
    ]
    assert Edge(0, 2, 2) in graph.edges
    assert {node.name for node in graph.nodes if node.is_root} == {"loss"}
    assert {node.name for node in graph.nodes if not node.needs_gradient} == {"c"}


def chain(number: int, wrong: int) -> Diagram:
    nodes = tuple(DiagramNode(f"n{at}", "entry", verdict="faulty" if at == wrong else "passed") for at in range(number))
    return Diagram(nodes, tuple(Edge(at, at + 1) for at in range(number - 1)))


def test_of_a_large_graph_the_part_where_it_goes_wrong_is_drawn() -> None:
    graph = nearest_nodes(chain(1000, 700), 11)
    assert [node.name for node in graph.nodes] == [f"n{at}" for at in range(695, 706)]
    assert graph.omitted_nodes == 989
    assert len(graph.edges) == 10
    assert "989 further nodes" in svg.to_svg(graph)


def test_nothing_in_a_name_becomes_markup() -> None:
    graph = Diagram(
        (DiagramNode(EVIL, "entry", EVIL, details=(EVIL,)), DiagramNode('a"]; b', "input", "`c`")), (Edge(1, 0, 3),)
    )
    drawn = svg.to_svg(graph, alone=True)
    document = xml.dom.minidom.parseString(drawn)
    assert not document.getElementsByTagName("script")
    assert not any(one.hasAttribute("onload") for one in document.getElementsByTagName("*"))
    text = to_mermaid(graph)
    assert "<script" not in text
    assert text.count('"') == 2 * 2 + 2
    assert '"a\\"]; b\\n' in to_dot(graph)
    named = to_dot(Diagram((DiagramNode("a & b", "entry", "&quot; \\"),), ()))
    assert 'label="a &amp; b\\n&amp;quot; \\\\"' in named


def test_mermaid_gets_no_more_than_it_draws() -> None:
    nodes = tuple(DiagramNode(f"n{at}", "entry", "漢" * 60, is_root=at == 1999) for at in range(2000))
    for edges in (
        [Edge(at, at + 1) for at in range(1999)],
        [Edge(at, b) for b in range(1950, 2000) for at in range(b - 40, b)],
    ):
        text = to_mermaid(Diagram(nodes, tuple(edges), 7))
        assert len(text) <= 50_000
        assert 40 <= text.count("-->") <= 500
        drawn = text.count('["')
        assert f'"{2007 - drawn} further nodes are not drawn"' in text


def test_what_has_no_gradient_looks_so_in_every_notation() -> None:
    nodes = (
        DiagramNode("t", "constant", needs_gradient=False),
        DiagramNode("x", "input"),
        DiagramNode("y", "entry", is_root=True),
    )
    graph = Diagram(nodes, (Edge(0, 2), Edge(1, 2, 2)))
    text = to_mermaid(graph)
    for line in ("  n0 --> n2", '  n1 <-->|"×2"| n2', "  class n0 constant", "  class n2 root"):
        assert line in text.splitlines()
    text = to_dot(graph)
    assert text.count("style=dashed, constraint=false") == 1
    assert "  n2 -> n1 [style=dashed, constraint=false];" in text.splitlines()
    assert [line.count("rounded,dashed") for line in text.splitlines()[2:5]] == [1, 0, 0]
    assert svg.to_svg(graph).count('class="gradient"') == 1


def test_verdicts_are_colours_and_marks() -> None:
    graph = with_verdicts(diagram_of_case(CASE), {"y": ("faulty", ("it is wrong",)), "x": ("follows", ())})
    drawn = svg.to_svg(graph)
    assert 'class="node entry faulty"' in drawn
    assert "✗" in drawn
    assert "↯" in drawn
    assert "it is wrong" in drawn
    assert "class n2 faulty" in to_mermaid(graph)
    assert "penwidth" in to_dot(graph)
