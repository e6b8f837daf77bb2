"""What each table of the papers takes: people's judgments, a judge, and the metric as published.

    for step in REPRODUCTIONS["posh-3"].steps:
        step.table, step.file, step.judge, step.options, step.figures

A file is looked for in the folder of --data. How many texts it holds is what the paper or the
dataset's page says; where neither does, it is counted once the file is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from experiments.labels.column_map import load_map
from experiments.labels.tables import TABLES
from experiments.reproduce import figures
from experiments.scenes.parts import WORDS

# sections 3 and 5; the prompt files are A.1.4's, from the folder posh/scorers/prompts of its
# repository
POSH = (
    "mode=published",
    "prompts=posh/scorers/prompts",
    "pipeline=en_core_web_trf",
    "coref=maverick",
)
POSH_JUDGE = "vllm:Qwen/Qwen3-14B"  # section 5
POSH_NEEDS = (
    "the judge's weights: Qwen/Qwen3-14B",
    "PoSh's two prompt files: posh/scorers/prompts of https://github.com/amith-ananthram/posh",
    "en_core_web_trf and maverick-coref, which cannot be installed beside vLLM: name the judge "
    "server:URL#MODEL",
)
INVARIANT = {"VLLM_BATCH_INVARIANT": "1"}  # as PoSh's authors set it; needs a GPU
HARMONIC = ("mode=published", "spans=none")  # equations 1 to 4, gamma .75
HARMONIC_JUDGE = "chat:https://api.openai.com/v1#gpt-4o-2024-08-06"  # section C.4
HARMONIC_NEEDS = ("a key for gpt-4o-2024-08-06", "the pictures")
# tables 6 and 7
LLAVA = {size: f"transformers:llava-hf/llava-1.5-{size}-hf" for size in ("7b", "13b")}
CAPTIONS = (*HARMONIC, "criteria=[correctness, completeness]")  # C.1: in table 8 only these two
LAVE = ("mode=published", "candidate=whole")  # section 4
# section 5.1, which also has Vicuna-13B-v1.3 and gpt-3.5-turbo-0613
LAVE_JUDGE = "transformers:google/flan-t5-xxl"
LAVE_NEEDS = ("the judge's weights: google/flan-t5-xxl",)
CAPARENA = "caparena/caparena_annots_eval.json"
THUMB, FLICKR8K = "thumb/thumb_mscoco.jsonl", "flickr8k_expert/flickr8k_expert.jsonl"
TEXTS_ONLY = ("evidence=context", "spans=none")  # the references in place of the picture


@dataclass(frozen=True, slots=True)
class Step:
    """One file through one table of `python -m experiments agreement table`, or a folder through
    another command of it.

    Attributes:
        table: its name there, or another command of `agreement`: judge, votes or graphs.
        file: within the folder of the data.
        judge: as published; "" for votes and graphs on file.
        options: of the metric, as published, or the command's.
        needs: what else must be on the machine, a sentence's end each.
        texts: judged, where the paper or the dataset's page says; None for what only the file
            knows.
        words: of a text, likewise.
        references: of a text.
        pictures: their folder within the folder of the data, where the metric is shown them.
        metric: in place of the table's own.
        figures: the paper's, by the names of `measured_by`.
        environment: variables that the authors set for their judge.
        source: of the data, where no column map says it.
        title: what sets this step apart from others of its table.
    """

    table: str
    file: str
    judge: str
    options: tuple[str, ...]
    needs: tuple[str, ...]
    texts: int | None = None
    words: float = 12
    references: int = 1
    pictures: str | None = None
    metric: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    title: str = ""

    @property
    def command(self) -> str:
        """The command of `agreement`."""
        return "table" if self.table in TABLES else self.table

    @property
    def metric_name(self) -> str:
        """The metric of a table, "" for other commands."""
        return (self.metric or TABLES[self.table].metric) if self.table in TABLES else ""

    @property
    def from_where(self) -> str:
        """Where the data is from."""
        return self.source or load_map(TABLES[self.table].columns).source


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is repeated, and its steps."""

    title: str
    steps: tuple[Step, ...]


def here(table: str, file: str, metric: str = "posh", *options: str) -> Step:
    """A set that lies beside this repository, with a metric in its default mode.

    `match` rates no criteria.
    """
    return Step(table, file, WORDS if metric == "harmonic" else "match", options, (), metric=metric)


def posh_step(table: str, file: str, texts: int, words: int, found: Mapping[str, float]) -> Step:
    """A table of PoSh with the judge, the options and the environment of its authors."""
    step = Step(table, file, POSH_JUDGE, POSH, POSH_NEEDS, texts, words)
    return replace(step, figures=found, environment=INVARIANT)


def varied(
    step: Step, title: str, found: Mapping[str, float], *options: str, judge: str = ""
) -> Step:
    """The step with further options or another judge, and the paper's figures of this variant."""
    needs = (
        (f"the judge's weights: {judge.partition(':')[2]}", "the pictures") if judge else step.needs
    )
    options = (*step.options, *options)
    return replace(
        step, title=title, figures=found, options=options, judge=judge or step.judge, needs=needs
    )


BEST = Step(
    "mmhe-best", "mmhe/best.jsonl", HARMONIC_JUDGE, HARMONIC, HARMONIC_NEEDS, 1200, pictures="mmhe",
    figures=figures.accuracies(66.6, 76.4, 73.4, 77.0),
)  # 18,000 judgments by three people and five criteria (3.2): 1,200 texts  # fmt: skip
BY_CRITERION = replace(
    BEST, table="mmhe-criteria", file="mmhe/criteria.jsonl", figures=figures.taus("gpt-4o")
)
# the dataset's page: 22,050 answers in the split test; answers are short, and VQAv2 has ten
# references
ANSWERS = Step(
    "lave",
    "lave/test.jsonl",
    LAVE_JUDGE,
    LAVE,
    LAVE_NEEDS,
    22_050,
    words=2,
    references=10,
    figures=figures.LAVE_2,
)
VALIDATION = replace(ANSWERS, file="lave/validation.jsonl", texts=4000)  # section 5.2


def of_validation(title: str, spearman: float, *options: str) -> Step:
    """A row of LAVE's table 3."""
    return varied(VALIDATION, title, {"all, quality: Spearman": spearman}, *options)


REPRODUCTIONS = {
    "posh-2": Reproduction(
        "PoSh, table 2: mistakes and omissions, word by word",
        (
            # section 4: 300 generations; table 1: references of 251 words on average, and as many a
            # generation
            posh_step(
                "docent-granular",
                "docent/granular.jsonl",
                texts=300,
                words=251,
                found=figures.POSH_2,
            ),
        ),
    ),
    "posh-3": Reproduction(
        "PoSh, tables 3 and 6: coarse judgments of DOCENT and CapArena",
        (
            # section 4: four generations of 100 images, in 600 pairs; table 1
            posh_step(
                "docent-coarse", "docent/coarse.jsonl", texts=400, words=251, found=figures.POSH_3
            ),
            # section 5: 10,348 descriptions; table 1: DOCCI's references have 122 words
            posh_step("caparena", CAPARENA, texts=10_348, words=122, found=figures.CAPARENA),
        ),
    ),
    "posh-8": Reproduction(
        "PoSh, table 8: scene graphs, against those that people drew",
        (
            Step(
                "graphs",
                "scene_graphs/gold.json",
                "",
                (),
                (
                    "the authors' parser and coreference: agreement graphs --pipeline "
                    "en_core_web_trf --coref maverick",
                ),
                figures=figures.POSH_8,
                title="DOCENT's ten texts",
                source="https://github.com/amith-ananthram/posh, corpora/scene_graphs/gold.json at "
                "commit 07f21861",
            ),
            Step(
                "graphs",
                "discosg_graphs",
                "",
                (),
                (),
                figures=figures.DISCOSG,
                title="DiscoSG's texts, so the two figures are not of one thing",
                source="https://github.com/ShaoqLin/DiscoSG",
            ),
        ),
    ),
    "harmonic-2": Reproduction("HarmonicEval, table 2: best of three on MMHE", (BEST,)),
    "harmonic-3": Reproduction("HarmonicEval, table 3: tau by criterion on MMHE", (BY_CRITERION,)),
    "harmonic-4": Reproduction(
        "HarmonicEval, table 4: ablations",
        (
            varied(
                BEST,
                "w/o criterion-wise scoring",
                figures.accuracies(62.0, 73.5, 75.9, 76.5),
                "criteria=overall",
            ),
            varied(
                BEST,
                "w/o harmonic weighting",
                figures.accuracies(65.7, 75.0, 73.4, 76.5),
                "gamma=1",
            ),
            varied(
                BEST,
                "w/o score smoothing",
                figures.accuracies(67.5, 70.5, 70.4, 72.4),
                "likeliest=true",
            ),
        ),
    ),
    "harmonic-5": Reproduction(
        "HarmonicEval, table 5: gamma",
        (
            varied(BEST, "gamma .01", figures.accuracies(47.2, 69.1, 61.4, 53.1), "gamma=0.01"),
            varied(BEST, "gamma .5", figures.accuracies(66.6, 76.4, 73.4, 76.5), "gamma=0.5"),
            varied(BEST, "gamma .75", BEST.figures, "gamma=0.75"),
            varied(BEST, "gamma 1", figures.accuracies(65.7, 75.0, 73.4, 76.5), "gamma=1"),
        ),
    ),
    "harmonic-6": Reproduction(
        "HarmonicEval, table 6: judges",
        (
            varied(BEST, "LLaVA-7B", figures.accuracies(62.9, 72.0, 61.4, 73.4), judge=LLAVA["7b"]),
            varied(
                BEST, "LLaVA-13B", figures.accuracies(64.8, 77.9, 63.2, 72.9), judge=LLAVA["13b"]
            ),
            BEST,
        ),
    ),
    "harmonic-7": Reproduction(
        "HarmonicEval, table 7: judges by criterion",
        (
            varied(BY_CRITERION, "LLaVA-7B", figures.taus("llava-7b"), judge=LLAVA["7b"]),
            varied(BY_CRITERION, "LLaVA-13B", figures.taus("llava-13b"), judge=LLAVA["13b"]),
            BY_CRITERION,
        ),
    ),
    "harmonic-8": Reproduction(
        "HarmonicEval, table 8: captions that others judged",
        (
            Step(
                "flickr8k-expert",
                FLICKR8K,
                HARMONIC_JUDGE,
                CAPTIONS,
                HARMONIC_NEEDS,
                pictures="flickr8k_expert/images",
                figures={"all, overall: tau-c": 0.531},
            ),
            Step(
                "flickr8k-cf",
                "flickr8k_cf/flickr8k_cf.jsonl",
                HARMONIC_JUDGE,
                CAPTIONS,
                HARMONIC_NEEDS,
                pictures="flickr8k_cf/images",
                figures={"all, overall: tau-b": 0.392},
            ),
        ),
    ),
    "lave-2": Reproduction("LAVE, tables 2, 8 and 9: answers of VQA models", (ANSWERS,)),
    "lave-3": Reproduction(
        "LAVE, table 3: ablations on the validation set",
        (
            of_validation("as published", 0.6674),
            of_validation("w/o rationale", 0.6557, "rationale=false"),
            of_validation("w/o filter refs.", 0.6489, "filter_references=0"),
        ),
    ),
    "mllm-judge-2": Reproduction(
        "MLLM-as-a-Judge, table 2: scores, pairs and rankings",
        (
            Step(
                "judge",
                "mllm_judge",
                "chat:https://api.openai.com/v1#gpt-4-vision-preview",
                ("--analyse",),
                ("a key for GPT-4V, or for the model that followed it", "the pictures"),
                figures=figures.JUDGE_2,
                title="GPT-4V",
                source="https://github.com/Dongping-Chen/MLLM-Judge (Dataset/Benchmark: score, "
                "pair and batch.jsonl)",
            ),
        ),
    ),
    "mllm-bench-5": Reproduction(
        "MLLM-Bench, table 5: win rates over LLaVA-v1.5-13B, from GPT-4-Turbo's votes on file",
        (
            Step(
                "votes",
                "mllm_bench",
                "",
                (),
                (),
                figures=figures.BENCH_5,
                source="https://github.com/FreedomIntelligence/MLLM-Bench",
            ),
        ),
    ),
    "here": Reproduction(
        "the sets that lie beside this repository, with the judge match",
        (
            here("thumb", THUMB),
            here("thumb", THUMB, "harmonic", *TEXTS_ONLY),
            here("flickr8k-expert", FLICKR8K),
            here("flickr8k-expert", FLICKR8K, "harmonic", *TEXTS_ONLY),
            here("pascal50s", "pascal50s/pascal50s.jsonl"),
            here("sugarcrepe", "sugarcrepe/sugarcrepe.jsonl"),
            here("discourse-foil", "discosg_foil/discourse_foil.jsonl"),
        ),
    ),
}
