"""Training: optimizers, learning rates, clipping, and steps that are programs.

step, state = relay.optim.training_step(loss, weights, relay.optim.Adam(lr=1e-3))
exe = relay.compile(step, state)
for images, labels in batches:
    print(exe(images, labels))      the loss; the weights are in `exe.state`

training_step.py  loss, gradient and update as one program
leaves.py         weights as tensors with names
optimizers.py     SGD, Adam, AdamW
schedules.py      learning rates that change
clipping.py       gradients that are too large
"""

from relay.optim.clipping import clip_norm as clip_norm
from relay.optim.clipping import clip_value as clip_value
from relay.optim.optimizers import SGD as SGD
from relay.optim.optimizers import Adam as Adam
from relay.optim.optimizers import AdamW as AdamW
from relay.optim.optimizers import Optimizer as Optimizer
from relay.optim.optimizers import Update as Update
from relay.optim.schedules import cosine as cosine
from relay.optim.schedules import exponential as exponential
from relay.optim.schedules import piecewise as piecewise
from relay.optim.schedules import step_decay as step_decay
from relay.optim.schedules import warmup as warmup
from relay.optim.training_step import trained_weights as trained_weights
from relay.optim.training_step import training_step as training_step
