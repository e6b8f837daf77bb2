"""Trainer callbacks, for stock TRL trainers and ours alike.

from training import JudgeLifecycleCallback, Recorder, RewardHealthCallback, SpanTableCallback

reward = Recorder(PoshReward(judge))                   # training/grpo/recorder.py
watching = [SpanTableCallback([reward]), RewardHealthCallback([reward]), JudgeLifecycleCallback([reward])]
GRPOTrainer(reward_funcs=[reward], callbacks=watching, ...)

trainer = SpanGRPOTrainer(reward_funcs=[PoshReward(judge)], ...)       # makes the Recorders itself
trainer.add_callback(SpanTableCallback(trainer.recorders))
"""
