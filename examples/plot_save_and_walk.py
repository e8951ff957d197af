"""
How do you serve a model whose features must be fetched one by one?
===================================================================

Training ends in a file. The service loads it with NumPy only, starts a walk for each patient,
fetches the features that the walk asks for, and stores the receipt. The task is regression: how
far diabetes progresses in a year. The table ships with scikit-learn; its prices are illustrative
euros, and the six blood values s1 to s6 share one blood draw of 5 euros.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split

from thrifty import BudgetRegressor, PurchaseDisplay, load
from thrifty.data import diabetes
from thrifty.serve import CallSource, answer

table = diabetes()
X_train, X_test, y_train, y_test = train_test_split(table.X, table.y, random_state=0)

# %%
# Train the best model within 15 euros per patient, save it, and load it as a service would.

model = BudgetRegressor(table.prices, budget=15, random_state=0).fit(X_train, y_train)
bills, r2 = model.bill(X_test), model.score(X_test, y_test)
print(f"All ten features cost EUR {model.prices_.full:.2f}. The model is a {model.point_.name}:")
print(
    f"on the test set it costs EUR {bills.mean():.2f} per patient, and its R2 is {r2:.3f}. It stays"
)
print("well below 15 because the budget is kept with 95% confidence, and the means of only")
print(f"{len(model.point_.bills)} rows are uncertain.")

with TemporaryDirectory() as temporary:
    path = Path(temporary) / "diabetes.thrifty"
    model.save(path)
    print(f"Its file has {path.stat().st_size / 1024:.0f} kB and contains no code.\n")
    predictor = load(path)

# %%
# Walk one patient by hand. The walk lists the features that it wants now.

patient = X_test.iloc[bills.argmin()].to_dict()
walk = predictor.walk()
while walk.asks:
    feature = walk.asks[0]
    print(f"The walk asks for {feature}, which costs EUR {walk.price(feature):.2f} now.")
    walk.tell({feature: patient[feature]})
print(f"Predicted {walk.answer:.0f}, truth {y_test[bills.argmin()]:.0f}. The receipt:")
print(walk.receipt)

# %%
# Or let ``answer`` do it. It calls a function for each feature: a database, a laboratory, a
# person.

patient = X_test.iloc[bills.argmax()].to_dict()
source = CallSource(lambda feature: patient[feature])
prediction, receipt = answer(predictor, source)
print(f"\nAn expensive patient: predicted {prediction:.0f}, truth {y_test[bills.argmax()]:.0f}.")
print(receipt)

# %%
# The age is on file already, so it is free. The cap leaves no money for the blood draw.

prediction, receipt = answer(predictor, source, known={"age": patient["age"]}, cap=8)
print(f"\nThe same patient with a cap of 8 euros: predicted {prediction:.0f}.")
print(receipt)

# %%
# The plot: which features do patients buy, and in which order?

display = PurchaseDisplay.from_estimator(model, X_test)
plt.show()
