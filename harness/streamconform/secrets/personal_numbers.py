"""Find phone numbers and payment card numbers in text.

Most numbers in a stream are ids, times and counts, so a number counts only in a form that they do not have: a
card number has the digits of an issuer and a check digit, and a phone number has a `+`, separators, or a word
such as `phone` in front. Numbers that documentation uses do not identify anyone.
"""

from __future__ import annotations

import re
from typing import Final

# The first byte is matched before the text in front of it, which makes the search several times faster.
_START: Final = rb"(?:(?<![0-9A-Za-z+/_.-].)|(?<=\\[nrt].)|(?<=\\u[0-9A-Fa-f]{4}.))"
"""After the first byte: it is not inside a word, base64 or a longer number, but may follow an escape."""
_END: Final = rb"(?![0-9A-Za-z_/+=]|[.-][0-9A-Za-z])"
_ISSUERS: Final = (
    rb"(?:(?<=4)[0-9]{3}|(?<=5)[1-5][0-9]{2}|(?<=2)[2-7][0-9]{2}|(?<=3)5[2-8][0-9]"
    rb"|(?<=6)(?:011|[25][0-9]{2}|4[4-9][0-9]))"
)
"""The digits after the first of a card number with 16 digits."""
_GAP: Final = rb"(?:[ ./-]|\)[ ./-]?| \()?"
"""What may stand between two digits of a phone number."""

CARD: Final = re.compile(
    rb"([2-6]" + _START + rb"(?:" + _ISSUERS + rb"([ -]?)[0-9]{4}\2[0-9]{4}\2[0-9]{4}"
    rb"|(?<=3)[47][0-9]{2}([ -]?)[0-9]{6}\3[0-9]{5}"
    rb"|(?<=3)[0689][0-9]{2}([ -]?)[0-9]{6}\4[0-9]{4}))" + _END
)
PHONE: Final = re.compile(
    rb"([+(0-9]" + _START + rb"(?:(?<=\+)[1-9](?:" + _GAP + rb"[0-9]){7,14}"
    rb"|(?<=\()[2-9][0-9]{2}\) ?[2-9][0-9]{2}[ .-][0-9]{4}"
    rb"|(?<=[2-9])[0-9]{2}([ .-])[2-9][0-9]{2}\2[0-9]{4}"
    rb"|(?<=1)([ -])[2-9][0-9]{2}\3[2-9][0-9]{2}\3[0-9]{4}"
    rb"|(?<=0)[1-9][0-9]{1,4}[ /-][0-9]{3,4}[ -]?[0-9]{3,4}))" + _END
)
PHONES: Final = (b"cell", b"fax", b"mobile", b"phone", b"sms", b"tel", b"telephone", b"whatsapp")
"""Words for a phone."""
NAMED_PHONE: Final = re.compile(
    rb"[cCfFmMpPsStTwW](?:(?<![A-Za-z].)|(?<=\\[nrt].))(?i:"
    + b"|".join(b"(?<=%b)%b" % (word[:1], word[1:]) for word in PHONES)
    + rb")(?i:[ _-]?(?:number|no|nr))?(?![A-Za-z])[^0-9+\n]{0,15}[^0-9+(\n]"
    rb"([(0-9](?:" + _GAP + rb"[0-9]){6,14})" + _END
)
"""A phone number in any form, after a word for a phone."""

EXAMPLE_CARDS: Final = frozenset({
    b"378282246310005", b"4000056655665556", b"4012888888881881", b"4111111111111111", b"4242424242424242",
    b"5105105105105100", b"5200828282828210", b"5555555555554444", b"6011111111111117",
})  # fmt: skip
"""The numbers that payment services publish for tests."""
_EXAMPLE_PHONE: Final = re.compile(
    # North America: the area or exchange 555. United Kingdom: the numbers that Ofcom reserves for drama.
    rb"1?555[0-9]{7}|1?[0-9]{3}555[0-9]{4}|(?:44|0)(?:207946|7700900)[0-9]+|(.)\1+|[01]?1?234567[0-9]*|9876543[0-9]*"
)
_NOT_A_PHONE: Final = re.compile(
    # Unix times in seconds and milliseconds, two years, and the numbers that replace others.
    rb"1[5-9][0-9]{8}(?:[0-9]{3})?|(?:19|20)[0-9]{2}-(?:19|20)[0-9]{2}|10{4,}[0-9]{1,3}"
)


def is_card(value: bytes) -> bool:
    """Return whether a match of `CARD` may be somebody's: its check digit is right."""
    digits = re.sub(rb"[^0-9]", b"", value)
    # Luhn's formula: https://patents.google.com/patent/US2950048A
    doubled = (sum(divmod(2 * (digit - 48), 10)) for digit in digits[-2::-2])
    checked = sum(doubled) + sum(digit - 48 for digit in digits[-1::-2])
    return checked % 10 == 0 and digits not in EXAMPLE_CARDS


def is_phone(value: bytes) -> bool:
    """Return whether a match of `PHONE` or `NAMED_PHONE` may be somebody's."""
    digits = re.sub(rb"[^0-9]", b"", value)
    return not (_EXAMPLE_PHONE.fullmatch(digits) or _NOT_A_PHONE.fullmatch(value))
