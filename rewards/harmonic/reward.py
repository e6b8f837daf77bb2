"""HarmonicEval as a reward: rates a text by several criteria, without a reference.

    reward = HarmonicReward(judge)                      # a judge that sees; needs a column image, images or context
    verdict = reward.assess([Sample("Describe.", "A red circle.", images=(picture,))])[0]
    verdict.score, verdict.parts["correctness"], verdict.parts["correctness_std"], verdict.parts["weight_fluency"]

Each criterion gets a rating from 1 to 5. Its mean and standard deviation come from the distribution over the five
tokens. `overall` is the harmonically weighted mean of the criteria, and the score is (overall - 1) / 4. Correctness and
completeness see the picture, or a context that describes it. Clarity, fluency and conciseness see only the text.

Harmonic weights make a reward flatter: three criteria with sure ratings outweigh two bad ones with unsure ratings. For
RL, try gamma=1, which weighs all criteria alike (recipes/quickstart/scenes-harmonic-uniform-dapo.yaml).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from spacy.language import Language

from spanreward.rewards.base.checks import MODES, Mode, check_choice, check_known, unknown
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Verdict
from spanreward.rewards.harmonic.prompts import Criterion, Shown, ask, chosen_criteria, load_prompts, show
from spanreward.rewards.harmonic.scores import LEVELS, SIGMA_FLOOR, aggregate, check_weighting, unit
from spanreward.rewards.harmonic.spans import ablation_spans, only_span, sentence_spans
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.judges.shared.cached_judge import rate_once
from spanreward.rewards.language.parse import split_sentences
from spanreward.rewards.language.pipeline import load_pipeline, pipeline_name
from spanreward.rewards.reward.by_row import SENTENCES, Place, at_most, without
from spanreward.rewards.reward.reading import ReadingReward
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, evidence_columns, judged, penalise, sort_rows

# Share of the prompt tokens that a prefix cache lacks (docs/evidence/cost.md), by `spans`.
COMPUTED = {"none": 0.71, "sentences": 0.43, "ablation": 0.67}


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A sample to judge: what the judge sees beside it, the judged part of its text, and the sentences in that."""

    sample: Sample
    shown: Shown
    text: str
    places: tuple[Place, ...]

    @property
    def details(self) -> int:
        """How many sentences have questions of their own. The only sentence of a text has none."""
        return len(self.places) if len(self.places) > 1 else 0


class HarmonicReward(ReadingReward):
    """Reward that scores a completion with HarmonicEval (HarmonicEval, equations 1 to 4). Needs no reference.

    Args:
        judge: the judge. It must see pictures if the criteria do.
        text_judge: another judge, or its name, for the criteria that see only the text.
        task: "ic" (captions), "reg" (expressions for the object in `bbox`), "vqa" or "vdu" (answers to `question`). A
            row's column `task` overrides it.
        criteria: names, or YAML files of your own (see harmonic/prompts.py). None is the paper's five, and "overall"
            is a single question.
        gamma: in (0, 1]. Near 0 only the surest criterion counts; 1 weighs all alike (equation 3).
        spans: "sentences" rates every sentence, "ablation" rates the text without each sentence, and "none" asks only
            what the score needs.
        likeliest: whether the likeliest rating replaces the expectation of equation 1 (the paper's ablation).
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context" never shows a picture.
        prompts: a file like prompts.yaml. None is ours.
        pipeline: the spaCy pipeline that finds the sentences.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
    """

    scale = (1.0, 5.0)

    def __init__(
        self,
        judge: Judge | str,
        text_judge: Judge | str | None = None,
        task: str = "ic",
        criteria: str | Path | Sequence[str | Path] | None = None,
        gamma: float = 0.75,
        spans: Literal["sentences", "ablation", "none"] = "sentences",
        likeliest: bool = False,
        evidence: Evidence = "picture",
        prompts: str | Path | None = None,
        pipeline: Language | str | None = None,
        mode: Mode = "default",
        name: str = "harmonic",
    ) -> None:
        super().__init__(name)
        self.prompts = load_prompts(prompts)
        check_known("task", [task], self.prompts.tasks)
        check_choice("spans", spans, ("sentences", "ablation", "none"))
        check_choice("evidence", evidence, EVIDENCE)
        check_choice("mode", mode, MODES)
        check_weighting(gamma, SIGMA_FLOOR)
        self.criteria = chosen_criteria(self.prompts, criteria)
        self.judge = as_judge(judge)
        self.text_judge = as_judge(text_judge or self.judge)
        needed = [self._judge_of(criterion) for criterion in self.criteria]
        self.judges = tuple({id(one): one for one in needed}.values())
        self.task = task
        self.gamma = gamma
        self.spans = spans
        self.likeliest = likeliest
        self.evidence: Evidence = evidence
        self.pipeline = pipeline
        self.mode = mode
        self.main_parts = ("overall", *(c.name for c in self.criteria if c.name != "overall"))
        self.lowest = dict.fromkeys(self.main_parts, float(LEVELS[0]))
        self.wording = sha256(repr((self.prompts, self.criteria)).encode()).hexdigest()[:16]
        self.adds = frozenset(criterion.name for criterion in self.criteria if criterion.adds)
        self.columns, self.one_of = _needed_columns(task, evidence) if any(c.sees for c in self.criteria) else ((), ())

    def reader(self) -> str:
        """Returns the name of the pipeline that finds the sentences. Raises ImportError if it is not installed."""
        if self.spans == "none":
            return ""
        return pipeline_name(self.pipeline if isinstance(self.pipeline, Language) else load_pipeline(self.pipeline))

    def cost(self, words: float, references: int) -> Cost:
        """Returns the cost of a rating per criterion, of the text and, with spans, of each sentence."""
        text = " ".join(["word"] * round(words))
        each = 1 if self.spans == "none" else 1 + SENTENCES
        shown = Shown(self.prompts.tasks[self.task])
        read = sum(
            tokens_in(ask(self.prompts.layout, criterion, shown, text).messages[0]["content"])
            for criterion in self.criteria
        )
        count = len(self.criteria)
        how = "the criteria" if each == 1 else f"{count} criteria x (1 + {SENTENCES} sentences, assumed)"
        computed = COMPUTED[self.spans] * read * each
        return Cost(count * each, read * each, count * each, exact=each == 1, how=how, computed_tokens=computed)

    def assess_plain(self, samples: Sequence[Sample]) -> list[Verdict]:
        """Returns one Verdict per sample, in order. A judge gets all its questions in one call, equal ones once."""
        shown, verdicts = sort_rows(samples, self._shown, self.lowest)
        asked = [number for number in shown if number not in verdicts]
        texts = [judged(samples[number]) for number in asked]
        places: Sequence[Sequence[Place]] = [()] * len(texts)
        if self.spans != "none" and texts:
            places = split_sentences(texts, self.pipeline)
        inquiries = [
            Inquiry(samples[number], shown[number], text, tuple(at_most(found)))
            for number, text, found in zip(asked, texts, places, strict=True)
        ]
        answers = iter(self._answers([one for inquiry in inquiries for one in self._questions(inquiry)]))
        read_by = self.reader() if inquiries else ""
        for number, inquiry in zip(asked, inquiries, strict=True):
            rows = [[next(answers) for _ in self.criteria] for _ in range(1 + inquiry.details)]
            verdicts[number] = replace(self._verdict(inquiry, rows), parsed_by=read_by)
        return [verdicts[number] for number in range(len(samples))]

    def _judge_of(self, criterion: Criterion) -> Judge:
        return self.judge if criterion.sees else self.text_judge

    def _shown(self, sample: Sample) -> Shown:
        """Returns what the judge sees beside the sample. Raises NotApplicable for one that cannot be judged."""
        name = sample.task or self.task
        if name not in self.prompts.tasks:
            raise NotApplicable(unknown("task", name, self.prompts.tasks))
        task = self.prompts.tasks[name]
        return show(sample, name, task, self.evidence) if any(c.sees for c in self.criteria) else Shown(task)

    def _questions(self, inquiry: Inquiry) -> list[tuple[Criterion, Question]]:
        """Returns the questions by every criterion on the whole text, and then on every sentence."""
        text, places = inquiry.text, inquiry.places
        asked: list[tuple[str, Place | None]] = [(text, None)]
        for number in range(inquiry.details):
            asked.append((without(text, places, number), None) if self.spans == "ablation" else (text, places[number]))
        return [
            (criterion, ask(self.prompts.layout, criterion, inquiry.shown, shown_text, sentence))
            for shown_text, sentence in asked
            for criterion in self.criteria
        ]

    def _answers(self, asked: Sequence[tuple[Criterion, Question]]) -> list[Rating | Failure]:
        """Returns an answer per question, in order. Each judge is awake only for its own questions.

        With several judges, each is woken even without questions, see `Reward.judges_to_wake`.
        """
        answers: dict[int, Rating | Failure] = {}
        for judge in self.judges:
            numbers = [number for number, (criterion, _) in enumerate(asked) if self._judge_of(criterion) is judge]
            if numbers or judge not in self.judges_to_wake:
                with judge:
                    answers |= zip(numbers, rate_once(judge, [asked[number][1] for number in numbers]), strict=True)
        return [answers[number] for number in range(len(asked))]

    def _verdict(self, inquiry: Inquiry, rows: Sequence[Sequence[Rating | Failure]]) -> Verdict:
        """Returns the verdict. rows: an answer per criterion, on the whole text and on every sentence."""
        ratings: list[dict[str, Rating]] = []
        for row in rows:
            ratings.append({})
            for criterion, answer in zip(self.criteria, row, strict=True):
                if isinstance(answer, Failure):
                    return Verdict(None, answer.status, note=f"{criterion.name}: {answer.message}")
                ratings[-1][criterion.name] = answer
        tables = [{name: rating.probabilities for name, rating in row.items()} for row in ratings]
        whole, *details = [aggregate(table, self.gamma, smooth=not self.likeliest) for table in tables]
        if not details:
            spans = tuple(only_span(place, whole) for place in inquiry.places)
        elif self.spans == "ablation":
            spans = ablation_spans(inquiry.places, whole, details)
        else:
            spans = sentence_spans(inquiry.places, whole, [detail.means for detail in details], self.adds)
        parts = {"overall": whole.overall}
        for name, mean in whole.means.items():
            parts |= {name: mean, f"{name}_std": whole.stds[name], f"weight_{name}": whole.weights[name]}
        verdict = Verdict(unit(whole.overall), parts=parts, spans=spans)
        cut = max(rating.cut for rating in ratings[0].values())
        return penalise(verdict, inquiry.sample, self.mode, cut, self.lowest)


def _needed_columns(task: str, evidence: Evidence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Returns the dataset columns that a task needs, and the alternative ones: a row needs one of these."""
    if task == "reg":
        return ("bbox",), ("image", "images")
    return ("question",) if task in ("vqa", "vdu") else (), evidence_columns(evidence)
