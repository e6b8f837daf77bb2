"""A verdict in words, for people and for trainers that teach from text: which words are wrong, why, what is left out.

feedback(sample, verdict)      # 'Wrong: "red" (the reference says blue). Left out: "a lamp".'
"""

from spanreward.rewards.base.verdict import LEFT_OUT, Sample, Verdict

MOST = 20  # words named of each kind


def feedback(sample: Sample, verdict: Verdict) -> str:
    """Returns one line; "" where nothing is wrong or left out, and where there is no score."""
    if verdict.score is None:
        return ""
    text, reference = sample.completion, "".join(sample.references[verdict.reference : verdict.reference + 1])
    wrong = sorted((span for span in verdict.spans if span.asked and span.score < LEFT_OUT), key=lambda one: one.start)
    said = [f'"{text[one.start : one.end]}"' + f" ({one.note})" * bool(one.note) for one in wrong[:MOST]]
    missed = [f'"{reference[one.start : one.end]}"' for one in verdict.left_out[:MOST]]
    parts = {"Wrong": said, "Left out": missed}
    return " ".join(" ".join(f"{name}: {', '.join(words)}." for name, words in parts.items() if words).split())
