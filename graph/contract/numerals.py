"""Numbers written in words: Chinese numerals and the English number words that stand before units."""

from decimal import Decimal

CHINESE_NUMERAL = "[零〇一二两三四五六七八九十百千万亿]"

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_SMALL = {"十": 10, "百": 100, "千": 1000}
_LARGE = {"万": 10**4, "亿": 10**8}

_TO_FIFTEEN = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight"),
    *("nine", "ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ENGLISH_NUMERALS = {word: value for value, word in enumerate(_TO_FIFTEEN, start=1)} | {
    word: value * 10 for value, word in enumerate(_TENS, start=2)
}
"""English number words, as they stand before a unit ("five minutes")."""


def chinese_number(text: str) -> Decimal:
    """Return the value of a Chinese numeral, with an optional decimal part behind 点 (`九十一点五` is 91.5)."""
    whole, _, decimals = text.partition("点")
    value = Decimal(_whole(whole))
    if decimals:
        digits = "".join(str(_DIGITS.get(character, 0)) for character in decimals)
        value += Decimal(f"0.{digits}")
    return value


def _whole(text: str) -> int:
    total = section = digit = 0
    for character in text:
        if character in _DIGITS:
            digit = _DIGITS[character]
        elif character in _SMALL:
            section += (digit or 1) * _SMALL[character]
            digit = 0
        else:
            total = (total + section + digit) * _LARGE[character]
            section = digit = 0
    return total + section + digit
