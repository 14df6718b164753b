"""Pages: results as one HTML file that opens from a disk.

A page loads nothing. `run_page` builds it, with a strict Content-Security-Policy by the hashes of its own script and
styles, which are readable in `static/`. `case_view` and `failure_view` say what of a case is shown, `templates/` how.
`heat_map` and `mathml` draw numbers and formulas.
`reports.notebook` shows the same pieces in Jupyter. Sentences come from `phrases`. All text of a case is escaped: by
jinja2 in templates, by hand in SVG and MathML. jinja2 is imported here alone, when a page is made.
"""
