"""The trials of a run: id patterns, deliveries, levels."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from streamconform.apis import APIS
from streamconform.delivery.faults import break_stream, list_faults
from streamconform.delivery.stream import Stream
from streamconform.errors import SelectionError
from streamconform.model.case import LEVELS, Skip
from streamconform.model.trial import (
    DELIVERIES,
    DELIVERY_SETS,
    FAULTS,
    OF_ROUND_TRIPS,
    SAMPLE_TAG,
    Delivered,
    Trial,
    find_transport,
)
from streamconform.resources import find_bundled
from streamconform.suite.expand import expand, find_delivery_level, make_round_trip, make_trial
from streamconform.suite.load import Sources, load
from streamconform.suite.select import (
    Shard,
    find_id,
    is_at_least,
    matches,
    parse_shard,
    select_apis,
    select_ids,
    select_trials,
    split_pattern,
    suggest_cases,
)

from . import builders, round_trips

ID = "anthropic-messages/tool-use/parallel-calls@utf8-split"

PATTERNS = [
    ("anthropic-messages/tool-use/parallel-calls", True),
    ("anthropic-messages/tool-use/*", True),
    ("anthropic-messages/*/*", True),
    ("anthropic-messages/*", False),
    ("anthropic-messages/**", True),
    ("*/tool-use/*", True),
    ("*/*-use/par*calls", True),
    ("**/parallel-calls", True),
    ("**", True),
    ("*", False),
    ("anthropic-messages/tool-use/parallel", False),
    ("**@utf8-*", True),
    ("*/*/*@utf8-split", True),
    ("*/*/*@whole", False),
    ("*@utf8-split", False),
    ("**utf8-split", False),
    ("parallel", True),
    ("utf8", True),
    ("@utf8-split", True),
    ("Parallel", False),
    ("anthropic.messages/**", False),
]


@pytest.mark.parametrize(("pattern", "hit"), PATTERNS)
def test_a_pattern_is_about_components_a_word_about_any_part(pattern, hit):
    """Without `@`, a glob matches the case: `**/parallel-calls` means all its deliveries."""
    assert matches(pattern, ID) is hit


CASES = tuple(
    builders.case(id=f"anthropic-messages/{name}") for name in ("text/one", "text/two", "usage/one")
)
DELIVERED = ("whole", "bytewise")
SOURCES = Sources(find_bundled("specs"), find_bundled("cassettes"))


IDS = tuple(case.id for case in CASES)


def trials(cases=CASES, deliveries=DELIVERED, seed=0):
    return tuple(expand(cases, deliveries, "bytes", seed))


def test_trials_are_chosen_by_any_of_the_patterns_and_keep_their_order():
    chosen = [trial.id for trial in select_trials(trials(), ["**/usage/one", "**/two@whole"])]
    assert chosen == [
        "anthropic-messages/text/two@whole",
        "anthropic-messages/usage/one@whole",
        "anthropic-messages/usage/one@bytewise",
    ]
    assert select_trials(trials(), []) == trials()


def test_cases_are_chosen_without_making_their_trials():
    assert select_ids(IDS, ["**/one@whole"], DELIVERED) == (IDS[0], IDS[2])
    assert select_ids(IDS, [], DELIVERED) == IDS
    assert select_ids(IDS, ["**/usage/one", "**/text/one"], DELIVERED) == (IDS[0], IDS[2])


SHORTLISTED = [
    ("**@cut-after-frame.12", 3),
    ("**/one@cut-*", 2),
    ("one@cut-after", 2),
    ("cut-after-frame", 3),
    ("after-frame.12", 3),
    ("frame.x", 0),
    ("12", 3),
    ("stall", 0),
]


@pytest.mark.parametrize(("pattern", "count"), SHORTLISTED)
def test_a_pattern_that_names_a_fault_means_the_cases_that_may_have_it(pattern, count):
    names = (*DELIVERED, "cut-after-frame")
    if count:
        assert len(select_ids(IDS, [pattern], names)) == count
    else:
        with pytest.raises(SelectionError, match="matches no trial"):
            select_ids(IDS, [pattern], names)


def test_a_pattern_is_divided_like_an_id():
    case, delivery, check = split_pattern("a/*/c@cut.*:content.*.text")
    assert [case.match("a/b/c"), delivery.match("cut.7"), check.match("content.0.text")].count(None) == 0
    assert split_pattern("a/**")[1:] == (None, None)
    assert split_pattern("**:usage.input").delivery is None


def test_a_shard_depends_on_the_case_alone_and_nothing_falls_between():
    held = [[case.id for case in CASES if Shard(k, 4).includes(case.id)] for k in (1, 2, 3, 4)]
    assert sorted(id_ for shard_ids in held for id_ in shard_ids) == sorted(case.id for case in CASES)
    assert held == [
        [case.id for case in CASES if parse_shard(f"{k}/4").includes(case.id)] for k in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize(
    ("pattern", "delivery", "hit"),
    [
        ("a/**", "whole", True),
        ("a/**", None, True),
        ("a/**@cut.*", "cut.7", True),
        ("a/**@cut.*", "whole", False),
        ("a/**@cut.*", None, False),
    ],
)
def test_a_pattern_without_a_delivery_matches_all_and_a_call_has_none(pattern, delivery, hit):
    assert split_pattern(pattern).matches_delivery(delivery) is hit


def test_the_first_64_bits_of_the_digest_of_the_id_are_the_shard_and_stay_so():
    for case in CASES:
        number = int(hashlib.sha256(case.id.encode()).hexdigest()[:16], 16)
        for total in (2, 3, 7):
            shards = [k for k in range(1, total + 1) if Shard(k, total).includes(case.id)]
            assert shards == [number % total + 1]


def test_a_level_is_at_least_itself_and_every_looser_one():
    pairs = {(level, minimum) for level in LEVELS for minimum in LEVELS if is_at_least(level, minimum)}
    same = {(level, level) for level in LEVELS}
    assert pairs == same | {("must", "should"), ("must", "may"), ("should", "may")}


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2", "1/2/3", ""])
def test_a_shard_that_cannot_be_is_an_error(text):
    with pytest.raises(SelectionError, match="expected K/N"):
        parse_shard(text)


@pytest.mark.parametrize("pattern", ["text/oen", "text/one", "**/oen@*", "anthropic-messages/text/ones"])
def test_a_pattern_without_a_match_is_an_error_with_close_matches(pattern):
    with pytest.raises(SelectionError) as caught:
        select_ids(IDS, ["**", pattern], DELIVERED)
    assert f"`-k {pattern}` matches no trial" in str(caught.value)
    assert "`anthropic-messages/text/one`" in str(caught.value)


def test_wildcards_and_deliveries_do_not_count_for_close_matches():
    hint = suggest_cases("text/oen", IDS)
    assert hint.startswith("; closest cases: `anthropic-messages/text/one`")
    assert suggest_cases("**/text/*oen@a-delivery-with-a-long-name", IDS) == hint


@pytest.mark.parametrize(
    ("pattern", "ids", "suggested"),
    [
        ("on", IDS, ("anthropic-messages/text/one", "anthropic-messages/usage/one")),
        ("onexxxxx", IDS, ()),
        ("XXXXXXXone", IDS, ()),
        ("a/c", ("x/a/b", "x/d/e"), ("x/a/b",)),
        ("one", ("a/t/one", "b/t/one", "c/t/one", "d/t/one"), ("a/t/one", "b/t/one", "c/t/one")),
        ("tones", ("a/t/zones", "a/t/tone", "a/t/zzz"), ("a/t/zones", "a/t/tone")),
    ],
)
def test_up_to_three_ids_are_suggested_whose_ending_is_nearly_equal(pattern, ids, suggested):
    names = ", ".join(f"`{name}`" for name in suggested)
    hint = f"; closest cases: {names}" if suggested else "; `conform list` shows the ids"
    assert suggest_cases(pattern, ids) == hint


def test_without_a_close_match_the_error_names_the_list():
    with pytest.raises(SelectionError, match="`conform list` shows the ids"):
        select_ids(IDS, ["zzzzzz"], DELIVERED)


def test_a_pattern_that_leaves_no_trial_is_an_error_unless_this_is_a_part_of_the_suite():
    with pytest.raises(SelectionError, match="`-k @crlf` matches no trial in the selected deliveries"):
        select_trials(trials(), ["**", "@crlf"])
    assert select_trials(trials(), ["@crlf"], lenient=True) == ()


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("@crlfs", "faults; did you mean `crlf`?"),
        ("@crlfs:content.text", "faults; did you mean `crlf`?"),
        ("@crlf", "`--input http` adds broken connections"),
        ("**@crlf*s", "`--input http` adds broken connections"),
        ("@cut-after-frame.99", "`--input http` adds broken connections"),
        ("crlfs", "`--input http` adds broken connections"),
    ],
)
def test_a_similar_name_is_suggested_only_for_an_unknown_delivery(pattern, end):
    with pytest.raises(SelectionError) as caught:
        select_trials(trials(), [pattern])
    assert str(caught.value).endswith(end)


def test_an_api_without_cases_is_an_error_that_names_the_others():
    assert select_apis(IDS, ["anthropic-messages"]) == IDS == select_apis(IDS, [])
    with pytest.raises(SelectionError, match=r"`openai-chat`; available: `anthropic-messages`"):
        select_apis(IDS, ["openai-chat"])
    with pytest.raises(SelectionError, match=r"`openai-chat`; available: none$"):
        select_apis((), ["openai-chat"])


FOUND = [("anthropic-messages/text/two", 1), ("text/one@whole", 0), ("two", 1), ("usage/one", 2)]


@pytest.mark.parametrize(("name", "at"), FOUND)
def test_the_end_of_an_id_finds_the_case(name, at):
    assert find_id(name, IDS) == IDS[at]


@pytest.mark.parametrize(
    ("name", "says"),
    [("one", "is ambiguous"), ("text/too", "did you mean"), ("zzz", "`conform list` shows the ids")],
)
def test_a_name_that_means_no_single_case_is_an_error(name, says):
    with pytest.raises(SelectionError, match=says):
        find_id(name, IDS)


def test_trials_come_in_the_order_of_cases_and_of_the_table():
    names = [trial.delivery for trial in trials(CASES[:1], iter(reversed(DELIVERY_SETS["standard"])))]
    assert names == [name for name in DELIVERIES if name in names]
    assert names == [name for name in DELIVERY_SETS["standard"] if find_transport(name) == "http"]


def test_sampled_deliveries_apply_only_to_cases_with_the_tag():
    sample = replace(builders.case(id="anthropic-messages/text/sample"), tags=frozenset({SAMPLE_TAG}))
    cases = (builders.case(), sample)
    made = expand(cases, ("whole", "bom", "no-space"), "bytes", 0, "none", ("bom", "no-space"))
    delivered = [(trial.case.id.rpartition("/")[2], trial.delivery) for trial in made]
    first, sample = (case.id.rpartition("/")[2] for case in cases)
    assert delivered == [(first, "whole"), (sample, "whole"), (sample, "bom"), (sample, "no-space")]


def test_one_case_of_each_api_with_server_sent_events_is_a_sample():
    cases = [case for case in load(SOURCES) if SAMPLE_TAG in case.tags]
    framed = {api for api in APIS if APIS[api].detect_framing(200, b"data: {}\n\n") == "sse"}
    assert sorted(case.api for case in cases) == sorted(framed)


def test_the_level_is_the_looser_of_case_and_delivery():
    levels = {}
    for level in ("must", "should", "may"):
        made = trials([builders.case(level=level)], ["whole", "padding", "cr"])
        levels[level] = [each.level for each in made]
    assert levels == {
        "must": ["must", "should", "may"],
        "should": ["should", "should", "may"],
        "may": ["may", "may", "may"],
    }


def test_skipped_deliveries_are_excluded():
    for skipped, left in ("whole", "bytewise"), ("bytewise", "whole"):
        case = builders.case(skip=Skip("they differ", frozenset({skipped})))
        assert [trial.delivery for trial in trials([case])] == [left]


def test_compressed_bytes_are_another_trial_than_the_same_bytes_in_clear():
    made = [*expand([builders.case()], ["as-is", "whole", "gzip"], "http", 0)]
    assert [trial.delivery for trial in made] == ["as-is", "whole", "gzip"]
    assert made[-1].chunks in [trial.chunks for trial in made[:-1]]


def test_an_api_has_its_own_levels_for_unknown_events_and_fields():
    of_apis = {api: APIS[api].extensions for api in APIS}
    for name, levels in (
        ("unknown-event", {api: each.event_level for api, each in of_apis.items()}),
        ("unknown-field", {api: each.field_level for api, each in of_apis.items()}),
        ("padding", dict.fromkeys(APIS, DELIVERIES["padding"].level)),
    ):
        assert {api: find_delivery_level(api, name) for api in APIS} == levels
        assert name == "padding" or len({*levels.values(), DELIVERIES[name].level}) > 1


def test_a_delivery_with_the_same_chunks_is_excluded():
    """ASCII has no characters to split; a body with one frame is already whole."""
    case = builders.case(body=b'data: {"type":"ping"}\n\n')
    names = [trial.delivery for trial in trials([case], DELIVERIES)]
    assert "whole" not in names
    assert "utf8-split" not in names
    assert len(names) == len({trial.chunks for trial in trials([case], DELIVERIES)})


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"<html>" + "é".encode() * 99, 200), (b'{"type":"error"}' * 9, 200), (b"data: 1\n\n" * 9, 500)],
    ids=["page", "json", "status-500"],
)
def test_a_document_gets_only_the_deliveries_that_cut(body, status):
    names = {trial.delivery for trial in trials([builders.case(body=body, status=status)], DELIVERIES)}
    assert names <= {"as-is", "whole", "bytewise", "utf8-split", "random", "windows"}
    assert {"bytewise", "random"} <= names


def test_trials_that_need_http_are_not_sent_as_bytes():
    assert "gzip" not in {trial.delivery for trial in trials(CASES, DELIVERIES)}


def test_trials_depend_only_on_the_seed():
    assert trials(deliveries=["random"], seed=1) == trials(deliveries=["random"], seed=1)
    assert trials(deliveries=["random"], seed=1) != trials(deliveries=["random"], seed=2)
    one, two, _ = trials(deliveries=["random"])
    assert one.body == two.body
    assert one.chunks != two.chunks, "each case has cuts of its own"


ROUND_TRIP = round_trips.case(
    api=builders.ANTHROPIC, level="should", body=builders.sse_body(builders.TEXT_FRAMES[:-1])
)


def expand_round_trip(seed=0):
    return {trip.delivery: trip for trip in expand([ROUND_TRIP], reversed(DELIVERIES), "http", seed)}


def test_both_answers_of_a_round_trip_are_cut_in_the_same_way():
    trips = expand_round_trip()
    assert list(trips) == list(OF_ROUND_TRIPS["http"])
    for name, trip in trips.items():
        assert trip.case == ROUND_TRIP
        for answer, case in zip(trip.answers, ROUND_TRIP.answers, strict=True):
            assert (answer.case, answer.delivery, answer.level) == (case, name, "should")
            assert answer.body == case.cassette.body
    frames = len(builders.TEXT_FRAMES)
    assert [len(answer.chunks) for answer in trips["as-is"].answers] == [frames - 1, frames]
    assert trips["bytewise"].answers[1].chunks == tuple(
        bytes([byte]) for byte in builders.sse_body(builders.TEXT_FRAMES)
    )


def test_the_answers_of_a_round_trip_have_cuts_of_their_own_that_depend_on_the_seed():
    random = expand_round_trip()["random"]
    assert random == expand_round_trip()["random"] == make_round_trip(ROUND_TRIP, "random", 0)
    assert random.answers[1].chunks != expand_round_trip(1)["random"].answers[1].chunks
    assert make_round_trip(ROUND_TRIP, "random", 1) == expand_round_trip(1)["random"]
    first, second = ROUND_TRIP.answers
    same = replace(first, cassette=replace(second.cassette, name="other"))
    one, other = make_round_trip(replace(ROUND_TRIP, answers=(same, second)), "random", 0).answers
    assert (one.body, other) == (other.body, random.answers[1])
    assert one.chunks != other.chunks


def test_a_round_trip_with_the_same_chunks_is_excluded():
    frame = builders.sse_body(builders.TEXT_FRAMES[-1:])
    first, second = (
        replace(answer, cassette=replace(answer.cassette, body=frame)) for answer in ROUND_TRIP.answers
    )
    for answers, names in (
        ((first, second), ["as-is", "bytewise", "random"]),
        ((first, ROUND_TRIP.answers[1]), list(OF_ROUND_TRIPS["http"])),
    ):
        one_frame = replace(ROUND_TRIP, answers=answers)
        assert [trip.delivery for trip in expand([one_frame], DELIVERIES, "http", 0)] == names


def test_a_round_trip_is_found_by_a_delivery_of_today_or_its_old_name():
    assert make_round_trip(ROUND_TRIP, "recorded", 0) == expand_round_trip()["as-is"]
    with pytest.raises(SelectionError) as raised:
        make_round_trip(ROUND_TRIP, "crlf", 0)
    names = "as-is, whole, bytewise, random"
    assert str(raised.value) == f"`{ROUND_TRIP.id}` has no delivery `crlf`; round trips have {names}"


def test_a_case_without_its_recording_is_one_trial_without_bytes():
    case = replace(builders.case(level="should"), unavailable="not pulled")
    assert list(expand([case], DELIVERIES, "http", 0, "all")) == [
        Trial(case, "as-is", "should", Delivered(()))
    ]


def test_what_comes_after_a_case_with_one_trial_is_expanded_too():
    missing = replace(builders.case(), unavailable="not pulled")
    cases = [missing, ROUND_TRIP, builders.call().case, builders.case()]
    ids = [trial.case.id for trial in expand(cases, ["whole"], "http", 0)]
    assert ids == [case.id for case in cases]


OLLAMA_CASE = replace(builders.case(), api="ollama-chat", cassette=builders.framed_cassettes()[2])


@pytest.mark.parametrize("case", [builders.case(level="must"), OLLAMA_CASE], ids=["sse", "ndjson"])
@pytest.mark.parametrize("every", [False, True])
@pytest.mark.parametrize("http", [False, True])
def test_faults_come_after_the_deliveries_at_the_looser_level(case, every, http):
    mode, faults = ("http" if http else "bytes"), ("all" if every else "one")
    whole, *broken = expand([case], ["whole"], mode, 0, faults)
    assert whole.delivery == "whole"
    stream = Stream(case)
    names = list(list_faults(stream, every=every, http=http))
    assert [(trial.delivery, trial.chunks, trial.derived) for trial in broken] == [
        (name, made.chunks, made.derived) for name in names for made in [break_stream(stream, name)]
    ]
    kinds = {trial.delivery.partition(".")[0]: trial.level for trial in broken}
    assert {"reset", "stall"} & kinds.keys() == ({"reset", "stall"} if http else set())
    assert kinds == {kind: FAULTS[kind] for kind in kinds}
    assert len(broken) == len(kinds) or every
    assert list(expand([case], ["whole"], mode, 0)) == [whole]


def test_a_trial_is_found_by_its_delivery_or_fault():
    case = builders.case()
    every = {trial.delivery: trial for trial in expand([case], DELIVERIES, "http", 7, "all")}
    one = {trial.delivery.partition(".")[0]: trial for trial in expand([case], (), "http", 7, "one")}
    assert len(every) > len(one) > 4
    for name, trial in (every | one).items():
        assert make_trial(case, name, 7) == trial
    assert make_trial(case, "random", 8) != every["random"]


DOCUMENT = builders.case(body=b'{"type":"error"}', status=500)


@pytest.mark.parametrize(
    ("case", "name", "message"),
    [
        (
            builders.case(),
            "pigeon",
            f"no delivery `pigeon`; available: {', '.join(DELIVERIES)}, and the faults {', '.join(FAULTS)}",
        ),
        (
            DOCUMENT,
            "crlf",
            f"`{DOCUMENT.id}` has no `crlf`: its body cannot be delivered that way, or the case skips it",
        ),
        (DOCUMENT, "stall", f"`{DOCUMENT.id}` has no fault `stall`; available: none"),
        (
            builders.case(body=builders.sse_body(builders.TEXT_FRAMES[:2])),
            "cut-after-frame.99",
            "`anthropic-messages/text/small` has no fault `cut-after-frame.99`; available: ",
        ),
    ],
    ids=["unknown", "no-form", "none", "number"],
)
def test_a_trial_that_a_case_does_not_have_is_an_error(case, name, message):
    with pytest.raises(SelectionError) as raised:
        make_trial(case, name, 0)
    faults = ", ".join(trial.delivery for trial in expand([case], (), "http", 0, "all"))
    assert str(raised.value) == (message + faults if message.endswith(": ") else message)
