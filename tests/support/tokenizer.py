"""A small tokenizer with control tokens, and added ones that are none."""

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from spanreward.rewards.judges.encoding.chat import ChatEncoder

TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools') }}{% endif %}"
    "<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}"
)
SPECIAL = ("<|im_start|>", "<|im_end|>", "<|image|>")


def tokenizer(
    template: str | None = TEMPLATE, special: tuple[str, ...] = SPECIAL
) -> PreTrainedTokenizerFast:
    """A byte-level BPE; the second special token ends a turn, a thinking token is not special."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    texts = [
        "Rate it from 1 to 5: 1 2 3 4 5", "the answer is 5", "10 of 10", "assistant user system",
        "Yes No",
    ] * 20  # fmt: skip
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.add_tokens([AddedToken("<think>"), AddedToken("</think>"), AddedToken("    ")])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=template,
        eos_token=special[1],
        additional_special_tokens=list(special),
    )


ENCODER = ChatEncoder(tokenizer())
