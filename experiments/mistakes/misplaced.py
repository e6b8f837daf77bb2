"""Further mistakes: things at the wrong place, of another kind, or nearly the right name.

prepare_more(folder)          # the files that they name, beside those of mistakes.py
MISPLACED[0].before, MISPLACED[0].after
# grades of what was said, before the messages were mended and since

A: cause, value and cure. B: cause and value. C: true, and no help, or of something else. F:
nothing, or a traceback of the product. Most of the first thirty are from a new user's list; the
others were made to look for what it missed.
"""

import json
from dataclasses import replace
from pathlib import Path

from experiments.mistakes.mistakes import Mistake, compare, score, script, train, write

GRPO = "it belongs under trainer where the algorithm is grpo or dapo"
NAMED = "a model is named with how it is asked, chat:URL#gpt-4o"
FILES = {
    "mine.py": "from spanreward import reward\nfrom spanreward.rewards import "
    "Reward\n\n@reward()\ndef overlap(one):\n    return 0.5\n\nclass Colour(Reward):\n  "
    "  pass\n\ndef rows():\n    return []\n",
    "bare.py": "from spanreward import reward\n\n@reward\ndef overlap(sample):\n    return 0.5\n",
    "faulty.py": "def overlap(sample)\n    return 0.5\n",
    "lacking.py": "import not_there\n",
    "results.json": json.dumps({"schema": 1, "models": {}, "difference": {}}, indent=2),
    "csv.jsonl": "completion,reference\nA red circle.,A red circle.\n",
    "page.html": "<html>mine</html>",
    "typo.yaml": "algorithm: grpo\noutput: out\npolcy: {model: policy}\ndata: {source: jsonl, "
    "path: rows.jsonl}\n",
}
MATCH = ("posh", "--judge", "match")
STAND_INS = Path(__file__).resolve().parents[1] / "agreement" / "stand_in_judges.py"
POSH = "PoshReward('match')"


def graded(grades: str, mistake: Mistake) -> Mistake:
    return replace(mistake, before=grades[0], after=grades[1])


MISPLACED = [
    graded(
        "CA",
        train("a setting of the trainer at the top level", f"'span_coef': {GRPO}", "span_coef=0.2"),
    ),
    graded(
        "CA",
        train("the same, misspelt", "did you mean 'span_coef', under trainer", "span_coeff=0.2"),
    ),
    graded(
        "CA",
        train("the learning rate at the top level", "belongs under trainer", "learning_rate=1e-5"),
    ),
    graded(
        "CA",
        Mistake(
            "a key misspelt that is needed",
            "'polcy': did you mean 'policy'",
            ("train", "typo.yaml"),
        ),
    ),
    graded(
        "CA",
        train(
            "a setting of GRPO under SFT",
            f"num_generations': {GRPO}",
            "algorithm=sft",
            "trainer={num_generations: 4}",
        ),
    ),
    graded(
        "CA",
        train("the model at the top level", "'model': it belongs under policy", "model=policy"),
    ),
    graded(
        "CA",
        train("the judge at the top level", "'judge': it belongs under rewards", "judge=match"),
    ),
    graded(
        "CA",
        train("the metric at the top level", "'metric': it belongs under rewards", "metric=posh"),
    ),
    graded(
        "CA",
        train(
            "adapters under the trainer",
            "'trainer.lora': it belongs under policy",
            "trainer.lora={r: 8}",
        ),
    ),
    graded(
        "BA",
        train(
            "a column beside columns",
            "'data.reference': it belongs under data.columns",
            "data.reference=a",
        ),
    ),
    graded(
        "CA",
        train(
            "a split of a file",
            "'data.split': it belongs under data of source hub",
            "data.split=val",
        ),
    ),
    graded(
        "CA",
        train("a split of a file's validation", "data of source hub", "validation={split: val}"),
    ),
    graded(
        "CA",
        train("a path of a function", "under data of source jsonl", "data.source=mine.py:rows"),
    ),
    graded(
        "BA",
        train(
            "a metric's option beside options", "belong under options", "rewards.0.mode=published"
        ),
    ),
    graded(
        "BA",
        train(
            "a judge's option beside options",
            "belong under options",
            "rewards.0.judge={name: match, memory: 2e9}",
        ),
    ),
    graded(
        "CA",
        train(
            "a policy that is a name",
            "policy: it holds keys and values, as {model: ",
            "policy=Qwen/Qwen3",
        ),
    ),
    graded(
        "CA",
        train(
            "a reward that is a name",
            "it holds keys and values, as {metric: ...}",
            "rewards.0=posh",
        ),
    ),
    graded(
        "FA",
        train("data that is a file's name", "source must be jsonl, hub, mixed", "data=rows.jsonl"),
    ),
    graded(
        "BB",
        train("rewards by name", r"'posh' must be one of 0 \.\. 0", "rewards.posh.judge=match"),
    ),
    graded(
        "BB",
        train("rewards that are no list", "rewards: Input should be a valid list", "rewards=posh"),
    ),
    graded(
        "AA",
        train(
            "an algorithm that is none",
            "should be 'sft', 'grpo' or 'dapo', got 'ppo'",
            "algorithm=ppo",
        ),
    ),
    graded(
        "BB",
        train(
            "the trainer's output folder", "'output_dir': did you mean 'output'", "output_dir=out"
        ),
    ),
    graded("CA", train("a judge behind an API by its name", NAMED, "rewards.0.judge=gpt-4o")),
    graded("CA", train("a judge of a maker", NAMED, "rewards.0.judge=openai:gpt-4o")),
    graded(
        "CA",
        train(
            "a judge of another tool",
            "chat:URL#llama3 or server:URL#llama3",
            "rewards.0.judge=ollama:llama3",
        ),
    ),
    graded(
        "CA",
        train("a judge by its hub id", "vllm:Qwen/Qwen3-8B or", "rewards.0.judge=Qwen/Qwen3-8B"),
    ),
    graded(
        "CA",
        train(
            "a judge's address alone",
            r"server:http://127.0.0.1:9#MODEL",
            "rewards.0.judge=http://127.0.0.1:9",
        ),
    ),
    graded(
        "BA",
        train(
            "a class misspelt in its file",
            "did you mean 'Colour'",
            "rewards.0.metric=mine.py:Colur",
        ),
    ),
    graded(
        "CA",
        train(
            "a function misspelt in its file", "did you mean 'rows'", "data={source: 'mine.py:row'}"
        ),
    ),
    graded(
        "CA",
        train(
            "a picture from the web", "is a URL, and nothing is downloaded", "data.path=web.jsonl"
        ),
    ),
    graded(
        "AA",
        train("a CSV named JSONL", r"is not JSON.*name ends with \.csv", "data.path=csv.jsonl"),
    ),
    graded(
        "CA",
        train(
            "a comparison's numbers as rows",
            "answers are in completions.jsonl",
            "data.path=results.json",
        ),
    ),
    graded(
        "CB",
        Mistake(
            "a comparison's numbers as a recipe",
            "unknown recipe key 'schema'",
            ("train", "results.json"),
        ),
    ),
    graded(
        "BA",
        Mistake(
            "rows as a recipe",
            "rows.jsonl is a table of rows, and no recipe",
            ("train", "rows.jsonl"),
        ),
    ),
    graded("CB", Mistake("a folder as a recipe", "there is no recipe policy", ("train", "policy"))),
    graded(
        "CA",
        compare(
            "a comparison's numbers as answers",
            "completions.jsonl",
            "a=results.json",
            "b=answers.jsonl",
            "--recipe",
            "recipe.yaml",
        ),
    ),
    graded(
        "AA",
        compare(
            "answers without a name",
            "written NAME=FOLDER",
            "a.jsonl",
            "b.jsonl",
            "--recipe",
            "recipe.yaml",
        ),
    ),
    graded("CA", score("a judge behind an API, to score", NAMED, "posh", "--judge", "gpt-4o")),
    graded(
        "CA",
        score("a comparison's numbers to score", "completions.jsonl", *MATCH, rows="results.json"),
    ),
    graded(
        "CA",
        score(
            "a file of the web to score",
            "nothing is downloaded",
            *MATCH,
            rows="https://example.org/a.jsonl",
        ),
    ),
    graded(
        "BA", score("a reward misspelt in its file", "did you mean 'overlap'", "mine.py:overlp")
    ),
    graded(
        "FA",
        score(
            "a file that is no Python",
            r"faulty.py cannot be imported: SyntaxError.*line 1",
            "faulty.py:overlap",
        ),
    ),
    graded(
        "BA",
        score(
            "a file whose import is missing", "lacking.py cannot be imported", "lacking.py:overlap"
        ),
    ),
    graded(
        "CA",
        score(
            "a decorator without its parentheses",
            r"write @reward\(\) above def overlap",
            "bare.py:overlap",
        ),
    ),
    graded(
        "BB",
        score(
            "a trainer's setting for a metric",
            "valid are coref, evidence, judged_part, mode",
            *MATCH,
            "--set",
            "span_coef=0.5",
        ),
    ),
    graded(
        "AA",
        score(
            "an option without its key",
            "written key=value, got 'published'",
            *MATCH,
            "--set",
            "published",
        ),
    ),
    graded(
        "AA",
        score(
            "a mode misspelt", 'mode is "default" or "published"', *MATCH, "--set", "mode=publshed"
        ),
    ),
    graded(
        "-A",
        score(
            "a page over one's own file",
            "is no page of this command",
            *MATCH,
            "--html",
            "page.html",
        ),
    ),
    graded(
        "-A",
        score(
            "a page over the rows", "is an input of this command", *MATCH, "--html", "rows.jsonl"
        ),
    ),
    graded(
        "AA",
        score(
            "a picture from the web to judge",
            "is a URL, and nothing",
            "harmonic",
            "--judge",
            f"{STAND_INS}:LongerJudge",  # unlike match it may be shown pictures
            "--overwrite",
            rows="web.jsonl",
        ),
    ),
    graded(
        "FA",
        script(
            "a decorator in a script",
            r"write @reward\(\) above def f",
            "@reward\ndef f(sample): return 0.5",
        ),
    ),
    graded(
        "FA",
        script(
            "one sample for a list",
            r"got Sample: write assess\(\[Sample",
            f"{POSH}.assess(Sample('a', 'b'))",
        ),
    ),
    graded(
        "FA",
        script(
            "dicts for samples",
            r"got dict: write assess",
            f"{POSH}.assess([{{'completion': 'A dog.'}}])",
        ),
    ),
    graded("FA", script("a text for samples", "got str: write assess", f"{POSH}.assess('A dog.')")),
    graded(
        "CA",
        script(
            "fewer prompts than texts",
            "1 prompts for 2 completions",
            f"{POSH}([''], ['a', 'b'], reference='c')",
        ),
    ),
    graded(
        "AA",
        script(
            "fewer references than texts",
            "has 1 values for 2",
            f"{POSH}(['', ''], ['a', 'b'], reference=['c'])",
        ),
    ),
    graded(
        "AA",
        script(
            "a text for completions",
            "completions must be a list",
            f"{POSH}('a', 'b', reference='c')",
        ),
    ),
    graded(
        "CA",
        script(
            "one column as a text",
            "needs the dataset column 'answers'",
            "reward('answers')(len)([''], [''])",
        ),
    ),
    graded(
        "-A",
        script(
            "evaluate without references",
            r"posh needs 'reference': write compute",
            f"{POSH}.compute(predictions=['a'])",
        ),
    ),
    graded(
        "-A",
        script(
            "a metric's name to score rows",
            "score takes a reward",
            "score('posh', [{'completion': 'a'}])",
        ),
    ),
    graded(
        "-A",
        script(
            "a frame to score",
            r"give frame.to_dict\('records'\)",
            f"score({POSH}, ['completion', 'reference'])",
        ),
    ),
    graded(
        "-A",
        script(
            "a verdict of other keys",
            r"a verdict: f1: ",
            "Verdict.from_dict({'score': 0.5, 'f1': 0.5})",
        ),
    ),
    graded(
        "AA",
        script(
            "a problem misspelt",
            "did you mean 'runaway'",
            "RewardHealthCallback([Recorder(PoshReward('match'))], stop_on='runway')",
        ),
    ),
]


def prepare_more(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    row = {
        "completion": "A red circle.",
        "reference": "A red circle.",
        "image": "https://example.org/a.png",
    }
    write(folder / "web.jsonl", [row])
