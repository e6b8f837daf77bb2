"""What each of two ranks sees of judges on rank 0: started by torchrun in test_rank0.py, one JSON file per rank."""

import io
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch.distributed as dist
from PIL import Image

from spanreward.rewards.judges import Failure, MatchJudge, Question, Rating
from spanreward.rewards.judges.judge import RATING_SCALE
from spanreward.rewards.judges.shared.cached_judge import question_keys
from spanreward.rewards.judges.shared.rank0_judge import Rank0Judge
from spanreward.rewards.judges.usage import Usage
from spanreward.rewards.posh import PoshReward
from spanreward.rewards.verdict import Sample
from tests.support.fakes import FakeJudge, hashed_rating

FOLDER = Path(sys.argv[1])
PATIENT = 100.0  # seconds; in these scenarios nobody is late


class Counted(FakeJudge):
    """Counts when it is woken and put to sleep; breaks where a prompt says so. A failing `start` is one of `wake`."""

    def __init__(self, broken: bool = False) -> None:
        super().__init__()
        self.broken = broken
        self.woken = 0
        self.slept = 0
        self.usage = Usage()

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        self.usage.questions += len(questions)
        self.usage.prompt_tokens += 10 * len(questions)
        if any("break" in question.messages[0]["content"] for question in questions):
            raise ValueError("this question breaks the judge")
        return super().rate(questions, scale)

    def __enter__(self) -> Self:
        if self.broken:
            raise OSError("no such model")
        self.woken += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.slept += 1


class Pictured(Counted):
    """Rates by all that a judge may read of a question."""

    def rate(self, questions: Sequence[Question], scale: Sequence[str] = RATING_SCALE) -> list[Rating | Failure]:
        return [hashed_rating(key) for key in question_keys(questions, {})]


def ask(prompt: str, **more: Any) -> Question:
    return Question([{"role": "user", "content": prompt}], **more)


def shown(answers: Sequence[Any]) -> list[Any]:
    """Ratings as means, Failures as status and message."""
    return [
        one.mean if isinstance(one, Rating) else [one.status, one.message] if isinstance(one, Failure) else one
        for one in answers
    ]


def waves(rank: int) -> dict[str, Any]:
    """Rank 0 asks once, rank 1 four times."""
    inner = Counted()
    judge = Rank0Judge(inner, PATIENT)
    with judge, judge:
        answers = [shown(judge.rate([ask(f"{rank} {wave}"), ask(f"all {wave}")])) for wave in range(1 + 3 * rank)]
    return {
        "answers": answers,
        "rated": inner.rated,
        "woken": [inner.woken, inner.slept],
        "questions": judge.usage.questions,
        "tokens": judge.usage.prompt_tokens,
    }


def nothing_to_ask(rank: int) -> list[Any]:
    """First rank 1 has nothing to ask, then rank 0, then both."""
    judge = Rank0Judge(Counted(), PATIENT)
    answers = []
    for asking in (0, 1, None):
        with judge:
            answers.append(shown(judge.rate([ask(f"{rank}")])) if rank == asking else None)
    return [answers, judge.judge.woken]


def without_with(rank: int) -> list[Any]:
    """A call outside of any `with` is all ranks'."""
    judge = Rank0Judge(Counted(), PATIENT)
    return [shown(judge.rate([ask(f"{rank}")])), judge.judge.woken]


def mixed(rank: int) -> list[Any]:
    """In one round one rank rates, on another scale in the next, and the other writes."""
    judge = Rank0Judge(FakeJudge(), PATIENT)
    with judge:
        first = judge.rate([ask("one")]) if rank == 0 else judge.write([ask('say "Two"')], max_tokens=5)
        second = judge.rate([ask("three")], ("1", "2")) if rank == 0 else judge.rate([ask("three")])
    return [shown(first), shown(second), len(judge.judge.rated)]


def broken_question(rank: int) -> list[Any]:
    """The inner judge raises on a round of both, then works."""
    judge = Rank0Judge(Counted(), PATIENT)
    with judge:
        return [shown(judge.rate([ask("break" if rank == 1 else "fine")])), shown(judge.rate([ask("fine")]))]


def broken_judge(rank: int) -> list[Any]:
    """The inner judge cannot be woken."""
    judge = Rank0Judge(Counted(broken=True), PATIENT)
    with judge:
        return shown(judge.rate([ask("fine")]))


def broken_metric(rank: int) -> str:
    """A rank that raises leaves the others their answers."""
    judge = Rank0Judge(Counted(), PATIENT)
    try:
        with judge:
            if rank == 1:
                judge.rate([ask("fine", probe=threading.Lock())])
            return str(shown(judge.rate([ask("fine")])))
    except TypeError as error:
        return str(error)


def two_judges(rank: int) -> list[Any]:
    """Both awake; rank 0 soon asks the second, rank 1 the first for longer."""
    first, second = Rank0Judge(Counted(), PATIENT), Rank0Judge(Pictured(), PATIENT)
    with first, second:
        answers = [shown(first.rate([ask(f"{rank} {wave}")])) for wave in range(1 + 2 * rank)]
        answers += [shown(second.rate([ask(f"{rank} {wave}")])) for wave in range(2 - rank)]
    return [answers, first.judge.slept, second.judge.slept]


def one_after_the_other(rank: int) -> list[Any]:
    """The first judge awake over all, the second entered within: rank 1 is there long before rank 0."""
    first, second = Rank0Judge(Counted(), PATIENT), Rank0Judge(Pictured(), PATIENT)
    with first:
        for wave in range(4 - 4 * rank):
            first.rate([ask(f"{wave}")])
        with second:
            return shown(second.rate([ask("the same")]))


def threads(rank: int) -> list[Any]:
    """Four threads of each rank ask at once."""
    judge = Rank0Judge(Counted(), PATIENT)
    answers: dict[str, Any] = {}

    def work(prompt: str) -> None:
        answers[prompt] = shown(judge.rate([ask(prompt)]))

    with judge:
        workers = [threading.Thread(target=work, args=(f"{rank} {number}",)) for number in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return sorted(answers.items())


def pictures(rank: int) -> list[Any]:
    """Pictures and their orientation arrive as they are."""
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (8, 6), (20 * rank, 100, 3)).save(file, "JPEG", exif=exif)
    questions = [ask("what?", images=(Image.open(file), Image.new("P", (3, 3), 1)))]
    with Rank0Judge(Pictured(), PATIENT) as judge:
        return [shown(judge.rate(questions)), shown(Pictured().rate(questions))]


TEXTS = ("A red circle sits left of a blue square.", "A green star.", "Two dogs.", "", "A large yellow circle.")


def posh(rank: int) -> list[Any]:
    """A metric with graphs in its probes, which asks in as many waves as its samples need."""
    samples = [Sample("", text, references=(TEXTS[0], TEXTS[4])) for text in TEXTS[: 5 - 2 * rank]] * (1 + 40 * rank)
    verdicts = [PoshReward(judge).judge_samples(samples) for judge in (Rank0Judge(MatchJudge(), PATIENT), MatchJudge())]
    return [len(samples), [verdict.score for verdict in verdicts[0]], verdicts[0] == verdicts[1]]


def posh_with_nothing_to_ask(rank: int) -> list[Any]:
    """Rank 1's completions are empty, so that the metric itself never enters the judge."""
    texts = ["", " "] if rank else TEXTS[:3]
    judge = Rank0Judge(MatchJudge(), PATIENT)
    verdicts = PoshReward(judge).judge_samples([Sample("", text, references=(TEXTS[0],)) for text in texts])
    return [[verdict.status for verdict in verdicts], judge.usage.questions > 0]


def late(rank: int) -> list[Any]:
    """Rank 1 does not ask until rank 0 has given up; afterwards all is well."""
    judge = Rank0Judge(Counted(), timeout=2.0)
    dist.barrier()
    with judge:
        while rank == 1 and not (FOLDER / "given-up").exists():
            time.sleep(0.1)
        first = shown(judge.rate([ask("first")]))
        (FOLDER / "given-up").touch()
        second = shown(judge.rate([ask("second")]))
    dist.barrier()
    judge.timeout = PATIENT
    with judge:
        return [first, second, shown(judge.rate([ask("third")])), judge.usage.timeouts]


def interrupted(rank: int) -> list[Any]:
    """Ctrl-C on rank 1 alone: rank 0 does not wait for it."""
    judge = Rank0Judge(Counted(), PATIENT)
    try:
        with judge:
            if rank == 1:
                raise KeyboardInterrupt
            return shown(judge.rate([ask("fine")]))
    except KeyboardInterrupt:
        return ["interrupted"]


SCENARIOS: tuple[Callable[[int], Any], ...] = (
    *(waves, nothing_to_ask, without_with, mixed, broken_question, broken_judge, broken_metric, two_judges),
    *(one_after_the_other, threads, pictures, posh, posh_with_nothing_to_ask, late, interrupted),
)

if __name__ == "__main__":
    dist.init_process_group("gloo")
    seen = {}
    for scenario in SCENARIOS:
        dist.barrier()
        seen[scenario.__name__] = scenario(dist.get_rank())
    threads_left = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    seen["threads_left"] = threads_left
    (FOLDER / f"rank{dist.get_rank()}.json").write_text(json.dumps(seen))
    dist.destroy_process_group()
    assert os.environ["WORLD_SIZE"] == "2"
