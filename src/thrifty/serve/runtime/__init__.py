"""Serving: one case is walked, what it asks for is bought, and it is answered.

`Runtime` (runtime.py) serves a `Case` (case.py) from several sources and returns a `CaseReceipt`
(receipt.py); `Pacing` (pacing.py) chooses the operating point of each. `answer` (one_source.py) is
the small version: one source, one row, no ledger.
"""

from __future__ import annotations

from thrifty.serve.runtime.case import Case
from thrifty.serve.runtime.one_source import answer
from thrifty.serve.runtime.pacing import Pacing
from thrifty.serve.runtime.receipt import CaseReceipt, Charge
from thrifty.serve.runtime.runtime import Runtime

__all__ = ["Case", "CaseReceipt", "Charge", "Pacing", "Runtime", "answer"]
