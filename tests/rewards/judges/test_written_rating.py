"""One reader of ratings: answers as judges write them, each with the reading that a person gives it.

The first answers of both lists were written before any rule was.
"""

import time

import pytest

from spanreward.rewards.judges.written_rating import find_written_rating, read_written_rating

FIVE = ("1", "2", "3", "4", "5")
THREE = ("1", "2", "3")
TEN = tuple(map(str, range(11)))
LETTERS = ("A", "B")
TIES = ("A", "B", "C")

RATED = [
    ("4", FIVE, 4),
    (" 4\n", FIVE, 4),
    ("4.", FIVE, 4),
    ("**4**", FIVE, 4),
    ("4/5", FIVE, 4),
    ("4 out of 5", FIVE, 4),
    ("4.0", FIVE, 4),
    ("3.5", FIVE, 3.5),
    ("Rating: 4", FIVE, 4),
    ("**Rating:** 4/5", FIVE, 4),
    ("Rating: **4**", FIVE, 4),
    ("Score = 3", FIVE, 3),
    ("[[4]]", FIVE, 4),
    ("Rating: [[4]]", FIVE, 4),
    ("\\boxed{4}", FIVE, 4),
    ("<answer>4</answer>", FIVE, 4),
    ("<rating>4</rating>", FIVE, 4),
    ('{"rating": 4}', FIVE, 4),
    ('{"rating": "4"}', FIVE, 4),
    ('{"score": 4.0, "reason": "2 dogs are missing"}', FIVE, 4),
    ('{"reason": "2 dogs are missing", "score": 4}', FIVE, 4),
    ('```json\n{"rating": 4, "explanation": "Good, 1 slip."}\n```', FIVE, 4),
    ('{"rating": 4, "confidence": 1}', FIVE, 4),
    ("I rate it 4 on a scale from 1 to 5.", FIVE, 4),
    ("I would give this description a 4.", FIVE, 4),
    ("I'd give it a 3 out of 5.", FIVE, 3),
    ("On a scale of 1 to 5, I would rate this a 2.", FIVE, 2),
    ("The description deserves a score of 4 because it names 3 of the objects.", FIVE, 4),
    ("Rating (1-5): 4", FIVE, 4),
    ("My rating is 5.", FIVE, 5),
    ("The overall score is therefore 2/5.", FIVE, 2),
    ("The caption names 2 dogs and 3 cats.\n\n4", FIVE, 4),
    ("The caption names 2 dogs.\nFinal rating: 3", FIVE, 3),
    ("There are 2 dogs in the picture, the caption says 3. So rating=2", FIVE, 2),
    ("<think>Rating: 1? No, maybe 3.</think>\n4", FIVE, 4),
    ("## Rating\n4", FIVE, 4),
    ("| Criterion | Rating |\n|---|---|\n| overall | 4 |\n\nRating: 4", FIVE, 4),
    ("Rating: 10", TEN, 10),
    ("Score: 7/10", TEN, 7),
    ("Rating: 0", TEN, 0),
    ("Rating: 3/3", THREE, 3),
    ('{"rating": 3}', THREE, 3),
    ("Rating: 3.0", THREE, 3),
    ("The candidate says 2 and so do the references. So rating=3", THREE, 3),
    ("Rating\uff1a4", FIVE, 4),
    ("⭐ 4", FIVE, 4),
    ("Rating: 4 (Good)", FIVE, 4),
    ("Clarity: 3\nFluency: 5\nRating: 4", FIVE, 4),
    ("I first thought of a rating of 2.\nRating: 4", FIVE, 4),
    ("B", LETTERS, "B"),
    ("B.", LETTERS, "B"),
    ("(B)", LETTERS, "B"),
    ("[[B]]", LETTERS, "B"),
    ("Answer: B", LETTERS, "B"),
    ("The answer is B.", LETTERS, "B"),
    ("My verdict is [[A]]", LETTERS, "A"),
    ("Both name the dog, but only one names the colour.\n[[B]]", LETTERS, "B"),
    ("Both are equal. Final verdict: [[C]]", TIES, "C"),
    ('{"answer": "A"}', LETTERS, "A"),
    ('{"verdict": "B", "reason": "A dog is missing."}', LETTERS, "B"),
    ("\\boxed{A}", LETTERS, "A"),
    ("**A**", LETTERS, "A"),
    ("A", TIES, "A"),
    # written after the rules
    ("After careful consideration, I rate this caption as a 4.", FIVE, 4),
    ("I'd say it's a 3.", FIVE, 3),
    ("This is a solid 4 out of 5.", FIVE, 4),
    ("The final score is 4/5 because the caption misses 2 dogs.", FIVE, 4),
    ("**Score: 4/5**\n\nThe caption names 3 of 5 objects.", FIVE, 4),
    ("### Rating: 3\n\n### Explanation:\n1. The dog is missing.\n2. The cat is wrong.", FIVE, 3),
    ("**Rating**\n\n4/5\n\n**Why**\nBecause.", FIVE, 4),
    ("Therefore, the rating is: **2**", FIVE, 2),
    ("Based on the criteria, I would assign a score of 2.", FIVE, 2),
    ("Rating: 4 stars", FIVE, 4),
    ("4️⃣", FIVE, 4),
    ("Final Answer: 4", FIVE, 4),
    ("$\\boxed{4}$", FIVE, 4),
    ("The final answer is $\\boxed{4}$.", FIVE, 4),
    ("<|begin_of_box|>4<|end_of_box|>", FIVE, 4),
    ("Rating: 4</s>", FIVE, 4),
    ("score: 4\nreason: 2 errors", FIVE, 4),
    ("{'score': 3, 'reason': 'ok'}", FIVE, 3),
    ('{"analysis": "On 1-5, 2 issues.", "overall_score": 3}', FIVE, 3),
    ('{"rating": "4/5"}', FIVE, 4),
    ('{"rating": 4, "reason": "cut he', FIVE, 4),
    ("Rating: 4\nConfidence score: 1", FIVE, 4),
    ("Score (out of 5): 4", FIVE, 4),
    ("It lacks the dog; hence, score=2.", FIVE, 2),
    ("As the caption is not right, the rating is 1.", FIVE, 1),
    ("The dog is not mentioned, so I give it a 2.", FIVE, 2),
    ("My choice is A because B is wrong.", LETTERS, "A"),
    ("I prefer A over B.", LETTERS, "A"),
    ("Winner: B", LETTERS, "B"),
    ("**Answer: A**", LETTERS, "A"),
    ("The correct answer is (B).", LETTERS, "B"),
    ("A.", LETTERS, "A"),
    ("I think the better description is B.", LETTERS, "B"),
    ("I rate this description of the dog 4.", FIVE, 4),
    ("Overall: 4", FIVE, 4),
    ("The rating for this caption is 4.", FIVE, 4),
    ("The rating I would give is 4.", FIVE, 4),
    ("Rating: 3.0 (1-3)", THREE, 3),
    ("Answer: 4", FIVE, 4),
    ("| Rating | 4 |", FIVE, 4),
    ("[4]", FIVE, 4),
    ("4 ⭐⭐⭐⭐", FIVE, 4),
    ("I rate it 4 and I stand by it.", FIVE, 4),
]
UNREADABLE = [
    ("评分\uff1a4", FIVE, None),
    ("4 - mostly correct", FIVE, None),
    ("", FIVE, None),
    ("   \n", FIVE, None),
    ("I cannot rate this. 1 picture is missing.", FIVE, None),
    ("I can't give this a rating of 5 or of any other number.", FIVE, None),
    ("I would not rate this a 5.", FIVE, None),
    ("I refuse to give a score. See rule 3.", FIVE, None),
    ("Sorry, I am unable to view images.", FIVE, None),
    ("8/10", FIVE, None),
    ("Rating: 8/10", FIVE, None),
    ("Rating: 4/10", FIVE, None),
    ("Rating: 4 out of 10", FIVE, None),
    ("Rating: 7", FIVE, None),
    ("Rating: -1", FIVE, None),
    ("Rating: 0", FIVE, None),
    ("Rating: 4000", FIVE, None),
    ("Rating: 5.5", FIVE, None),
    ("Rating: nan", FIVE, None),
    ("Rating: 1e3", FIVE, None),
    ("Rating: 80%", FIVE, None),
    ("4%", FIVE, None),
    ("Rating: 3-4", FIVE, None),
    ("Rating: 3 or 4", FIVE, None),
    ("Rating: 1-5", FIVE, None),
    ("Please give a rating from 1 to 5.", FIVE, None),
    ("On a scale from 1 to 5", FIVE, None),
    ("Rating scale: 1 = bad, 5 = good.", FIVE, None),
    ("1 dog, 2 cats and 3 birds.", FIVE, None),
    ("There are 3 people in the picture.", FIVE, None),
    ("3 people", FIVE, None),
    ("1. The dog is brown.\n2. The cat is black.", FIVE, None),
    ("1\n2\n3", FIVE, None),
    ("1 2 3 4 5", FIVE, None),
    ("Rating: 2. On second thought the rating is 5, because it is fine.", FIVE, None),
    ('{"rating": 2} {"rating": 5} as I said', FIVE, None),
    ('{"rating": null}', FIVE, None),
    ('{"rating": [4, 5]}', FIVE, None),
    ('{"confidence": 4}', FIVE, None),
    ("<think>Rating: 4", FIVE, None),
    ("<think>4</think>", FIVE, None),
    ("Rating:", FIVE, None),
    ("Rating: good", FIVE, None),
    ('The caption says "Rating: 5" on the poster.', FIVE, None),
    ("Clarity: 3\nFluency: 5", FIVE, None),
    ("Version 4", FIVE, None),
    ("Step 3 of 5", FIVE, None),
    ("Published in 2024.", FIVE, None),
    ("Rating: 4,5", FIVE, None),
    ("A dog is on the grass.", LETTERS, None),
    ("A good answer names the dog.", LETTERS, None),
    ("The answer is a dog.", LETTERS, None),
    ("Answer: a dog on the grass", LETTERS, None),
    ("A or B", LETTERS, None),
    ("Neither A nor B is right.", LETTERS, None),
    ("The answer is not B.", LETTERS, None),
    ("D", TIES, None),
    ("I can't choose between A and B.", LETTERS, None),
    ("Answer: Both", LETTERS, None),
    ("Assistant A is better than assistant B.", LETTERS, None),
    # written after the rules
    ('{"clarity": {"score": 3}, "fluency": {"score": 5}}', FIVE, None),
    ("Confidence score: 5", FIVE, None),
    ("A rating of 5 requires every object.", FIVE, None),
    ("To earn a 5, it must name the dog.", FIVE, None),
    ("If it named the dog, I would rate it 5.", FIVE, None),
    ("I rate it at least 3.", FIVE, None),
    ("The rating is above 3.", FIVE, None),
    ("The score on the board is 3.", FIVE, None),
    ("The man gives the dog 2.", FIVE, None),
    ("The team scored 3.", FIVE, None),
    ("On a scale from 1 to 10, I rate it 4.", FIVE, None),
    ("Score (0-10): 4", FIVE, None),
    ("Score 1: bad\nScore 5: perfect", FIVE, None),
    ("Is it a 4? I don't know.", FIVE, None),
    ("#1", FIVE, None),
    ("$4", FIVE, None),
    ("-3", FIVE, None),
    ("~4", FIVE, None),
    (">3", FIVE, None),
    ("4+", FIVE, None),
    ("4?", FIVE, None),
    ("The problems are:\n1.", FIVE, None),
    ("1. dog\n2. cat\n3.", FIVE, None),
    ("I don't think this deserves a 5.", FIVE, None),
    ("Neither deserves a 4.", FIVE, None),
    ("I can't, in good conscience, rate this 4.", FIVE, None),
    ("Rating: 5 would be too generous.", FIVE, None),
    ("Option A is better.", LETTERS, None),
    ("Output [[A]] if A is better, or [[B]] if B is.", LETTERS, None),
    ("Answer: A dog", LETTERS, None),
    ("Rating: three", THREE, None),
    ("评分: 4", FIVE, None),
    ("Bewertung: 4", FIVE, None),
    ("This image shows 4", FIVE, None),
    ("The answer is 4.", FIVE, None),
    ("Rate: 4", FIVE, None),
    ("It received a rating of 4 in the magazine shown in the picture.", FIVE, None),
]


@pytest.mark.parametrize(("text", "scale", "right"), [*RATED, *UNREADABLE])
def test_an_answer_is_read_as_a_person_reads_it(
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
    assert read_written_rating("3.5", (*THREE, "4")).probabilities == {
        "1": 0.0,
        "2": 0.0,
        "3": 0.5,
        "4": 0.5,
    }


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
