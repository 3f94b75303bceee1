// In which order connections of HTTP/2 are read that bring much at once. All that came in a packet is taken before anything else is done, so that
// many busy connections would be read in one turn of the event loop while everybody else waits. Connections of one user, and those of
// all strangers together, may open so many streams in a turn, and have so many that wait to start. Above that none of them is read; later
// one is, and twice as many in each turn that stays below the limit.

import type { TLSSocket } from "node:tls";
import { readNoFurther, readOn } from "./node-internals.ts";

/** An open connection. Closing it must be told. */
export type ReadConnection = Disposable & {
  /** It has opened a stream. Returns how many it has opened in this turn. */
  opened(): number;
  /** A stream that it opened has started, or is not going to. */
  started(): void;
  /** A stream of it ended before its answer: all of a session end at once, and each costs about what opening it did. */
  lost(): void;
  /** It has sent SETTINGS, which may touch every open stream. Returns how many it has sent in this turn. */
  set(): number;
  /** Whose it turned out to be. */
  know(user: string): void;
  /** Nothing that comes is wanted any more. */
  stop(): void;
};

export type ReadTurns = { join(socket: TLSSocket): ReadConnection };

/** Streams opened or lost. Some milliseconds of work: each costs a tenth of what its request will. */
const STREAMS_IN_A_TURN = 128;
/** Streams that wait to start. Those of the next packet would wait behind them, and be lost with its connection. */
const STREAMS_WAITING = 64;

/** Those who are read together. */
type Crowd = {
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

/** What one connection did since the event loop last turned. */
type Counts = { opened: number; set: number };
const NOTHING: Readonly<Counts> = { opened: 0, set: 0 };

export function createReadTurns(): ReadTurns {
  const crowds = new Map<string, Crowd>();
  /** Those with anything to do at the end of the turn. */
  const busy = new Set<Crowd>();
  const counts = new Set<Counts>();

  const endTurn = (): void => {
    for (const each of counts) Object.assign(each, NOTHING);
    counts.clear();
    for (const crowd of busy) {
      crowd.released = crowd.isOver ? 1 : crowd.released * 2;
      crowd.worked = 0;
      crowd.isOver = crowd.waiting > STREAMS_WAITING;
      if (!crowd.isOver) {
        release(crowd);
        if (crowd.held.size === 0) busy.delete(crowd);
      }
      // A session reads on by itself when it has written.
      for (const socket of crowd.held) readNoFurther(socket);
    }
    if (busy.size > 0) setImmediate(endTurn);
  };
  const attend = (crowd: Crowd): void => {
    if (busy.size === 0) setImmediate(endTurn);
    busy.add(crowd);
  };
  const crowdOf = (name: string): Crowd => {
    const known = crowds.get(name);
    if (known !== undefined) return known;
    const crowd = {
      sockets: new Set<TLSSocket>(),
      held: new Set<TLSSocket>(),
      worked: 0,
      waiting: 0,
      isOver: false,
      released: 1,
    };
    crowds.set(name, crowd);
    return crowd;
  };
  return {
    join(socket) {
      let name = "strangers";
      let crowd = crowdOf(name);
      crowd.sockets.add(socket);
      const own: Counts = { ...NOTHING };
      let waiting = 0;
      let isGone = false;
      const attendTo = (): void => {
        if (isGone) return;
        counts.add(own);
        attend(crowd);
      };
      const leave = (): void => {
        crowd.sockets.delete(socket);
        crowd.waiting -= waiting;
        if (crowd.held.delete(socket)) readOn(socket);
        if (crowd.sockets.size === 0 && crowds.get(name) === crowd) crowds.delete(name);
      };
      const count = (): void => {
        if (isGone) return;
        crowd.worked += 1;
        attendTo();
        if (crowd.isOver) hold(crowd, socket);
        else if (crowd.worked > STREAMS_IN_A_TURN || crowd.waiting > STREAMS_WAITING) holdAll(crowd);
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
            crowd.waiting += 1;
          }
          count();
          return own.opened;
        },
        started() {
          if (waiting === 0) return;
          waiting -= 1;
          crowd.waiting -= 1;
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
          crowd = crowdOf(name);
          crowd.sockets.add(socket);
          crowd.waiting += waiting;
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

function holdAll(crowd: Crowd): void {
  crowd.isOver = true;
  for (const socket of crowd.sockets) hold(crowd, socket);
}

function hold({ held }: Crowd, socket: TLSSocket): void {
  if (held.has(socket)) return;
  held.add(socket);
  readNoFurther(socket);
}

function release({ held, released }: Crowd): void {
  let left = released;
  for (const socket of held) {
    if (left-- === 0) return;
    held.delete(socket);
    readOn(socket);
  }
}
