"""Pages: what was found, as HTML that opens from a disk and asks nobody for anything.

`document` puts a page together: one file, with a strict Content-Security-Policy by the hashes of its own script and
styles, which stand readable in `static/`. `view` says what of a case is shown, `templates/` how; `heat`, `png` and
`mathml` are its pictures of numbers and formulas, `knowledge` what the nodes of its graph say. `reports.notebook` shows
the same pieces in Jupyter. What is told comes from `phrases`, as in every report. Everything that a case says is
escaped: by jinja2 in the templates, by hand in what is made beside them. jinja2 is imported here alone, when a page is
asked for.
"""
