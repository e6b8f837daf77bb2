"""Sentences that claim nothing: a judge that never read such words pays for them. The grammar is unclaimed.yaml.

unclaimed("dog", many=False, words=["dog", "grass"], random=Random(1))     # "The dog has left last year.", False
"""

import re
from pathlib import Path
from random import Random

from spanreward.rewards.files.yaml_file import read_yaml_file

GRAMMAR = read_yaml_file(Path(__file__).with_name("unclaimed.yaml"))


def unclaimed(noun: str, many: bool, words: list[str], random: Random) -> tuple[str, bool]:
    """Returns a sentence that names the thing, or words in no order, and whether it denies it, which may be right."""
    rules = GRAMMAR | GRAMMAR["many" if many else "one"] | {"noun": [noun], "word": words}

    def grown(text: str) -> str:
        return re.sub("<([a-z]+)>", lambda symbol: grown(random.choice(rules[symbol[1]])), text)

    form = random.choice(GRAMMAR["sentence"])
    sentence = re.sub(r"\ba (?=[aeiou])", "an ", grown(form))
    return sentence[0].upper() + sentence[1:], form == "<denied>"
