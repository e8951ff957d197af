"""The ledger: what was bought for which case, written before it is bought.

`Ledger` (ledger.py) is the face. records.py has what it holds, rules.py who may buy what, writer.py
the thread that commits many writes at once; sqlite.py and postgres.py are the two databases.
"""

from __future__ import annotations

from thrifty.serve.ledger.ledger import Ledger

__all__ = ["Ledger"]
