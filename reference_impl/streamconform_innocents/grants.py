"""The sentences that grant freedoms, exactly as in the documentation, except for line breaks."""

from __future__ import annotations

from typing import Final

from .model import Grant

_OUTCOME: Final = "docs/outcome.md"
_ADAPTERS: Final = "docs/adapters.md"
_POLICY: Final = "specs/POLICY.md"
_SPECS: Final = "docs/specs.md"

ABSENT: Final = Grant(
    _OUTCOME,
    '**An absent key means that the library does not expose the value**: it is not judged, and reports count it as "not exposed".',
)
CITATION_KEYS: Final = Grant(_OUTCOME, "All keys are optional.")
NO_COMPLETE_FLAG: Final = Grant(
    _OUTCOME,
    "`complete` says whether the call ended on the wire; a library that has no such flag leaves it out.",
)
EXECUTOR: Final = Grant(
    _OUTCOME, "`executor` is `provider` for tools that the provider ran itself; null means `client`."
)
REMOVED: Final = Grant(
    _OUTCOME,
    "Before the comparison, these blocks are removed from both sides: `other` blocks (unless the case names their kind), types that the implementation does not claim, empty text and refusal blocks, and thinking blocks with neither text nor signature.",
)
ONE_COUNT: Final = Grant(
    _OUTCOME,
    "A library that reports one count for the whole prompt claims `usage` without `cache_usage`; its `input` is then compared with the sum of input, cache reads and cache writes.",
)
JOINED: Final = Grant(
    _OUTCOME,
    "Adjacent text blocks are then joined, unless the case gives them different phases, or gives the first one a signature.",
)
MAY_JOIN: Final = Grant(_OUTCOME, "An implementation may therefore join text blocks or keep empty ones.")
ONE_TEXT: Final = Grant(
    _OUTCOME,
    "In `openai-chat`, `ollama-chat` and `cohere-chat`, a message has one text, one thinking text and one list of calls, so all text is joined, all thinking without a signature is joined, and positions are not judged.",
)
REFUSAL_EVENTS: Final = Grant(_OUTCOME, "`refusal_start` `refusal_delta` `refusal_end` | like text |")
UNKNOWN_KEYS: Final = Grant(
    _OUTCOME, "Unknown keys are not judged; a run lists them, with the known key that they probably mean."
)
JSON_VALUES: Final = Grant(
    _OUTCOME,
    "- Arguments are compared as JSON values: 1 equals 1.0, booleans are not numbers, key order does not matter, and the last of several duplicate keys wins.",
)
THREE_FORMS: Final = Grant(_OUTCOME, "All three pass.")
NULL_ID: Final = Grant(_OUTCOME, "`id` is null if the stream has none.")
BROKEN_STREAM: Final = Grant(
    _OUTCOME,
    "A stream that was cut, reset or stalled may be reported as either `incomplete` or `error`, because raising an exception is safe too.",
)
LOST_CONTENT: Final = Grant(
    _OUTCOME,
    "Losing content, usage or the model's name that has arrived is a warning, even after the provider's error frame.",
)
NO_END_MARKER: Final = Grant(
    _OUTCOME,
    "If the stop reason and the usage have arrived and only Anthropic's `message_stop` or openai-chat's `[DONE]` is missing, `complete` passes too.",
)
DELTAS: Final = Grant(
    _OUTCOME,
    "Each delta comes between the start and the end of its own block, and the deltas of a block add up to the final block.",
)
STARTS_AND_ENDS: Final = Grant(
    _OUTCOME, "Every block with content has a start event, and every complete call has an end event."
)
USAGE_EVENTS: Final = Grant(_OUTCOME, "| `usage` | `usage` and `cost` so far, after every update |")
AMOUNTS: Final = Grant(
    _OUTCOME, "decimal **text** in USD, computed from the prices in the run; null without prices"
)
CONTENT_ORDER: Final = Grant(
    _OUTCOME,
    "the content blocks in the provider's order: `text`, `thinking`, `refusal`, `tool_call`, `other`",
)
HIDDEN_THINKING: Final = Grant(
    _OUTCOME, "Thinking with hidden text keeps its signature, because the next request must send it back."
)

TOOL_CALLS: Final = Grant(_ADAPTERS, "| `tool_calls` | calls to client tools are not compared |")
ONLY_CLAIMED: Final = Grant(_ADAPTERS, "Only claimed values are compared.")
PARALLEL_CALLS: Final = Grant(
    _ADAPTERS, "| `parallel_tool_calls` | cases with two or more such calls are skipped |"
)
PROVIDER_TOOLS: Final = Grant(
    _ADAPTERS,
    "| `provider_tools` | calls to tools that the provider runs are not compared; [request cases](specs.md#requests) are skipped if their conversation contains such a call or an `other` block, which the client could not send back |",
)
THINKING: Final = Grant(
    _ADAPTERS,
    "| `thinking`, `signatures` | thinking blocks, or their signatures, are not compared, and request cases whose conversation contains them are skipped; Google's streams that contain thoughts are skipped without `thinking`, because a client must request thoughts |",
)
REFUSALS: Final = Grant(_ADAPTERS, "| `refusals` | refusal blocks are not compared |")
USAGE: Final = Grant(_ADAPTERS, "| `usage`, `cost` | these values are not compared |")
CACHE_USAGE: Final = Grant(
    _ADAPTERS,
    "| `cache_usage` | cache reads and writes are not compared, and `usage.input` is compared with the sum of all three |",
)
USAGE_DETAILS: Final = Grant(
    _ADAPTERS,
    "| `usage_details` | `usage.reasoning`, `.cache_write_1h` and `.web_searches` are not compared |",
)
RAW_STOP: Final = Grant(
    _ADAPTERS,
    "| `raw_stop` | the provider's own stop reason, `stop.raw`, is not compared; leave it out for libraries that translate the reason |",
)
ERRORS: Final = Grant(_ADAPTERS, "| `errors` | type, message and status of errors are not compared |")
EVENTS: Final = Grant(_ADAPTERS, "| `events` | events are not requested |")
DOCUMENTS: Final = Grant(
    _ADAPTERS, "| `documents` | non-streaming answers are skipped; must be claimed by name |"
)
ALWAYS_COMPARED: Final = Grant(
    _ADAPTERS,
    "`status` and text are always compared; `model` and `response_id` are compared if the case names them.",
)
TRUNCATED_CALL: Final = Grant(
    _ADAPTERS,
    "- **A truncated call** must not be executed: `complete: false`, or `arguments: null`, or no such call.",
)
BROKEN_STREAM_RULE: Final = Grant(
    _ADAPTERS,
    "- **A broken stream** may be reported as `incomplete` or `error`; both pass, but `complete` does not.",
)
RAISED: Final = Grant(
    _ADAPTERS,
    "A run in which the library raised is judged as status `error` without content; its events are not judged.",
)
RAISED_WITH_CONTENT: Final = Grant(
    _ADAPTERS, "To keep the content received so far, return the exception along with the outcome."
)
RAISED_MESSAGE: Final = Grant(
    _ADAPTERS,
    "If `errors` is claimed and the outcome has no `error`, the exception's message is expected to contain the provider's message; type and status then count as not exposed.",
)
CHUNK_COUNTS: Final = Grant(
    _ADAPTERS,
    "Only programs that feed the chunks one by one can report it; it lets `invariant.streaming` be checked in `bytes` mode.",
)

ONE_COUNT_DECIDED: Final = Grant(
    _POLICY,
    "Without the capability `cache_usage`, `usage.input` is compared with the sum of input, cache reads and cache writes; with the capability, it is compared with the disjoint bucket.",
)
POSITIONS: Final = Grant(_POLICY, "Positions relative to the calls are not judged.")
KINDS: Final = Grant(
    _POLICY, "The block is `other`, with the API's name as its kind, and is judged only if a case names it."
)
MALFORMED_CALL: Final = Grant(
    _POLICY,
    "The turn continues, and the call must not be executed: its arguments are null, or it is not `complete`, or it is left out.",
)
NO_ID_DECIDED: Final = Grant(_POLICY, "If the stream has no id, a new id and `null` both pass.")
BROKEN_STREAM_DECIDED: Final = Grant(
    _POLICY, "`incomplete` and `error` both pass, `complete` does not, and no unfinished call is executable."
)
RAISING_IS_SAFE: Final = Grant(
    _POLICY, "Because: No provider documents how a client reports a break, and raising is safe."
)
NO_MESSAGE_STOP: Final = Grant(
    _POLICY,
    "Anthropic: every status passes if reason and usage arrived and only `message_stop` is missing; `complete` is a warning.",
)
NO_DONE: Final = Grant(
    _POLICY,
    "The status is `complete`, with the usage that arrived; a client that reports a break passes with a warning.",
)
OPEN: Final = Grant(
    _POLICY, '"Open": every interpretation that a source supports passes (`any_of`); any other fails.'
)
PAUSED: Final = Grant(
    _POLICY,
    "Over HTTP, a client may stop there or send the answer back; the second request then gets a normal answer.",
)
CONTINUED: Final = Grant(
    _POLICY, "A client may choose whether to request the rest, and the replay server has only one answer."
)
UNKNOWN_COUNT: Final = Grant(
    _POLICY,
    "In an outcome, null means unknown, and an absent key is not judged, because the library does not expose the value.",
)

EMPTY_SIGNATURE: Final = Grant(
    _POLICY, '`""` and null are equivalent; if there is no text either, there is no block.'
)
SIGNED_TEXT: Final = Grant(
    _POLICY,
    "Signed text may be joined with the unsigned text before it, but never with the text after it.",
)
THINK_TAGS: Final = Grant(_POLICY, "Both behaviors pass; the bundled parser leaves the tags in the text.")
FAILED_STATUS: Final = Grant(_POLICY, "For cancelled and failed, a client may also raise.")
LIMITED_CALL: Final = Grant(
    _POLICY,
    "A client that reports such a call as cut passes with a warning.",
)
LIMITED_DOCUMENT: Final = Grant(
    _POLICY,
    "In documents from Anthropic, Bedrock and Ollama, the input of a call is an object whether or not the limit cut it, so the call may be complete or incomplete there.",
)
PAUSE_AS_ERROR: Final = Grant(
    _POLICY,
    "Reporting an error in place of a pause or a refusal, or a content filter in place of a refusal, is only a warning, because clients do so on purpose (tetsuo-ai/agenc-core#2402, BerriAI/litellm#23899).",
)
UNKNOWN_REASON: Final = Grant(
    _POLICY,
    "For Anthropic, reporting an error is only a warning, because open-gsd/gsd-pi#2042 does so on purpose; reporting a normal end is a failure.",
)
RAISED_ARGUMENTS: Final = Grant(
    _POLICY,
    "For Anthropic, raising is only a warning, because the official library has done so on purpose since version 0.122.",
)
BLOCKED_ANSWER: Final = Grant(
    _POLICY,
    "A client may raise instead, with or without the content so far, and passes with a warning.",
)
RAISED_REFUSAL: Final = Grant(
    _POLICY,
    "A client may raise on a refusal, and passes with a warning; the exception's message should contain the refusal.",
)
RAISED_LIMIT: Final = Grant(
    _POLICY,
    "A client may also raise if a limit or a filter ended an answer with calls, and passes with a warning.",
)
HIDDEN_BUCKET: Final = Grant(
    _POLICY,
    "If the outcome leaves out `usage.cache_read` or `usage.cache_write`, `usage.input` may include the tokens of that bucket, and passes with a warning.",
)
SIGNATURE_AS_THINKING: Final = Grant(
    _POLICY,
    "A client that reports the signature of a call or of text as a thinking block without text, directly before it, passes with a warning.",
)
REFUSABLE: Final = Grant(
    _OUTCOME,
    "A client may raise on an answer or a prompt that a filter blocked, on a refusal, and on an answer with tool calls that a limit or a filter ended; each is a warning.",
)
CALL_AT_LIMIT: Final = Grant(
    _OUTCOME,
    "A finished call in an answer that a limit or a filter ended may have `complete: false`, with a warning.",
)
INCLUDED_BUCKET: Final = Grant(
    _OUTCOME,
    "If a library exposes only one of cache reads and cache writes, its `input` may include the other, with a warning.",
)
MOVED_SIGNATURE: Final = Grant(
    _OUTCOME,
    "A signature of a call or of text that is reported as a thinking block without text, directly before the block, is a warning.",
)
FREE_TEXT: Final = Grant(
    _POLICY,
    "The form of `arguments` is not judged; `arguments_text` must be the joined text, or if it is null, the "
    "arguments must be that text, as it is or in an object.",
)
BY_ID: Final = Grant(
    _OUTCOME,
    "Calls that the case identifies by id are compared by id, whatever their order; another order than in the stream is a warning.",
)
UNNAMED_PROVIDER_CALL: Final = Grant(
    _OUTCOME,
    "A call of the provider that the case does not name is not judged; a library may show such a call in any form.",
)
SPLIT_THINKING: Final = Grant(
    _OUTCOME,
    "A library may show a thought as several blocks, if only the last of them has a signature; in [events](#events), a block per delta is a warning.",
)
NO_STOP: Final = Grant(
    _OUTCOME,
    "so is `stop.reason`, unless the adapter's `capabilities` lack `stop` and the outcome has no key `stop`.",
)
BESIDE_EXCEPTION: Final = Grant(
    _OUTCOME,
    "If the library raises, the caller gets no content; an adapter may report the content that had arrived beside the exception.",
)
COUNT_NEVER_GIVEN: Final = Grant(
    _OUTCOME,
    "A count that the stream had not given before the break is null; reported as 0, it is a warning.",
)
UNFINISHED_CALL: Final = Grant(_OUTCOME, "An unfinished call in it is only a warning.")
ZERO_FOR_NULL: Final = Grant(_OUTCOME, "0 for a count that the stream never gave is a warning |")
STOP: Final = Grant(
    _ADAPTERS,
    "| `stop` | an outcome may leave `stop` out, as the libraries of most agent frameworks have no stop reason; the report counts the cases in which a limit or a filter then cannot be noticed. A reason that is reported is compared |",
)
EITHER_VERSION: Final = Grant(
    _SPECS,
    "A client may send either version of Anthropic's API, and is judged by the version that it sends.",
)
ANY_ORDER: Final = Grant(
    _SPECS, "Where ids match results to their calls, the results in one message may come in any order."
)
ANY_PATH: Final = Grant(
    _SPECS, "It may use any path that a host offers, and is judged by the path that it uses."
)
