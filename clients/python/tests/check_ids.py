#!/usr/bin/env python3
"""What minters of minter.py have left: check_ids.py LAYOUT PREFIX...

Says how many ids there are, in how many leases.  Fails if an id is there twice, if a minter's ids do
not ascend in time, or if one is outside of all leases that its minter had.
"""

import os
import sys
from array import array
from collections import defaultdict

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "src"))

from flakeid import Layout  # noqa: E402


def leases_of(prefix):
    """For each shard the times that were leased."""
    leases = defaultdict(list)
    with open(prefix + ".log", encoding="utf-8") as log:
        for line in log:
            word, *rest = line.split()
            if word == "leased":
                shard = int(rest[0])
                leases[shard].append([int(rest[1]), int(rest[2])])
            elif word == "renewed":
                leases[shard][-1][1] = int(rest[0])
    return leases


def main():
    layout = Layout.parse(sys.argv[1])
    seen = set()
    count = leased = 0
    for prefix in sys.argv[2:]:
        leases = leases_of(prefix)
        leased += sum(map(len, leases.values()))
        ids = array("q")
        with open(prefix + ".ids", "rb") as file:
            ids.frombytes(file.read())
        last = None
        for id in ids:
            time, shard, sequence = layout.decode(id)
            if not any(start <= time < end for start, end in leases[shard]):
                sys.exit(f"{prefix}: {id} is outside of its leases: shard {shard}, {time}")
            if last is not None and (time, sequence) <= last:
                sys.exit(f"{prefix}: {id} is not above the one before")
            last = (time, sequence)
        count += len(ids)
        seen.update(ids)
    if len(seen) < count:
        sys.exit(f"{count - len(seen)} ids of {count} are there twice")
    print(f"{count} ids in {leased} leases")


if __name__ == "__main__":
    main()
