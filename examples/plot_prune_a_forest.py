"""
You have a random forest that works. Which of its splits are worth what they cost?
==================================================================================

A random forest asks for a feature wherever it helps a little, so nearly every patient pays for
nearly every feature. Pruning removes the splits that are not worth their price, in all trees
together: a feature saves money only once no tree asks for it anymore. The table is Breast Cancer
Wisconsin, which ships with scikit-learn, with illustrative prices in minutes.
"""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from thrifty import CurveDisplay, PrunedForestClassifier, adopt, trace
from thrifty.data import breast_cancer

# %%
# Split the rows: the forest is fitted on the training set, bills are measured on the validation
# set while pruning, and the results are reported on the test set.

table = breast_cancer()
X_rest, X_test, y_rest, y_test = train_test_split(
    table.X, table.y, stratify=table.y, random_state=0
)
X_train, X_validation, y_train, y_validation = train_test_split(
    X_rest, y_rest, stratify=y_rest, random_state=0
)
forest = RandomForestClassifier(n_estimators=40, random_state=0).fit(X_train, y_train)

# %%
# What does the forest cost today? ``adopt`` adds bills and changes no prediction.

bill = adopt(forest, prices=table.prices).bill(X_test).mean()
print("model   minutes  accuracy  features")
print(f"forest  {bill:7.2f}  {forest.score(X_test, y_test):8.3f}        30")

# %%
# ``fit`` solves for every penalty at once; ``at_budget`` picks one pruning, without solving
# again.

validation = (X_validation, y_validation)
model = PrunedForestClassifier(forest, table.prices).fit(X_train, y_train, validation=validation)
for budget in (20, 10, 5, 2):
    pruned = model.at_budget(budget)
    bill, accuracy = pruned.bill(X_test).mean(), pruned.score(X_test, y_test)
    features = pruned.used(X_test).any(axis=0).sum()
    print(f"pruned  {bill:7.2f}  {accuracy:8.3f}  {features:8d}")

print(
    "The budgets are 20, 10, 5 and 2 minutes on the validation set; this table is measured on the"
)
print("test set. Saving the first 12 minutes costs almost no accuracy; after that it falls.")

# %%
# The whole path. ``trace`` clones its learners, which discards fits: FrozenEstimator keeps them.

learner = PrunedForestClassifier(FrozenEstimator(forest), table.prices)
curve = trace(learner, X_train, y_train, validation=validation)
print(f"\nThe path has {len(curve.points)} prunings; {len(curve.frontier)} are Pareto-optimal.")

# %%
# The plot: the prunings on the validation set, from the constant to the whole forest.

display = CurveDisplay.from_curve(curve)
display.figure_.suptitle("Prunings of one random forest")
plt.show()
