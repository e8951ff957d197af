"""
Which local model should you trust, if only the remote model tells?
===================================================================

A device has four small models for handwritten digits and may ask a server, which is right but
costs something. ``OnlineGate`` learns from the server's answers alone which small model to trust
and when to ask. Halfway through the stream the camera is turned upside down: the model that was
best becomes useless, and another one, trained on such images, takes over.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from thrifty import OnlineGate
from thrifty.data import digits
from thrifty.serve import ASK

table = digits()
images, labels = table.X.to_numpy() / 16.0, table.y
turned = images.reshape(-1, 8, 8)[:, ::-1, ::-1].reshape(-1, 64)
upright = LogisticRegression(max_iter=300).fit(images[:300], labels[:300])
flipped = LogisticRegression(max_iter=300).fit(turned[:300], labels[:300])

# %%
# An expert answers or asks. Two experts trust a model for every image; two others ask where their
# model is unsure. Predictions are computed once, and an example is the number of an image.

rng = np.random.default_rng(0)
order = rng.integers(300, len(labels), size=6000)
stream = np.where((np.arange(6000) < 3000)[:, None], images[order], turned[order])
truth = labels[order]


def experts_of(model):
    """Return an expert that never asks, and one that asks where the model is unsure."""
    scores = model.predict_proba(stream)
    answers, unsure = model.classes_[scores.argmax(axis=1)], scores.max(axis=1) < 0.7
    return [
        lambda t: int(answers[t]),
        lambda t: ASK if unsure[t] else int(answers[t]),
    ]


names = ["upright", "upright, asks", "upside down", "upside down, asks"]
experts = [*experts_of(upright), *experts_of(flipped)]

# %%
# Asking costs 0.3 of a wrong answer. ``changes=1`` says that the best expert may change once.

gate = OnlineGate(experts, cost=0.3, horizon=6000, changes=1, random_state=0)
weights, asked, wrong = [], np.zeros(6000, dtype=bool), np.zeros(6000, dtype=bool)
for t in range(6000):
    decision = gate.decide(t)
    asked[t] = decision.asks
    if decision.asks:
        gate.feedback(int(truth[t]))
    else:
        wrong[t] = decision.answer != truth[t]
    weights.append(gate.weights)

for part, name in ((slice(0, 3000), "upright"), (slice(3000, 6000), "upside down")):
    print(f"{name:12} asked {asked[part].mean():.0%}, wrong {wrong[part].mean():.1%}")

# %%
# The plot: the weight of each expert. After the camera was turned, the gate finds the other
# model.

figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for weight, name in zip(np.transpose(weights), names, strict=True):
    ax.plot(weight, label=name)
ax.axvline(3000, color="gray", linestyle=":")
ax.set_xlabel("example")
ax.set_ylabel("weight of the expert")
ax.legend()
plt.show()
