"""docs/other_trainers with the trainers themselves, each in an environment of its own, which its
file names.

PYTHONPATH=. ENVIRONMENT/bin/python -m experiments.elsewhere.verl_batch POLICY

POLICY is a folder with a small chat model; `spanreward doctor --judge transformers:smollm2 --start`
puts one into the cache folder. The figures are in docs/other_trainers.md.
"""

ASKS = {  # what the policy is asked, and the reference
    "Write one sentence about a red circle above a square.": "A red circle above a square.",
    "Write one sentence about a dog on a sofa.": "A dog sleeps on a green sofa.",
}
