"""Values that identify an account are replaced with the same number of bytes, in bodies and paths."""

from __future__ import annotations

import base64

import pytest

from streamconform.secrets import scrub
from streamconform.secrets.placeholders import Placeholders

ACCOUNT = "8412" + "07735519"
SIGNATURE = "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7"

REPLACED = {
    "AWS account in an ARN": (f"arn:aws:bedrock:eu-west-1:{ACCOUNT}:inference-profile/x", ACCOUNT),
    "in a path": (f"/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A{ACCOUNT}%3Ainference-profile%2Fx", ACCOUNT),
    "in another partition": (f"arn:aws-us-gov:iam::{ACCOUNT}:role/x", ACCOUNT),
    "Vertex project": ("/v1/projects/tide-prod-4711/locations/us-east5/publishers", "tide-prod-4711"),
    "Vertex project by number": (f"projects/{ACCOUNT}/locations/global", ACCOUNT),
    "Vertex project of one word": ("projects/tides/locations/global", "tides"),
    "Azure resource": ("https://tidewater-eu.openai.azure.com/openai/v1", "tidewater-eu"),
    "Azure AI resource": ("https://tidewater.services.ai.azure.com/models", "tidewater"),
    "Azure deployment": ("/openai/deployments/tide-gpt-4o/chat/completions", "tide-gpt-4o"),
    "Azure subscription": (
        "/subscriptions/0b1f6471-1bf0-4dda-aec3-111122223333/resourceGroups/rg-tides/x",
        "0b1f6471-1bf0-4dda-aec3",
    ),
    "Azure resource group": ("/resourceGroups/rg-tides/providers", "rg-tides"),
    "session id": ('{"sessionId": "3f1a9c52-tide-7788"}', "3f1a9c52"),
    "session id in JSON in JSON": (r'"{\"session_id\":\"3f1a9c52-tide-7788\"}"', "3f1a9c52"),
    "SAS signature": (
        "https://x.blob.core.windows.net/a?sv=1&sig=8Zk7Qx9mP2wL5%2BvT8%3D&se=1",
        "8Zk7Qx9mP2wL5",
    ),
    "presigned URL": (f"https://b.s3.amazonaws.com/a?X-Amz-Signature={SIGNATURE}", SIGNATURE),
    "presigned URL, credential": ("?X-Amz-Credential=QKIA8Q7Z5%2F20260101%2Fus-east-1", "QKIA8Q7Z5"),
    "presigned URL, session": ("&X-Amz-Security-Token=IQoJb3JpZ2luX2VjEJr0001", "IQoJb3JpZ2luX2VjEJr"),
    "in JSON by Go": ("https://x/a?b=1\\u0026token=Zk7Qx9mP2wL5", "Zk7Qx9mP2wL5"),
    "in HTML": ("https://x/a?b=1&amp;access_token=Zk7Qx9mP2wL5", "Zk7Qx9mP2wL5"),
    "in a URL in a URL": ("https://x/a?to=https%3A%2F%2Fy%3Fb%26api-key%3DZk7Qx9mP2wL5", "Zk7Qx9mP2wL5"),
    "account after a line break": (r'{"text": "in:\norg-A1b2C3d4E5f6"}', "A1b2C3d4E5f6"),
    "phone number": ('{"to": "+4791234567"}', "91234567"),
    "phone number with spaces": ("call +47 912 34 567 now", "912 34 567"),
    "phone number with parentheses": ("+1 (212) 867-5309", "867"),
    "phone number after an escape": (r'{"text": "call:\n+4791234567"}', "91234567"),
    "phone number of North America": ("212-867-5309, or (212) 867-5309", "867"),
    "phone number with its country": ("1-212-867-5309", "867"),
    "phone number of a country": ("0171 2345 678 or 030/87654321", "87654321"),
    "number after a word": ('{"phone_number": "91234567"}', "91234567"),
    "number in a sentence": ("My mobile number is 91 23 45 67.", "91 23 45 67"),
    "number in JSON": ('{"tel": 912345678}', "912345678"),
    "card number": ('{"card": "4929 4212 3460 0821"}', "4212"),
    "card number without spaces": ("pay with 4929421234600821.", "4929421234600821"),
    "card number of 15 digits": ("3714-496353-98431", "496353"),
    "authorization code": ("http://localhost/callback?code=4/0AX4XfWhZk7Qx9mP2&state=1", "0AX4XfWhZk7Qx9mP2"),
}

KEPT = [
    "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude",
    "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/x",
    "call `?key=your-api-key` with your own key, or `&token=`",
    "https://models.inference.ai.azure.com/chat/completions",
    "https://api.openai.com/v1/chat/completions?api-version=2024-10-21",
    '{"object": "chat.completion", "model": "gpt-4o"}',
    "projects and locations, /openai/deployments",
    "ada@example.com, 555-0100, (212) 555-0142, +1 555 123 4567, 123-456-7890, +44 20 7946 0958",
    "4111 1111 1111 1111, 4242424242424242, 3782-822463-10005",
    "4929421234600822 and 4929 4212 3460 0820 have wrong check digits",
    '{"created": 1732788000, "ms": 1732788000123, "sms": 1732788000, "prompt_tokens": 20478}',
    '{"total_duration": 5191566416, "seed": 4611686018427387904, "logprob": -0.4929421234600821}',
    '{"id": "call_4929421234600821", "file": "0171-4929421234600821-a", "at": "2026-11-28T10:11:12+01:00"}',
    "0b1f6471-1bf0-4dda-aec3-212867530912, v2.12.867.5309, 127.0.0.1:8080, 10.212.867.5309",
    "5d672d794929421234600821c15b13162d9279b0 and Zk7+4791234567/Qx9==",
    "phone calls in 2017-2022, phone 12 of 345, telemetry 91234567, 1e+12345678",
]


def replace(*texts):
    """Return the texts; values found in any of them are replaced in all."""
    placeholders = Placeholders()
    for text in texts:
        placeholders.learn(text.encode())
    return tuple(placeholders.apply_text(text) for text in texts)


@pytest.mark.parametrize(("text", "gone"), REPLACED.values(), ids=REPLACED)
def test_it_is_replaced_by_as_many_bytes(text, gone):
    (replaced,) = replace(text)
    assert gone not in replaced
    assert len(replaced) == len(text)
    # Replacing again changes at most these digits.
    assert replace(replaced)[0].replace("2", "1") == replaced.replace("2", "1")


@pytest.mark.parametrize("text", KEPT)
def test_text_that_identifies_nobody_is_kept(text):
    assert replace(text) == (text,)


def test_a_distinctive_name_is_replaced_everywhere_and_a_common_one_only_in_its_place():
    project = replace("projects/tide-prod-4711/locations/x", "It runs in tide-prod-4711.")
    assert "tide-prod" not in "".join(project)
    deployment = replace("/openai/deployments/chat/x", '{"object": "chat.completion"}')
    assert deployment == ("/openai/deployments/xxx1/x", '{"object": "chat.completion"}')


@pytest.mark.parametrize("before", [r"\n", r"\u003c", r"\\n", ""])
def test_an_escape_before_an_address_stays_whole(before):
    (replaced,) = replace(f'{{"text": "{before}ada@lovelace.org"}}')
    assert replaced == f'{{"text": "{before}xxx@xxxxxxxx.xx1"}}'


def test_digits_are_replaced_everywhere_if_they_are_many_and_otherwise_in_their_place():
    texts = replace('{"phone": "912345678"}', "It is 912345678.", '{"tel": "9123456"}', "and 19123456")
    assert texts == ('{"phone": "100000001"}', "It is 100000001.", '{"tel": "1000002"}', "and 19123456")


def test_an_account_number_stays_a_number():
    (replaced,) = replace(f'{{"arn": "arn:aws:iam::{ACCOUNT}:role/x", "account": {ACCOUNT}}}')
    assert replaced == '{"arn": "arn:aws:iam::100000000001:role/x", "account": 100000000001}'


def test_query_parameters_that_carry_keys_are_replaced_in_targets():
    target = "/v1beta/models/m:streamGenerateContent?alt=sse&key=abc&Sig=d%2Fe;token=x"
    assert scrub.replace_key_parameters(target) == (
        "/v1beta/models/m:streamGenerateContent?alt=sse&key=xxx&Sig=xxxxx;token=x"
    )
    assert scrub.replace_key_parameters("/v1/key=value") == "/v1/key=value"


def test_user_and_password_of_basic_credentials_are_secrets():
    token = base64.b64encode(b"tidewater:h0rse-battery").decode()
    secrets = scrub.extract_secrets({"authorization": f"Basic {token}"})
    assert {token.encode(), b"tidewater", b"h0rse-battery", b"tidewater:h0rse-battery"} == {*secrets}
    assert scrub.blank(b"no tidewater with h0rse-battery", secrets) == b"no xxxxxxxxx with xxxxxxxxxxxxx"


def test_cookies_sessions_and_the_url_are_secrets_of_a_capture():
    secrets = scrub.find_credentials(
        {
            "cookie": "theme=dark; sid=Zk7Qx9mP2wL5",
            "mcp-session-id": "3f1a9c52-tide",
            "user-agent": "Client/1.2.3.4",
        },
        {"set-cookie": "__cf_bm=cfQx9mP2wL5; Path=/; Expires=Wed, 21 Oct 2026, b=other-cookie-1; Secure"},
        "https://someone:s3cret%2Bword@example.org/v1?api-version=2024-10-21&sig=8Zk7Qx9m%2BP2",
    )
    assert {
        b"Zk7Qx9mP2wL5", b"3f1a9c52-tide", b"cfQx9mP2wL5", b"other-cookie-1", b"s3cret+word", b"8Zk7Qx9m+P2",
        b"8Zk7Qx9m%2BP2",
    } == {*secrets} - {b"sid=Zk7Qx9mP2wL5", b"theme=dark"}  # fmt: skip


@pytest.mark.parametrize(
    "value", ["Bearer REDACTED", "your-api-key", "<REDACTED>", "**********", "DUMMY_KEY"]
)
def test_what_a_tool_writes_in_place_of_a_key_is_no_secret(value):
    assert scrub.find_credentials({"authorization": value}) == ()
