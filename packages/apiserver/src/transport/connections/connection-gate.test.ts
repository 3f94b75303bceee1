import { EventEmitter } from "node:events";
import type { Http2SecureServer } from "node:http2";
import { describe, expect, it } from "vitest";
import { createFaults } from "../../logging/faults.ts";
import { silentLogger } from "../../logging/logger.ts";
import { type Guest, installConnectionGate } from "./connection-gate.ts";

const LIMITS = {
  maxHandshakes: 512,
  maxStrangers: 512,
  maxConnections: 512,
  sourceShare: 0.25,
  strangerTimeoutMs: 1_000,
  handshakeTimeoutMs: 10_000,
};

class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly bytesRead = 0;
  isDropped = false;
  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }
  pause(): void {}
  destroy(): void {
    this.isDropped = true;
    this.emit("close");
  }
}

function startGate(share?: () => number) {
  const server = new EventEmitter();
  const scheduler = { schedule: () => ({ [Symbol.dispose]: () => undefined }) };
  const faults = createFaults({ logger: silentLogger });
  // The gate listens for connections, and asks nothing else of the server.
  const gate = installConnectionGate(server as Http2SecureServer, {
    limits: LIMITS,
    share,
    clock: { elapsed: () => 0 },
    scheduler,
    faults,
  });
  let ports = 0;
  const dropped = new Set<Guest>();
  return {
    gate,
    dropped,
    connect(address: string): FakeSocket {
      const socket = new FakeSocket(address, ++ports);
      server.emit("connection", socket);
      return socket;
    },
    guest(remoteAddress: string, isBusy = false): Guest {
      const guest = {
        remoteAddress,
        remotePort: ++ports,
        address: remoteAddress,
        isBusy: () => isBusy,
        certificateBytes: () => 0,
        end: () => void dropped.add(guest),
      };
      gate.enter(guest);
      return guest;
    },
  };
}

/** One of 60,000. */
const attacker = (number: number): string => `2001:db8:${(number % 60_000).toString(16)}::1`;

describe("handshakes beyond the limit", () => {
  it("are closed at the address with the most, however old those of other addresses are", () => {
    const { connect } = startGate();
    const good = connect("192.0.2.1");
    for (let each = 0; each < 5_000; each++) connect(`198.51.100.${each % 5}`);
    expect(good.isDropped).toBe(false);
  });

  it("give way by their age where every address has few, so that a network behind one address gets in", () => {
    const { connect } = startGate();
    for (let each = 0; each < 5_000; each++) connect(attacker(each));
    const good = Array.from({ length: 8 }, () => connect("192.0.2.1"));
    for (let each = 0; each < 500; each++) connect(attacker(5_000 + each));
    expect(good.map(({ isDropped }) => isDropped)).toEqual(good.map(() => false));
    for (let each = 0; each < 20; each++) connect(attacker(6_000 + each));
    expect(good.some(({ isDropped }) => isDropped)).toBe(true);
  });
});

it("drops the oldest idle connection without a credential where each has another address, never the one that came last", () => {
  const { guest, gate, dropped } = startGate();
  const strangers = Array.from({ length: LIMITS.maxStrangers }, (_, each) => guest(attacker(each), each === 0));
  const good = guest("192.0.2.1");
  expect([...dropped]).toEqual([strangers[1]]);
  gate.know(good, "jane");
  guest(attacker(9_999));
  expect([...dropped]).toEqual([strangers[1]]);
});

it("at a limit that has become lower, each newcomer takes the places of two, until the limit holds", () => {
  let share = 1;
  const { guest, dropped } = startGate(() => share);
  for (let each = 0; each < LIMITS.maxStrangers; each++) guest(attacker(each));
  expect(dropped.size).toBe(0);
  share = 0.75;
  guest(attacker(1_000));
  expect(dropped.size).toBe(2);
  for (let each = 0; each < 200; each++) guest(attacker(1_001 + each));
  expect(LIMITS.maxStrangers + 201 - dropped.size).toBe(0.75 * LIMITS.maxStrangers);
});
