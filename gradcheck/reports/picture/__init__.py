"""Graphs as pictures in text: SVG, Mermaid, Graphviz's DOT.

`diagram` makes nodes and edges of a case, of a result or of a traced pass; `layout` positions them; `svg`, `mermaid`
and `dot` write them. Names come from files of others, and are escaped where they are written. A new notation is a
module here and a line in `NOTATIONS` in `gradcheck/reports/commands/graph_picture.py`.
"""
