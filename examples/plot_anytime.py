"""
What if nobody knows in advance how much an example may cost?
=============================================================

Some requests have time for one feature, others for all of them, and some are cut off on the way.
``AnytimeClassifier`` is one model for every budget: it grows in stages, each stage reads more,
and the last complete stage answers. The table is the noisy XOR of Xu (2014): ten views of two
coordinates, and the more a view costs, the less noise it has.
"""

import matplotlib.pyplot as plt

from thrifty import AnytimeClassifier
from thrifty.data import noisy_xor

table = noisy_xor(random_state=0)
train, test = table.split == "train", table.split == "test"
X, y = table.X[test], table.y[test]
model = AnytimeClassifier(table.prices, random_state=0)
model = model.fit(table.X[train], table.y[train])

# %%
# The budget is an argument of ``predict``, not of the model. It holds for every single example.

budgets = [0, 2, 5, 7, 10, 20, 40, 80, 160, 320]
accuracies, largest = [], []
for budget in budgets:
    accuracies.append((model.predict(X, budget=budget) == y).mean())
    largest.append(model.bill(X, budget=budget).max())
    print(f"budget {budget:4}  largest bill {largest[-1]:6.1f}  accuracy {accuracies[-1]:.3f}")

# %%
# A walk can be stopped at any moment. Its best answer so far is ``walk.best``.

walk = model.walk()
row = X.iloc[3]
while walk.asks:
    feature = walk.asks[0]
    walk.tell({feature: row[feature]})
    print(f"after {feature:12} spent {walk.receipt.total:6.1f}, best answer {walk.best}")
print("truth:", y[3])

# %%
# The plot: one model, any budget.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.step(budgets, accuracies, "o-", where="post", color="#0b6e4f")
ax.set_xscale("symlog", linthresh=2)
ax.set_xlabel("budget of each example")
ax.set_ylabel("test accuracy")
ax.set_title("One anytime model, stopped at different budgets")
plt.show()
