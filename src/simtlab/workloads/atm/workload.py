"""ATM, transfers between bank accounts: every thread locks the two accounts of its transfer and moves the amount.

Suite: spin locks, a program like one of ElTantawy and Aamodt's (HPCA 2018); BOOK 5.1.4. Irregular.
A transfer takes two locks, the lower account's first; if the second is taken, it gives the first one back and tries again. Balances
lie anywhere, two accounts a lane. The fewer accounts, the more of the time is spent spinning. All sizes are
ours. In a timed run of `small` on 15 cores most instructions are of tries that fail, which a functional run has few of.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "ATM"
SUITE = "spin locks"
CATEGORY = "irregular"
SIZES = {
    "tiny": {"transfers": 512, "accounts": 128, "ctas": 2},
    "small": {"transfers": 92_160, "accounts": 1250, "ctas": 360},
    "paper": {"transfers": 122_880, "accounts": 1000, "ctas": 480},
}
THREADS = 256


def inputs(*, transfers: int, accounts: int, ctas: int, seed: int = 0) -> dict[str, Any]:
    """Transfers between two different accounts, at random; balances may go below zero."""
    require(accounts >= 2 and transfers > 0 and ctas > 0, "ATM: there must be 2 accounts, 1 transfer and 1 CTA at least")
    random = np.random.default_rng(seed)
    payers = random.integers(0, accounts, transfers, dtype=np.int32)
    payees = ((payers + random.integers(1, accounts, transfers)) % accounts).astype(np.int32)
    amounts = random.integers(1, 1000, transfers, dtype=np.int32)
    return {"from": payers, "to": payees, "amounts": amounts, "balances": np.full(accounts, 10_000, np.int32), "ctas": ctas}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    payers, payees, amounts, balances = (launcher.array(data[name], label=name) for name in ("from", "to", "amounts", "balances"))
    locks = launcher.zeros(len(data["balances"]), "i4", label="locks")
    arguments = [payers, payees, amounts, locks, balances, np.int32(len(data["amounts"]))]
    launcher.launch("transfer", data["ctas"], THREADS, arguments)
    return {"balances": balances.numpy(), "locks": locks.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    balances = data["balances"].copy()
    np.add.at(balances, data["to"], data["amounts"])
    np.subtract.at(balances, data["from"], data["amounts"])
    return {"balances": balances, "locks": np.zeros_like(balances)}
