"""Generated answers of any API, streamed in random pieces, delivered in many ways, and broken.

`answers` generates answers, `generate` turns them into cases whose expectation is the generated answer, and
`mutate` changes recorded streams in ways that no provider documents.
"""
