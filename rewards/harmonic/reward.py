"""HarmonicEval as a reward: rates a text by several criteria, without a reference.

    reward = HarmonicReward(judge)  # a judge that sees; needs a column image, images or context
    verdict = reward.assess([Sample("Describe.", "A red circle.", images=(picture,))])[0]
    verdict.score, verdict.parts["correctness"], verdict.parts["weight_fluency"]

Each criterion gets a rating from 1 to 5. The mean and the standard deviation of a rating come from
the judge's distribution over the tokens "1" to "5". `overall` is the harmonically weighted mean of
the criteria, and the score is (overall - 1) / 4. For correctness and completeness, the judge sees
the picture or a context that describes the picture. For clarity, fluency and conciseness, the judge
sees only the text.
"""

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal

from spacy.language import Language

from spanreward.rewards.base.checks import Mode, check_known, unknown_name_message
from spanreward.rewards.base.cost import Cost, tokens_in
from spanreward.rewards.base.verdict import NotApplicable, Sample, Span, Verdict
from spanreward.rewards.harmonic.prompts import (
    Criterion,
    Shown,
    ask_rating,
    check_row,
    chosen_criteria,
    load_harmonic_prompts,
    shown_parts,
)
from spanreward.rewards.harmonic.scores import (
    RATING_LEVELS,
    aggregate,
    check_weighting,
    parts_of_aggregate,
    read_parts,
    score_of_rating,
)
from spanreward.rewards.harmonic.spans import named_spans, sentence_spans
from spanreward.rewards.judges.by_name import as_judge
from spanreward.rewards.judges.judge import Failure, Judge, Question, Rating
from spanreward.rewards.reward.judged_reward import JudgedReward
from spanreward.rewards.reward.row_reward import JudgedRow, RawVerdict, SentencePlace
from spanreward.rewards.reward.rows import EVIDENCE, Evidence, judged_beginning

# For each value of `spans`, the share of the prompt tokens that a prefix cache does not hold, so
# that the judge computes them (docs/evidence/cost.md).
COMPUTED_SHARES = {"none": 0.71, "sentences": 0.43, "ablation": 0.67}


class HarmonicReward(JudgedReward):
    """Reward that scores a completion with HarmonicEval (HarmonicEval, equations 1 to 4). Needs no
    reference.

    Args:
        judge: the judge. The judge must see pictures if a criterion has `sees`.
        text_judge: another judge, or its name, for the criteria that see only the text.
        task: "ic" (captions), "reg" (expressions for the object in `bbox`), "vqa" or "vdu" (answers
            to `question`). A row's column `task` overrides it.
        criteria: names of criteria, or YAML files of your own (see harmonic/prompts.py). None gives
            the paper's five criteria. "overall" asks a single question about the whole quality.
        gamma: in (0, 1]. Near 0 only the surest criterion counts. With 1 all criteria weigh alike
            (equation 3).
        spans: "sentences" rates every sentence, "ablation" rates the text without each sentence,
            and "none" asks only what the score needs.
        likeliest: whether the likeliest rating replaces the expectation of equation 1 (the paper's
            ablation).
        evidence: "picture" shows the row's picture, or its `context` if it has none. "context"
            never shows a picture.
        prompts: a file like prompts.yaml. None gives the file of this package.
        pipeline: the spaCy pipeline that finds the sentences.
        mode: "default" penalises filler (rewards/text/filler.py), "published" does not.
        name: the reward's name in logs.
        judged_part: only this part of a completion is judged (rewards/text/judged_part.py).

    Raises:
        ValueError: an unknown task or criterion, a gamma outside (0, 1], another invalid option, or
            an invalid file of prompts or criteria.
        OSError: a file that cannot be read.
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
            judge,
            evidence=evidence,
            mode=mode,
            spans=spans,
            name=name,
            judged_part=judged_part,
        )
        # check the options before the second judge is made, because a judge may load a model
        self.prompts = load_harmonic_prompts(prompts)
        check_known("task", [task], self.prompts.tasks)
        check_weighting(gamma)
        self.criteria = chosen_criteria(self.prompts, criteria)
        self.text_judge = as_judge(text_judge or self.judge)
        self.judges = self._judges_of_criteria()
        self.task = task
        self.gamma = gamma
        self.likeliest = likeliest
        self.pipeline = pipeline
        names = [criterion.name for criterion in self.criteria]
        # a criterion "overall" shares the part "overall" with the weighted mean
        names_of_parts = [name for name in names if name != "overall"]
        self.main_parts = ("overall", *names_of_parts)
        self.lowest = dict.fromkeys(self.main_parts, float(RATING_LEVELS[0]))
        # hash the criteria, too: criteria of a user's file are not part of the prompts
        texts = repr((self.prompts, self.criteria))
        self.wording = sha256(texts.encode()).hexdigest()[:16]
        # the names of criteria in which the sentences of a text add up (`Criterion.adds`)
        self.adds = frozenset(criterion.name for criterion in self.criteria if criterion.adds)
        # whether the judge sees the picture for a criterion (`Criterion.sees`)
        self.sees = any(criterion.sees for criterion in self.criteria)
        self._set_needs_of_task(task)

    def _judges_of_criteria(self) -> tuple[Judge, ...]:
        """Returns the judges that the criteria need, each once, in the order of the criteria."""
        judges_by_id: dict[int, Judge] = {}  # a judge need not be hashable, so it is no key
        for criterion in self.criteria:
            judge = self._judge_of(criterion)
            judges_by_id[id(judge)] = judge
        return tuple(judges_by_id.values())

    def _set_needs_of_task(self, task: str) -> None:
        """Sets what the reward needs for its task, in these attributes of `Reward`:

        columns: the dataset columns that every row needs, such as "question".
        one_of: dataset columns; every row needs one of them, such as "image" or "context".
        in_words: for error messages, the option that shows the judge words in place of pictures.
        viewers: the judges that are shown pictures.
        """
        needed_columns = {"reg": ("bbox",), "vqa": ("question",), "vdu": ("question",)}
        self.columns = needed_columns.get(task, ())
        # only a picture can show the object in the box, so a context will not do
        if task == "reg":
            self.one_of = ("image", "images")
            self.in_words = ""
        # if every criterion gets the text alone, nothing else is needed
        if not self.sees:
            self.columns = ()
            self.one_of = ()
            self.viewers = ()

    def cost_of_text(self, words: float, references: int) -> Cost:
        """Returns the cost of one completion without spans: a question and one written token per
        criterion.

        words: the number of words of the completion. references: has no effect, because no prompt
        has a reference.
        """
        layout = self.prompts.layout
        # build the prompts for a completion of so many words, and count their tokens
        text = " ".join(["word"] * round(words))
        evidence = Shown(self.prompts.tasks[self.task])
        read = 0.0
        for criterion in self.criteria:
            question = ask_rating(layout, criterion, evidence, text)
            read += tokens_in(question.messages[0]["content"])
        count = len(self.criteria)
        # with spans, `cost` adds to this note: "5 criteria x (1 + 4 sentences, assumed)"
        how = "the criteria" if self.spans == "none" else f"{count} criteria"
        computed = COMPUTED_SHARES[self.spans] * read
        return Cost(count, read, count, exact=True, how=how, computed_tokens=computed)

    def questions_on(self, row: JudgedRow, shown: Shown) -> list[Question]:
        """Returns one question per criterion, in the order of the criteria.

        If the row names a sentence, the questions are about the sentence.
        """
        _, sample, sentence = row
        text = judged_beginning(sample)
        layout = self.prompts.layout
        questions = []
        for criterion in self.criteria:
            questions.append(ask_rating(layout, criterion, shown, text, sentence))
        return questions

    def judge_of(self, number: int) -> Judge:
        """Returns the judge for the question of this number, counted from 0 within a row."""
        return self._judge_of(self.criteria[number])

    def spans_of(
        self, verdicts: Sequence[Verdict], places: Sequence[SentencePlace]
    ) -> tuple[Span, ...]:
        """Returns one span per sentence.

        verdicts: first the verdict on the whole text. With spans="sentences", a verdict on each
        sentence follows. With "ablation", a verdict on the text without each sentence follows.
        """
        # restore the aggregates from the parts of the verdicts
        names = [criterion.name for criterion in self.criteria]
        aggregates = [read_parts(verdict.parts, names) for verdict in verdicts]
        whole = aggregates[0]
        details = aggregates[1:]
        if details and self.spans == "sentences":
            ratings = [detail.means for detail in details]
            return sentence_spans(places, whole, ratings, self.adds)
        # an ablation, or a text of one sentence, which has no verdicts but the first
        return named_spans(super().spans_of(verdicts, places), whole, details)

    def _judge_of(self, criterion: Criterion) -> Judge:
        """Returns the judge that rates by this criterion."""
        return self.judge if criterion.sees else self.text_judge

    def check(self, sample: Sample) -> None:
        """Raises NotApplicable for a row of an unknown task.

        If a criterion has `sees`, also raises NotApplicable for a row without the question, picture
        or box that its task needs.
        """
        name = sample.task or self.task
        if name not in self.prompts.tasks:
            raise NotApplicable(unknown_name_message("task", name, self.prompts.tasks))
        if self.sees:
            check_row(sample, name, self.evidence)

    def show(self, sample: Sample) -> Shown:
        """Returns the parts of a row that the judge sees beside the text.

        Raises NotApplicable for a row that `check` refuses, and for a row without evidence.
        """
        self.check(sample)
        name = sample.task or self.task
        task = self.prompts.tasks[name]
        # without a criterion with `sees`, do not decode the pictures
        if not self.sees:
            return Shown(task)
        return shown_parts(sample, name, task, self.evidence)

    def verdict_on(self, row: JudgedRow, answers: Sequence[Rating | Failure]) -> RawVerdict:
        """Returns the verdict for the judge's answers, and the number of unread characters.

        answers: one answer per criterion. A single failure makes the whole verdict fail. Unread
        characters are at the end of the text: the judge cut them to shorten the prompt.
        """
        ratings: dict[str, Rating] = {}
        for criterion, answer in zip(self.criteria, answers, strict=True):
            if isinstance(answer, Failure):
                note = f"{criterion.name}: {answer.message}"
                return Verdict(None, answer.status, note=note), 0
            ratings[criterion.name] = answer
        distributions = {name: rating.probabilities for name, rating in ratings.items()}
        aggregated = aggregate(distributions, self.gamma, smooth=not self.likeliest)
        # Prompts differ in length, so the text may be cut at different places. Only characters that
        # were read for every criterion count as read.
        cut = max(rating.cut for rating in ratings.values())
        score = score_of_rating(aggregated.overall)
        return Verdict(score, parts=parts_of_aggregate(aggregated)), cut
