"""PoSh as a scorer of Inspect (run with 0.3.285).

    pip install inspect_ai spanreward
    inspect eval captions.py --model MODEL         # whose Task has scorer=posh()

Inspect scores each sample in a coroutine of its own, and `BatchingReward` judges them together. A target is a
reference, or a list of them. A sample that the judge failed on is unscored: it stands in the log with the reason, and
is in no mean. The score's metadata has the spans, so that Inspect's viewer shows which words are wrong.
"""

from dataclasses import asdict

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from spanreward import BatchingReward, PoshReward, Sample, load_judge


@scorer(metrics=[mean(), stderr()])
def posh(judge: str = "match") -> Scorer:
    """judge: a name as on the command line, such as "server:http://127.0.0.1:8000#Qwen/Qwen3-14B"."""
    reward = BatchingReward(PoshReward(load_judge(judge)))

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        verdict = await reward.verdict(Sample(state.input_text, text, references=tuple(target)))
        if verdict.score is None:
            reason = f"{verdict.status.value}: {verdict.note}"
            return Score.unscored(reason="grader_failed", answer=text, explanation=reason)
        spans = [{"words": span.text(text), **asdict(span)} for span in verdict.spans]
        return Score(
            value=verdict.score, answer=text, explanation=verdict.note, metadata={"spans": spans}
        )

    return score
