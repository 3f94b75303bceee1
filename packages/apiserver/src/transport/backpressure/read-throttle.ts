// The order in which connections of HTTP/2 with much to read are read. All that came in a packet is taken before anything else is done, so that
// many busy connections would be read in one turn of the event loop while all other requests wait. Connections of one user, and those of
// all unauthenticated clients together, may open so many streams in a turn, and have so many that wait to start. Above that none of them is read; later
// one is, and twice as many in each turn that stays below the limit.

import type { TLSSocket } from "node:tls";
import { readNoFurther, readOn } from "../node-internals.ts";

/** An open connection. Its end must be reported. */
export type ReadConnection = Disposable & {
  /** It has opened a stream. Returns how many it has opened in this turn. */
  opened(): number;
  /** A stream that it opened has started, or is not going to. */
  started(): void;
  /** A stream of it ended before its answer: all of a session end at once, and each costs about what opening it did. */
  lost(): void;
  /** It has sent SETTINGS, which may touch every open stream. Returns how many it has sent in this turn. */
  set(): number;
  /** Sets the user of the connection, once authenticated. */
  know(user: string): void;
  /** Nothing that comes is wanted any more. */
  stop(): void;
};

export type ReadThrottle = { join(socket: TLSSocket): ReadConnection };

/** Streams opened or lost. Some milliseconds of work: each costs a tenth of what its request will. */
const STREAMS_IN_A_TURN = 128;
/** Streams that wait to start. Those of the next packet would wait behind them, and be lost with its connection. */
const STREAMS_WAITING = 64;

/** Connections that are read together. */
type ConnectionGroup = {
  readonly sockets: Set<TLSSocket>;
  /** Those that are not read now, in the order in which they will be. */
  readonly held: Set<TLSSocket>;
  /** Streams that were opened, or ended before their answer, since the event loop last turned. */
  worked: number;
  /** Streams that were opened, and have not started. */
  waiting: number;
  /** Whether one of these has been above its limit since then: no more of the connections are to be read. */
  isOver: boolean;
  /** How many connections were read in the last turn. */
  released: number;
};

/** Activity of one connection since the event loop last turned. */
type Counts = { opened: number; set: number };
const NOTHING: Readonly<Counts> = { opened: 0, set: 0 };

export function createReadThrottle(): ReadThrottle {
  const groups = new Map<string, ConnectionGroup>();
  /** Those with anything to do at the end of the turn. */
  const busy = new Set<ConnectionGroup>();
  const counts = new Set<Counts>();

  const endTurn = (): void => {
    for (const each of counts) Object.assign(each, NOTHING);
    counts.clear();
    for (const group of busy) {
      group.released = group.isOver ? 1 : group.released * 2;
      group.worked = 0;
      group.isOver = group.waiting > STREAMS_WAITING;
      if (!group.isOver) {
        release(group);
        if (group.held.size === 0) busy.delete(group);
      }
      // A session reads on by itself when it has written.
      for (const socket of group.held) readNoFurther(socket);
    }
    if (busy.size > 0) setImmediate(endTurn);
  };
  const attend = (group: ConnectionGroup): void => {
    if (busy.size === 0) setImmediate(endTurn);
    busy.add(group);
  };
  const groupOf = (name: string): ConnectionGroup => {
    const known = groups.get(name);
    if (known !== undefined) return known;
    const group = {
      sockets: new Set<TLSSocket>(),
      held: new Set<TLSSocket>(),
      worked: 0,
      waiting: 0,
      isOver: false,
      released: 1,
    };
    groups.set(name, group);
    return group;
  };
  return {
    join(socket) {
      let name = "unauthenticated";
      let group = groupOf(name);
      group.sockets.add(socket);
      const own: Counts = { ...NOTHING };
      let waiting = 0;
      let isGone = false;
      const attendTo = (): void => {
        if (isGone) return;
        counts.add(own);
        attend(group);
      };
      const leave = (): void => {
        group.sockets.delete(socket);
        group.waiting -= waiting;
        if (group.held.delete(socket)) readOn(socket);
        if (group.sockets.size === 0 && groups.get(name) === group) groups.delete(name);
      };
      const count = (): void => {
        if (isGone) return;
        group.worked += 1;
        attendTo();
        if (group.isOver) hold(group, socket);
        else if (group.worked > STREAMS_IN_A_TURN || group.waiting > STREAMS_WAITING) holdAll(group);
      };
      const go = (): void => {
        leave();
        waiting = 0;
        isGone = true;
      };
      return {
        opened() {
          own.opened += 1;
          if (!isGone) {
            waiting += 1;
            group.waiting += 1;
          }
          count();
          return own.opened;
        },
        started() {
          if (waiting === 0) return;
          waiting -= 1;
          group.waiting -= 1;
        },
        lost: count,
        set() {
          own.set += 1;
          attendTo();
          return own.set;
        },
        know(user) {
          if (isGone) return;
          leave();
          name = `user ${user}`;
          group = groupOf(name);
          group.sockets.add(socket);
          group.waiting += waiting;
        },
        stop() {
          go();
          readNoFurther(socket);
        },
        [Symbol.dispose]: go,
      };
    },
  };
}

function holdAll(group: ConnectionGroup): void {
  group.isOver = true;
  for (const socket of group.sockets) hold(group, socket);
}

function hold({ held }: ConnectionGroup, socket: TLSSocket): void {
  if (held.has(socket)) return;
  held.add(socket);
  readNoFurther(socket);
}

function release({ held, released }: ConnectionGroup): void {
  let left = released;
  for (const socket of held) {
    if (left-- === 0) return;
    held.delete(socket);
    readOn(socket);
  }
}
