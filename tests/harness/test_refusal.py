"""Which exceptions, raised before any request arrived, show that a client refuses on purpose."""

from __future__ import annotations

import pytest

from streamconform.model.result import Raised
from streamconform.run.refusal import is_refusal

WHERE = "lib/models.py:12 in get_context_size"


@pytest.mark.parametrize(
    "type_",
    [
        *(
            "ValueError",
            "NotImplementedError",
            "Error",
            "IllegalArgumentException",
            "System.ArgumentException",
        ),
        *("llama_index.UnknownModelError", "openai.OpenAIError", "pydantic_core.ValidationError"),
        *("AxAIRefusalError", "GenkitError", "my::crate::Unsupported", r"Vendor\Client\UnsupportedModel"),
    ],
)
def test_an_exception_of_the_library_is_a_refusal(type_):
    assert is_refusal(Raised(type_, "Unknown model 'x'", WHERE))
    assert not is_refusal(Raised(type_, "Unknown model 'x'"))


@pytest.mark.parametrize(
    "type_",
    [
        *(
            "TypeError",
            "AttributeError",
            "KeyError",
            "IndexError",
            "NameError",
            "AssertionError",
            "ImportError",
        ),
        *("RuntimeError", "Exception", "RangeError", "NullPointerException", "NoMethodError", "SyntaxError"),
        *("ConnectionError", "TimeoutError", "OSError", "httpx.ConnectError", "openai.APIConnectionError"),
        *(
            "openai.APITimeoutError",
            "requests.ConnectTimeout",
            "aiohttp.ClientConnectorError",
            "ssl.SSLError",
        ),
        *("json.JSONDecodeError", "socket.gaierror", "http.RemoteDisconnected", "httpx.ReadError"),
    ],
)
def test_a_crash_or_a_network_error_is_none(type_):
    assert not is_refusal(Raised(type_, "no", WHERE))


def test_no_exception_is_none():
    assert not is_refusal(None)
