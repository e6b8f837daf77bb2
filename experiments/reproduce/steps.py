"""What each table of PoSh, HarmonicEval and LAVE takes: people's judgments, a judge, and the metric as published.

    for step in REPRODUCTIONS["posh-3"].steps:
        step.table, step.file, step.judge, step.options

A file is looked for in the folder of --data. How many texts it holds is what the paper or the dataset's page says;
where neither does, it is counted once the file is there.
"""

from dataclasses import dataclass

READER = "server:http://127.0.0.1:8077"
POSH = (  # sections 3 and 5; the prompt files are A.1.4's, from the folder posh/scorers/prompts of its repository
    "mode=published",
    "prompts=posh/scorers/prompts",
    f"reader={READER}",
    "pipeline=en_core_web_trf",
    "coref=maverick",
)
POSH_JUDGE = "vllm:Qwen/Qwen3-14B"  # section 5
POSH_NEEDS = (
    "the judge's weights: Qwen/Qwen3-14B",
    "PoSh's two prompt files: posh/scorers/prompts of https://github.com/amith-ananthram/posh",
    f"a reader with en_core_web_trf and Maverick at {READER} (docs/metrics.md, a reader in its own environment)",
)
HARMONIC = ("mode=published", "spans=none")  # equations 1 to 4, gamma .75
HARMONIC_JUDGE = "chat:https://api.openai.com/v1#gpt-4o"  # section 4.1; tables 6 and 7 also have LLaVA-1.5-7B and 13B
HARMONIC_NEEDS = (
    "a key for gpt-4o, or in its place the weights llava-hf/llava-1.5-13b-hf (tables 6 and 7)",
    "the pictures",
)
CAPTIONS = (*HARMONIC, "criteria=[correctness, completeness]")  # C.1: in table 8 only these two
LAVE = ("mode=published", "candidate=whole")  # section 4
LAVE_JUDGE = "vllm:lmsys/vicuna-13b-v1.3"  # section 5.1, which also has Flan-T5-XXL and gpt-3.5-turbo-0613
CAPARENA = "caparena/caparena_annots_eval.json"
THUMB, FLICKR8K = "thumb/thumb_mscoco.jsonl", "flickr8k_expert/flickr8k_expert.jsonl"
TEXTS_ONLY = ("evidence=context", "spans=none")  # the references in place of the picture
LAVE_NEEDS = ("the judge's weights: lmsys/vicuna-13b-v1.3",)


@dataclass(frozen=True, slots=True)
class Step:
    """One file through one table of `python -m experiments agreement table`.

    Attributes:
        table: its name there.
        file: within the folder of the data.
        judge: as published.
        options: of the metric, as published.
        needs: what else must be on the machine, a sentence's end each.
        texts: judged, where the paper or the dataset's page says; None for what only the file knows.
        words: of a text, likewise.
        references: of a text.
        pictures: their folder within the folder of the data, where the metric is shown them.
        metric: in place of the table's own.
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


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is repeated, and its steps."""

    title: str
    steps: tuple[Step, ...]


def here(table: str, file: str, metric: str = "posh", *options: str) -> Step:
    """A set that lies beside this repository, with a metric in its default mode."""
    return Step(table, file, "match", options, (), metric=metric)


REPRODUCTIONS = {
    "posh-2": Reproduction(
        "PoSh, table 2: mistakes and omissions, word by word",
        (
            # section 4: 300 generations; table 1: references of 251 words on average, and as many a generation
            Step("docent-granular", "docent/granular.jsonl", POSH_JUDGE, POSH, POSH_NEEDS, texts=300, words=251),
        ),
    ),
    "posh-3": Reproduction(
        "PoSh, tables 3 and 6: coarse judgments of DOCENT and CapArena",
        (
            # section 4: four generations of 100 images, in 600 pairs; table 1
            Step("docent-coarse", "docent/coarse.jsonl", POSH_JUDGE, POSH, POSH_NEEDS, texts=400, words=251),
            # section 5: 10,348 descriptions; table 1: DOCCI's references have 122 words
            Step(
                "caparena", "caparena/caparena_annots_eval.json", POSH_JUDGE, POSH, POSH_NEEDS, texts=10_348, words=122
            ),
        ),
    ),
    "harmonic-2": Reproduction(
        "HarmonicEval, table 2: best of three on MMHE",
        (
            # 18,000 judgments by three people and five criteria (3.2): 1,200 texts
            Step("mmhe-best", "mmhe/best.jsonl", HARMONIC_JUDGE, HARMONIC, HARMONIC_NEEDS, 1200, pictures="mmhe"),
        ),
    ),
    "harmonic-3": Reproduction(
        "HarmonicEval, table 3: tau by criterion on MMHE",
        (
            Step(
                "mmhe-criteria", "mmhe/criteria.jsonl", HARMONIC_JUDGE, HARMONIC, HARMONIC_NEEDS, 1200, pictures="mmhe"
            ),
        ),
    ),
    "harmonic-8": Reproduction(
        "HarmonicEval, table 8: captions that others judged",
        tuple(
            Step(table, file, HARMONIC_JUDGE, CAPTIONS, HARMONIC_NEEDS, pictures=pictures)
            for table, file, pictures in (
                ("flickr8k-expert", FLICKR8K, "flickr8k_expert/images"),
                ("flickr8k-cf", "flickr8k_cf/flickr8k_cf.jsonl", "flickr8k_cf/images"),
                ("composite", "composite/composite.jsonl", "composite/images"),
            )
        ),
    ),
    "lave-2": Reproduction(
        "LAVE, tables 2, 8 and 9: answers of VQA models",
        (
            # the dataset's page: 22,050 answers in the split test; answers are short, and VQAv2 has ten references
            Step("lave", "lave/test.jsonl", LAVE_JUDGE, LAVE, LAVE_NEEDS, texts=22_050, words=2, references=10),
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
