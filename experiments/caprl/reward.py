"""CapRL as a reward: how many questions about the picture a judge can answer that reads the
completion alone.

    quiz = {"quiz": [{"question": "What color is the star?", "answers": ["red", "red", "dark red"]}]}
    verdict = CaprlReward(judge).assess([Sample("Describe it.", "A red star.", columns=quiz)])[0]
    verdict.score, verdict.parts["answered"], verdict.spans[0].note
    # 1.0, 1.0, "What color is the star? red"

The judge writes a short answer to each question, or that the text does not say it. LAVE
(rewards/lave) rates the answers against the accepted ones, and the score is the mean. What no
question asks about costs nothing but filler. In default mode the judge reads only what the
completion asserts: "there is no star" answers nothing.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from experiments.caprl.probe import UNANSWERABLE, ReadProbe
from spanreward.rewards.base.checks import MODES, Mode, check_choice
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.texts import answers_of_people
from spanreward.rewards.base.verdict import Sample, Span, Status, Verdict
from spanreward.rewards.files.templates import (
    fill_template,
    filled_places,
    read_texts,
)
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question
from spanreward.rewards.language.answer_text import answer_words
from spanreward.rewards.language.parse import reader_name, scene_graphs
from spanreward.rewards.language.unasserted import asserted_part
from spanreward.rewards.lave import LaveReward
from spanreward.rewards.reward.plain_text_reward import PlainTextReward
from spanreward.rewards.reward.rows import judged_beginning, penalise_row
from spanreward.rewards.text.filler import FILLER_WORD, FUNCTION_WORDS
from spanreward.rewards.text.quoting import one_line

PROMPTS = Path(__file__).with_name("prompts.yaml")
ANSWER_TOKENS = 16  # at most
QUESTIONS = 4  # of a row, as `cost` assumes


class CaprlReward(PlainTextReward):
    """Reward that scores a description by the questions that it answers (CapRL, arXiv 2509.22647,
    section 3).

    Needs the dataset column `quiz`: a list of objects with a `question` and its accepted `answers`.
    The paper's questions are multiple choice, ours have free answers (docs/departures.md).

    Args:
        judge: the judge that reads the completion, and rates its own answers from 1 to 3. It sees
            no picture.
        mode: "default" penalises filler (rewards/text/filler.py), and parses the completion to
            leave out what it does not assert. "published" does neither.
        name: the reward's name in logs.
    """

    columns = ("quiz",)
    main_parts = ("right", "answered")

    def __init__(self, judge: Judge | str, mode: Mode = "default", name: str = "caprl") -> None:
        super().__init__(name)
        check_choice("mode", mode, MODES)
        self.judge = as_judge(judge)
        self.judges = (self.judge,)
        self.mode = mode
        self.prompt = read_texts(None, PROMPTS)["prompt"]
        self.lave = LaveReward(self.judge, rationale=False, evidence="none")
        self.wording = sha256(repr((self.prompt, self.lave.wording)).encode()).hexdigest()[:16]

    def reader(self) -> str:
        """Returns the parser that finds what a completion asserts.

        Raises ImportError where it is missing.
        """
        return reader_name() if self.mode == "default" else ""

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of a row of QUESTIONS questions if the completion answers them all."""
        asked = self._question("What is it that is seen?", " ".join(["word"] * round(words)))
        rated = self.lave.cost(words, references)
        read = QUESTIONS * (tokens_in(asked.messages[0]["content"]) + rated.prompt_tokens)
        how = f"an answer and its rating per question, {QUESTIONS} questions a row (assumed)"
        return Cost(
            2 * QUESTIONS, read, QUESTIONS * (ANSWER_TOKENS + rated.written_tokens), False, how
        )

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order.

        All questions are one call, and all ratings another.
        """
        quizzes = [quiz_of(sample) for sample in samples]
        texts = self._read(
            [
                judged_beginning(one) if quiz else ""
                for one, quiz in zip(samples, quizzes, strict=True)
            ]
        )
        asked = [
            (*one, text) for quiz, text in zip(quizzes, texts, strict=True) if text for one in quiz
        ]
        questions = [self._question(question, text) for question, _, text in asked]
        replies = self.judge.write(questions, ANSWER_TOKENS)
        answered = [
            Sample(question, _answer_in(reply), question=question, answers=accepted)
            for (question, accepted, _), reply in zip(asked, replies, strict=True)
        ]
        ratings = self.lave.assess(answered)  # "" has a score of 0, unasked
        answers = iter(zip(replies, answered, ratings, strict=True))
        return [
            Verdict(None, Status.NOT_APPLICABLE, note="this row has no questions with answers")
            if not quiz
            else self._verdict(sample, [next(answers) for _ in quiz])
            if text
            else Verdict(0.0, Status.EMPTY, note="the completion says nothing")
            for sample, quiz, text in zip(samples, quizzes, texts, strict=True)
        ]

    def _read(self, texts: Sequence[str]) -> list[str]:
        """Returns what the judge reads of each text, on one line."""
        if self.mode == "default":
            texts = [
                asserted_part(text, graph)
                for text, graph in zip(texts, scene_graphs(texts), strict=True)
            ]
        return [one_line(text) for text in texts]

    def _question(self, question: str, text: str) -> Question:
        """Returns the question about a text of one line, which stands between quotes that it cannot
        close.
        """
        shown = {"text": text, "question": one_line(question)}
        messages = [{"role": "user", "content": fill_template(self.prompt, **shown)}]
        return Question(
            messages,
            probe=ReadProbe(question, text),
            description=filled_places(self.prompt, **shown)["text"],
        )

    def _verdict(
        self, sample: Sample, answers: Sequence[tuple[str | Failure, Sample, Verdict]]
    ) -> Verdict:
        """Returns the verdict from each reply, the answer in it and LAVE's verdict on that.

        One failure fails all.
        """
        spans, text = [], judged_beginning(sample)
        scores: list[float] = []
        for number, (reply, answer, rating) in enumerate(answers):
            if isinstance(reply, Failure) or rating.score is None:
                status, why = (
                    (reply.status, reply.message)
                    if isinstance(reply, Failure)
                    else (rating.status, rating.note)
                )
                return Verdict(None, status, note=f"{answer.question}: {why}")
            scores.append(rating.score)
            if found := find_answer(answer.completion, answer.prompt, text):
                credit, note = rating.score / len(answers), f"{answer.question} {reply}"
                spans.append(Span(*found, rating.score, credit, "answer", note, number))
        right = sum(score == 1.0 for score in scores) / len(scores)
        answered = sum(bool(answer.completion) for _, answer, _ in answers) / len(answers)
        verdict = Verdict(
            sum(scores) / len(scores),
            parts={"right": right, "answered": answered},
            spans=tuple(spans),
        )
        return penalise_row(verdict, sample, self.mode)


def quiz_of(sample: Sample) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the row's questions that have answers, with them.

    Raises ValueError for a value of another kind.
    """
    rows = sample.columns.get("quiz") or []
    return [
        (one["question"], found)
        for one in rows
        if (found := answers_of_people(one["answers"], "quiz"))
    ]


def _answer_in(reply: str | Failure) -> str:
    """Returns the answer, "" for a failure and for "unanswerable", which earns nothing even where
    people said so.
    """
    words = [] if isinstance(reply, Failure) else answer_words(reply)
    return str(reply) if words and UNANSWERABLE not in words else ""


def find_answer(answer: str, question: str, text: str) -> tuple[int, int] | None:
    """Returns the characters [start, end) of the answer's words in a row in the text, None if they
    are not there.

    Of several places it is the one nearest to a word of the question. Yes and no are no words of a
    description.
    """
    said = answer_words(answer)
    words, characters = [], []
    for match in FILLER_WORD.finditer(text):
        for word in answer_words(match.group()):
            words.append(word)
            characters.append(match.span())
    ends = range(len(said), len(words) + 1) if said and not {"yes", "no"} & {*said} else ()
    found = [(end - len(said), end) for end in ends if words[end - len(said) : end] == said]
    if not found:
        return None
    asked = {*answer_words(question)} - FUNCTION_WORDS - {*said}
    of_question = [number for number, word in enumerate(words) if word in asked]

    def distance(place: tuple[int, int]) -> int:
        return min((abs(number - place[0]) for number in of_question), default=0)

    first, end = min(found, key=distance)
    return characters[first][0], characters[end - 1][1]
