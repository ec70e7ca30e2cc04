"""Generate answers for any API, stream them in random pieces, deliver them in many ways, and break them.

`answers` generates answers, `generate` turns them into cases whose expectation is the generated answer, and
`mutate` changes recorded streams in ways that no provider documents.
"""
