"""
Can easy examples stop early, while hard ones buy more features?
================================================================

A ladder is a sequence of models on more and more features. A row starts on the lowest rung and
climbs while it is uncertain and the next rung is worth its price. The table is Handwritten
Digits, which ships with scikit-learn: 8 x 8 pixels, read by a line sensor. Moving to a row of
pixels takes 1 ms, paid once per row, and reading a pixel 0.25 ms (illustrative prices).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import CalibrationDisplay, LadderClassifier
from thrifty.data import digits

table = digits()
X_train, X_test, y_train, y_test = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)

# %%
# The penalty is the error rate that one millisecond must save: here 1 in 200 images.

model = LadderClassifier(table.prices, penalty=0.005, effort="fast", random_state=0)
model = model.fit(X_train, y_train)

# %%
# Where do rows stop, and was it right to let them stop there?

bills, correct = model.bill(X_test), model.predict(X_test) == y_test
encoded = model.schema_.encode(X_test)  # the numbers that the frozen model reads
rungs = model.model_.rung(encoded)
print("rung  images  mean bill  accuracy")
for rung in np.unique(rungs):
    here = rungs == rung
    print(f"{rung:4d}  {here.sum():6d}  {bills[here].mean():6.2f} ms  {correct[here].mean():8.3f}")
print(f" all  {len(rungs):6d}  {bills.mean():6.2f} ms  {correct.mean():8.3f}")

# %%
# Compare with the top rung by itself, which reads the same pixels for every image.

top = model.model_.rungs[-1]
bill = model.prices_.bill(top.used(encoded), top.evaluations(encoded)).mean()
accuracy = (model.classes_[top.score(encoded).argmax(axis=1)] == y_test).mean()
print(f"The top rung for all images: {bill:.2f} ms, accuracy {accuracy:.3f}.")
print(
    f"The ladder takes {bills.mean() / bill:.0%} of that time. Images that stop early are predicted"
)
print("well; those that climb to the top are the ones that even all pixels do not settle.")

# %%
# The plot: where images stop, and whether their confidence can be trusted there.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
counts = np.bincount(rungs, minlength=len(model.model_.rungs))
left.bar(range(len(counts)), counts, color="#0b5ba5")
left.set_xlabel("rung")
left.set_ylabel("images that stop here")
left.set_title("Easy images stop early")
CalibrationDisplay.from_estimator(model, X_test, y_test, ax=right)
right.set_title("Can it be trusted?", loc="right")  # the legend is on the left
plt.show()
