"""Re-sign a forwarded AWS request: its signature covers the host, which changes.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamconform_capture.record.listen import CannotForward, Headers

SIGNED: Final = re.compile(rb"AWS4-HMAC-SHA256 Credential=([^/,]+)/[0-9]+/([^/]+)/([^/]+)/aws4_request")
"""Matches the key's id, the region and the service in `authorization`."""
REPLACED: Final = frozenset({b"authorization", b"x-amz-date", b"x-amz-security-token"})


def sign_again(method: str, url: str, headers: Headers, body: bytes) -> Headers:
    """Return the headers to send to `url`, with a new signature if the client signed its request.

    Only the client's own key is used, so that a client gains no additional access.

    Raises:
        CannotForward: botocore is not installed, or cannot find that key.

    """
    fields = {name.lower(): value for name, value in headers}
    match = SIGNED.match(fields.get(b"authorization", b""))
    if match is None:
        return headers
    key, region, service = (group.decode("ascii", "replace") for group in match.groups())
    credentials = _find_credentials(key)
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest

    kept = {
        name.decode("ascii"): value.decode("latin-1")
        for name, value in headers
        if name.lower() not in REPLACED
    }
    request = AWSRequest(method=method, url=url, headers=kept, data=body)
    SigV4Auth(credentials, service, region).add_auth(request)
    return [(name.encode("ascii"), value.encode("latin-1")) for name, value in request.headers.items()]


def _find_credentials(key: str) -> Any:
    """Return the credentials for `key`, from the places where AWS tools look for them."""
    try:
        from botocore.session import Session
    except ModuleNotFoundError as error:
        if error.name != "botocore":
            raise
        raise CannotForward(
            "the client signs its requests for this address; run `pip install botocore`"
        ) from None
    credentials = Session().get_credentials()
    if credentials is None or credentials.access_key != key:
        raise CannotForward(
            "the client signs its requests for this address, but the key that it uses is not in this "
            "environment; give `conform record` the same AWS variables or profile"
        )
    return credentials.get_frozen_credentials()
