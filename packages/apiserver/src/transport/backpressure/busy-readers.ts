// Connections of HTTP/2 that always have more to read. Node passes frames of no stream to no code of the server, and reads up to two mebibytes of a
// connection before it reads the next: with many such connections each turn of the event loop is long. While the loop is busy, one of them is read at a
// time, for each user and for all unauthenticated clients together; an unauthenticated one that goes on is ended.

import { performance } from "node:perf_hooks";
import type { TLSSocket } from "node:tls";
import type { Scheduler } from "../../runtime/clock.ts";
import { readNoFurther, readOn } from "../node-internals.ts";

export type BusyReader = {
  readonly socket: TLSSocket;
  /** The user; undefined without a valid credential. */
  user(): string | undefined;
  /** Ends a connection without a valid credential. */
  end(): void;
};

export type BusyReaders = {
  /** Disposed, the connection is left as it is. */
  join(reader: BusyReader): Disposable;
};

const LOOK_MS = 200;
/** While connections are held: new ones are read until then. */
const BUSY_LOOK_MS = 50;
/** The part of the time between two looks from which the event loop is busy. */
const BUSY_LOOP = 0.5;
/** Bytes of one group between two looks, about a twentieth of what the loop can read in that time. */
const GROUP_BYTES = 4 << 20;
/** A connection with less is not held. */
const READER_BYTES = 16 << 10;
/** The time for which one held connection of a group is read. */
const TURN_MS = 10;
/** No request without a valid credential has more than some mebibytes. */
const STRANGER_BYTES = 32 << 20;

type Reading = BusyReader & {
  /** Bytes at the last look, or when its turn began. */
  before: number;
  isEnded: boolean;
};

type Group = { readonly held: Set<Reading>; turn: Reading | undefined };

/** `loopUse`: the part of the time since its last call in which the event loop worked. */
export function createBusyReaders(scheduler: Scheduler, loopUse: () => number = loopUseSince()): BusyReaders {
  const readers = new Set<Reading>();
  /** Groups with connections that are held, by user. */
  const groups = new Map<string | undefined, Group>();
  let isMarked = false;
  let timer: Disposable | undefined;
  let untilLook = LOOK_MS;

  const tick = (waited: number): void => {
    for (const [user, group] of groups) if (!nextTurn(group)) groups.delete(user);
    untilLook -= waited;
    if (untilLook <= 0) {
      look();
      untilLook = groups.size > 0 ? BUSY_LOOK_MS : LOOK_MS;
    }
    wait();
  };
  const wait = (): void => {
    const ms = groups.size > 0 ? TURN_MS : untilLook;
    timer = readers.size > 0 ? scheduler.schedule(ms, () => tick(ms)) : undefined;
  };
  /** The first look of a busy time only marks how far each connection is. */
  const look = (): void => {
    const isBusy = loopUse() >= BUSY_LOOP;
    if (isBusy && isMarked) holdBusy();
    if (isBusy) for (const reader of readers) mark(reader);
    isMarked = isBusy;
  };
  const holdBusy = (): void => {
    const busy = new Map<string | undefined, Reading[]>();
    for (const reader of readers) {
      if (bytesSince(reader) < READER_BYTES || endSpent(reader)) continue;
      const user = reader.user();
      const group = groups.get(user);
      if (group?.held.has(reader) === true || group?.turn === reader) continue;
      const others = busy.get(user);
      if (others === undefined) busy.set(user, [reader]);
      else others.push(reader);
    }
    for (const [user, own] of busy) {
      const group = groups.get(user) ?? { held: new Set(), turn: undefined };
      const bytes = own.reduce((sum, reader) => sum + bytesSince(reader), 0);
      if (!groups.has(user) && (own.length === 1 || bytes < GROUP_BYTES)) continue;
      groups.set(user, group);
      for (const reader of own) hold(group, reader);
    }
  };
  return {
    join(reader) {
      const own: Reading = { ...reader, before: reader.socket.bytesRead, isEnded: false };
      readers.add(own);
      if (timer === undefined) wait();
      return {
        [Symbol.dispose]() {
          readers.delete(own);
          for (const group of groups.values()) {
            group.held.delete(own);
            if (group.turn === own) group.turn = undefined;
          }
          if (readers.size > 0) return;
          timer?.[Symbol.dispose]();
          timer = undefined;
        },
      };
    },
  };
}

/** Returns whether any connection of the group is still held. */
function nextTurn(group: Group): boolean {
  const { held, turn } = group;
  if (turn !== undefined && bytesSince(turn) >= READER_BYTES && !endSpent(turn)) hold(group, turn);
  group.turn = undefined;
  const [next] = held;
  if (next === undefined) return false;
  held.delete(next);
  mark(next);
  group.turn = next;
  readOn(next.socket);
  // A session reads on by itself when it has written.
  for (const { socket } of held) readNoFurther(socket);
  return true;
}

function hold({ held }: Group, reader: Reading): void {
  held.add(reader);
  readNoFurther(reader.socket);
}

function endSpent(reader: Reading): boolean {
  if (reader.user() !== undefined || reader.socket.bytesRead <= STRANGER_BYTES) return false;
  if (!reader.isEnded) reader.end();
  reader.isEnded = true;
  return true;
}

const bytesSince = ({ socket, before }: Reading): number => socket.bytesRead - before;

function mark(reader: Reading): void {
  reader.before = reader.socket.bytesRead;
}

function loopUseSince(): () => number {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
}
