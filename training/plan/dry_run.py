"""Prints what a recipe would run: whether the run fits, what it asks, and what is missing on this
machine. No model is loaded.

    recipe = load_recipe("recipes/qwen2.5-vl-7b/docent-posh-dapo.yaml")
    dry_run(recipe, "accelerate_configs/zero3.yaml")

Numbers come from the recipe and TRL's defaults. A number that depends on completions, or on data
that are not on this machine, is an estimate.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table

from spanreward.rewards.base.cost import WORDS_PER_TOKEN, Cost
from spanreward.rewards.base.terminal import Terminal
from spanreward.rewards.files.custom_file import is_custom
from spanreward.rewards.files.outputs import check_json, write_json
from spanreward.rewards.judges.model_files import model_folder
from spanreward.rewards.reward.viewers import unseeing_sentence
from spanreward.rewards.rows.tables import table_rows
from spanreward.training.before_loading import faults_of
from spanreward.training.callbacks.win_rate import DEFAULT_ANSWER_TOKENS, questions_of
from spanreward.training.data.load import load_data
from spanreward.training.grpo.preflight import (
    check_columns,
    check_pictures,
    check_policy,
    check_rows,
)
from spanreward.training.plan import needs
from spanreward.training.plan.disk import disk_here
from spanreward.training.plan.example import example_of
from spanreward.training.plan.here import Finding, gpus_here, judge_here, policy_here, vllm_here
from spanreward.training.plan.memory import Plan
from spanreward.training.policy import saved_processor
from spanreward.training.recipe import (
    DataPart,
    JsonlPart,
    JudgePart,
    Recipe,
    RecipeError,
    WinRatePart,
)
from spanreward.training.recipe_rewards import (
    build_rewards,
    columns_asked_by,
    judged_parts,
    one_line,
    refusing_in_one_line,
    unseeing_rewards,
)

# the facts with plain data for the JSON file
DATA_FACTS = ("launch", "data", "steps", "questions", "win rate", "memory")
REQUESTS_A_SECOND = 1000  # of one vLLM engine, on one CPU core (docs/evidence/cost.md)


class Fact(NamedTuple):
    """A fact about the run.

    Attributes:
        name: such as "steps".
        text: a text for people.
        data: the same as plain data, for the JSON file; None without data.
    """

    name: str
    text: str
    data: Any


def dry_run(
    recipe: Recipe, accelerate_config: str | None = None, json_path: Path | None = None
) -> None:
    """Prints the findings on this machine and the plan of the run.

    accelerate_config: accelerate's configuration file of the launch; without a file the launch has
    one process. json_path: a file that gets the same numbers; None writes no file. Raises
    RecipeError for a faulty recipe. If only this machine stops the run, the error is raised after
    everything is printed.
    """
    # an existing file may be replaced only if it holds numbers of a dry run, whatever their values
    keys_of_dry_run = {"here": None, "launch": None}
    with refusing_in_one_line():
        check_json(json_path, keys_of_dry_run, recipe.overwrite)
    launch = needs.read_launch(accelerate_config)
    plan = needs.plan_of(recipe, launch)
    findings, example = _findings_here(recipe, launch, plan)
    console = Terminal(markup=False, emoji=False)
    for finding in findings:
        style = "red" if finding.ok is False else None
        console.print(str(finding), style=style, soft_wrap=True)
    facts = list(facts_of(recipe, launch, plan))
    console.print(_table_of(facts))
    if example:
        console.print(
            f"an example of what SFT learns, pictures not opened\n{example}", soft_wrap=True
        )
    numbers: dict[str, Any] = {}
    numbers["here"] = list(map(asdict, findings))
    for fact in facts:
        if fact.name in DATA_FACTS:
            numbers[fact.name] = fact.data
    write_json(json_path, numbers)
    # after everything is printed, so that all faults are seen at once
    stops = [str(finding) for finding in findings if finding.ok is False]
    if stops:
        raise RecipeError(f"this machine cannot run it ({'; '.join(stops)}).")


def _table_of(facts: Sequence[Fact]) -> Table:
    """Returns a table with a row for each fact: its name and its text."""
    table = Table(
        "",
        "what would run",
        title="Dry run: no model is loaded, nothing is written",
        show_lines=True,
    )
    for fact in facts:
        table.add_row(fact.name, fact.text)
    return table


def _findings_here(
    recipe: Recipe, launch: needs.Launch, plan: Plan | None
) -> tuple[list[Finding], str]:
    """Returns the findings on this machine, and for SFT the first row as text, as SFT trains on the
    row.

    The text is "" for other algorithms. plan: the memory of the run; None if the memory is not
    computed.
    """
    settings = needs.settings_of(recipe)
    policy = policy_here(recipe.policy.model)
    findings = [policy]
    for judge, _ in needs.asked_judges(recipe):
        findings.append(judge_here(judge.name, judge.options))
    if settings.get("use_vllm"):
        findings.append(vllm_here("trainer.use_vllm"))
    if not settings["use_cpu"]:
        processes_here = launch.processes // launch.machines
        findings.append(gpus_here(processes_here, bytes_of_largest_phase(recipe, plan)))
    # other parts that the recipe names
    covered = ["trainer.use_vllm"]  # parts that already have a finding
    if policy.ok is False:
        covered.append("policy")
    findings += faults_here(recipe, launch.processes, covered)
    # the disk
    if plan is not None:
        disk = disk_here(recipe, plan, steps_of(recipe, launch))
        if disk is not None:
            findings.append(disk)
    row_findings, example = _row_findings(recipe, policy_is_here=policy.ok is True)
    return findings + row_findings, example


def _row_findings(recipe: Recipe, policy_is_here: bool) -> tuple[list[Finding], str]:
    """Returns the findings on the rows of the data, and for SFT the first row as text; "" for other
    algorithms.

    policy_is_here: whether the policy's files are on this machine.
    """
    if recipe.algorithm == "sft":
        rows, example = example_of(recipe, policy_is_here)
        # SFT asks a judge only for its win rate, on the validation rows. So pictures are looked for
        # even if the rows of the training have a fault.
        return [rows, *pictures_here(recipe)], example
    rows = rows_here(recipe, policy_is_here)
    if rows.ok is False:  # to look for pictures would only repeat this fault
        return [rows], ""
    return [rows, *pictures_here(recipe)], ""


def bytes_of_largest_phase(recipe: Recipe, plan: Plan | None) -> int:
    """Returns the bytes of each GPU that the run takes in its largest phase; 0 if the memory is not
    computed.
    """
    if plan is None:
        return 0
    parts_of_phases = bytes_by_phase(recipe, plan).values()
    return max(sum(parts.values()) for parts in parts_of_phases)


def faults_here(recipe: Recipe, processes: int, covered: Collection[str]) -> Iterator[Finding]:
    """Yields a finding for each part of the recipe that a run would refuse, such as a missing file.

    processes: the number of training processes. covered: the names of parts that already have a
    finding, such as "policy". These parts are left out.
    """
    for what, sentence in faults_of(recipe, processes):
        if what not in covered:
            yield Finding(what, False, one_line(sentence))


def steps_of(recipe: Recipe, launch: needs.Launch) -> int | None:
    """Returns the optimizer steps of a GRPO or DAPO run; None for SFT, and if the steps are
    unknown.
    """
    if recipe.algorithm == "sft":
        return None
    settings = needs.settings_of(recipe)
    rows = row_count(recipe.data)
    steps = needs.generating_steps(settings, launch.processes, rows)
    return steps.total


def rows_here(recipe: Recipe, policy_is_here: bool) -> Finding:
    """Returns a finding on whether the rows fit the rewards and the policy's processor.

    The checks are those of a trainer before its first step. Nothing is checked unless the rows and
    the policy's processor are files on this machine. policy_is_here: whether the policy's files are
    on this machine.
    """
    model = recipe.policy.model
    files = all(isinstance(part, JsonlPart) for part in recipe.data.parts)
    # the dry run downloads nothing, and calls no function of the user's
    if is_custom(model) or not (policy_is_here and files):
        return Finding(
            "rows",
            None,
            "not checked with the policy's processor",
            "the run does, before its first step",
        )
    try:
        rewards = build_rewards(recipe.rewards)
        data = load_data(recipe.data, look=False, extra_columns=columns_asked_by(rewards))
        folder = str(model_folder(model, download=False))
        processor = saved_processor(folder)
        # the trainer's own checks
        check_columns(rewards, "the data", data)
        check_policy(processor, data)
        check_rows(rewards, processor, "the data", data)
    except (ValueError, OSError) as error:
        return Finding("rows", False, one_line(str(error)))
    return Finding(
        "rows",
        True,
        f"{len(data):,} fit the rewards and the policy's processor",
        "pictures are not opened",
    )


def pictures_here(recipe: Recipe) -> Iterator[Finding]:
    """Yields findings on rewards that would show pictures to a judge that reads text only.

    For data in JSONL files, the rows are read. The first row with a picture gives a finding that
    the run fails, and later rewards are not checked. Rows without pictures give no finding. Other
    data are not read here, because they may need a download: then each such reward gets a finding
    that the run may fail. A reward or rows that cannot be loaded also give a finding that the run
    fails.
    """
    try:
        rewards = build_rewards(judged_parts(recipe))
        for reward, data in unseeing_rewards(recipe, rewards):
            in_files = all(isinstance(part, JsonlPart) for part in data.parts)
            if in_files:
                rows = load_data(data, look=False, extra_columns=columns_asked_by([reward]))
                check_pictures([reward], "the data", rows)  # raises for a row with a picture
            else:
                doubt = "the run looks for pictures in the rows, and then refuses"
                yield Finding("pictures", None, doubt, unseeing_sentence(reward))
    except (ValueError, OSError) as error:
        yield Finding("pictures", False, one_line(str(error)))


def costs_of(recipe: Recipe) -> list[tuple[str, Cost | None]]:
    """Returns each reward's name with its cost for a completion of the greatest length.

    The cost is None for a metric that does not define its cost.
    """
    settings = needs.settings_of(recipe)
    words = settings["max_completion_length"] * WORDS_PER_TOKEN
    costs = []
    # building a reward loads no model
    for reward in build_rewards(recipe.rewards):
        costs.append((reward.__name__, reward.cost(words, 1)))
    return costs


def bytes_by_phase(recipe: Recipe, plan: Plan) -> dict[str, dict[str, int]]:
    """Returns the bytes on each GPU by phase of a step and by part.

    An example is {"training": {"policy": ..., "gradients": ..., ...}, ...}. plan: the memory of the
    run.
    """
    parts_of = {}
    # in SFT the policy writes no completions
    if recipe.algorithm != "sft":
        parts_of["writing"] = plan.writing
    parts_of["judging"] = plan.judging
    parts_of["training"] = plan.training
    return parts_of


def facts_of(recipe: Recipe, launch: needs.Launch, plan: Plan | None) -> Iterator[Fact]:
    """Yields the facts about the run, in the order of the table.

    plan: the memory of the run; None if the memory is not computed.
    """
    processes = (
        f"{launch.processes} processes on {launch.machines} machines, sharding: {launch.sharding}"
    )
    yield Fact("launch", processes, asdict(launch))
    learns = "all weights"
    if recipe.policy.lora:
        learns = f"LoRA of rank {recipe.policy.lora.r}"
    yield Fact("policy", f"{recipe.policy.model}, {learns}", None)
    rows = row_count(recipe.data)
    data = "its number of rows shows when it is read"
    if rows is not None:
        data = f"{rows:,} rows"
    yield Fact("data", data, {"rows": rows})
    if recipe.algorithm != "sft":  # SFT asks no judge
        yield from question_facts(recipe, launch, rows)
    settings = needs.settings_of(recipe)
    for part in recipe.watching:
        text, numbers = win_rate_fact(part, settings.get("max_completion_length"))
        yield Fact("win rate", text, numbers)
    if plan is None:
        yield Fact("memory", "not computed: on the CPU, or of models not known here", None)
    else:
        memory: dict[str, Any] = dict(bytes_by_phase(recipe, plan))
        memory["main_memory"] = plan.main_memory // launch.machines
        memory["gpu"] = needs.gpu_bytes()
        yield Fact("memory", memory_text(recipe, launch, plan), memory)


def question_facts(recipe: Recipe, launch: needs.Launch, rows: int | None) -> Iterator[Fact]:
    """Yields the facts on the steps, judges and questions of a GRPO or DAPO run.

    rows: the number of rows of the data; None if unknown.
    """
    steps = needs.generating_steps(needs.settings_of(recipe), launch.processes, rows)
    costs = costs_of(recipe)
    total = "as many steps as the data gives"
    if steps.total is not None:
        total = f"{steps.total:,} optimizer steps"
    group_size = steps.completions // steps.groups
    batch = f"{steps.completions} completions ({steps.groups} groups of {group_size})"
    yield Fact("steps", f"{total}, {steps.per_batch:g} per batch of {batch}", asdict(steps))
    judges = []
    for judge, metrics in needs.asked_judges(recipe):
        judges.append(f"{judge.name} for {', '.join(metrics)}")
    yield Fact("judges", "\n".join(judges), None)
    questions = []
    for name, cost in costs:
        # a user's metric need not define its cost
        if cost is not None:
            per_batch = cost.questions * steps.completions
            of_reward = {"reward": name, "per_batch": per_batch}
            questions.append({**of_reward, **asdict(cost)})
    lines = question_lines(recipe, costs, steps.completions, launch.processes)
    yield Fact("questions", "\n".join(lines), questions)


def win_rate_fact(part: WinRatePart, longest: int | None) -> tuple[str, dict[str, Any]]:
    """Returns the prompts, tokens and questions of each measurement of the win rate, as text and as
    plain data.

    part: the recipe's `win_rate`, the settings of WinRateCallback. longest: the trainer's longest
    completion in tokens; None without a limit.
    """
    reward = build_rewards([part])[0]
    tokens = part.max_tokens or longest or DEFAULT_ANSWER_TOKENS
    questions, questions_text = questions_of(reward, part.prompts, tokens)
    text = (
        f"before the first step, every {part.every} and at the end {part.prompts} prompts are "
        "answered with at most "
    )
    text += f"{tokens} tokens each, and judged by {reward.__name__} with {questions_text}"
    return text, {
        "every": part.every,
        "prompts": part.prompts,
        "tokens": tokens,
        "questions": questions,
    }


def row_count(data: DataPart) -> int | None:
    """Returns the number of rows of the data; None if only loading the data shows the number.

    Raises RecipeError for a missing file.
    """
    total = 0
    is_known = True
    # the loop does not end at a part of unknown size, because a later file may be missing
    for part in data.parts:
        count = part.count
        if isinstance(part, JsonlPart):
            count = sum(1 for _ in table_rows(part.file, limit=part.count))
        if count is None:
            is_known = False
        else:
            total += count
    return total if is_known else None


def question_lines(
    recipe: Recipe,
    costs: Sequence[tuple[str, Cost | None]],
    batch: int,
    processes: int,
) -> Iterator[str]:
    """Yields a line on the questions of each reward.

    Example: "lave: 1 per completion, 8 per batch, with about 2,000 tokens, ...".

    costs: the costs of the rewards, in the recipe's order. batch: the completions of one batch.
    processes: the number of training processes.
    """
    for part, (name, cost) in zip(recipe.rewards, costs, strict=True):
        if cost is None:
            yield f"{name}: not known, since the metric does not define Reward.cost"
        else:
            requests = request_text(part.judge, cost.questions * batch, processes)
            yield f"{name}: {cost_text(cost, batch)}{requests} ({cost.how})"


def cost_text(cost: Cost, batch: int) -> str:
    """Returns the questions of a reward and the tokens of their prompts in words, such as "about 9
    per completion, about 72 per batch, with about 9,000 tokens, pictures not counted".

    cost: of one completion. batch: the completions of one batch.
    """
    about = "" if cost.exact else "about "
    questions = cost.questions * batch
    text = f"{about}{cost.questions:,} per completion, {about}{questions:,} per batch"
    text += f", with about {cost.prompt_tokens * batch:,.0f} tokens, pictures not counted"
    if cost.computed_tokens is not None:
        computed = cost.computed_tokens * batch
        text += f", and a prefix cache leaves {computed:,.0f} of them to compute"
    return text


def request_text(judge: JudgePart, questions: float, processes: int) -> str:
    """Returns in words how long vLLM takes for the requests of a batch alone, without the model's
    time; "" for other judges.

    questions: the questions of a batch. processes: the number of training processes.
    """
    if not judge.name.startswith("vllm:"):
        return ""
    # with tensor_parallel n, n processes share one engine
    gpus_an_engine = int(judge.options.get("tensor_parallel", 1))
    engines = max(1, processes // gpus_an_engine)
    seconds = questions / REQUESTS_A_SECOND / engines
    return (
        f"; the requests alone take {seconds:.1f} s (engines: {engines}, of "
        f"{REQUESTS_A_SECOND:,} a second)"
    )


def memory_text(recipe: Recipe, launch: needs.Launch, plan: Plan) -> str:
    """Returns lines on the memory of a GPU in each phase, and on the main memory of a machine, in
    GB (1e9 bytes).
    """
    lines = []
    for phase, parts in bytes_by_phase(recipe, plan).items():
        total = sum(parts.values()) / 1e9
        sizes = [f"{part} {size / 1e9:.1f}" for part, size in parts.items()]
        lines.append(f"while {phase}: {total:.1f} GB on a GPU = {' + '.join(sizes)}")
    # the weights of sleeping judges are in main memory
    asleep = plan.main_memory / launch.machines / 1e9
    lines.append(f"main memory of a machine, for sleeping judges: {asleep:.1f} GB")
    lines.append(
        f"computed for {plan.tokens:,} tokens per pass (prompts estimated) and a GPU of "
        f"{needs.gpu_bytes() / 1e9:.0f} GB, not measured"
    )
    return "\n".join(lines)
