"""Studies of papers: declare runs, figures and the paper's numbers; get figures, pages and a report.

`study` is how one is declared, `charts` what a figure shows, `drawing` how it looks, `pages` and `report` what is written.
The studies themselves are in `simtlab.lab.papers`, a file each.
"""
