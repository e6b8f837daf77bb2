"""What proves this repository's claims: it imports the product, the product never imports it, and
no wheel holds it.

    python -m experiments --help

scenes/        drawn pictures with fully known contents: a recipe's data, policy and referee
judging/       a small language model that learns to judge Scenes, and how right it is
span_credit/   does credit for spans teach faster than the scalar
hacking/       texts that ask for reward without earning it
agreement/     metrics, judges and the papers' baselines against people's judgments
benchmark/     what judging and spans cost; soak, kills and fuzz
reproduce/     the papers' tables, one after another
"""
