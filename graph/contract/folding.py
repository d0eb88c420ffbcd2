"""What is the same text: width, whitespace and invisible characters don't count (contract, "EvidenceGuard")."""

import unicodedata


def fold(text: str) -> str:
    """Return `text` in compatibility form (full width becomes half), each run of whitespace one blank, ends trimmed.

    Invisible format characters are dropped, so that no number can hide behind one.
    """
    folded = unicodedata.normalize("NFKC", text)
    if not folded.isascii():
        folded = "".join(character for character in folded if unicodedata.category(character) != "Cf")
    return " ".join(folded.split())


def word_character(character: str) -> bool:
    """Return whether a character is one that ASCII words and numbers are made of."""
    return character.isascii() and (character.isalnum() or character == "_")
