"""The language model that learns to judge Scenes: a small Llama with a tokenizer of its own.

    model, tokenizer = load_judge_model("tiny-judge", seed=0)  # about 2 M parameters, untrained
    model, tokenizer = load_judge_model("outputs/quickstart/seed0/judge")

A trained folder is a judge as any other: `transformers:FOLDER`, `vllm:FOLDER`. A word, a digit and
a sign is one token whatever stands before it, as spaces are no tokens; and so is each literal piece
of the metrics' prompt templates, their instructions among them, so that a question is about as long
as the texts in it. Any other text falls back to bytes.
"""

import json
import random
import re
from collections.abc import Iterator
from math import cos, sin

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)
from transformers.models.llama.modeling_llama import LlamaAttention

from experiments.scenes.language import PROMPT, describe
from experiments.scenes.questions import COUNTS, UNSURE, ask, other_words
from experiments.scenes.world import make_scenes
from spanreward.rewards.lave import prompts as lave
from spanreward.rewards.pairwise import questions as pairwise
from spanreward.rewards.posh import prompts as posh
from spanreward.training.recipe_file import RecipeError

UNTRAINED = "tiny-judge"
LAYERS, HEADS, HEAD_WIDTH = 4, 6, 32
WIDTH = HEADS * HEAD_WIDTH
LOOKING = (4, 4, 4, 2)  # heads of each layer that begin with a place to look at
# by layer: how far the first of those heads looks back. The others look for the same
BACK = {0: 1, 2: 3}
THETA = 10_000.0
SPECIAL_TOKENS = ("<pad>", "<eos>", "<user>", "<assistant>")
WORDS = 640  # tokens of words, bytes among them, before the templates' pieces
CHAT_TEMPLATE = """
{%- for message in messages -%}
<{{ message['role'] }}>{{ message['content'] }}{%- if message['role'] == 'assistant' -%}<eos>{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- endif -%}
""".strip()


def load_judge_model(model: str, seed: int = 0) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A causal language model and its tokenizer. `model`: a hub id, a folder, or "tiny-judge",
    untrained from `seed`.

    Raises RecipeError where there is no such model.
    """
    if model == UNTRAINED:
        tokenizer = judge_tokenizer()
        return untrained(tokenizer, seed), tokenizer
    try:
        return AutoModelForCausalLM.from_pretrained(model), AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        # what transformers raises for a missing file and for another kind of model
        reason = str(error).splitlines()[0].rstrip(".:")
        raise RecipeError(
            f"there is no causal language model in {model!r} ({reason}): policy.model "
            f"takes a folder that such a run has written, a hub id, or {UNTRAINED}."
        ) from error


def untrained(tokenizer: PreTrainedTokenizerBase, seed: int) -> LlamaForCausalLM:
    """Random weights, but for where heads look at first: see `look_back` and `look_for_the_same`.

    A judge of presence looks up what a question names: a word gathers the words before it, then
    what was said of the same words earlier, then the answer's place gathers what the question's
    words have found. Transformers find that out only after very many examples; this is where
    training begins, and it may change all of it.
    """
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=WIDTH,
            intermediate_size=3 * WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            attention_bias=True,
            max_position_embeddings=2048,
            initializer_range=0.05,  # as of the tiny policy: the usual 0.02 suits wider layers
            tie_word_embeddings=False,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    with torch.no_grad():
        # a token stays recognisable beside what the layers add
        model.model.embed_tokens.weight.normal_()
        for number, layer in enumerate(model.model.layers):
            layer.self_attn.o_proj.weight *= 1 / (2 * LAYERS) ** 0.5
            layer.mlp.down_proj.weight *= 1 / (2 * LAYERS) ** 0.5
            for head in range(LOOKING[number]):
                if number in BACK:
                    look_back(layer.self_attn, head, BACK[number] + head)
                else:
                    look_for_the_same(layer.self_attn, head)
    return model


def look_back(attention: LlamaAttention, head: int, steps: int) -> None:
    """Biases by which the head looks at the token so many steps before: under rotary positions
    their product is largest there.
    """
    query, key = (
        part.bias.view(HEADS, HEAD_WIDTH)[head] for part in (attention.q_proj, attention.k_proj)
    )
    for part in (attention.q_proj, attention.k_proj):
        part.weight.view(HEADS, HEAD_WIDTH, WIDTH)[head] *= 0.2
    for pair in range(4):  # of the fastest frequencies, which tell neighbours apart
        angle = steps * THETA ** (-2 * pair / HEAD_WIDTH)
        key[pair] = 5.0
        query[pair], query[pair + HEAD_WIDTH // 2] = 5.0 * cos(angle), -5.0 * sin(angle)


def look_for_the_same(attention: LlamaAttention, head: int) -> None:
    """Equal weights of queries and keys, by which the head looks at tokens like its own, wherever
    they are: only the slower half of the rotary frequencies takes part.
    """
    query, key = (
        part.weight.view(HEADS, HEAD_WIDTH, WIDTH)[head]
        for part in (attention.q_proj, attention.k_proj)
    )
    quarter = HEAD_WIDTH // 4
    query[:quarter] = 0
    query[2 * quarter : 3 * quarter] = 0
    query *= 1.8
    key.copy_(query)


def judge_tokenizer() -> PreTrainedTokenizerFast:
    """The same on every machine.

    A piece of a template is one token: the vocabulary has it whole (`ignore_merges`).
    """
    pieces = template_pieces()
    signs = "|".join(re.escape(piece) for piece in sorted(pieces, key=len, reverse=True))
    split = pre_tokenizers.Split(
        Regex(rf"{signs}|\w+|\n+|[^\w\s]"), behavior="removed", invert=True
    )
    before = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = before
    words.train_from_iterator(
        word_texts(),
        trainers.BpeTrainer(
            vocab_size=WORDS,
            special_tokens=list(SPECIAL_TOKENS),
            initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
            show_progress=False,
        ),
    )
    learned = json.loads(words.to_str())["model"]
    vocabulary: dict[str, int] = learned["vocab"]
    for piece in sorted(pieces):
        ((as_bytes, _),) = before.pre_tokenize_str(piece)
        vocabulary.setdefault(as_bytes, len(vocabulary))
    merges = [tuple(pair) for pair in learned["merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = before
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="<eos>",
        additional_special_tokens=["<user>", "<assistant>"],
        chat_template=CHAT_TEMPLATE,
        model_input_names=["input_ids", "attention_mask"],
        clean_up_tokenization_spaces=False,
    )


def template_pieces() -> set[str]:
    """What stands between the placeholders of the metrics' questions, of two words at least."""
    direction = posh.load_prompts().recall
    texts = [f"{direction.instructions}\n\n{direction.prefix}"]
    texts += [
        f"\n\n{ask}"
        for ask in (direction.ask_entity, direction.ask_attribute, direction.ask_relation)
    ]
    texts += [direction.with_relation, direction.of_parent]
    pair = pairwise.load_pairwise_prompts()
    texts += [
        f"{pair['instructions']}\n\n{pair['context']}",
        f"\n\n{pair['request']}\n\n",
        f"{pair['texts']}\n\n{pair['answer']}",
    ]
    example = lave.LaveExample("{question}", (), "{candidate}")
    asked = [
        lave.load_lave_prompts().text(example, binary, rationale=False) for binary in (False, True)
    ]
    texts += [*asked, '", "', '"\nReference answers: "', '"\nCandidate answer: "', '"\nRating:']
    pieces = {piece for text in texts for piece in re.split(r"\{\w+\}", text)}
    return {piece for piece in pieces if len(piece.split()) > 1 or piece == '", "'}


def word_texts() -> Iterator[str]:
    """Sentences, questions and answers of Scenes, in which every word of theirs is there."""
    generator = random.Random("tokenizer")
    yield PROMPT
    for scene in make_scenes("train", level=2, count=500):
        yield describe(scene, generator)
        question = ask(scene, generator)
        yield " ".join(
            [question.text, *question.answers, question.right, *other_words(question.right)]
        )
    for answer in (UNSURE, *COUNTS.values()):
        yield " ".join([answer, *other_words(answer)])
    yield " ".join(["corner as in 'the' that has of", "A B C 1 2 3 4 5"] * 20)
