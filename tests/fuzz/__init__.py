"""A fuzzer for everything that Thrifty reads from files and services of unknown origin.

``python3 dev.py fuzz`` runs it. What is where:

- `values`: hostile numbers, text and JSON.
- `edits`: edits of a document, a tree of plain values and arrays, and how they are proposed.
- `zips`, `documents`: a file as a document and back; digests and seals are computed again.
- `laws`: what must hold for whatever was read: walk and batch agree, no bill exceeds its bound.
- `targets`: what is fuzzed: a kind of file, its seeds, and how it is read and used.
- `services`, `ledgers`: what a server reads: sources, replies, requests, ledgers.
- `lines`: the lines of Thrifty that a case reaches. `limits`: processor time and memory of a case.
- `search`: the loop. Documents that reach new lines are edited further; escapes are minimized.
- `__main__`: the command line.

The seeds are the files of ``tests/corpus``. An escape is an exception other than `ThriftyError`, a
law that does not hold, more than 2 seconds of processor time, a minute of waiting, or more than
300 MB. It is written to ``build/fuzz``, as small as its edits can be made. One seed of the random
numbers gives the same cases every time.
"""
