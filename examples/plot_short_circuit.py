"""
Can a model that you already have ask for less, with the same answers?
======================================================================

You have gradient boosting from scikit-learn, and every prediction buys all features. ``adopt``
turns it into a predictor that knows prices, and ``short_circuit`` makes it stop as soon as no
value that is still missing could change the predicted class. Nothing is trained again, and no
answer changes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from thrifty import adopt, short_circuit
from thrifty.data import heart

table = heart()
X_train, X_test, y_train, y_test = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)
boosting = HistGradientBoostingClassifier(
    max_iter=60, max_leaf_nodes=6, min_samples_leaf=10, random_state=0
).fit(X_train, y_train)

# %%
# Adopting changes no prediction; it adds bills, walks and a model file.

whole = adopt(boosting, prices=table.prices)
difference = np.abs(whole.predict_proba(X_test) - boosting.predict_proba(X_test)).max()
print(f"largest difference of a probability: {difference:g}")
print(f"mean bill of the whole ensemble: CAD {whole.bill(X_test).mean():.2f}")

# %%
# The training rows decide in which order the trees are evaluated; the order changes bills, not
# answers.

quick = short_circuit(whole, X_train)
same = (quick.predict(X_test) == boosting.predict(X_test)).mean()
print(f"mean bill with the short circuit: CAD {quick.bill(X_test).mean():.2f}")
print(f"rows with the same answer: {same:.0%}")

# %%
# One patient. The receipt says why the walk stopped: no remaining feature could change the
# answer.

number = quick.bill(X_test).argmin()
patient = X_test.iloc[number].to_dict()
walk = quick.walk()
while walk.asks:
    walk.tell({walk.asks[0]: patient[walk.asks[0]]})
print(walk.receipt)

# %%
# The plot: what each patient pays before and after.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
bins = np.linspace(0, 330, 34)
ax.hist(whole.bill(X_test), bins, color="#9a9a9a", label="whole ensemble")
ax.hist(quick.bill(X_test), bins, color="#0b6e4f", alpha=0.8, label="short circuit")
ax.set_xlabel("bill of a patient (CAD)")
ax.set_ylabel("patients")
ax.legend()
plt.show()
