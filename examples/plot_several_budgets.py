"""
Can a model keep to a budget of money, radiation and time at once?
==================================================================

Tests differ in more than their fee: a scan exposes the patient to radiation, and a blood test
takes half an hour. Prices can have several currencies, and features can have delays; ``budget``
may then limit each of them. The table is Heart Disease with the fees of Turney (1995). Doses and
delays are illustrative.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, Prices
from thrifty.data import heart

table = heart()
fees = table.prices
prices = Prices(
    fees.own,
    groups=fees.groups,
    shared=fees.shared,
    unit="CAD",
    also={"mSv": Prices({"ca": 6.0, "thal": 9.0})},
    delays={"chol": 30, "fbs": 30, "thalach": 20, "oldpeak": 20, "slope": 20, "exang": 20,
            "ca": 60, "thal": 90},
    delay_unit="min",
)  # fmt: skip
X_train, X_test, y_train, y_test = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)

# %%
# Three sets of limits. A curve is traced once for each, since the weights of the currencies
# differ.

limits = {
    "money only": {"CAD": 150},
    "little radiation": {"CAD": 150, "mSv": 1},
    "quick": {"CAD": 150, "latency": 15},
}
figures = {}
for name, budget in limits.items():
    model = BudgetClassifier(prices, budget, effort="fast", random_state=0).fit(X_train, y_train)
    bills = model.bills(X_test)
    figures[name] = [bills["CAD"].mean(), bills["mSv"].mean(), model.latency(X_test).mean()]
    print(
        f"{name:17} CAD {figures[name][0]:6.2f}  mSv {figures[name][1]:5.2f}  "
        f"{figures[name][2]:5.1f} min  accuracy {model.score(X_test, y_test):.3f}"
    )

# %%
# The plot: means on the test set, by currency.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, label, values in zip(
    axes, ("CAD", "mSv", "minutes"), np.transpose(list(figures.values())), strict=True
):
    ax.bar(list(figures), values, color=["#9a9a9a", "#0b6e4f", "#e0a458"])
    ax.set_title(f"{label} per patient")
    ax.tick_params(axis="x", rotation=20)
plt.show()
