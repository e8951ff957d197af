"""
Is a model on a budget better than a plain one on cheap features?
=================================================================

A cardiologist can ask questions for 1 Canadian dollar each, draw blood for 16, and order scans
for about 100. These are the fees of Ontario that Turney published in 1995; the table is Heart
Disease, with 920 patients. What does a budget of 30 dollars per patient buy, and would plain
boosting on the cheapest features not do as well?
"""

import matplotlib.pyplot as plt

from thrifty.data import heart
from thrifty.frontier import fit_budget

table = heart()
table.prices.bind(list(table.X.columns))

# %%
# ``fit_budget`` sets a fifth of the rows aside as a test set, trains a ladder on the others, and
# trains the baselines on the same rows: boosting and a forest without prices, on all features and
# on the features that the budget pays for.

found = fit_budget(table.X, table.y, prices=table.prices, budget=30, effort="fast", random_state=0)
rows = [("Thrifty", found.test_result.bill, found.test_result.quality)]
rows += [(each.name, each.bill, each.quality) for each in (found.constant, *found.baselines)]
for name, bill, quality in rows:
    print(f"{name:45} CAD {bill:6.2f}  accuracy {quality:.3f}")

# %%
# On this split, Thrifty and a plain forest on the cheapest features are equally accurate within
# the budget, but the forest buys the same features for everyone and spends nearly all of it.
# Boosting and forests on all features are better, for ten times the budget. Is a difference more
# than luck? Its interval pairs the rows of the test set: two models that are right about the same
# patients differ by less than their separate intervals suggest.

for baseline in found.baselines:
    low, high = baseline.difference_interval
    print(f"Thrifty - {baseline.name:41} {baseline.difference:+.3f} [{low:+.3f}, {high:+.3f}]")

# %%
# The plot: every Pareto-optimal model on the test set, and the baselines.

figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
points = sorted((point.bill, point.quality) for point in found.test_points)
ax.plot(*zip(*points, strict=True), "o-", color="#0b6e4f", label="Thrifty, the whole frontier")
for (name, bill, quality), marker in zip(rows[2:], "sD^v", strict=False):
    ax.plot(bill, quality, marker, color="#8a4b08", markersize=8, label=name)
ax.axvline(30, color="gray", linestyle=":", label="budget")
ax.set_xscale("symlog", linthresh=1)
ax.set_xlabel("mean bill per patient (CAD)")
ax.set_ylabel("test accuracy")
ax.legend(fontsize=8)
plt.show()
