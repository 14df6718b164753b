"""Graphs as pictures in text: SVG, Mermaid, Graphviz's DOT.

`diagram` makes nodes and edges of a case, of a result or of a traced pass; `svg` positions and draws them. Names come
from files of others, and are escaped where they are written. A new notation is a function, and a line in `NOTATIONS`,
in `gradcheck/reports/commands/graph_picture.py`.
"""
