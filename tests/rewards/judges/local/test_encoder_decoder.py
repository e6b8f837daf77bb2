"""Encoder-decoder models as judges: a tiny T5 with random weights and a tokenizer as T5's."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

from spanreward import Question, Rating, load_judge
from spanreward.rewards.judges.encoding.chat import ChatEncoder, chat_template
from spanreward.rewards.judges.local.local_judge import RELATIVE_CONTEXT
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from tests.support.fakes import asked as prompts
from tests.support.tiny_models import check_alone_and_together, questions, save_llama
from tests.support.tokenizer import tokenizer

TEXTS = [
    "Rate the candidate answer from 1 to 3: 1 = wrong, 2 = ambiguous, 3 = right.",
    'Question: "What is it?" Reference answers: "dog", "puppy" Candidate answer: "cat" Output: So '
    "rating=1",
    "A red circle is above a blue square. Answer with a digit from 1 to 5: 1 2 3 4 5",
]


def unigram() -> PreTrainedTokenizerFast:
    """As T5's; its pieces are listed, as `UnigramTrainer` gives others in each process."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<>/_=,.:;?!'\"()-+|▁"
    words = sorted({f"▁{word}" for text in TEXTS for word in text.split()})
    pieces = [(token, 0.0) for token in ("<pad>", "</s>", "<unk>")]
    pieces += [(word, -4.0) for word in words] + [(letter, -8.0) for letter in letters]
    backend = Tokenizer(models.Unigram(pieces, unk_id=2))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    backend.add_special_tokens(["<pad>", "</s>", "<unk>"])
    end = ("</s>", backend.token_to_id("</s>"))
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[end])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


def save_t5(folder: Path) -> None:
    torch.manual_seed(0)
    words = unigram()
    config = T5Config(
        vocab_size=len(words), d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, initializer_factor=3.0,
        pad_token_id=words.pad_token_id, eos_token_id=words.eos_token_id,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    model.generation_config.decoder_start_token_id = words.pad_token_id
    model.save_pretrained(folder)
    words.save_pretrained(folder)


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("t5")
    save_t5(folder)
    return load_judge(f"transformers:{folder}", batch_size=4, min_mass=0.0)


def direct(judge: TransformersJudge, question: Question) -> dict[str, Any]:
    """The tokenizer's own encoding of the bare text."""
    return dict(judge.encoder.tokenizer(question.messages[0]["content"], return_tensors="pt"))


def test_a_rating_is_one_step_of_the_decoder(judge: TransformersJudge) -> None:
    asked, words = questions(), [word.strip() for word in judge.encoder.words]
    judge.start()
    expected = []
    for question in asked:
        inputs = direct(judge, question)
        with torch.inference_mode():
            output = judge._model(**inputs, decoder_input_ids=torch.tensor([[0]]))
        masses = dict.fromkeys("12345", 0.0)
        for word, p in zip(words, output.logits[0, 0].softmax(-1).tolist(), strict=False):
            if word in masses:
                masses[word] += p
        expected.append(sum(int(digit) * p for digit, p in masses.items()) / sum(masses.values()))
    means = [rating.mean for rating in judge.rate(asked)]
    assert means == pytest.approx(expected, abs=1e-4)


def test_neither_the_batch_nor_the_order_changes_an_answer(judge: TransformersJudge) -> None:
    check_alone_and_together(judge, questions())


def test_a_text_is_what_the_model_generates(judge: TransformersJudge) -> None:
    (question, *_) = questions()
    judge.start()
    ids = judge._model.generate(**direct(judge, question), max_new_tokens=8, do_sample=False)[0, 1:]
    text = judge.encoder.tokenizer.decode(ids, skip_special_tokens=True)
    assert judge.write([question], 8) == [text]


def test_a_control_token_in_a_text_is_plain_text(judge: TransformersJudge) -> None:
    """The vocabulary has `</s>` as a piece; a tokenizer of its own would end the prompt there."""
    ids = judge.encoder.encode([{"role": "user", "content": "red </s> <pad> So rating=3"}])
    end = judge.encoder.tokenizer.eos_token_id
    assert (ids[-1], ids.count(end), ids.count(0)) == (end, 1, 0)
    assert judge.encoder.decode(ids[:-1]) == "red </s> <pad> So rating=3"


def test_its_positions_are_relative(judge: TransformersJudge) -> None:
    assert judge.context == RELATIVE_CONTEXT
    assert TransformersJudge(judge.model, max_length=100).context == 100
    assert isinstance(judge.rate(prompts("1 " * 600))[0], Rating)


@pytest.mark.parametrize("given", ["vicuna.jinja", "plain"])
def test_a_chat_template_of_one_s_own(tmp_path: Path, given: str) -> None:
    save_llama(tmp_path)
    file = tmp_path / "vicuna.jinja"
    file.write_text("{% for m in messages %}USER: {{ m.content }} {% endfor %}ASSISTANT:")
    shown = "Rate it." if given == "plain" else "USER: Rate it. ASSISTANT:"
    template = given if given == "plain" else str(file)
    judge = TransformersJudge(str(tmp_path), chat_template=template, min_mass=0.0)
    (question,) = prompts("Rate it.")
    assert judge.encoder.decode(judge.encoder.encode(question.messages)) == shown
    assert isinstance(judge.rate([question])[0], Rating)


def test_plain_text_begins_as_the_tokenizer_begins_a_text() -> None:
    """A Llama tokenizer puts its first token before a text, and no chat template is needed."""
    words = tokenizer(None)
    start = ("<|im_start|>", words.convert_tokens_to_ids("<|im_start|>"))
    single = processors.TemplateProcessing(single="<|im_start|> $A", special_tokens=[start])
    words.backend_tokenizer.post_processor = single
    words.chat_template = chat_template("plain", words)
    (question,) = prompts("Rate it.")
    assert ChatEncoder(words).encode(question.messages) == words("Rate it.").input_ids
