// How many TLS handshakes of one source go on at once. OpenSSL verifies the chain of a client's certificate on the event loop, before anything is known
// of the client: 96 kB of certificates with RSA keys of 16,384 bits take 120 ms, 40 times a plain handshake.

import type { Socket } from "node:net";
import type { Clock, Scheduler } from "../../runtime/clock.ts";

export type HandshakeQueue = {
  arrive(socket: Socket, source: string): void;
  /** The handshake is done, with a chain of certificates of so many bytes. */
  done(socket: Socket, certificateBytes: () => number): void;
  /** The connection is closed. */
  leave(socket: Socket): void;
  /** A request from there had a valid credential: it may begin any number at once. */
  prove(source: string): void;
};

/** Handshakes at once of a source without a valid credential in the last hour. */
const MAX_AT_ONCE = 16;
const PROVEN_MS = 60 * 60_000;
/** Handshakes that go on are done by then, also from the other side of the world. */
const PATIENCE_MS = 250;
const LATE_MS = 50;
/** No client of Kubernetes has a longer chain of certificates, or sends more before the end of its handshake. */
const PLAIN_BYTES = 24 << 10;
/** For this long after a longer one, a source has one handshake at a time. */
const COSTLY_MS = 60_000;
/** Until the next one: three times what OpenSSL may have worked for each KiB. */
const PAUSE_MS_PER_KIB = 4;
/** Of sources without a connection, the oldest are forgotten first. */
const MAX_SOURCES = 10_000;

type Source = {
  /** When each began, the oldest first. */
  readonly begun: Map<Socket, number>;
  readonly waiting: Set<Socket>;
  provenUntil: number;
  costlyUntil: number;
  pausedUntil: number;
  timer: Disposable | undefined;
};

export function createHandshakeQueue(deps: {
  readonly clock: Pick<Clock, "elapsed">;
  readonly scheduler: Scheduler;
  /** Begins the handshake on a connection. */
  readonly start: (socket: Socket) => void;
  /** Ends a handshake that keeps others of its source waiting. */
  readonly drop: (socket: Socket) => void;
}): HandshakeQueue {
  const { clock, scheduler, start, drop } = deps;
  const sources = new Map<string, Source>();
  const bySocket = new Map<Socket, Source>();

  const forgetIdle = (): void => {
    for (const [name, { begun, waiting }] of sources) {
      if (sources.size <= MAX_SOURCES) return;
      if (begun.size === 0 && waiting.size === 0) sources.delete(name);
    }
  };
  /** The one used last is at the end. */
  const sourceOf = (name: string): Source => {
    const source = sources.get(name) ?? newSource();
    sources.delete(name);
    sources.set(name, source);
    forgetIdle();
    return source;
  };
  const placesOf = ({ provenUntil, costlyUntil, pausedUntil }: Source): number => {
    const now = clock.elapsed();
    if (now < pausedUntil) return 0;
    if (now < costlyUntil) return 1;
    return now < provenUntil ? Number.POSITIVE_INFINITY : MAX_AT_ONCE;
  };
  const begin = (socket: Socket, source: Source): void => {
    source.begun.set(socket, clock.elapsed());
    start(socket);
  };
  const beginNext = (source: Source): void => {
    for (const socket of source.waiting) {
      if (source.begun.size >= placesOf(source)) break;
      source.waiting.delete(socket);
      begin(socket, source);
    }
    if (source.waiting.size > 0 && source.timer === undefined) watch(source);
  };
  const watch = (source: Source): void => {
    const pauseMs = source.pausedUntil - clock.elapsed();
    const waitMs = pauseMs > 0 ? Math.ceil(pauseMs) : PATIENCE_MS;
    const due = clock.elapsed() + waitMs;
    source.timer = scheduler.schedule(waitMs, () => {
      source.timer = undefined;
      // Where the event loop was busy meanwhile, no handshake could make headway.
      if (clock.elapsed() - due < LATE_MS) dropOldest(source);
      beginNext(source);
    });
  };
  /** A handshake without headway gives its place. */
  const dropOldest = ({ begun, waiting }: Source): void => {
    for (const [socket, since] of [...begun].slice(0, waiting.size)) {
      if (clock.elapsed() - since >= PATIENCE_MS) drop(socket);
    }
  };

  const end = (socket: Socket, bytes: number): void => {
    const source = bySocket.get(socket);
    if (source === undefined) return;
    bySocket.delete(socket);
    source.waiting.delete(socket);
    if (source.begun.delete(socket) && bytes > PLAIN_BYTES) {
      const now = clock.elapsed();
      source.costlyUntil = now + COSTLY_MS;
      source.pausedUntil = now + (bytes >> 10) * PAUSE_MS_PER_KIB;
    }
    beginNext(source);
  };

  return {
    arrive(socket, name) {
      const source = sourceOf(name);
      bySocket.set(socket, source);
      if (source.waiting.size === 0 && source.begun.size < placesOf(source)) {
        begin(socket, source);
        return;
      }
      // Node hands over to TLS what has been read by then.
      socket.pause();
      source.waiting.add(socket);
      beginNext(source);
    },
    done(socket, certificateBytes) {
      // The first request may have come with the end of the handshake.
      end(socket, socket.bytesRead > PLAIN_BYTES ? certificateBytes() : 0);
    },
    leave: (socket) => end(socket, socket.bytesRead),
    prove(name) {
      sourceOf(name).provenUntil = clock.elapsed() + PROVEN_MS;
    },
  };
}

const newSource = (): Source => ({
  begun: new Map(),
  waiting: new Set(),
  provenUntil: 0,
  costlyUntil: 0,
  pausedUntil: 0,
  timer: undefined,
});
