"""What the rules do to agreement with people's graphs: by hand, and on people's captions."""

import pytest

from experiments.agreement.graphs import DrawnText, matches, mean, measure_rules, normal, read_drawn
from spanreward.rewards.language.rules import DEFAULT_RULES, PUBLISHED_RULES
from tests.support.parsed import spelled
from tests.support.paths import DATA


def test_the_effect_of_a_rule_by_hand() -> None:
    said = "men/NOUN/nsubj/1 hold/VERB/ROOT/1 books/NOUN/dobj/1 and/CCONJ/cc/1 smile/VERB/conj/1"
    smiling, hats = spelled(said), spelled("red/ADJ/amod/1 hats/NOUN/ROOT/1")
    texts = [DrawnText(smiling, [], normal([("men", "is", "smile")]), "train")]
    texts.append(DrawnText(hats, [], normal([("hat", "is", "red")]), "test"))
    effects = {(effect.rule, effect.split): effect for effect in measure_rules(texts)}
    # published says (men, hold, books); with the rule one of two triples is right, and none is
    # missing
    assert effects["own_objects", "train"].alone == pytest.approx(2 / 3)
    assert effects["own_objects", "train"].removed == pytest.approx(-2 / 3)
    assert effects["own_objects", "train"].removed_precision == pytest.approx(-1 / 2)
    assert effects["own_objects", "train"].removed_recall == pytest.approx(-1)
    assert effects["own_objects", "test"].alone == 0
    assert effects["ignore_case", "train"].removed == 0
    together = effects["all together", "train"]
    assert together.alone == -together.removed == pytest.approx(2 / 3)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"people's graphs are not at {DATA}")
def test_the_default_is_nearer_to_people_than_the_published_extractor() -> None:
    texts = read_drawn(DATA, ["test"])
    assert len(texts) == 49
    default = mean([match.f1 for match in matches(texts, DEFAULT_RULES)])
    assert default > mean([match.f1 for match in matches(texts, PUBLISHED_RULES)]) + 0.004
