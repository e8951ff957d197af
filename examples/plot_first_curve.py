"""
Which tests should a clinic order, and how many minutes of measuring are enough?
================================================================================

A laboratory distinguishes benign from malignant tumors in an image of the cells. Measuring
everything takes half an hour per patient. The table is Breast Cancer Wisconsin, which ships with
scikit-learn; the prices are illustrative. Each of ten quantities (radius, texture, ...) is a
group: it takes 1 to 6 minutes to measure, paid once, and its mean, its error and its worst value
add 0.1 minutes each.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier, CurveDisplay
from thrifty.data import breast_cancer

BUDGET = 4.0  # minutes per patient, on average

# %%
# Read the table, and set aside a test set that no choice below may look at.

table = breast_cancer()
labels = ["malignant" if code == 0 else "benign" for code in table.y]
X_train, X_test, y_train, y_test = train_test_split(
    table.X, labels, stratify=labels, random_state=0
)

# %%
# ``fit`` trains a ladder: models for the whole range of costs. Every row is scored by models that
# have not seen it. On these scores the best model within the budget is picked, with 95%
# confidence.

model = BudgetClassifier(table.prices, budget=BUDGET, random_state=0).fit(X_train, y_train)

full = model.prices_.full
print(f"All 30 features cost {full:.1f} minutes. The Pareto-optimal points, out of fold:")
for point in model.frontier_.frontier:
    print(f"  {point.bill:5.2f} minutes  accuracy {point.quality:.3f}")

# %%
# The test set shows what the chosen model is worth on new patients.

bill, accuracy = model.bill(X_test).mean(), model.score(X_test, y_test)
print(f"\nWithin {BUDGET:.0f} minutes, the choice is {model.point_.name}.")
print(f"On the test set it costs {bill:.2f} minutes and its accuracy is {accuracy:.3f}.")

# %%
# Another budget is picked from the same curve, without training again.

rich = model.at_budget(full)
gain = round(len(X_test) * (rich.score(X_test, y_test) - accuracy))
print(f"The best model without a limit costs {rich.bill(X_test).mean():.2f} minutes. Of the")
print(f"{len(X_test)} test patients it gets {gain} more right: the difference is within the noise.")

# %%
# One patient. The walk asks for a feature only when the prediction needs it: most patients stop
# after the first measurement; this one is less clear, and only one in ten costs more.

number = model.bill(X_test).argsort(stable=True)[int(0.9 * len(X_test))]
patient = X_test.iloc[number].to_dict()
walk = model.walk()
while walk.asks:
    feature = walk.asks[0]
    walk.tell({feature: patient[feature]})
print(f"\nAn unclear patient, predicted {walk.answer} (truth: {y_test[number]}):")
print(walk.receipt)

# %%
# The plot: quality against mean bill, with confidence intervals, the budget and the choice.

display = CurveDisplay.from_estimator(model)
display.figure_.suptitle("How many minutes of measuring are enough?")
plt.show()
