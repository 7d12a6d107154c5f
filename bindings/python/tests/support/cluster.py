# SPDX-License-Identifier: MIT
"""A cluster of the tests' own."""

import time

from .server import Server, _claim_port
from .wire import PATIENCE_S

_SLOTS = 16384
_PRIMARIES = 3


class Cluster:
    """Three primaries on loopback ports; with as many replicas, if `replicas`."""

    def __init__(self, replicas: bool = False) -> None:
        self._count = 2 * _PRIMARIES if replicas else _PRIMARIES
        self._buses = [_claim_port() for _ in range(self._count)]
        self.nodes = [
            Server(
                "--cluster-enabled", "yes", "--cluster-port", str(bus),
                "--cluster-config-file", "nodes.conf",
                "--cluster-announce-ip", "127.0.0.1", "--protected-mode", "no",
                "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
                "--cluster-node-timeout", "1000",  # the pace of their gossip
                # Nor does a replica follow a primary that was slow meanwhile.
                "--cluster-replica-no-failover", "yes",
            )
            for bus, _ in self._buses
        ]  # fmt: skip
        #: For redis-py, which asks this node for the others.
        self.seed_url = f"redis://127.0.0.1:{self.nodes[0].port}"
        self.url = f"redis+cluster://127.0.0.1:{self.nodes[0].port}"
        for number, node in enumerate(self.nodes):
            node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < _PRIMARIES:
                first = number * _SLOTS // _PRIMARIES
                last = (number + 1) * _SLOTS // _PRIMARIES - 1
                node.ask("CLUSTER", "ADDSLOTSRANGE", first, last)
        until = time.monotonic() + PATIENCE_S
        looks = 0
        while not all(map(self._is_whole, self.nodes)):
            assert time.monotonic() < until
            if looks % 200 == 0:  # a handshake that takes too long is given up
                self._introduce()
            looks += 1
            time.sleep(0.01)
        for primary, replica in zip(
            self.nodes[:_PRIMARIES], self.nodes[_PRIMARIES:], strict=False
        ):
            replica.ask("CLUSTER", "REPLICATE", primary.ask("CLUSTER", "MYID"))
        while replicas and not all(map(self._has_replicas, self.nodes)):
            assert time.monotonic() < until
            time.sleep(0.01)

        for node in self.nodes:  # nobody is taken for dead because it is slow
            node.ask("CONFIG", "SET", "cluster-node-timeout", 15000)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()
        for _, claim in self._buses:
            claim.close()

    @staticmethod
    def _has_replicas(node: Server) -> bool:
        """As the node sees it; and it is in step itself, if it is a replica."""
        slots = node.ask("CLUSTER", "SLOTS")
        replication = node.ask("INFO", "replication")
        return (
            len(slots) == _PRIMARIES
            and all(len(entry) == 4 for entry in slots)
            and b"master_link_status:down" not in replication
        )

    def _introduce(self) -> None:
        """Each node meets those that it does not know."""
        for node in self.nodes:
            known = self._known(node)
            for other, (bus, _) in zip(self.nodes, self._buses, strict=True):
                if bus not in known:
                    node.ask("CLUSTER", "MEET", "127.0.0.1", other.port, bus)

    @staticmethod
    def _known(node: Server) -> set[int]:
        """The bus ports of the nodes whose handshake is over, and its own."""
        lines = node.ask("CLUSTER", "NODES").decode().splitlines()
        addresses = [line.split()[1] for line in lines if "handshake" not in line]
        return {int(a.partition("@")[2].partition(",")[0]) for a in addresses}

    def _is_whole(self, node: Server) -> bool:
        is_ok = b"cluster_state:ok" in node.ask("CLUSTER", "INFO")
        return is_ok and len(self._known(node)) == self._count

    def move(self, key: str) -> int:
        """The slot of the key, and the key if it is there, go to the next node, whose
        port is returned."""
        slot = self.nodes[0].ask("CLUSTER", "KEYSLOT", key)
        ids = [node.ask("CLUSTER", "MYID") for node in self.nodes]
        owner = ids.index(self._owner_and_epoch(self.nodes[0], slot)[0])
        target = (owner + 1) % _PRIMARIES
        source, sink = self.nodes[owner], self.nodes[target]
        sink.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[owner])
        source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[target])
        source.ask("MIGRATE", "127.0.0.1", sink.port, key, 0, 5000)
        for node in (sink, source):
            node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[target])
        # A node that still takes the source for the owner could make the sink give the
        # slot up, and lose the key, once the source has the next epoch.
        until = time.monotonic() + PATIENCE_S
        while len({self._owner_and_epoch(node, slot) for node in self.nodes}) > 1:
            assert time.monotonic() < until
            time.sleep(0.002)
        return sink.port

    @staticmethod
    def _owner_and_epoch(node: Server, slot: int) -> tuple[bytes, bytes]:
        epoch = node.ask("CLUSTER", "INFO").partition(b"cluster_current_epoch:")[2]
        owner = next(
            entry[2][2]
            for entry in node.ask("CLUSTER", "SLOTS")
            if entry[0] <= slot <= entry[1]
        )
        return owner, epoch.split()[0]
