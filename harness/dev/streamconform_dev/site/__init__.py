"""The website: `conform dev site` builds one static folder from the documentation and the matrix.

MkDocs renders the prose of `docs/`; jinja2 renders the matrix from `docs/matrix`. Both use the templates
here.
"""
