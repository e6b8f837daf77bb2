"""A reward and a judge as users write them, in a file that recipes and pickles name."""

from spanreward import FunctionJudge, Sample, reward
from spanreward.rewards.text.bag_of_words import bag_f1


@reward(columns=("reference",))
def overlap(sample: Sample) -> float:
    return bag_f1(sample.completion, sample.references)


rule = FunctionJudge("rule", lambda text: 5 if "circle" in text else 1)
