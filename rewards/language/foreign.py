"""Detects texts in a language that the parser does not know. The parser finds nothing or nonsense
in such a text, so a warning is logged once.

is_foreign("Ein Mann sitzt auf einer Bank im Park.", load_pipeline("en_core_web_sm"))      # True
"""

import logging
import re
from collections.abc import Iterable

from spacy.language import Language

from spanreward.rewards.language.pipeline import pipeline_name
from spanreward.rewards.text.filler import FUNCTION_WORDS, NOT_LATIN

MIN_WORDS = 6  # words; a shorter text does not show its language
# highest share of English function words in a text of another language
MAX_FUNCTION_WORD_SHARE = 0.15
# highest share of words that a pipeline for English knows in a text of another language
MAX_KNOWN_WORD_SHARE = 0.75
_LETTER_RUN = re.compile(r"[^\W\d_]+")
_warned_pipelines: set[str] = set()
log = logging.getLogger(__name__)


def is_foreign(text: str, language: Language) -> bool:
    """Whether a text does not look like English, although the pipeline is for English: "Ein Mann
    sitzt auf einer Bank im Park."
    """
    if language.lang != "en":
        return False
    if in_another_script(text):
        return True
    words = _LETTER_RUN.findall(text.casefold())
    if len(words) < MIN_WORDS:
        return False
    known_words = sum(word in language.vocab.strings for word in words)
    function_words = sum(word in FUNCTION_WORDS for word in words)
    # Both shares must be low. A list of English things has few function words too, and an English
    # vocabulary has some words of other languages ("a", "die").
    has_few_function_words = function_words <= MAX_FUNCTION_WORD_SHARE * len(words)
    return has_few_function_words and known_words <= MAX_KNOWN_WORD_SHARE * len(words)


def in_another_script(text: str) -> bool:
    """Whether most of the letters are not Latin."""
    letters = sum(map(len, _LETTER_RUN.findall(text)))
    return 2 * len(NOT_LATIN.findall(text)) > letters


def warn_of_foreign(texts: Iterable[str], language: Language) -> None:
    """Logs a warning if one of the texts is foreign to the pipeline. The warning is logged once per
    process and pipeline.
    """
    name = pipeline_name(language)
    if name in _warned_pipelines:
        return
    for text in texts:
        if not is_foreign(text, language):
            continue
        _warned_pipelines.add(name)
        cure = (
            "Translate such texts, or score them with a metric that parses nothing, such as "
            "criteria"
        )
        log.warning(
            "the parser %s reads English, but a text does not look like it: %r. %s.",
            name,
            text[:80],
            cure,
        )
        return
