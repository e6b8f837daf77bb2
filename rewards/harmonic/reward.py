"""HarmonicEval as a reward: rates a text by several criteria, without a reference.

    reward = HarmonicReward(judge)  # a judge that sees; needs a column image, images or context
    verdict = reward.assess([Sample("Describe.", "A red circle.", images=(picture,))])[0]
    verdict.score, verdict.parts["correctness"], verdict.parts["weight_fluency"]

Each criterion gets a rating from 1 to 5. Its mean and standard deviation come from the distribution
over the five tokens. `overall` is the harmonically weighted mean of the criteria, and the score is
(overall - 1) / 4. Correctness and completeness see the picture, or a context that describes it.
Clarity, fluency and conciseness see only the text.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from spacy.language import Language

from spanreward.rewards.base.checks import Mode, check_known, unknown
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Verdict
from spanreward.rewards.harmonic.prompts import (
    Criterion,
    Shown,
    ask_rating,
    check_row,
    chosen_criteria,
    load_harmonic_prompts,
    show,
)
from spanreward.rewards.harmonic.scores import (
    LEVELS,
    aggregate,
    check_weighting,
    parts_of_aggregate,
    read_parts,
    unit,
)
from spanreward.rewards.harmonic.spans import named_spans, sentence_spans
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.reward.judged_reward import JudgedReward
from spanreward.rewards.reward.row_reward import JudgedRow, Place, Raw
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, judged

# Share of the prompt tokens that a prefix cache lacks (docs/evidence/cost.md), by `spans`.
COMPUTED = {"none": 0.71, "sentences": 0.43, "ablation": 0.67}


class HarmonicReward(JudgedReward):
    """Reward that scores a completion with HarmonicEval (HarmonicEval, equations 1 to 4). Needs no
    reference.

    Args:
        judge: the judge. It must see pictures if the criteria do.
        text_judge: another judge, or its name, for the criteria that see only the text.
        task: "ic" (captions), "reg" (expressions for the object in `bbox`), "vqa" or "vdu" (answers
            to `question`). A row's column `task` overrides it.
        criteria: names, or YAML files of your own (see harmonic/prompts.py). None is the paper's
            five, and "overall" is a single question.
        gamma: in (0, 1]. Near 0 only the surest criterion counts; 1 weighs all alike (equation 3).
        spans: "sentences" rates every sentence, "ablation" rates the text without each sentence,
            and "none" asks only what the score needs.
        likeliest: whether the likeliest rating replaces the expectation of equation 1 (the paper's
            ablation).
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context"
            never shows a picture.
        prompts: a file like prompts.yaml. None is ours.
        pipeline: the spaCy pipeline that finds the sentences.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).
    """

    scale = (1.0, 5.0)
    ways = ("sentences", "ablation", "none")
    evidences = EVIDENCE

    def __init__(
        self,
        judge: Judge | str,
        *,
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
        judged_part: str | None = None,
    ) -> None:
        super().__init__(
            judge, evidence=evidence, mode=mode, spans=spans, name=name, judged_part=judged_part
        )
        self.prompts = load_harmonic_prompts(prompts)
        check_known("task", [task], self.prompts.tasks)
        check_weighting(gamma)
        self.criteria = chosen_criteria(self.prompts, criteria)
        self.text_judge = as_judge(text_judge or self.judge)
        needed = [self._judge_of(criterion) for criterion in self.criteria]
        self.judges = tuple({id(judge_needed): judge_needed for judge_needed in needed}.values())
        self.task = task
        self.gamma = gamma
        self.likeliest = likeliest
        self.pipeline = pipeline
        self.main_parts = ("overall", *(c.name for c in self.criteria if c.name != "overall"))
        self.lowest = dict.fromkeys(self.main_parts, float(LEVELS[0]))
        self.wording = sha256(repr((self.prompts, self.criteria)).encode()).hexdigest()[:16]
        self.adds = frozenset(criterion.name for criterion in self.criteria if criterion.adds)
        self.sees = any(criterion.sees for criterion in self.criteria)
        needed_columns = {"reg": ("bbox",), "vqa": ("question",), "vdu": ("question",)}
        self.columns = needed_columns.get(task, ())
        if task == "reg":  # no words tell which object is meant
            self.one_of = ("image", "images")
            self.in_words = ""
        if not self.sees:
            self.columns = ()
            self.one_of = ()
            self.viewers = ()

    def cost_of_text(self, words: float, references: int) -> Cost:
        text = " ".join(["word"] * round(words))
        shown, count = Shown(self.prompts.tasks[self.task]), len(self.criteria)
        questions = [
            ask_rating(self.prompts.layout, criterion, shown, text) for criterion in self.criteria
        ]
        read = sum(tokens_in(question.messages[0]["content"]) for question in questions)
        how = "the criteria" if self.spans == "none" else f"{count} criteria"
        return Cost(
            count, read, count, exact=True, how=how, computed_tokens=COMPUTED[self.spans] * read
        )

    def questions_on(self, row: JudgedRow, shown: Shown) -> list[Question]:
        _, sample, sentence = row
        text = judged(sample)
        return [
            ask_rating(self.prompts.layout, criterion, shown, text, sentence)
            for criterion in self.criteria
        ]

    def judge_of(self, number: int) -> Judge:
        return self._judge_of(self.criteria[number])

    def spans_of(self, verdicts: Sequence[Verdict], places: Sequence[Place]) -> tuple[Span, ...]:
        names = [criterion.name for criterion in self.criteria]
        whole, *details = [read_parts(verdict.parts, names) for verdict in verdicts]
        if details and self.spans == "sentences":
            return sentence_spans(places, whole, [detail.means for detail in details], self.adds)
        return named_spans(super().spans_of(verdicts, places), whole, details)

    def _judge_of(self, criterion: Criterion) -> Judge:
        return self.judge if criterion.sees else self.text_judge

    def check(self, sample: Sample) -> None:
        """Also raises NotApplicable for an unknown task."""
        name = sample.task or self.task
        if name not in self.prompts.tasks:
            raise NotApplicable(unknown("task", name, self.prompts.tasks))
        if self.sees:
            check_row(sample, name, self.evidence)

    def show(self, sample: Sample) -> Shown:
        self.check(sample)
        name = sample.task or self.task
        task = self.prompts.tasks[name]
        if not self.sees:
            return Shown(task)
        return show(sample, name, task, self.evidence)

    def verdict_on(self, row: JudgedRow, answers: Sequence[Rating | Failure]) -> Raw:
        """Returns the verdict of a text's answers, one per criterion. One failure fails it."""
        ratings: dict[str, Rating] = {}
        for criterion, answer in zip(self.criteria, answers, strict=True):
            if isinstance(answer, Failure):
                return Verdict(None, answer.status, note=f"{criterion.name}: {answer.message}"), 0
            ratings[criterion.name] = answer
        distributions = {name: rating.probabilities for name, rating in ratings.items()}
        aggregated = aggregate(distributions, self.gamma, smooth=not self.likeliest)
        cut = max(rating.cut for rating in ratings.values())
        return Verdict(unit(aggregated.overall), parts=parts_of_aggregate(aggregated)), cut
