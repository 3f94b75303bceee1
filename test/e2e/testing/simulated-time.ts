// The time of day of this process, moved: a server in it lives for weeks in seconds. Timers, durations and other processes are left alone.

export type SimulatedTime = Disposable & {
  /** Goes on from this moment, in milliseconds since the epoch. */
  moveTo(time: number): void;
};

/** Until it is disposed. `start`: milliseconds since the epoch. */
export function simulateTime(start: number): SimulatedTime {
  const real = globalThis.Date;
  let ahead = start - real.now();
  const now = (): number => real.now() + ahead;
  globalThis.Date = new Proxy(real, {
    construct: (target, args, made) =>
      args.length === 0 ? new target(now()) : (Reflect.construct(target, args, made) as object),
    get: (target, member) => (member === "now" ? now : Reflect.get(target, member)),
  });
  return {
    moveTo(time) {
      ahead = time - real.now();
    },
    [Symbol.dispose]() {
      globalThis.Date = real;
    },
  };
}
