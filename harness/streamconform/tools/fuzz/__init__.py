"""Generated answers of any API, streamed in random pieces and delivered in many ways, broken ones too.

`answers` draws answers, `generate` turns them into cases whose expectation is the drawn answer, and `mutate`
changes recorded streams in ways that no provider documents.
"""
