"""Nan 2018, table 4.1 and figs. 4.3-4.6: BudgetPrune beside other ways to prune a forest."""

from __future__ import annotations

from itertools import product

import numpy as np
from _pruning import CASES, PRUNERS, SIZES, miser, pruned
from _result import Result, compare, mean_and_error, percent, quality_within

ABOUT = """
BudgetPrune takes a random forest and finds the pruning with the least error plus penalty times
the mean bill, for all penalties at once. It is compared with cost-complexity pruning (CCP) of
each tree, GreedyPrune, which gives up one feature after another, early stopping at nearly pure
nodes, and GreedyMiser. The forests are the same for all that prune.

Covertype (its largest class against the rest) has the training rows of the thesis. The other data
are stand-ins: MAGIC, events of a telescope, for MiniBooNE; MSLR with prices by the family of a
feature for Yahoo, where the thesis weighs entropy by cost and this forest does not; the six
descriptors of Multiple Features for Scene-15 with its 184. Quality is accuracy, for MSLR AP@5;
within a share of the full price, the point with the best validation quality counts.
"""
SEEDS = (0, 1, 2)
SHARES = (0.05, 0.1, 0.18, 0.25, 0.35, 0.5, 0.7, 1.0)
MAIN = tuple(CASES)[:4]
MARGIN = 0.005  # smaller differences of the quality are level
WHY_BEHIND = {
    "magic": "A tenth of Magic's price is one feature.",
    "mslr_sample": "On MSLR, three splits leave standard errors of about 0.03.",
    "mfeat": "On mfeat, a tree that loses one of six descriptors loses most of its splits: "
    "prunings between the cheapest one and a third of the price are best at no penalty.",
}
WHY_LITTLE_SAVED = {
    "covertype": "The whole forest reads less than half of the features, 84 % there.",
    "magic (stand-in)": "There are 10 features instead of 50.",
}
FEW_TRIED = "With 20 of 649 features tried, every tree mixes all descriptors from the root on."


def main() -> None:
    result = Result(
        "nan2018_budgetprune",
        "BudgetPrune: forests cut to a budget",
        "Nan 2018, table 4.1, figs. 4.3-4.6",
        ABOUT,
    )
    runs = {case: some for (case,), some in result.runs(pruned, SEEDS, case=list(CASES)).items()}
    found = {
        (case, method): quality_within([run["points"][method] for run in some], SHARES)
        for case, some in runs.items()
        for method in PRUNERS
    }
    for (case,), some in result.runs(miser, SEEDS, case=MAIN).items():
        found[case, "GreedyMiser"] = quality_within(some, SHARES)
    table_4_1(result, runs)
    figure_4_3(result, found, runs)
    skewed_prices(result, found)
    entropy_or_pairs(result, found, runs)
    subset_size(result, found)
    result.settings(
        seeds=SEEDS,
        rows_of_covertype=SIZES["covertype"],
        rows_of_magic=SIZES["magic"],
        rows_of_mfeat="1000, 300, 700",
        queries_of_MSLR="50, 20 and 30 %",
        forests="40 full trees, all features tried at a split; mfeat 100 trees",
        GreedyMiser="150 trees of depth 4",
    )
    result.write()


def table_4_1(result, runs) -> None:
    """Add table 4.1: how often one feature is read, before and after."""
    result.text(
        """
        What pruning saves (table 4.1)
        ------------------------------

        Shares of the rows that read one feature never, 1 to 7 times and more often, in 40 trees;
        the feature is the one that most rows no longer read. "Pruned" is the cheapest pruning
        that loses at most 0.1 points on the validation rows. Means over the splits.
        """
    )
    rows = [
        ("MiniBooNE, published", "unpruned", "7.3 %", "91.7 %", "1.0 %", "84 %", "6.6 %"),
        ("MiniBooNE, published", "pruned", "68.3 %", "31.5 %", "0.2 %", "49 %", "6.7 %"),
    ]  # fmt: skip
    for case in WHY_LITTLE_SAVED:
        some = np.array([run["usage"] for run in runs[case]])
        for name, means in zip(("unpruned", "pruned"), some.mean(axis=0), strict=True):
            shares = [f"{100 * share:.1f} %" for share in means[:3]]
            rows.append(
                (case, name, *shares, f"{100 * means[3]:.0f} %", f"{100 - 100 * means[4]:.1f} %")
            )
        saved, error = mean_and_error(1 - some[:, 1, 3] / some[:, 0, 3])
        lost = float(np.mean(some[:, 0, 4] - some[:, 1, 4]))
        result.claim(
            f"Pruning saves much of the bill at about the same error ({case})",
            "42 % of the bill, 0.1 points more error (MiniBooNE)",
            f"{100 * saved:.0f} ± {100 * error:.0f} % of the bill, {100 * lost:+.1f} points",
            saved >= 0.42 - error and lost <= 0.002,
            WHY_LITTLE_SAVED[case],
        )
    header = ("data set", "forest", "never", "1 to 7", "more", "bill, share of the price", "error")
    result.table("usage", header, rows)


def figure_4_3(result, found, runs) -> None:
    """Add fig. 4.3: BudgetPrune beside the other methods, and the jumps of its bill."""
    result.text(
        """
        Beside other methods (fig. 4.3)
        -------------------------------

        "Behind" is by more than the standard error of the paired difference, and by more than
        0.005. Where nothing is pruned, BudgetPrune still lacks splits that save no training error.
        """
    )
    methods = (*PRUNERS, "GreedyMiser")
    shown = {(case, method): found[case, method] for case in MAIN for method in methods}
    alt = (
        "Quality by budget on four sets: BudgetPrune, CCP, GreedyPrune, early stopping, GreedyMiser"
    )
    result.curves("curves", shown, SHARES, alt)
    for rival, cases in product(methods[1:], (MAIN[:1], MAIN[1:])):
        leads, behind = [], {}
        for case in cases:
            lead, shares = compare(found[case, "BudgetPrune"], found[case, rival], SHARES)
            leads.append(f"{lead.mean():+.3f}")
            shares = [s for s in shares if lead[SHARES.index(s)] < -MARGIN]
            if shares:
                behind[case.split()[0]] = percent(shares)
        where = "covertype" if case == MAIN[0] else "stand-ins: magic, MSLR, mfeat"
        result.claim(
            f"BudgetPrune is ahead of {rival} ({where})",
            "level on Scene-15, ahead elsewhere" if rival == "GreedyPrune" else "ahead",
            f"mean lead {', '.join(leads)}; behind on "
            + ("; ".join(f"{case} at {shares}" for case, shares in behind.items()) or "none"),
            not behind,
            " ".join(WHY_BEHIND[case] for case in behind),
        )
    jumps = {
        method: mean_and_error([run["jumps"][method] for run in runs["covertype"]])
        for method in PRUNERS
    }
    largest = max(run["jumps"]["BudgetPrune"] for run in runs["covertype"])
    result.text(
        """
        The largest jump of the bill between neighboring points on Covertype, as a share of the
        full price. What failed first, on one draw: prunings by training errors alone left a jump
        of 15 %, those by out-of-bag errors beside them one of 11 %. Mixed errors left the same
        jump, and trees that change one by one only points no better than the one below it. Rows
        weighted by how close their vote is left 9 %. Now the pruning above the jump gives up its
        features one by one, which leaves 2 % on that draw.
        """
    )
    rows = [(method, f"{mean:.3f} ± {error:.3f}") for method, (mean, error) in jumps.items()]
    result.table("jumps", ("method", "largest jump"), rows)
    result.claim(
        "The path of BudgetPrune leaves no large gap of the bill (covertype)",
        "not reported; aim 10 % of the price",
        f"largest jump {100 * jumps['BudgetPrune'][0]:.1f} %, at most {100 * largest:.1f} %",
        largest <= 0.1,
    )
    ours, theirs = (found[MAIN[2], method] for method in ("BudgetPrune", "GreedyMiser"))
    error = mean_and_error(theirs[:, -1] - ours[:, -1])[1]
    enough = theirs.mean(axis=0).max() - error
    needed = [
        next((s for s, q in zip(SHARES, quality.mean(axis=0), strict=True) if q >= enough), np.inf)
        for quality in (ours, theirs)
    ]
    result.claim(
        "BudgetPrune needs 30 % of the cost of GreedyMiser for its precision (MSLR, stand-in)",
        "similar AP@5 at 30 % of the cost (Yahoo)",
        f"AP@5 of {enough:.3f}, one error below the best of GreedyMiser, takes "
        f"{100 * needed[0]:.0f} % of the price, GreedyMiser {100 * needed[1]:.0f} %",
        needed[0] <= 0.35 * needed[1],
        "The trees of this forest were grown without prices, those of the thesis with them.",
    )
    scenes = found[MAIN[3], "BudgetPrune"]
    gap, gap_error = mean_and_error(scenes[:, -1] - scenes[:, SHARES.index(0.25)])
    result.claim(
        "A quarter of the cost gives the accuracy of all of it (mfeat, stand-in)",
        "same accuracy at a cost of 9 as at 32 (Scene-15)",
        f"within 25 % of the price {100 * -gap:+.1f} ± {100 * gap_error:.1f} points",
        gap <= gap_error,
        WHY_BEHIND["mfeat"],
    )


def skewed_prices(result, found) -> None:
    """Add fig. 4.4: prices by the weights of a linear SVM."""
    result.text(
        """
        Skewed prices (fig. 4.4)
        ------------------------

        Features that matter to a linear SVM cost up to 40 times as much as the others.
        """
    )
    cases = ("magic (stand-in)", "magic, skewed prices")
    shown = {
        (case, method): found[case, method] for case in cases for method in ("BudgetPrune", "CCP")
    }
    result.curves("skewed", shown, SHARES, "Accuracy by budget with equal and with skewed prices")
    losses = {
        method: float((found[cases[0], method] - found[cases[1], method]).mean())
        for method in ("BudgetPrune", "CCP")
    }
    lead, behind = compare(found[cases[1], "BudgetPrune"], found[cases[1], "CCP"], SHARES)
    result.claim(
        "Skewed prices hurt BudgetPrune less than CCP (magic, stand-in)",
        "similar as with equal prices, CCP drops (MiniBooNE)",
        f"mean loss {losses['BudgetPrune']:+.3f}, CCP {losses['CCP']:+.3f}; lead over CCP "
        f"{lead.mean():+.3f}, behind at {percent(behind)}",
        losses["BudgetPrune"] < losses["CCP"] and not behind,
        "Every tree first reads a feature that costs a quarter of the price.",
    )


def entropy_or_pairs(result, found, runs) -> None:
    """Add fig. 4.5: forests grown by entropy and by Pairs."""
    result.text(
        """
        Entropy or Pairs (fig. 4.5)
        ---------------------------

        The forests of BudgetRF (Pairs) have no out-of-bag rows that BudgetPrune knows of, so
        their path has the points of the training errors alone.
        """
    )
    pairs = {"covertype": "covertype, Pairs", "magic (stand-in)": "magic, Pairs"}
    shown = {
        (case, f"{method}, {name}"): found[key, method]
        for case, other in pairs.items()
        for method in ("BudgetPrune", "CCP")
        for name, key in (("entropy", case), ("Pairs", other))
    }
    result.curves("splits", shown, SHARES, "Accuracy by budget for forests by entropy and by Pairs")
    for case, other in pairs.items():
        bills, qualities = (
            [np.mean([run["usage"][0][i] for run in runs[key]]) for key in (case, other)]
            for i in (3, 4)
        )
        result.claim(
            f"Entropy gives the more accurate forest, Pairs the cheaper one ({case})",
            "higher accuracy; lower cost",
            f"accuracy {qualities[0]:.3f} against {qualities[1]:.3f}, bill {100 * bills[0]:.0f} % "
            f"against {100 * bills[1]:.0f} %",
            qualities[0] > qualities[1] and bills[0] > bills[1],
            "Both forests read all of the 10 features." if bills[0] <= bills[1] else "",
        )


def subset_size(result, found) -> None:
    """Add fig. 4.6: features tried at a split."""
    result.text("Features tried at a split (fig. 4.6)\n------------------------------------")
    titles = {"mfeat (stand-in)": "mfeat, k = 20", "mfeat, k = 120": "mfeat, k = 120"}
    shown = {
        (title, method): found[case, method] for case, title in titles.items() for method in PRUNERS
    }
    result.curves("subsets", shown, SHARES, "Accuracy by budget for 20 and 120 features at a split")
    few, many = (found[case, "BudgetPrune"] for case in titles)
    gap, error = mean_and_error((few - many).mean(axis=1))
    result.claim(
        "BudgetPrune is better with 20 features at a split than with 120 (mfeat, stand-in)",
        "slightly better accuracy (Scene-15)",
        f"mean lead {gap:+.3f} ± {error:.3f}",
        gap > -error,
        FEW_TRIED,
    )
    drops = {
        method: float((found["mfeat (stand-in)", method] - found["mfeat, k = 120", method]).mean())
        for method in ("BudgetPrune", "GreedyPrune")
    }
    result.claim(
        "GreedyPrune is not robust: it drops with 120 features at a split (mfeat, stand-in)",
        "drops significantly (Scene-15)",
        f"drop {drops['GreedyPrune']:+.3f}, BudgetPrune {drops['BudgetPrune']:+.3f}",
        drops["GreedyPrune"] > max(drops["BudgetPrune"], 0.01),
        FEW_TRIED,
    )


if __name__ == "__main__":
    main()
