"""
How many examples need the expensive model if a cheap one handles the easy ones?
================================================================================

You have a model that predicts well but is expensive, and most examples do not need it. A gate
decides, example by example, whether a cheap local model is good enough; the gate and the local
model are trained together. Here the expensive model is an SVM that reads all 64 pixels of
Handwritten Digits, which ships with scikit-learn; the prices are illustrative milliseconds of a
line sensor.
"""

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from thrifty import GatedClassifier
from thrifty.data import digits

SHARES = [0.0, 0.1, 0.2, 0.3, 0.5]  # of the examples, sent to the SVM

# %%
# Split the rows: the models are fitted on the training set, the threshold of the gate is chosen
# on the validation set, and the results are reported on the test set.

table = digits()
X_train, X_rest, y_train, y_rest = train_test_split(
    table.X, table.y, test_size=0.6, stratify=table.y, random_state=0
)
X_validation, X_test, y_validation, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)
svm = SVC(gamma=0.001, C=10.0)
full = table.prices.bind(list(table.X.columns)).full
top = svm.fit(X_train, y_train).score(X_test, y_test)
print(f"The SVM by itself: {full:.2f} ms, accuracy {top:.3f}.\n")

# %%
# Train a gate and a local model for each share. "leaves" is the smallest family: one boosted
# model whose leaves hold two values, one for the prediction and one for the gate.

print("share wanted   sent   mean bill  accuracy")
sent, accuracy = [], []
for share in SHARES:
    model = GatedClassifier(
        svm, table.prices, share=share, penalty=0.01, family="leaves", random_state=0
    ).fit(X_train, y_train, validation=(X_validation, y_validation))
    sent.append(model.sent(X_test).mean())
    accuracy.append(model.score(X_test, y_test))
    bill = model.bill(X_test).mean()
    print(f"{share:12.0%}  {sent[-1]:5.1%}  {bill:6.2f} ms  {accuracy[-1]:8.3f}")

closed = (accuracy[2] - accuracy[0]) / (top - accuracy[0])
print(f"Sending {sent[2]:.0%} of the images closes {closed:.0%} of the gap from the local model to")
print("the SVM: the gate finds the images that the local model gets wrong.")

# %%
# ``why`` says which model predicted each example, and for what reason.

reasons = model.why(X_test)
print(f"\nTwo images, at a share of {SHARES[-1]:.0%}:")
for reason in sorted(set(reasons)):
    number = reasons.index(reason)
    print(f"  image {number}: {reason}, {model.bill(X_test)[number]:.2f} ms")

# %%
# The plot: a gate that picks the right examples lies above the line of a random choice.

figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
ax.plot(sent, accuracy, "o-", color="#0b5ba5", label="trained gate")
ax.plot([0, 1], [accuracy[0], top], "--", color="gray", label="sent at random")
ax.plot([1], [top], "s", color="#c1272d", label="the SVM by itself")
ax.set_xlabel("share of the images sent to the SVM")
ax.set_ylabel("accuracy")
ax.set_title("How many images need the SVM?")
ax.legend()
plt.show()
