"""HarmonicEval as a reward: how good a text is by each criterion, without a reference.

    reward = HarmonicReward(judge)                      # a judge that sees; needs a column image, images or context
    verdict = reward.assess([Sample("Describe.", "A red circle.", images=(picture,))])[0]
    verdict.score, verdict.parts["correctness"], verdict.parts["correctness_std"], verdict.parts["weight_fluency"]

Every criterion is one rating from 1 to 5, its mean and standard deviation taken from the distribution over the five
tokens; their harmonically weighted mean is `overall`, and the score is (overall - 1) / 4. Correctness and completeness
see the picture, or a context that describes it; clarity, fluency and conciseness see the text alone.

Harmonic weights flatten a reward: three criteria that the judge is sure of outweigh two wrong ones of which it is not.
For RL gamma=1, which weighs all alike, is worth a try (recipes/quickstart/scenes-harmonic-uniform-dapo.yaml).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from spacy.language import Language

from rewards.cost import Cost, tokens_in
from rewards.filler import beside, charge_filler, find_filler
from rewards.harmonic.prompts import Criterion, chosen_criteria, load_prompts
from rewards.harmonic.questions import Evidence, Shown, ask, ask_why, show
from rewards.harmonic.scores import LEVELS, SIGMA_FLOOR, Aggregate, aggregate, check_weighting, unit
from rewards.harmonic.spans import Place, ablation_spans, at_most, charged_parts, sentence_spans, without
from rewards.judges import load_judge
from rewards.judges.judge import Failure, Judge, Question, Rating
from rewards.judges.shared.cached_judge import rate_once
from rewards.language.pipeline import load_pipeline, pipeline_name
from rewards.language.sentences import split_sentences
from rewards.length import charge_unread, judged_part
from rewards.naming import check_mode, unknown
from rewards.reward import Reward
from rewards.verdict import Sample, Span, Status, Verdict

REASON_TOKENS = 120
SENTENCES = 4  # that `cost` assumes of a completion


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A sample that is judged: what it is judged by, its text as far as it is judged, and the sentences in that."""

    sample: Sample
    shown: Shown
    text: str
    places: tuple[Place, ...]

    @property
    def details(self) -> int:
        """How many sentences are asked about: the only one of a text is the text."""
        return len(self.places) if len(self.places) > 1 else 0


class HarmonicReward(Reward):
    """HarmonicEval as a reward (HarmonicEval, equations 1 to 4), with any judge. Needs no reference.

    Args:
        judge: who rates; for the criteria that see the picture it must be one that sees.
        text_judge: a judge or its name, which takes over the criteria that see the text alone.
        task: "ic" (captions), "reg" (expressions for the object in `bbox`), "vqa" or "vdu" (answers to `question`). A
            row's own column `task` goes before it.
        criteria: names, or YAML files of your own (see `rewards.harmonic.prompts`); None is the paper's five,
            "overall" one question for everything.
        gamma: in (0, 1], from the surest criterion alone to all alike (equation 3).
        spans: "sentences" rates every sentence, "ablation" the text without each, "none" asks no more than the score
            needs.
        smooth: ratings are expectations over the distribution (equation 1); False takes the likeliest.
        evidence: "picture", or where a row has none its `context`; "context" never shows a picture, for judges that
            only read.
        sigma_floor: the least deviation of a rating, in the scale's units.
        prompts: a file like prompts.yaml in place of ours.
        pipeline: the spaCy pipeline that finds the sentences.
        mode: "default" charges for words that say nothing (rewards/filler.py), "published" does not.
        name: of the reward in logs.
    """

    scale = (1.0, 5.0)

    def __init__(
        self,
        judge: Judge,
        text_judge: Judge | str | None = None,
        task: str = "ic",
        criteria: str | Path | Sequence[str | Path] | None = None,
        gamma: float = 0.75,
        spans: Literal["sentences", "ablation", "none"] = "sentences",
        smooth: bool = True,
        evidence: Evidence = "picture",
        sigma_floor: float = SIGMA_FLOOR,
        prompts: str | Path | None = None,
        pipeline: Language | str | None = None,
        mode: Literal["default", "published"] = "default",
        name: str = "harmonic",
    ) -> None:
        super().__init__(name)
        self.prompts = load_prompts(prompts)
        if task not in self.prompts.tasks:
            raise ValueError(unknown("task", task, self.prompts.tasks))
        if spans not in ("sentences", "ablation", "none"):
            raise ValueError(f'spans is "sentences", "ablation" or "none", got {spans!r}')
        if evidence not in ("picture", "context"):
            raise ValueError(f'evidence is "picture" or "context", got {evidence!r}')
        check_mode(mode)
        check_weighting(gamma, sigma_floor)
        self.criteria = chosen_criteria(self.prompts, criteria)
        self.judge = judge
        self.text_judge = load_judge(text_judge) if isinstance(text_judge, str) else text_judge or judge
        needed = [self._judge_of(criterion) for criterion in self.criteria]
        self.judges = tuple({id(one): one for one in needed}.values())
        self.task = task
        self.gamma = gamma
        self.spans = spans
        self.smooth = smooth
        self.evidence: Evidence = evidence
        self.sigma_floor = sigma_floor
        self.pipeline = pipeline
        self.mode = mode
        self.main_parts = ("overall", *(c.name for c in self.criteria if c.name != "overall"))
        self.wording = sha256(repr((self.prompts, self.criteria)).encode()).hexdigest()[:16]
        self.adds = frozenset(criterion.name for criterion in self.criteria if criterion.adds)
        self.columns, self.one_of = needed_columns(task, evidence) if any(c.sees for c in self.criteria) else ((), ())

    def reader(self) -> str:
        """The pipeline that finds the sentences. Raises ImportError where it is missing."""
        if self.spans == "none":
            return ""
        return pipeline_name(self.pipeline if isinstance(self.pipeline, Language) else load_pipeline(self.pipeline))

    def cost(self, words: float, references: int) -> Cost:
        """A rating per criterion, of the text and, with spans, about each of its sentences. References are not read."""
        text = " ".join(["word"] * round(words))
        each = 1 if self.spans == "none" else 1 + SENTENCES
        shown = Shown(self.prompts.tasks[self.task])
        read = sum(
            tokens_in(ask(self.prompts.layout, criterion, shown, text).messages[0]["content"])
            for criterion in self.criteria
        )
        count = len(self.criteria)
        how = "the criteria" if each == 1 else f"{count} criteria x (1 + sentences), of {SENTENCES} sentences (assumed)"
        return Cost(count * each, read * each, count * each, exact=each == 1, how=how)

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        """One Verdict per sample, in order; all questions to a judge in one call. Equal questions are asked once."""
        verdicts: dict[int, Verdict] = {}
        shown: dict[int, Shown] = {}
        for number, sample in enumerate(samples):
            evidence = self._shown(sample)
            if isinstance(evidence, str):
                verdicts[number] = Verdict(None, Status.NOT_APPLICABLE, note=evidence)
            elif not judged_part(sample).completion.strip():
                verdicts[number] = Verdict(0.0, Status.EMPTY, self._lowest(), note="the completion says nothing")
            else:
                shown[number] = evidence
        texts = {number: judged_part(samples[number]).completion for number in shown}
        places: Sequence[Sequence[Place]] = [()] * len(texts)
        if self.spans != "none" and texts:
            places = split_sentences(list(texts.values()), self.pipeline)
        inquiries = [
            Inquiry(samples[number], shown[number], texts[number], tuple(at_most(found)))
            for number, found in zip(shown, places, strict=True)
        ]
        questions = [(criterion, question) for inquiry in inquiries for criterion, question in self._questions(inquiry)]
        answers = iter(self._rate(questions))
        read_by = self.reader() if inquiries else ""
        for number, inquiry in zip(shown, inquiries, strict=True):
            rows = [[next(answers) for _ in self.criteria] for _ in range(1 + inquiry.details)]
            verdicts[number] = replace(self._verdict(inquiry, rows), parsed_by=read_by)
        return [verdicts[number] for number in range(len(samples))]

    def explain(
        self, samples: Sequence[Sample], verdicts: Sequence[Verdict], max_tokens: int = REASON_TOKENS
    ) -> list[dict[str, str | Failure]]:
        """Why the judge rated as it did, per sample and criterion; nothing for a verdict whose status is not OK.

        verdicts: what `assess` said of these samples. For reports: a free text each, never part of a reward.
        """
        asked: list[tuple[int, Criterion, Question]] = []
        for number, (sample, verdict) in enumerate(zip(samples, verdicts, strict=True)):
            shown = self._shown(sample)
            if verdict.status is Status.OK and isinstance(shown, Shown):
                text = judged_part(sample).completion
                for criterion in self.criteria:
                    rating = verdict.parts[criterion.name]
                    question = ask_why(self.prompts.layout, criterion, shown, text, rating)
                    asked.append((number, criterion, question))
        reasons: list[dict[str, str | Failure]] = [{} for _ in samples]
        for judge in self.judges:
            own = [(number, c, question) for number, c, question in asked if self._judge_of(c) is judge]
            if own:
                with judge:
                    written = judge.write([question for *_, question in own], max_tokens)
                for (number, criterion, _), reason in zip(own, written, strict=True):
                    reasons[number][criterion.name] = reason
        return [{c.name: found[c.name] for c in self.criteria if c.name in found} for found in reasons]

    def _judge_of(self, criterion: Criterion) -> Judge:
        return self.judge if criterion.sees else self.text_judge

    def _shown(self, sample: Sample) -> Shown | str:
        """What the sample is judged by, or why it cannot be judged."""
        name = sample.task or self.task
        if name not in self.prompts.tasks:
            return unknown("task", name, self.prompts.tasks)
        task = self.prompts.tasks[name]
        return show(sample, name, task, self.evidence) if any(c.sees for c in self.criteria) else Shown(task)

    def _questions(self, inquiry: Inquiry) -> list[tuple[Criterion, Question]]:
        """Every criterion of the whole text, then of every detail."""
        layout, shown, text, places = self.prompts.layout, inquiry.shown, inquiry.text, inquiry.places
        questions = [(c, ask(layout, c, shown, text)) for c in self.criteria]
        for number in range(inquiry.details):
            if self.spans == "sentences":
                questions += [(c, ask(layout, c, shown, text, places[number])) for c in self.criteria]
            else:
                rest = without(text, places, number)
                questions += [(c, ask(layout, c, shown, rest)) for c in self.criteria]
        return questions

    def _rate(self, asked: Sequence[tuple[Criterion, Question]]) -> list[Rating | Failure]:
        """An answer per question, in order. Each judge is awake for its own questions only, and hears each once. One of
        several is entered in any case, see `Reward.held`.
        """
        answers: dict[int, Rating | Failure] = {}
        for judge in self.judges:
            own = [number for number, (criterion, _) in enumerate(asked) if self._judge_of(criterion) is judge]
            if not own and judge in self.held:
                continue
            with judge:
                answers |= zip(own, rate_once(judge, [asked[number][1] for number in own]), strict=True)
        return [answers[number] for number in range(len(asked))]

    def _verdict(self, inquiry: Inquiry, rows: Sequence[Sequence[Rating | Failure]]) -> Verdict:
        """rows: the answers about the whole text, then about every detail, a criterion each. One failure fails all."""
        ratings: list[dict[str, Rating]] = []
        for row in rows:
            ratings.append({})
            for criterion, answer in zip(self.criteria, row, strict=True):
                if isinstance(answer, Failure):
                    return Verdict(None, answer.status, note=f"{criterion.name}: {answer.message}")
                ratings[-1][criterion.name] = answer
        whole, *details = [self._aggregate(row) for row in ratings]
        places = inquiry.places
        if self.spans == "ablation":
            spans = ablation_spans(places, whole, details)
        else:
            spans = sentence_spans(places, whole, [detail.means for detail in details], self.adds)
        verdict = verdict_of(whole, spans)
        if self.mode == "default":
            found = find_filler(inquiry.text, beside(inquiry.sample))
            verdict = charge_filler(verdict, inquiry.text, found, charged_parts)
        read = len(inquiry.text) - max(rating.cut for rating in ratings[0].values())
        return charge_unread(verdict, read, len(inquiry.sample.completion), charged_parts)

    def _aggregate(self, ratings: Mapping[str, Rating]) -> Aggregate:
        tables = {criterion: rating.probabilities for criterion, rating in ratings.items()}
        return aggregate(tables, self.gamma, self.sigma_floor, self.smooth)

    def _lowest(self) -> dict[str, float]:
        return dict.fromkeys(("overall", *(criterion.name for criterion in self.criteria)), float(LEVELS[0]))


def needed_columns(task: str, evidence: Evidence) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The dataset columns that a task cannot do without, and those of which it needs one."""
    if task == "reg":
        return ("bbox",), ("image", "images")
    columns = ("question",) if task in ("vqa", "vdu") else ()
    return columns, ("context",) if evidence == "context" else ("image", "images", "context")


def verdict_of(whole: Aggregate, spans: tuple[Span, ...]) -> Verdict:
    """The verdict on a text that was read to its end."""
    parts = {"overall": whole.overall}
    for criterion, mean in whole.means.items():
        parts |= {criterion: mean, f"{criterion}_std": whole.stds[criterion]}
        parts[f"weight_{criterion}"] = whole.weights[criterion]
    return Verdict(unit(whole.overall), parts=parts, spans=spans)
