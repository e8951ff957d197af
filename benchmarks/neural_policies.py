"""GDFS and DIME, two neural policies that AFABench compares, in PyTorch, and a check on CUBE.

A policy buys one feature after the other for each row, and predicts from what it has bought.

- GDFS (Covert et al. 2023): a selector proposes the next feature and a predictor answers. Both are
  trained together through a relaxed one-hot choice, at falling temperatures.
- DIME (Gadgil et al. 2024): a value network estimates how much the loss of the predictor falls with
  each feature, and the feature with the largest value per price is bought. In training, some
  purchases are random, fewer and fewer of them.

Layers, batches, learning rates, patience, temperatures and probabilities are those of AFABench
(Schütz et al. 2025) for tables. Its class weights are left out, as accuracy is what is measured.

The check is on CUBE, 4000 training, 1000 validation and 4000 test rows, where published code of
GDFS was measured before, on other draws: test accuracies in % with k features, of unit price, for
each row or on average. For DIME there are no such figures.

PyTorch is not among the dependencies: pip install torch.
"""

from __future__ import annotations

import copy
import os
from functools import partial

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
import torch
from _harness import report
from torch import nn
from torch.nn.functional import cross_entropy, mse_loss, one_hot, softmax

from thrifty.data import cube

HIDDEN, DROPOUT = 128, 0.3
BATCH, LEARNING_RATE, PATIENCE, EPOCHS = 128, 1e-3, 5, 250
# GDFS: the logits of the selector are divided by the first.
SHARPNESS = 0.2
TEMPERATURES = np.geomspace(1.0, 0.1, 5)
# DIME: how often it explores at first, by what that is multiplied, and how many times.
EXPLORATION, DECAY, DECAYS = 0.05, 0.2, 10
# How many thresholds of stopping are tried.
N_THRESHOLDS = 40
# A feature that is bought already is never chosen again.
NEVER = 1e6
CUBE_ROWS, CUBE_STEPS, SEEDS = (4000, 1000, 4000), 10, 2
# Accuracies of published code of GDFS, by number of features, for each row and on average.
REFERENCE = {
    "each row": {2: 46.4, 3: 60.0, 4: 68.1, 5: 73.7, 7: 81.1},
    "on average": {2: 45.5, 3: 61.5, 4: 74.0, 5: 79.2, 7: 81.1},
}


class Encoder:
    """A table as numbers for a network: a block of columns for each feature.

    Numbers are standardized, and a missing one is the mean; codes are one-hot. If values of a
    feature are missing, one more column of its block says where.

    Parameters
    ----------
    X : DataFrame
        Training rows.
    codes : collection of str
        Features whose numbers are names of categories.
    """

    def __init__(self, X, codes=()):
        self.names = list(X.columns)
        self.levels = {name: np.unique(X[name].dropna()) for name in self.names if name in codes}
        self.mean, self.deviation = X.mean(), X.std().clip(lower=1e-3)
        self.incomplete = set(X.columns[X.isna().any()])
        widths = [self.block(X[name][:1]).shape[1] for name in self.names]
        self.feature = torch.arange(len(self.names)).repeat_interleave(torch.tensor(widths))

    def block(self, column):
        """Return the columns of one feature."""
        name = column.name
        if name in self.levels:
            parts = [column.to_numpy()[:, None] == self.levels[name]]
        else:
            values = (column - self.mean[name]) / self.deviation[name]
            parts = [values.fillna(0.0).to_numpy()[:, None]]
        if name in self.incomplete:
            parts.append(column.isna().to_numpy()[:, None])
        return np.hstack(parts)

    def __call__(self, X):
        """Return the rows as a tensor."""
        blocks = [self.block(X[name]) for name in self.names]
        return torch.tensor(np.hstack(blocks), dtype=torch.float32)

    def hide(self, x, mask):
        """Return what a network sees: the columns of bought features, and which those are."""
        return torch.cat([x * mask[:, self.feature], mask], dim=1)


class PriceTable:
    """Prices of the features that are left, given those that are bought.

    Parameters
    ----------
    bound : BoundPrices
    """

    def __init__(self, bound):
        self.own = torch.tensor(bound.own, dtype=torch.float32)
        self.shared = torch.tensor(bound.shared, dtype=torch.float32)
        groups = torch.tensor(bound.group)
        self.member = (groups[:, None] == torch.arange(len(bound.shared))).float()

    def left(self, mask):
        """Return the price of each feature for each row; that of a group is paid once."""
        unpaid = self.shared * (mask @ self.member == 0)
        return self.own + unpaid @ self.member.T


class Policy(nn.Module):
    """What GDFS and DIME have in common: a predictor on masked rows, and how a policy runs.

    Parameters
    ----------
    encoder : Encoder
    prices : PriceTable
    n_classes : int
    n_steps : int or None
        Most features that a row buys; None for all.
    """

    def __init__(self, encoder, prices, n_classes, n_steps=None):
        super().__init__()
        self.encoder, self.prices = encoder, prices
        self.n_features = len(encoder.names)
        self.n_steps = n_steps or self.n_features
        self.n_inputs = len(encoder.feature) + self.n_features
        self.predictor = nn.Sequential(layers(self.n_inputs), nn.Linear(HIDDEN, n_classes))

    def pretrain(self, train, validation):
        """Train the predictor on rows of which random features are bought."""

        def loss(rows):
            x, y = rows
            mask = (torch.rand(len(x), self.n_features) < torch.rand(len(x), 1)).float()
            return cross_entropy(self.predictor(self.encoder.hide(x, mask)), y)

        def step(x, y):
            loss((x, y)).backward()

        learn(self.predictor, step, lambda: loss(validation), train)

    @torch.no_grad()
    def run(self, x):
        """Buy features for all rows; return masks, logits and urgencies after 0, 1, ... of them.

        A row may stop where its urgency is below a threshold.
        """
        self.eval()
        mask = torch.zeros(len(x), self.n_features)
        masks, answers, urgencies = [], [], []
        for _ in range(self.n_steps + 1):
            logits = self.predictor(self.encoder.hide(x, mask))
            feature, urgency = self.choose(x, mask, logits)
            masks.append(mask)
            answers.append(logits)
            urgencies.append(urgency)
            mask = torch.maximum(mask, one_hot(feature, self.n_features))
        return torch.stack(masks, 1), torch.stack(answers, 1), torch.stack(urgencies, 1)

    def rules(self, x):
        """Return rules of stopping: a threshold of urgency, and the most features that are bought.

        Thresholds are quantiles of the urgencies of some rows.
        """
        urgencies = self.run(x)[2].numpy()
        thresholds = np.quantile(urgencies, np.linspace(0.0, 1.0, N_THRESHOLDS))
        return [
            *((threshold, self.n_steps) for threshold in thresholds),
            *((-np.inf, most) for most in range(self.n_steps)),
        ]

    def answer(self, x, threshold, most):
        """Return class and purchases of rows that stop by a rule.

        Returns
        -------
        said : int array of shape (n,)
        used : bool array of shape (n, d)
        """
        masks, logits, urgencies = self.run(x)
        stops = urgencies < threshold
        stops[:, most] = True
        rows, last = torch.arange(len(x)), stops.float().argmax(dim=1)  # the first stop
        return logits[rows, last].argmax(dim=1).numpy(), masks[rows, last].bool().numpy()

    def learn_in_rounds(self, steps, train, validation):
        """Train by one kind of step after the other; keep the best parameters of all rounds."""
        x, y = validation

        def loss_of_run():
            _, logits, _ = self.run(x)
            return cross_entropy(logits.flatten(0, 1), y.repeat_interleave(logits.shape[1]))

        best, best_loss = None, np.inf
        for step in steps:
            loss = learn(self, step, loss_of_run, train)
            if loss < best_loss:
                best, best_loss = copy.deepcopy(self.state_dict()), loss
        self.load_state_dict(best)
        return self


class GDFS(Policy):
    """Greedy dynamic feature selection."""

    def __init__(self, *parts, **options):
        super().__init__(*parts, **options)
        self.selector = nn.Sequential(layers(self.n_inputs), nn.Linear(HIDDEN, self.n_features))

    def scores(self, x, mask):
        """Return the logits of the next feature; a price counts as in AFABench."""
        logits = self.selector(self.encoder.hide(x, mask))
        return (logits - torch.log(self.prices.left(mask))) / SHARPNESS

    def choose(self, x, mask, logits):
        """Return the next feature, and the entropy of the answer as urgency."""
        return (self.scores(x, mask) - NEVER * mask).argmax(dim=1), entropy(logits)

    def fit(self, train, validation):
        """Train both networks, at one temperature after the other."""
        self.pretrain(train, validation)
        steps = [partial(self.step, temperature) for temperature in TEMPERATURES]
        return self.learn_in_rounds(steps, train, validation)

    def step(self, temperature, x, y):
        """Add up the gradients of all steps of some rows."""
        mask = torch.zeros(len(x), self.n_features)
        for _ in range(self.n_steps):
            scores = self.scores(x, mask)
            soft = softmax((scores + gumbel_noise(scores)) / temperature, dim=1)
            seen = self.encoder.hide(x, torch.maximum(mask, soft))
            (cross_entropy(self.predictor(seen), y) / self.n_steps).backward()
            left = scores.detach() - NEVER * mask
            feature = (left + gumbel_noise(left)).argmax(dim=1)
            mask = torch.maximum(mask, one_hot(feature, self.n_features))


class DIME(Policy):
    """Discriminative mutual information estimation."""

    def __init__(self, *parts, **options):
        super().__init__(*parts, **options)
        # The value network shares all layers of the predictor but the last.
        self.value = nn.Sequential(self.predictor[0], nn.Linear(HIDDEN, self.n_features))

    def gains(self, x, mask, logits):
        """Return by how much each feature is expected to reduce the loss: at most the entropy."""
        share = torch.sigmoid(self.value(self.encoder.hide(x, mask)))
        return share * entropy(logits.detach())[:, None]

    def choose(self, x, mask, logits):
        """Return the feature with the largest gain per price, and that quotient as urgency."""
        quotient = self.gains(x, mask, logits) / self.prices.left(mask)
        urgency, feature = (quotient - NEVER * mask).max(dim=1)
        return feature, urgency

    def fit(self, train, validation):
        """Train both networks on what the policy buys, exploring less and less."""
        self.pretrain(train, validation)
        rates = EXPLORATION * DECAY ** np.arange(DECAYS)
        steps = [partial(self.step, exploration) for exploration in rates]
        return self.learn_in_rounds(steps, train, validation)

    def step(self, exploration, x, y):
        """Compute the gradient of all steps of some rows."""
        mask = torch.zeros(len(x), self.n_features)
        logits = self.predictor(self.encoder.hide(x, mask))
        before = cross_entropy(logits, y, reduction="none")
        total = before.mean()
        for _ in range(self.n_steps):
            gains = self.gains(x, mask, logits)
            quotient = gains.detach() / self.prices.left(mask) - NEVER * mask
            random = torch.rand(len(x), self.n_features) - NEVER * mask
            explored = torch.rand(len(x), 1) < exploration
            feature = torch.where(explored, random, quotient).argmax(dim=1)
            mask = torch.maximum(mask, one_hot(feature, self.n_features))
            logits = self.predictor(self.encoder.hide(x, mask))
            after = cross_entropy(logits, y, reduction="none")
            guess = gains.gather(1, feature[:, None]).squeeze(1)
            total = total + mse_loss(guess, (before - after).detach()) + after.mean()
            before = after
        (total / (self.n_steps + 1)).backward()


def layers(n_inputs):
    """Return the hidden layers of a network."""
    first, second = nn.Linear(n_inputs, HIDDEN), nn.Linear(HIDDEN, HIDDEN)
    return nn.Sequential(
        first, nn.ReLU(), nn.Dropout(DROPOUT), second, nn.ReLU(), nn.Dropout(DROPOUT)
    )


def learn(network, step, validation_loss, train):
    """Train until the loss on the validation rows no longer falls; return the best, and keep it."""
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.2, patience=PATIENCE, min_lr=1e-5
    )
    best, best_loss, bad_epochs = copy.deepcopy(network.state_dict()), np.inf, 0
    for _ in range(EPOCHS):
        network.train()
        for rows in torch.randperm(len(train[0])).split(BATCH):
            optimizer.zero_grad()
            step(train[0][rows], train[1][rows])
            optimizer.step()
        network.eval()
        with torch.no_grad():
            loss = float(validation_loss())
        schedule.step(loss)
        bad_epochs += 1
        if loss < best_loss:
            best, best_loss, bad_epochs = copy.deepcopy(network.state_dict()), loss, 0
        if bad_epochs > PATIENCE + 1:
            break
    network.load_state_dict(best)
    return best_loss


def entropy(logits):
    """Return the entropy of each row's answer."""
    return torch.distributions.Categorical(logits=logits).entropy()


def gumbel_noise(like):
    """Return noise with which the largest logit is a draw from their softmax."""
    return -torch.log(torch.empty_like(like).exponential_())


# --- the check on CUBE


def check(seed):
    """Return the test accuracies in % of GDFS on CUBE, as in `REFERENCE`."""
    torch.manual_seed(seed)
    table = cube(sum(CUBE_ROWS), seed)
    encoder = Encoder(table.X[: CUBE_ROWS[0]])
    x, y = encoder(table.X).split(CUBE_ROWS), torch.tensor(table.y).split(CUBE_ROWS)
    prices = PriceTable(table.prices.bind(list(table.X.columns)))
    policy = GDFS(encoder, prices, 8, n_steps=CUBE_STEPS).fit(*zip(x[:2], y[:2], strict=True))

    def measure(rule, part):
        said, used = policy.answer(x[part], *rule)
        return 100 * np.mean(said == y[part].numpy()), used.sum(axis=1).mean()

    points = [(*measure(rule, 1), rule) for rule in policy.rules(x[1])]
    found = {"each row": {}, "on average": {}}
    for k in REFERENCE["each row"]:
        found["each row"][k] = measure((-np.inf, k), 2)[0]
        best = max((point for point in points if point[1] <= k), key=lambda point: point[0])
        found["on average"][k] = measure(best[2], 2)[0]
    return found


def main():
    """Write measured accuracies beside those of published code."""
    torch.set_num_threads(1)
    rows = []
    runs = [check(seed) for seed in range(SEEDS)]
    for budget, known in REFERENCE.items():
        means = pd.DataFrame([run[budget] for run in runs]).mean()
        rows.append(("GDFS", budget, *(f"{means[k]:.1f}" for k in known)))
        rows.append(("GDFS, published code", budget, *(f"{a:.1f}" for a in known.values())))
    header = ("policy", "budget", *(f"{k} features" for k in REFERENCE["each row"]))
    report("neural_policies", header, rows)


if __name__ == "__main__":
    main()
