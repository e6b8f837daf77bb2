"""Small tokenizers with the normalisers and patterns of the families that TRL's examples train, and
their chat templates.

Each is trained on a few texts in which signs stand before empty lines, because that is where the
families part a text otherwise.
"""

from dataclasses import dataclass

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = (
    "A red kite. It flies.\n\nIs it red?",
    "Two boats, one white!\n\nDoes the TEXT speak of it?",
    'He said "no".\n\nRate it from 1 to 5: 1 2 3 4 5',
    "a list:\n\n- one\n- two\n\n\nThe end…\n\nIs it?",
) * 20
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n"
)
HEADERS = (
    "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content }}<|eot_id|>{% endfor %}<|start_header_id|>assistant<|end_header_id|>\n\n"
)
TURNS = (
    "{% for m in messages %}<start_of_turn>{{ m.role }}\n{{ m.content }}<end_of_turn>\n"
    "{% endfor %}<start_of_turn>model\n"
)
INSTRUCTIONS = "{% for m in messages %}[INST] {{ m.content }}[/INST]{% endfor %}"


@dataclass(frozen=True)
class Family:
    """A family's pattern (None: GPT-2's, "": none) and template."""

    pattern: str | None
    template: str
    control: tuple[str, ...]
    puts_space_first: bool = False


FAMILIES = {
    "gpt2": Family(None, CHATML, ("<|im_start|>", "<|im_end|>")),
    "llama3": Family(LLAMA_3, HEADERS, ("<|start_header_id|>", "<|eot_id|>", "<|end_header_id|>")),
    "qwen2": Family(QWEN_2, CHATML, ("<|im_start|>", "<|im_end|>")),
    "gemma": Family("", TURNS, ("<start_of_turn>", "<end_of_turn>")),
    "mistral": Family("", INSTRUCTIONS, ("[INST]", "[/INST]"), puts_space_first=True),
}


def family_tokenizer(name: str) -> PreTrainedTokenizerFast:
    """Returns a tokenizer of the family, with a few hundred tokens."""
    family = FAMILIES[name]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    if family.pattern == "":
        alphabet = [*map(chr, range(32, 127)), "\n"]
        backend = _sentence_piece(family.puts_space_first)
    else:
        backend = Tokenizer(models.BPE())
        byte_level = pre_tokenizers.ByteLevel(
            add_prefix_space=False, use_regex=family.pattern is None
        )
        backend.pre_tokenizer = byte_level
        if family.pattern is not None:
            backend.normalizer = normalizers.NFC()
            split = pre_tokenizers.Split(Regex(family.pattern), "isolated")
            backend.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<unk>", *family.control],
        initial_alphabet=alphabet,
        show_progress=False,
    )
    backend.train_from_iterator(TEXTS, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        chat_template=family.template,
        eos_token=family.control[1],
        unk_token="<unk>",
        additional_special_tokens=list(family.control),
    )


def _sentence_piece(puts_space_first: bool) -> Tokenizer:
    """Returns an untrained BPE over whole texts, as SentencePiece makes them. Training parts at
    newlines as SentencePiece does: no token has one beside other characters.
    """
    backend = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    replace = normalizers.Replace(" ", "▁")
    if puts_space_first:
        backend.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), replace])
    else:
        backend.normalizer = replace
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"\n+"), "isolated")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse()])
    return backend
