"""Graphs as pictures, in text that others draw: SVG, Mermaid, Graphviz's DOT.

`graph` makes nodes and lines of a case, of a result or of a traced pass; `layers` says where each is put; `svg`,
`mermaid` and `dot` write them. Every name comes from a file that somebody else may have written, and is escaped where
it is written. A new notation is a module here and a line in `NOTATIONS` in
`gradcheck/reports/commands/graph_picture.py`.
"""
