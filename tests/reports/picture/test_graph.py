"""A case as nodes and edges; what is drawn of a large one; the three notations."""

from __future__ import annotations

import xml.dom.minidom

from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.reports.picture import dot, mermaid, svg
from gradcheck.reports.picture.graph import Edge, Graph, Node, nearest, of_case, told


def case_of(text: str) -> Case:
    (case,), errors = load_text(text, "a.yaml")
    assert not errors
    return case


CASE = case_of("{inputs: {x: [1, 2]}, constants: {c: [1, 1], unused: 1}, graph: {y: x * x, z: y + c, loss: z.sum()}}")
EVIL = '</text><script>alert(1)</script>" onload="x'


def test_inputs_constants_entries() -> None:
    graph = of_case(CASE)
    assert [(node.name, node.kind) for node in graph.nodes] == [
        *(("x", "input"), ("c", "constant"), ("y", "entry"), ("z", "entry"), ("loss", "entry"))
    ]
    assert Edge(0, 2, 2) in graph.edges
    assert {node.name for node in graph.nodes if node.is_root} == {"loss"}
    assert {node.name for node in graph.nodes if not node.needs_gradient} == {"c"}


def chain(number: int, wrong: int) -> Graph:
    nodes = tuple(Node(f"n{at}", "entry", verdict="faulty" if at == wrong else "passed") for at in range(number))
    return Graph(nodes, tuple(Edge(at, at + 1) for at in range(number - 1)))


def test_of_a_large_graph_the_part_where_it_goes_wrong_is_drawn() -> None:
    graph = nearest(chain(1000, 700), 11)
    assert [node.name for node in graph.nodes] == [f"n{at}" for at in range(695, 706)]
    assert graph.left_out == 989
    assert len(graph.edges) == 10
    assert "989 further nodes" in svg.drawn(graph)


def test_nothing_in_a_name_becomes_markup() -> None:
    graph = Graph((Node(EVIL, "entry", EVIL, told=(EVIL,)), Node('a"]; b', "input", "`c`")), (Edge(1, 0, 3),))
    drawn = svg.drawn(graph, alone=True)
    document = xml.dom.minidom.parseString(drawn)
    assert not document.getElementsByTagName("script")
    assert not any(one.hasAttribute("onload") for one in document.getElementsByTagName("*"))
    text = mermaid.drawn(graph)
    assert "<script" not in text
    assert text.count('"') == 2 * 2 + 2
    assert '"a\\"]; b\\n' in dot.drawn(graph)


def test_verdicts_are_colours_and_marks() -> None:
    graph = told(of_case(CASE), {"y": ("faulty", ("it is wrong",)), "x": ("follows", ())})
    drawn = svg.drawn(graph)
    assert 'class="node entry faulty"' in drawn
    assert "✗" in drawn
    assert "↯" in drawn
    assert "it is wrong" in drawn
    assert "class n2 faulty" in mermaid.drawn(graph)
    assert "penwidth" in dot.drawn(graph)
