"""
Do different patients need different tests?
===========================================

One linear model reads the same features for everyone. A tree of linear models sends each patient
down a path, and each path buys its own features. ``SubmodularTreeClassifier`` grows such a tree
in a fraction of a second, and ``TreeDisplay`` draws it: what each node buys, at what price, and
who gets there. The table is Breast Cancer Wisconsin with illustrative prices: measuring a
quantity takes 1 to 6 minutes, and its mean, its error and its worst value add 0.1 each.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from thrifty import SubmodularTreeClassifier, TreeDisplay
from thrifty.data import breast_cancer

table = breast_cancer()
labels = ["malignant" if code == 0 else "benign" for code in table.y]
X_train, X_test, y_train, y_test = train_test_split(
    table.X, labels, test_size=0.4, stratify=labels, random_state=0
)

# %%
# ``node_budget`` is what a node may spend on new features, in minutes per patient.

for budget in (2, 4, 8, 16):
    tree = SubmodularTreeClassifier(table.prices, node_budget=budget, max_depth=2)
    tree = tree.fit(X_train, y_train)
    bills, accuracy = tree.bill(X_test), tree.score(X_test, y_test)
    print(
        f"node budget {budget:2}: {bills.mean():5.2f} minutes on average, "
        f"{bills.min():5.2f} to {bills.max():5.2f}, accuracy {accuracy:.3f}"
    )

# %%
# The tree for 2 minutes a node. A line is as wide as the share of the patients that take it.

tree = SubmodularTreeClassifier(table.prices, node_budget=2, max_depth=2).fit(X_train, y_train)
display = TreeDisplay.from_estimator(tree, X_test)
plt.show()

# %%
# How much do the paths have in common? 1 means that two exits have read the same features.

display.plot_similarity()
plt.show()
