"""What leans on private names of TRL, transformers and vLLM, in one folder.

These may change with any release, so whoever moves to a new TRL reads this folder first:

    contract.py        lists every private name that is overridden or read, and what it takes; the
                       trainer checks the list when it is built
    resuming.py        overrides how Trainer loads weights and ends, and how TRL orders its data
    adapter_push.py    replaces VLLMGeneration's _iter_named_params, and merges as peft does inside
    vllm_prompts.py    wraps VLLMGeneration's generate and empties its engine's cache of pictures
    picture_tokens.py  writes into the sampling settings that TRL has read already

What a step does, and the private methods that it overrides for that, is trainer.py's.
"""
