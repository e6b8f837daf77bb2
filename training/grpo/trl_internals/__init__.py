"""Code that uses private names of TRL, transformers and vLLM.

Private names may change with any release. To support a new release of TRL, check this folder first:

    contract.py        lists every private name that the package overrides or reads, with the
                       parameters; the trainer checks the list in its constructor
    resuming.py        overrides how Trainer loads weights and ends, and how TRL orders its data
    adapter_push.py    replaces _iter_named_params of VLLMGeneration
    vllm_prompts.py    wraps `generate` of VLLMGeneration, and empties vLLM's cache of pictures
    picture_tokens.py  changes the sampling settings after TRL has read them

The private methods that make up a training step are overridden in trainer.py.
"""
