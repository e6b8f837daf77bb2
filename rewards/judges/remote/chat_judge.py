"""A judge behind HTTP that gets chats, for servers whose tokenizer is not available.

    judge = ChatJudge("https://api.example.com", "a-model")

It is weaker than ServerJudge: control tokens in a text are broken up rather than encoded as plain
text (chat_form.py), only the 20 likeliest tokens of each answer are seen, and a question that is
too long is a Failure, because its tokens are not counted.
"""

from spanreward.rewards.judges.remote.remote_judge import RemoteJudge


class ChatJudge(RemoteJudge):
    """A judge behind HTTP that gets chats. The arguments are RemoteJudge's.

    `rate` raises ValueError also for a scale with an entry that begins like another.
    """
