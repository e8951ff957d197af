"""
Which sensors need to transmit if every message drains a battery?
=================================================================

Eight devices look at a handwritten digit, each at one row of pixels. Each has a gate that sees
only its own row and decides whether to transmit; a server adds up the contributions that arrive.
Measuring is free here, and a transmission costs 1 millijoule (illustrative).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from thrifty import EdgeCloudClassifier, Prices
from thrifty.data import digits

SHARES = (0.25, 0.5, 0.75, 1.0)

table = digits()
devices = {f"row {i}": [f"pixel_{i}_{j}" for j in range(8)] for i in range(8)}
prices = Prices({name: 0.0 for name in table.X.columns}, evaluation=1.0, unit="mJ")
X_train, X_test, y_train, y_test = train_test_split(
    table.X, table.y, test_size=0.4, stratify=table.y, random_state=0
)

# %%
# ``transmit_share`` is the share of all possible transmissions: at 50%, four of the eight devices
# transmit on average, and which ones depends on the image.

print("share  transmissions  accuracy")
sent, accuracies = [], []
for share in SHARES:
    model = EdgeCloudClassifier(prices, devices, transmit_share=share, random_state=0)
    model = model.fit(X_train, y_train)
    sent.append(model.transmits(X_test).mean(axis=0))
    accuracies.append(model.score(X_test, y_test))
    bill = model.bill(X_test).mean()
    print(f"{share:5.0%}  {bill:10.2f} mJ  {accuracies[-1]:8.3f}")

# %%
# The plot: which rows transmit how often, and what that is worth.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 4), layout="constrained")
image = left.imshow(np.transpose(sent), cmap="viridis", vmin=0, vmax=1, aspect="auto")
left.set_xticks(range(len(SHARES)), [f"{share:.0%}" for share in SHARES])
left.set_yticks(range(8), list(devices))
left.set_xlabel("share of transmissions")
left.set_title("Who transmits?")
figure.colorbar(image, ax=left, label="share of the images")
right.plot([8 * np.mean(each) for each in sent], accuracies, "o-", color="#0b6e4f")
right.set_xlabel("transmissions per image (mJ)")
right.set_ylabel("test accuracy")
plt.show()
