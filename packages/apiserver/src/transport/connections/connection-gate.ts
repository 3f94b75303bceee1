// Which connections to close when there are too many: those without a valid credential first, then those of the users with the most connections, then
// the oldest.

import type { Http2SecureServer } from "node:http2";
import type { Socket } from "node:net";
import { sourceOf } from "../../limits/rate-limiter.ts";
import { type Faults, guarded } from "../../logging/faults.ts";
import type { Clock, Scheduler } from "../../runtime/clock.ts";
import { readProxyHeader } from "../addresses/proxy-protocol.ts";
import { isTrustedProxy, type TrustedProxies } from "../addresses/trusted-proxies.ts";
import { takeHandshakes } from "../node-internals.ts";
import { createHandshakeQueue } from "../tls/handshake-queue.ts";
import type { TransportLimits } from "../transport-limits.ts";

/** Why a connection was ended: another one needed its place, it was silent for too long, or it sent more requests or frames than it may. */
export type DropReason = "handshake" | "stranger" | "known" | "silent" | "flood";

/** The reason that a client receives for the end of its connection. */
export const DROP_MESSAGES: Readonly<Record<DropReason, string>> = {
  handshake: "",
  stranger: "too many connections without a valid credential",
  known: "too many connections of the same user",
  flood: "too many requests or frames on one connection",
  silent: "no request with a valid credential",
};

/** A connection behind its handshake. */
export type Guest = {
  /** The address of the other end of the connection, which may be a load balancer. */
  readonly remoteAddress: string;
  readonly remotePort: number;
  /** The address of the client, as `addressOf` returns it. */
  readonly address: string;
  /** Whether a request is under way on it. */
  isBusy(): boolean;
  /** How long the chain of certificates is that the client presented. */
  certificateBytes(): number;
  end(reason: DropReason): void;
};

export type ConnectionGate = {
  /** Address of the client: the one that a trusted load balancer has named, or the other end. */
  addressOf(peer: Peer): string;
  /** The handshake is done. */
  enter(guest: Guest): void;
  /** A request on it had a valid credential, of this user. */
  know(guest: Guest, user: string): void;
  leave(guest: Guest): void;
  /** Drops every connection whose handshake is not done. */
  close(): void;
};

export type ConnectionGateOptions = {
  readonly limits: Pick<
    TransportLimits,
    "maxHandshakes" | "maxStrangers" | "maxConnections" | "sourceShare" | "strangerTimeoutMs" | "handshakeTimeoutMs"
  >;
  /** The part of the limits that holds here; it may change. Default: all. */
  readonly share?: (() => number) | undefined;
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  readonly faults: Faults;
  readonly trustedProxies?: TrustedProxies | undefined;
  readonly onDrop?: ((reason: DropReason) => void) | undefined;
};

/** Must be called before the first connection. */
export function installConnectionGate(
  server: Http2SecureServer,
  {
    limits,
    share = () => 1,
    clock,
    scheduler,
    faults,
    trustedProxies,
    onDrop = () => undefined,
  }: ConnectionGateOptions,
): ConnectionGate {
  const { maxHandshakes, maxStrangers, maxConnections, sourceShare, strangerTimeoutMs } = limits;
  const partOf = (max: number) => () => Math.ceil(max * share());
  const handshakes = new Room<Socket>(partOf(maxHandshakes), sourceShare, () => false);
  const unauthenticated = new Room<Guest>(partOf(maxStrangers), sourceShare, (guest) => guest.isBusy());
  const known = new Room<Guest>(partOf(maxConnections), sourceShare, (guest) => guest.isBusy());
  const timers = new Map<Guest, Disposable>();
  // TLS hands out another socket than came in: what both know is the other end.
  const byPeer = new Map<string, Socket>();
  /** Clients that a load balancer has named, by the other end of the connection. */
  const clients = new Map<string, string>();

  const endSilent = (guest: Guest): void => {
    if (guest.isBusy()) {
      watchSilence(guest);
      return;
    }
    onDrop("silent");
    guest.end("silent");
  };
  const watchSilence = (guest: Guest): void => {
    timers.set(
      guest,
      scheduler.schedule(strangerTimeoutMs, () => endSilent(guest)),
    );
  };
  const forgetUnauthenticated = (guest: Guest): void => {
    timers.get(guest)?.[Symbol.dispose]();
    timers.delete(guest);
    unauthenticated.delete(guest);
  };
  const drop = (guests: readonly Guest[], reason: DropReason): void => {
    for (const guest of guests) {
      forgetUnauthenticated(guest);
      known.delete(guest);
      onDrop(reason);
      guest.end(reason);
    }
  };

  const queue = createHandshakeQueue({
    clock,
    scheduler,
    start: takeHandshakes(server),
    drop: (socket) => dropHandshake(socket),
  });
  const dropHandshake = (socket: Socket): void => {
    handshakes.delete(socket);
    onDrop("handshake");
    socket.destroy();
  };
  const ignore = (): void => undefined;

  const onConnection = (socket: Socket): void => {
    const peer = peerOf(socket);
    byPeer.set(peer, socket);
    // TLS listens for errors only once it has the connection.
    socket.on("error", ignore);
    const onClose = (): void => {
      handshakes.delete(socket);
      queue.leave(socket);
      if (byPeer.get(peer) !== socket) return;
      byPeer.delete(peer);
      clients.delete(peer);
    };
    socket.once("close", guarded(faults, "transport", onClose));
    if (trustedProxies?.sendProxyProtocol !== true || !isTrustedProxy(trustedProxies, socket.remoteAddress ?? "")) {
      admit(socket);
      return;
    }
    readProxyHeader(socket, { scheduler, faults, timeoutMs: limits.handshakeTimeoutMs }, ({ client }) => {
      if (client !== undefined) clients.set(peer, client);
      admit(socket);
    });
  };
  const admit = (socket: Socket): void => {
    const source = sourceOf(addressOf(socket));
    const victims = handshakes.add(socket, source);
    queue.arrive(socket, source);
    for (const victim of victims) dropHandshake(victim);
  };
  const addressOf = (peer: Peer): string => clients.get(peerOf(peer)) ?? peer.remoteAddress ?? "";
  const destroy = (socket: Socket): void => void socket.destroy();
  server.on("connection", guarded(faults, "transport", onConnection, destroy));
  return {
    addressOf,
    enter(guest) {
      const socket = byPeer.get(peerOf(guest));
      if (socket !== undefined) {
        handshakes.delete(socket);
        queue.done(socket, () => guest.certificateBytes());
      }
      watchSilence(guest);
      drop(unauthenticated.add(guest, sourceOf(guest.address)), "stranger");
    },
    know(guest, user) {
      if (!unauthenticated.has(guest)) return;
      queue.prove(sourceOf(guest.address));
      forgetUnauthenticated(guest);
      drop(known.add(guest, user), "known");
    },
    leave(guest) {
      forgetUnauthenticated(guest);
      known.delete(guest);
    },
    close() {
      for (const socket of handshakes.all()) socket.destroy();
    },
  };
}

/**
 * An owner stands out with more than this part of all. An attacker with many addresses has as few members at each as any other client, and fewer than a
 * network behind one address: then age alone decides, since a client that goes on is through its handshake before it is the oldest.
 */
const OUTSTANDING = 1 / 32;

/** At a limit that has become lower, each newcomer takes the places of two. */
const MOST_EVICTED = 2;

/** Members by their owner, the oldest first. It is within its limits again once the members that `add` names have left. */
class Room<Member> {
  readonly #max: () => number;
  readonly #share: number;
  readonly #isBusy: (member: Member) => boolean;
  readonly #owners = new Map<Member, string>();
  readonly #members = new Map<string, Set<Member>>();

  constructor(max: () => number, share: number, isBusy: (member: Member) => boolean) {
    this.#max = max;
    this.#share = share;
    this.#isBusy = isBusy;
  }

  /** Returns the members to evict. */
  add(member: Member, owner: string): readonly Member[] {
    this.#owners.set(member, owner);
    const own = this.#members.get(owner) ?? new Set();
    this.#members.set(owner, own.add(member));
    const evicted: Member[] = [];
    while (evicted.length < MOST_EVICTED) {
      const victim = this.#victim(own);
      if (victim === undefined) break;
      this.delete(victim);
      evicted.push(victim);
    }
    return evicted;
  }

  /** The longest idle of the same owner, of the largest owner, or of all where no owner has many. */
  #victim(own: ReadonlySet<Member>): Member | undefined {
    const max = this.#max();
    if (own.size > Math.max(1, Math.ceil(max * this.#share))) return this.#firstIdle(own);
    if (this.#owners.size <= max) return undefined;
    const largest = this.#largest(own);
    return this.#firstIdle(largest.size > max * OUTSTANDING ? largest : this.#owners.keys());
  }

  has(member: Member): boolean {
    return this.#owners.has(member);
  }

  delete(member: Member): void {
    const owner = this.#owners.get(member);
    if (owner === undefined) return;
    this.#owners.delete(member);
    const own = this.#members.get(owner);
    own?.delete(member);
    if (own?.size === 0) this.#members.delete(owner);
  }

  all(): readonly Member[] {
    return [...this.#owners.keys()];
  }

  #largest(first: ReadonlySet<Member>): ReadonlySet<Member> {
    let largest = first;
    for (const members of this.#members.values()) if (members.size > largest.size) largest = members;
    return largest;
  }

  #firstIdle(members: Iterable<Member>): Member | undefined {
    let oldest: Member | undefined;
    for (const member of members) {
      if (!this.#isBusy(member)) return member;
      oldest ??= member;
    }
    return oldest;
  }
}

type Peer = { readonly remoteAddress?: string | undefined; readonly remotePort?: number | undefined };

/** The other end of a connection, the same for its socket and for TLS on it. */
export const peerOf = ({ remoteAddress = "", remotePort = 0 }: Peer): string => `${remoteAddress} ${remotePort}`;
