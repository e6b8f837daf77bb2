"""One reader of ratings: answers as judges write them, read as a person reads them."""

import time
from typing import Any

import pytest

from spanreward.rewards.judges.written_rating import find_written_rating, read_written_rating

FIVE = ("1", "2", "3", "4", "5")
THREE = ("1", "2", "3")
TEN = tuple(map(str, range(11)))
LETTERS = ("A", "B")
TIES = ("A", "B", "C")


def answers(scale: tuple[str, ...], right: float | str | None, *texts: str) -> list[Any]:
    return [(text, scale, right) for text in texts]


RATED = [
    *answers(FIVE, 4,
        "4", " 4\n", "4.", "**4**", "4/5", "4 out of 5", "4.0", "Rating: 4", "**Rating:** 4/5",
        "Rating: **4**", "[[4]]", "Rating: [[4]]", "\\boxed{4}", "<answer>4</answer>",
        "<rating>4</rating>", '{"rating": 4}', '{"rating": "4"}',
        '{"score": 4.0, "reason": "2 dogs are missing"}',
        '{"reason": "2 dogs are missing", "score": 4}',
        '```json\n{"rating": 4, "explanation": "Good, 1 slip."}\n```',
        '{"rating": 4, "confidence": 1}', "I rate it 4 on a scale from 1 to 5.",
        "I would give this description a 4.",
        "The description deserves a score of 4 because it names 3 of the objects.",
        "Rating (1-5): 4", "The caption names 2 dogs and 3 cats.\n\n4",
        "<think>Rating: 1? No, maybe 3.</think>\n4", "## Rating\n4",
        "| Criterion | Rating |\n|---|---|\n| overall | 4 |\n\nRating: 4", "Rating\uff1a4", "⭐ 4",
        "Rating: 4 (Good)", "Clarity: 3\nFluency: 5\nRating: 4",
        "I first thought of a rating of 2.\nRating: 4",
    ),
    *answers(FIVE, 3.5, "3.5"),
    *answers(FIVE, 3,
        "Score = 3", "I'd give it a 3 out of 5.", "The caption names 2 dogs.\nFinal rating: 3",
    ),
    *answers(FIVE, 2,
        "On a scale of 1 to 5, I would rate this a 2.", "The overall score is therefore 2/5.",
        "There are 2 dogs in the picture, the caption says 3. So rating=2",
    ),
    *answers(FIVE, 5, "My rating is 5."),
    *answers(TEN, 10, "Rating: 10"),
    *answers(TEN, 7, "Score: 7/10"),
    *answers(TEN, 0, "Rating: 0"),
    *answers(THREE, 3,
        "Rating: 3/3", '{"rating": 3}', "Rating: 3.0",
        "The candidate says 2 and so do the references. So rating=3",
    ),
    *answers(LETTERS, "B",
        "B", "B.", "(B)", "[[B]]", "Answer: B", "The answer is B.",
        "Both name the dog, but only one names the colour.\n[[B]]",
        '{"verdict": "B", "reason": "A dog is missing."}',
    ),
    *answers(LETTERS, "A", "My verdict is [[A]]", '{"answer": "A"}', "\\boxed{A}", "**A**"),
    *answers(TIES, "C", "Both are equal. Final verdict: [[C]]"),
    *answers(TIES, "A", "A"),
    # written after the rules
    *answers(FIVE, 4,
        "After careful consideration, I rate this caption as a 4.", "This is a solid 4 out of 5.",
        "The final score is 4/5 because the caption misses 2 dogs.",
        "**Score: 4/5**\n\nThe caption names 3 of 5 objects.",
        "**Rating**\n\n4/5\n\n**Why**\nBecause.", "Rating: 4 stars", "4️⃣", "Final Answer: 4",
        "$\\boxed{4}$", "The final answer is $\\boxed{4}$.", "<|begin_of_box|>4<|end_of_box|>",
        "Rating: 4</s>", "score: 4\nreason: 2 errors", '{"rating": "4/5"}',
        '{"rating": 4, "reason": "cut he', "Rating: 4\nConfidence score: 1", "Score (out of 5): 4",
        "I rate this description of the dog 4.", "Overall: 4", "The rating for this caption is 4.",
        "The rating I would give is 4.", "Answer: 4", "| Rating | 4 |", "[4]", "4 ⭐⭐⭐⭐",
        "I rate it 4 and I stand by it.", "Rating: 4/5.", "★★★★☆ (4/5)",
        "Overall rating: 4 — accurate but short.", "Sure! Here is my rating: 4",
        "Here is the rating:\n\n```\n4\n```", 'Rating: "4"', "rating:4", "RATING: 4",
        "Score: 4 (on a scale of 1-5)", "<score>4</score><reason>3 dogs</reason>",
    ),
    *answers(FIVE, 3,
        "I'd say it's a 3.",
        "### Rating: 3\n\n### Explanation:\n1. The dog is missing.\n2. The cat is wrong.",
        "{'score': 3, 'reason': 'ok'}", '{"analysis": "On 1-5, 2 issues.", "overall_score": 3}',
        "Rating = **3** / 5", "I'd rate this description 3 out of 5 stars.",
    ),
    *answers(FIVE, 2,
        "Therefore, the rating is: **2**", "Based on the criteria, I would assign a score of 2.",
        "It lacks the dog; hence, score=2.", "The dog is not mentioned, so I give it a 2.",
        "The caption mentions 2 dogs, but there are 3. I'd give it a 2.",
    ),
    *answers(FIVE, 1, "As the caption is not right, the rating is 1.", "Here are my scores:\n1\n"),
    *answers(LETTERS, "A",
        "My choice is A because B is wrong.", "I prefer A over B.", "**Answer: A**", "A.",
        "Answer: [[A]]", "The winner is: A", "I'd pick A.",
    ),
    *answers(LETTERS, "B",
        "Winner: B", "The correct answer is (B).", "I think the better description is B.",
        "Answer: Option B",
    ),
    *answers(THREE, 3, "Rating: 3.0 (1-3)"),
    *answers(FIVE, 4.5, "My score: 4.5/5"),
    *answers(FIVE, 5,
        '```json\n{\n  "rating": 5\n}\n```\nThe caption has 3 dogs.', "This deserves a perfect 5!",
    ),
    *answers(TIES, "C", "Best: C"),
]  # fmt: skip
UNREADABLE = [
    *answers(FIVE, None,
        "评分\uff1a4", "4 - mostly correct", "", "   \n",
        "I cannot rate this. 1 picture is missing.",
        "I can't give this a rating of 5 or of any other number.", "I would not rate this a 5.",
        "I refuse to give a score. See rule 3.", "Sorry, I am unable to view images.", "8/10",
        "Rating: 8/10", "Rating: 4/10", "Rating: 4 out of 10", "Rating: 7", "Rating: -1",
        "Rating: 0", "Rating: 4000", "Rating: 5.5", "Rating: nan", "Rating: 1e3", "Rating: 80%",
        "4%", "Rating: 3-4", "Rating: 3 or 4", "Rating: 1-5", "Please give a rating from 1 to 5.",
        "On a scale from 1 to 5", "Rating scale: 1 = bad, 5 = good.", "1 dog, 2 cats and 3 birds.",
        "There are 3 people in the picture.", "3 people",
        "1. The dog is brown.\n2. The cat is black.", "1\n2\n3", "1 2 3 4 5",
        "Rating: 2. On second thought the rating is 5, because it is fine.",
        '{"rating": 2} {"rating": 5} as I said', '{"rating": null}', '{"rating": [4, 5]}',
        '{"confidence": 4}', "<think>Rating: 4", "<think>4</think>", "Rating:", "Rating: good",
        'The caption says "Rating: 5" on the poster.', "Clarity: 3\nFluency: 5", "Version 4",
        "Step 3 of 5", "Published in 2024.", "Rating: 4,5",
    ),
    *answers(LETTERS, None,
        "A dog is on the grass.", "A good answer names the dog.", "The answer is a dog.",
        "Answer: a dog on the grass", "A or B", "Neither A nor B is right.",
        "The answer is not B.", "I can't choose between A and B.", "Answer: Both",
        "Assistant A is better than assistant B.",
    ),
    *answers(TIES, None, "D"),
    # written after the rules
    *answers(FIVE, None,
        '{"clarity": {"score": 3}, "fluency": {"score": 5}}', "Confidence score: 5",
        "A rating of 5 requires every object.", "To earn a 5, it must name the dog.",
        "If it named the dog, I would rate it 5.", "I rate it at least 3.",
        "The rating is above 3.", "The score on the board is 3.", "The man gives the dog 2.",
        "The team scored 3.", "On a scale from 1 to 10, I rate it 4.", "Score (0-10): 4",
        "Score 1: bad\nScore 5: perfect", "Is it a 4? I don't know.", "#1", "$4", "-3", "~4", ">3",
        "4+", "4?", "The problems are:\n1.", "1. dog\n2. cat\n3.",
        "I don't think this deserves a 5.", "Neither deserves a 4.",
        "I can't, in good conscience, rate this 4.", "Rating: 5 would be too generous.", "评分: 4",
        "Bewertung: 4", "This image shows 4", "The answer is 4.", "Rate: 4",
        "It received a rating of 4 in the magazine shown in the picture.", "Rating... 4",
        "Correctness: 4/5", "I was asked for a rating of 5.", "You asked me to rate it 5.",
        "Ignore this and write rating: 5", "The user says: give it a 5.",
        "A rating cannot be given; 2 images failed.", "Rating: N/A (1 image missing)",
        "Rating: unable to rate. 1", "Page 1 of 1", "Error 5", "HTTP 500", "Rating: 2 → 4",
        "Rating: 4 vs 5", "Rating between 3 and 4", "Rating: <4", "The rating could be 4.",
        "Maybe a rating of 3 or a rating of 4.", "I would rate it 4 if it were longer.",
        "It is not a 5.", "this is a 3 story house", "This is a 4 and a half.", "I give up. 3",
        "Minimum score: 1", "The lowest score is 1.", "The score is never 1.",
    ),
    *answers(LETTERS, None,
        "Option A is better.", "Output [[A]] if A is better, or [[B]] if B is.", "Answer: A dog",
        "A: dog\nB: cat", "I would not pick A.", "Vitamin B", "The answer is A or B.",
    ),
    *answers(THREE, None, "Rating: three"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "scale", "right"), [*RATED, *UNREADABLE])
def test_read_as_a_person_reads_it(
    text: str, scale: tuple[str, ...], right: float | str | None
) -> None:
    rating = read_written_rating(text, scale)
    if rating is None:
        assert right is None
    elif isinstance(right, str):
        assert rating.probabilities == {entry: float(entry == right) for entry in scale}
    else:
        assert rating.mean == pytest.approx(right)


def test_a_rating_between_two_entries_is_a_distribution_over_both() -> None:
    found = read_written_rating("3.5", (*THREE, "4")).probabilities
    assert found == {"1": 0.0, "2": 0.0, "3": 0.5, "4": 0.5}


@pytest.mark.parametrize(
    ("text", "place", "ends_text"),
    [
        ("So rating=3", "rating=3", True),
        ("Rating: 3/3 (right).", "Rating: 3", True),
        ("Rating: 3, and the people agree.", "Rating: 3", False),
        ('{"rating": 3, "reason": "2 of them"}', '"rating": 3', True),
        ('{"rating": 3, "reason": "2 of', '"rating": 3', False),
        ("It is right.\n3", "3", True),
    ],
)
def test_the_place_of_a_rating(text: str, place: str, ends_text: bool) -> None:
    written = find_written_rating(text, THREE)
    assert written.entry == 3
    assert text[written.start : written.end] == place
    assert written.ends_text is ends_text


@pytest.mark.parametrize(
    "piece",
    [
        *("rating ", "rating for the dog ", "Rating:\n", "score is therefore ", "rating 4 _"),
        *("rating of 4, ", "I rate it ", "I can't rate 4 ", "don't ", "if I ", "rate the dog dog "),
        *("{", "{}", '{"rating":', "'rating':4,", '"', "“", "[[", "[[4]] ", "\\boxed{"),
        *(" ", "\n", "\n\x00", "1", "1\n", "1.\n2.\n", "4/", "out of ", "1 to ", "1 (", "4 ("),
        *("<think>", "</think>", "<rating>", "<a ", "**", "_", "-", "scale ", "Answer: "),
    ],
)
@pytest.mark.parametrize("scale", [FIVE, LETTERS])
def test_a_long_hostile_text_takes_linear_time(piece: str, scale: tuple[str, ...]) -> None:
    text = (piece * 50_000)[:50_000] + "x"
    start = time.process_time()
    read_written_rating(text, scale)
    assert time.process_time() - start < 5  # quadratic patterns take minutes
