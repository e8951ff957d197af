"""
What does the penalty of GreedyMiser do, and which features are left when it grows?
===================================================================================

GreedyMiser is gradient boosting in which a tree pays for a feature when the ensemble first uses
it. The penalty is the exchange rate between price and loss: at 0 the prices are ignored, and the
larger it is, the more a feature must reduce the loss to be bought. The table is Wine Recognition,
which ships with scikit-learn; its 13 chemical measurements have illustrative prices in euros, and
three preparations are shared.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import CurveDisplay, GreedyMiserClassifier, trace
from thrifty.data import wine

PENALTIES = [0.0, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03]

table = wine()
X_train, X_validation, y_train, y_validation = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)
learner = GreedyMiserClassifier(table.prices, max_depth=2, min_samples_leaf=5, random_state=0)

# %%
# Fit one model per penalty, and see what each buys.

print("penalty     bill  accuracy  features bought")
shares = []
for penalty in PENALTIES:
    model = learner.set_params(penalty=penalty).fit(X_train, y_train)
    used = model.used(X_validation)  # (rows, features): what each bottle is tested for
    shares.append(used.mean(axis=0))
    bill, accuracy = model.bill(X_validation).mean(), model.score(X_validation, y_validation)
    print(f"{penalty:<8g}{bill:8.2f}  {accuracy:8.3f}  {used.any(axis=0).sum()} of {used.shape[1]}")
print(
    "A small penalty already drops the features that others can replace. A large one buys nothing:"
)
print("the model is the constant, which predicts the most frequent class.")

# %%
# ``path`` sweeps the penalty in one run of boosting and keeps the trees it has grown so far;
# ``trace`` measures its points on a validation set. This is how a penalty is found for a budget.

curve = trace(learner, X_train, y_train, validation=(X_validation, y_validation))
print(f"\nThe path has {len(curve.points)} points; the Pareto-optimal ones:")
for point in curve.frontier:
    print(f"  EUR {point.bill:5.2f}  accuracy {point.quality:.3f}  {point.knob['trees']} trees")

# %%
# The plot: which features are bought at each penalty, and the curve of the path.

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
image = left.imshow(np.transpose(shares), cmap="Blues", vmin=0, vmax=1, aspect="auto")
left.set_xticks(range(len(PENALTIES)), [f"{penalty:g}" for penalty in PENALTIES], rotation=45)
left.set_yticks(range(len(table.X.columns)), table.X.columns)
left.set_xlabel("penalty")
left.set_title("Which features are bought?")
figure.colorbar(image, ax=left, label="share of the bottles")
CurveDisplay.from_curve(curve, ax=right)
right.set_title("What do they buy?", loc="right")  # the legend is on the left
plt.show()
