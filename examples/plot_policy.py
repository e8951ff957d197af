"""
Which feature next, if the answer depends on what was seen so far?
==================================================================

A ladder asks all rows for features in the same order. A policy chooses the next feature of each
row from the values that it has read. CUBE, a standard task of active feature acquisition, needs
this: of twenty features, three hold the bits of the class, and which three depends on the class.
"""

import matplotlib.pyplot as plt
import numpy as np

from thrifty import GreedyMiserClassifier, PolicyClassifier, trace
from thrifty.data import cube

table = cube(1500, random_state=0)
train, test = slice(0, 1000), slice(1000, 1500)
X_train, y_train = table.X[train], table.y[train]
X_test, y_test = table.X[test], table.y[test]

# %%
# Every price is 1, so a bill is a number of features. No row may read more than six.

model = PolicyClassifier(table.prices, penalty=0.01, cap=6, n_estimators=40, random_state=0)
model = model.fit(X_train, y_train)
bills = model.bill(X_test)
print(f"policy: {bills.mean():.2f} features on average, at most {bills.max():.0f}")
print(f"accuracy {model.score(X_test, y_test):.3f}")

# %%
# GreedyMiser buys the same features for every row. How good is it with about as many?

learner = GreedyMiserClassifier(table.prices, n_estimators=60, random_state=0)
curve = trace(learner, X_train, y_train, validation=(X_test, y_test))
for features in (6, 10, 20):
    best = max((p for p in curve.points if p.bill <= features), key=lambda p: p.quality)
    print(f"one set of at most {features:2} features: accuracy {best.quality:.3f}")

# %%
# The plot: which features do the rows of each class buy? The bright diagonal is the three
# features that hold the bits of the class; the policy finds them from the first values it reads.

shares = np.array([model.used(X_test[y_test == k]).mean(axis=0) for k in range(8)])
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
image = ax.imshow(shares, cmap="viridis", vmin=0, vmax=1, aspect="auto")
ax.set_xticks(range(20))
ax.set_xlabel("feature")
ax.set_ylabel("true class")
figure.colorbar(image, ax=ax, label="share of the rows that buy it")
plt.show()
