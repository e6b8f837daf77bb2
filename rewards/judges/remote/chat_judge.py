"""A judge behind HTTP that gets chats, for servers whose tokenizer is not available.

    judge = ChatJudge("https://api.example.com", "a-model")

ChatJudge is weaker than ServerJudge in three ways. A control token in a text is broken up by a
space, and not encoded as plain text (chat_form.py). Only the 20 likeliest tokens of each answer are
seen. A question that is too long is a Failure, because this package cannot count its tokens and so
cannot cut its description.
"""

from spanreward.rewards.judges.remote.remote_judge import RemoteJudge


class ChatJudge(RemoteJudge):
    """A judge behind HTTP that gets chats. The arguments are those of RemoteJudge.

    `rate` raises ValueError also for a scale with an entry that begins like another entry.
    """
