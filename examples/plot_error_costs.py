"""
How many tests are worth it if a missed illness costs 600 dollars?
==================================================================

A budget is one way to say how much may be spent. If you know what errors cost, you need none:
every test is bought as long as it saves more than it costs. The table is Heart Disease with the
fees of Turney (1995). A healthy patient who is sent on costs 150 dollars, and the price of a
missed illness varies.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from thrifty import BudgetClassifier
from thrifty.data import heart

FALSE_ALARM = 150
MISSED = [20, 60, 200, 600, 2000, 6000]

table = heart()
X_train, X_test, y_train, y_test = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)

# %%
# ``costs`` maps the true class to the cost of each prediction. The model predicts the label with
# the lowest expected cost, so it calls more patients ill as misses get more expensive.

print("a miss costs  tests cost  errors cost   total  called ill  misses")
spent, lost = [], []
for missed in MISSED:
    costs = {"yes": {"no": missed}, "no": {"yes": FALSE_ALARM}}
    model = BudgetClassifier(table.prices, costs=costs, effort="fast", random_state=0)
    predicted = model.fit(X_train, y_train).predict(X_test)
    misses = (predicted == "no") & (y_test == "yes")
    alarms = (predicted == "yes") & (y_test == "no")
    spent.append(model.bill(X_test).mean())
    lost.append((missed * misses + FALSE_ALARM * alarms).mean())
    print(
        f"{missed:12}  {spent[-1]:10.2f}  {lost[-1]:11.2f}  {spent[-1] + lost[-1]:6.2f}"
        f"  {(predicted == 'yes').mean():10.0%}  {misses.mean():6.1%}"
    )

# %%
# The plot: what is spent on tests, and what errors cost in spite of them. Where a miss is so
# expensive that everyone is called ill, or so cheap that nobody is, no test can change a
# decision, and none is bought.

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
positions = range(len(MISSED))
ax.bar(positions, spent, color="#0b6e4f", label="tests")
ax.bar(positions, lost, bottom=spent, color="#e0a458", label="errors")
ax.set_xticks(positions, [str(missed) for missed in MISSED])
ax.set_xlabel("cost of a missed illness (CAD)")
ax.set_ylabel("mean cost per patient (CAD)")
ax.legend()
plt.show()
