"""Encodes questions with pictures as token ids and pixels.

    encoder = PictureChatEncoder(load_processor(folder))
    # `question.images` are Pictures, see `prompt.with_converted_images`
    prompt, cut = encoder.prompt(question, budget=4096)
    encoder.inputs(prompt, prompt.head)  # pixel_values and the model's other arguments

The pictures come, in order, before the text of the first user message. As with ChatEncoder, texts
of messages cannot add control tokens: `<image>` or `<|image_pad|>` in a completion is plain text.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from transformers import (
    PROCESSOR_MAPPING,
    AutoConfig,
    BatchFeature,
    PretrainedConfig,
    ProcessorMixin,
)
from transformers.utils import is_torchvision_available

from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import Picture, Prompt
from spanreward.rewards.judges.judge import Question


class PictureChatEncoder(ChatEncoder):
    """ChatEncoder for an image-text model.

    Args:
        processor: the result of `load_processor`.

    Raises:
        ValueError: for a tokenizer or template that ChatEncoder refuses.
    """

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        # The processor's template shows pictures. The tokenizer's template may not show pictures.
        processor.tokenizer.chat_template = processor.chat_template
        super().__init__(processor.tokenizer)
        self.placeholder_id: int = self.tokenizer.convert_tokens_to_ids(processor.image_token)
        # [id of the begin-of-sequence token], or [] if the tokenizer adds none
        self._before: list[int] = self.tokenizer("").input_ids
        self._pictures = 0  # the number of pictures in each chat that this encoder encodes
        self._by_pictures: dict[int, Self] = {}  # copies of this encoder, by their `_pictures`
        # The placeholder ids of a picture depend only on its width and height.
        self._placeholders: dict[tuple[int, int], list[int]] = {}

    def prompt(self, question: Question, budget: int) -> tuple[Prompt, int]:
        """Returns the question as a Prompt of at most `budget` tokens, with its pictures, and how
        many characters of the description were cut.

        The question's images are Pictures (`with_converted_images`). Raises ValueError if the
        question does not fit (`fit`) or has no user message. A picture that could not be decoded,
        or that the model's processor refuses, raises ValueError too.
        """
        if not question.images:
            return super().prompt(question, budget)
        # `short` has one placeholder token for each picture, but the model needs several. The
        # additional placeholders reduce the budget of `fit`.
        placeholders = [self._placeholder(picture) for picture in question.images]
        extra = sum(len(tokens) - 1 for tokens in placeholders)
        encoder = self._encoder_for(len(placeholders))
        short, cut = encoder.fit(question, budget - extra)
        ids: list[int] = []
        head = 0
        for number in short:
            if number == self.placeholder_id:
                ids += placeholders.pop(0)
                head = len(ids)
            else:
                ids.append(number)
        prompt = Prompt(question.images, tuple(ids), head, tuple(short))
        return prompt, cut

    def inputs(self, prompt: Prompt, length: int) -> BatchFeature:
        """Returns the tensors of the prompt's pictures, by the name of the model's argument, such
        as "pixel_values".

        length: how many first ids of the prompt the model gets together with these tensors. The
        first `length` ids include the placeholders of all pictures.
        """
        inputs: BatchFeature = self._process(list(prompt.pictures), return_tensors="pt")
        # The processor got a text of placeholders only, so its ids and mask are not the prompt's.
        del inputs["input_ids"], inputs["attention_mask"]
        # The type of each token is whether the token belongs to a picture. The types are computed
        # again, for the prompt's ids.
        if "mm_token_type_ids" in inputs:
            ids = list(prompt.ids[:length])
            types = self.processor.create_mm_token_type_ids([ids])
            inputs["mm_token_type_ids"] = inputs["mm_token_type_ids"].new_tensor(types)
        return inputs

    def _encoder_for(self, pictures: int) -> Self:
        """Returns a copy of this encoder for chats with this many pictures."""
        if pictures not in self._by_pictures:
            encoder = copy.copy(self)  # shares the tokenizer and the caches with this encoder
            encoder._pictures = pictures
            encoder._layouts = {}  # not shared: a layout depends on the number of pictures
            self._by_pictures[pictures] = encoder
        return self._by_pictures[pictures]

    def _placeholder(self, picture: Picture) -> list[int]:
        """Returns the placeholder ids of a picture: as many tokens as the model's input needs for a
        picture of this size.

        Raises ValueError for a picture that could not be decoded.
        """
        if picture.image is None:
            raise ValueError(picture.trouble)
        size = picture.image.size
        if size not in self._placeholders:
            (ids,) = self._process([picture])["input_ids"]
            self._placeholders[size] = ids
        return self._placeholders[size]

    def _process(self, pictures: list[Picture], **options: Any) -> Any:
        """Returns the processor's output for these pictures and a text of one placeholder per
        picture. options: keyword arguments for the processor.
        """
        text = self.processor.image_token * len(pictures)
        images = [picture.image for picture in pictures]
        return self.processor(text=[text], images=[images], add_special_tokens=False, **options)

    def _chat(self, roles: Sequence[str], contents: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the argument of the chat template: messages whose contents are lists of parts,
        as image-text models need. The parts of the first user message are the pictures, then its
        text. Raises ValueError if there are pictures and no user message.
        """
        if self._pictures and "user" not in roles:
            raise ValueError(
                "a question with pictures needs a user message, before whose text they stand"
            )
        chat = super()._chat(roles, contents)
        for message in chat:
            message["content"] = [{"type": "text", "text": message["content"]}]
        if self._pictures:
            message = chat[list(roles).index("user")]
            images = [{"type": "image"}] * self._pictures
            message["content"] = [*images, *message["content"]]
        return chat

    def _layout(self, roles: tuple[str, ...]) -> list[str | int]:
        """Returns the layout of ChatEncoder, with one placeholder id for each picture, and with the
        begin-of-sequence token if the tokenizer adds it. Raises ValueError if the template shows
        too few or too many pictures.
        """
        layout = super()._layout(roles)
        pictures = layout.count(self.placeholder_id)
        if pictures != self._pictures:
            raise ValueError(f"the chat template shows {pictures} pictures of {self._pictures}")
        # `_before` is the begin-of-sequence token, or [] if the tokenizer adds none. Some templates
        # already write the token.
        has_begin = self._before[:1] == layout[:1]
        if has_begin:
            return layout
        return [*self._before, *layout]


def load_processor(folder: Path | str, config: PretrainedConfig | None = None) -> ProcessorMixin:
    """Loads a model's processor. Without torchvision, the processor takes no videos, because only
    videos need torchvision.

    folder: the folder of the model's files. config: the model's configuration, if it is loaded
    already.
    """
    if config is None:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    kind: Any = PROCESSOR_MAPPING[type(config)]
    parts = kind.get_attributes()
    if "video_processor" in parts and not is_torchvision_available():
        # Make a subclass with the same name whose attributes do not include the video processor.
        parts = [part for part in parts if part != "video_processor"]
        methods = {"get_attributes": classmethod(lambda _: parts)}
        kind = type(kind.__name__, (kind,), methods)
    return kind.from_pretrained(folder, trust_remote_code=False)
