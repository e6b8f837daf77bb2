"""The metrics that papers' tables set beside theirs. A metric that the machine lacks is left out,
with a sentence.

    metrics, left_out = baselines()
    [metric.__name__ for metric in metrics]        # ["words", "bag_of_words", "bleu", "rouge_l"]
    left_out  # ["METEOR: left out, WordNet is not on this machine ...", ...]

Each compares a text with its references, or an answer with people's answers, and takes the best
single one; BLEU is defined over all. Nothing is downloaded. `make venv` installs sacrebleu and
rouge-score.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.agreement import answer_metrics
from experiments.agreement.embedding_baselines import of_table_2
from experiments.match_embed.word_vectors import Embedder
from spanreward.rewards.base.verdict import Sample, Status, Verdict
from spanreward.rewards.lave import vqa
from spanreward.rewards.reward.reward import Reward
from spanreward.rewards.text import bag_of_words

Overlap = Callable[[str, Sequence[str]], float]

INSTALL = "make venv installs it"
MOST_WORDS = 10_000
# Metrics of the papers' tables that no maintained library offers without weights of its own.
NEVER = (
    "CIDEr, SPICE: left out, pycocoevalcap's last release is of 2020 and brings 100 MB of Java.",
    "BERTScore, BARTScore: left out, their weights are not on this machine and bert-score's last "
    "release is of 2023.",
)


class ReferenceOverlap(Reward):
    """Metric `of(text, references)`, in [0, 1]; people's answers where a sample has no
    references.
    """

    def __init__(self, name: str, of: Overlap, fewest: int = 1) -> None:
        super().__init__(name)
        self.of = of
        self.fewest = fewest

    def assess(self, samples: Sequence[Sample]) -> list[Verdict]:
        return [self._verdict(sample) for sample in samples]

    def _verdict(self, sample: Sample) -> Verdict:
        others = sample.references or sample.answers
        if len(others) < self.fewest:
            note = f"it needs {self.fewest} references or answers, got {len(others)}"
            return Verdict(None, Status.NOT_APPLICABLE, note=note)
        return Verdict(min(max(self.of(sample.completion, others), 0.0), 1.0))


def baselines(
    answers: bool = False, spans: bool = False, clip: Path | None = None
) -> tuple[list[Reward], list[str]]:
    """Returns the metrics that this machine has, and a sentence for each that it lacks. answers:
    adds the metrics of answers to questions. spans: adds those that say which words are wrong
    (PoSh, A.3.3). clip: the folder of CLIP's weights; ValueError where there are none.
    """
    from experiments.agreement.clip_score import ClipScore

    found: list[Reward] = [
        ReferenceOverlap("words", word_count, fewest=0),
        ReferenceOverlap("bag_of_words", bag_of_words.bag_f1),
    ]
    if answers:
        found += [
            ReferenceOverlap("exact_match", answer_metrics.exact_match),
            ReferenceOverlap("contains", answer_metrics.contains),
            ReferenceOverlap("vqa_accuracy", vqa.vqa_accuracy, fewest=vqa.AGREEING_PEOPLE + 1),
            ReferenceOverlap(
                "soft_vqa_accuracy", answer_metrics.soft_vqa_accuracy, fewest=vqa.AGREEING_PEOPLE
            ),
        ]
    left_out = []
    others: dict[str, Callable[[], Reward]] = {
        "BLEU": lambda: ReferenceOverlap("bleu", bleu()),
        "ROUGE-L": lambda: ReferenceOverlap("rouge_l", rouge_l()),
        "METEOR": lambda: ReferenceOverlap("meteor", meteor()),
        "S-BERTScore": lambda: ReferenceOverlap("sentence_bert", sentence_bert()),
    }
    if spans:
        others |= {"4GramEmbed": lambda: of_table_2()[0], "SGEmbed": lambda: of_table_2()[1]}
    for title, make in others.items():
        try:
            found.append(make())
        except (ImportError, LookupError) as error:
            left_out.append(f"{title}: left out, {' '.join(str(error).split())}")
    if clip is not None:
        found.append(ClipScore(clip))
    else:
        left_out.append(
            "CLIPScore: left out, its weights are not on this machine: give a folder with --clip."
        )
    return found, [*left_out, *NEVER]


def word_count(text: str, references: Sequence[str]) -> float:
    """PoSh's baseline "length", as a share of MOST_WORDS."""
    return min(len(text.split()) / MOST_WORDS, 1.0)


def bleu() -> Overlap:
    """BLEU-4 of a sentence (Papineni et al. 2002) with sacrebleu's defaults.

    Raises ImportError without sacrebleu.
    """
    try:
        from sacrebleu import sentence_bleu
    except ImportError:
        raise ImportError(f"sacrebleu is not installed: {INSTALL}.") from None
    return lambda text, references: float(sentence_bleu(text, list(references)).score) / 100


def rouge_l() -> Overlap:
    """F1 of the longest common subsequence of stems (Lin 2004), best reference.

    ImportError without rouge-score.
    """
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError:
        raise ImportError(f"rouge-score is not installed: {INSTALL}.") from None
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    return lambda text, references: float(
        scorer.score_multi(list(references), text)["rougeL"].fmeasure
    )


def meteor() -> Overlap:
    """METEOR (Banerjee and Lavie 2005) as in nltk, best reference. Raises ImportError without nltk
    and LookupError without nltk's WordNet, which is a separate download.
    """
    try:
        from nltk.corpus import wordnet
        from nltk.translate.meteor_score import meteor_score
    except ImportError:
        raise ImportError(f"nltk is not installed: {INSTALL}.") from None
    try:
        wordnet.ensure_loaded()
    except LookupError:
        raise LookupError(
            "nltk's WordNet is not on this machine: python -m nltk.downloader wordnet."
        ) from None
    return lambda text, references: float(
        meteor_score([reference.lower().split() for reference in references], text.lower().split())
    )


def sentence_bert() -> Overlap:
    """The largest cosine of sentence embeddings (all-MiniLM-L6-v2).

    Raises ImportError without the extra `embed`.
    """
    embedder = Embedder()
    return lambda text, references: float(embedder.cosines([text], list(references)).max())
