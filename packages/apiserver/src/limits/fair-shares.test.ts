import { describe, expect, it } from "vitest";
import type { Scheduler } from "../runtime/clock.ts";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";
import { type Claimant, NoPlaceError } from "./body-memory.ts";
import { createEventLoopBudget } from "./event-loop-budget.ts";
import { createFairShares, DEFAULT_FAIR_SHARES, type FairShareLimits, type Lane } from "./fair-shares.ts";

const never = createSharedAbortController();
const shared = (places: number, limits: Partial<FairShareLimits> = {}) =>
  createFairShares(
    { ...DEFAULT_FAIR_SHARES, places: { readOnly: places, mutating: places, urgent: places }, ...limits },
    { clock: { elapsed: () => 0 }, scheduler: systemRuntime.scheduler },
  );
const of = (user: string, key = user): Claimant => ({ user, key });
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Takes places for what stands in the list, and says in which order they were given. */
function takers(shares: ReturnType<typeof shared>, lane: Lane = "mutating") {
  const given: string[] = [];
  const places: Disposable[] = [];
  return {
    given,
    async take(...claimants: readonly Claimant[]) {
      for (const claimant of claimants) {
        const taken = shares.take(lane, claimant, never);
        const onPlace = (place: Disposable): void => {
          given.push(claimant.key);
          places.push(place);
        };
        // Requests that still wait at the end of a test are refused when that is over.
        void Promise.resolve(taken).then(onPlace, () => undefined);
      }
      await turn();
    },
    async giveBack() {
      places.shift()?.[Symbol.dispose]();
      await turn();
    },
  };
}

describe("places", () => {
  it("follow a number that changes: those that are taken are kept, and none is given above it", async () => {
    let places = 8;
    const follows = createFairShares(
      {
        ...DEFAULT_FAIR_SHARES,
        places: {
          readOnly: 8,
          urgent: 8,
          get mutating() {
            return places;
          },
        },
      },
      { clock: { elapsed: () => 0 }, scheduler: systemRuntime.scheduler },
    );
    const { given, take, giveBack } = takers(follows);
    await take(...["a", "b", "c", "d"].map((user) => of(user)));
    places = 2;
    await take(of("e"));
    await giveBack();
    await giveBack();
    expect(given).toEqual(["a", "b", "c", "d"]);
    await giveBack();
    expect(given).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("are given at once up to a key's share, and a user's with many keys", async () => {
    const { given, take } = takers(shared(8));
    await take(...Array.from({ length: 3 }, () => of("a", "a1")), ...Array.from({ length: 3 }, () => of("a", "a2")));
    expect(given).toEqual(["a1", "a1", "a2", "a2"]);
    await take(of("a", "a3"), of("b"));
    expect(given.slice(4)).toEqual(["b"]);
  });

  it("go to known clients and to strangers in turns, from any number of addresses", async () => {
    const { given, take, giveBack } = takers(shared(1));
    await take(of("first"));
    const strangers = Array.from({ length: 20 }, (_, number) => ({ ...of(`s${number}`), isUnauthenticated: true }));
    await take(...strangers, of("a"), of("b"), of("c"));
    for (let times = 0; times < 8; times++) await giveBack();
    expect(given.join(" ")).toBe("first a s0 b s1 c s2 s3 s4");
  });

  it("go to the client with the fewest when one is free again, otherwise in turns", async () => {
    const { given, take, giveBack } = takers(shared(4, { userShare: 1, keyShare: 1 }));
    await take(of("greedy"), of("greedy"), of("greedy"), of("greedy"));
    await take(of("greedy"), of("b"), of("c"), of("b"), of("c"));
    expect(given).toEqual(["greedy", "greedy", "greedy", "greedy"]);
    for (let times = 0; times < 4; times++) await giveBack();
    expect(given.slice(4)).toEqual(["b", "c", "greedy", "b"]);
    for (let times = 0; times < 4; times++) await giveBack();
    expect(given.slice(8)).toEqual(["c"]);
  });

  it("are other ones in each lane", async () => {
    const shares = shared(1);
    await shares.take("mutating", of("a"), never);
    expect(shares.take("urgent", of("a"), never)).not.toBeInstanceOf(Promise);
    expect(shares.state).toMatchObject({ mutating: { taken: 1 }, urgent: { taken: 1 }, readOnly: { taken: 0 } });
  });

  it("are not given to clients that left, waited too long, or came while too many wait", async () => {
    const shares = shared(1, { queueMs: 20 });
    const place = await shares.take("mutating", of("a"), never);
    const gone = new AbortController();
    const left = shares.take("mutating", of("b"), gone);
    gone.abort(new Error("gone"));
    await expect(left).rejects.toThrow("gone");
    const late = Array.from({ length: 10 }, () => shares.take("mutating", of("b"), never));
    expect(() => shares.take("mutating", of("b"), never)).toThrow(new NoPlaceError("queue-full"));
    for (const each of late) await expect(each).rejects.toEqual(new NoPlaceError("time-out"));
    expect(shares.state.mutating).toMatchObject({ taken: 1, waiting: 0 });
    place[Symbol.dispose]();
    place[Symbol.dispose]();
    expect(shares.state.mutating).toMatchObject({ taken: 0, waiting: 0 });
  });

  it("are given in the order of arrival to users with as many, also where one of them was here before", async () => {
    const { given, take, giveBack } = takers(shared(1));
    await take(of("a"));
    await giveBack();
    await take(of("b"), of("c"), of("a"), of("d"));
    for (let n = 0; n < 4; n++) await giveBack();
    expect(given).toEqual(["a", "b", "c", "a", "d"]);
  });

  it("are those of a client with or without a credential, whichever of the same name was here before", async () => {
    const stranger = { ...of("a", "from outside"), isUnauthenticated: true };
    const { given, take, giveBack } = takers(shared(1));
    await take(of("a"));
    await giveBack();
    await take(of("b"), of("c"), of("d"), stranger);
    for (let n = 0; n < 4; n++) await giveBack();
    // They take turns with clients that have one.
    expect(given).toEqual(["a", "b", "c", "from outside", "d"]);
  });

  it("are without number where the limit is 0", async () => {
    const { given, take } = takers(shared(0));
    await take(...Array.from({ length: 1_000 }, () => of("a")));
    expect(given).toHaveLength(1_000);
  });

  it("let others come first when a turn of the event loop was long", async () => {
    let now = 0;
    const clock = { elapsed: () => now };
    const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler: systemRuntime.scheduler });
    const order: string[] = [];
    const request = async (user: string): Promise<void> => {
      using _ = await shares.take("readOnly", of(user), never);
      order.push(user);
      now += 6;
    };
    const all = [request("a"), request("a"), request("a")];
    await Promise.resolve();
    await Promise.resolve();
    all.push(request("a"), request("a"), request("b"));
    await Promise.all(all);
    expect(order).toEqual(["a", "a", "a", "b", "a", "a"]);
  });
});

it("parts of long answers take turns of ten milliseconds, however many go on at once (security book 50)", async () => {
  let now = 0;
  const clock = { elapsed: () => now };
  const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler: systemRuntime.scheduler });
  let made = 0;
  const answer = async (): Promise<void> => {
    for (let part = 0; part < 5; part++) {
      // As after a client has read.
      await turn();
      using _ = await shares.takeTurn("readOnly", of("a"), never);
      made++;
      now += 6;
    }
  };
  const answers = Promise.all(Array.from({ length: 20 }, answer));
  for (let before = 0; made < 100; before = made) {
    await turn();
    expect(made - before).toBeLessThanOrEqual(4);
  }
  await answers;
});

describe("users that owe time", () => {
  /** One user has a request that takes 20 ms; `waits` says whether other requests wait that have not started. */
  async function afterDearRequest(waits: (user: string) => boolean) {
    let now = 0;
    let asked = 0;
    const timers = new Set<{ readonly at: number; readonly task: () => void }>();
    const clock = { elapsed: () => now };
    const scheduler: Scheduler = {
      schedule(delayMs, task) {
        const timer = { at: now + delayMs, task };
        timers.add(timer);
        return { [Symbol.dispose]: () => void timers.delete(timer) };
      },
    };
    const eventLoopBudget = createEventLoopBudget(clock);
    const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler, eventLoopBudget });
    const startLast = eventLoopBudget.follow((user) => {
      asked++;
      return waits(user);
    });
    (await shares.take("readOnly", of("dear"), never))[Symbol.dispose]();
    now += 20;
    eventLoopBudget.rest();
    eventLoopBudget.restart();
    const given: string[] = [];
    const ask = (user: string, lane: Lane = "readOnly"): void =>
      void Promise.resolve(shares.take(lane, of(user), never)).then((place) => {
        given.push(user);
        place[Symbol.dispose]();
      });
    const pass = (ms: number): void => {
      now += ms;
      for (const timer of [...timers].filter(({ at }) => at <= now)) {
        timers.delete(timer);
        timer.task();
      }
    };
    return { given, ask, pass, startLast, asked: () => asked };
  }
  const turns = async (count: number): Promise<void> => {
    for (let each = 0; each < count; each++) await turn();
  };

  it("wait while requests wait that may be cheap, and for three times as long at most (security book 50)", async () => {
    const { given, ask, pass } = await afterDearRequest(() => true);
    for (const user of ["dear", "cheap"]) ask(user);
    await turns(5);
    expect(given).toEqual(["cheap"]);
    pass(59);
    await turns(3);
    expect(given).toEqual(["cheap"]);
    pass(1);
    await turns(3);
    expect(given).toEqual(["cheap", "dear"]);
  });

  it("cost nothing while they wait", async () => {
    const { ask, asked } = await afterDearRequest(() => true);
    ask("dear");
    await turns(2);
    const before = asked();
    await turns(100);
    expect(asked()).toBe(before);
  });

  it("are served when the last of the others has started", async () => {
    let isAnyWaiting = true;
    const { given, ask, startLast } = await afterDearRequest(() => isAnyWaiting);
    ask("dear");
    await turns(2);
    expect(given).toEqual([]);
    isAnyWaiting = false;
    startLast();
    await turns(1);
    expect(given).toEqual(["dear"]);
  });

  it("do not wait if no other client does", async () => {
    const { given, ask } = await afterDearRequest((user) => user !== "dear");
    ask("dear");
    await turns(1);
    expect(given).toEqual(["dear"]);
  });

  it("may withdraw keys all the same", async () => {
    const { given, ask } = await afterDearRequest(() => true);
    ask("dear", "urgent");
    await turns(1);
    expect(given).toEqual(["dear"]);
  });
});

it("reads get their places although writes always wait for theirs", async () => {
  let now = 0;
  const clock = { elapsed: () => now };
  const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler: systemRuntime.scheduler });
  let writes = 0;
  let writesUntilRead: number | undefined;
  const read = async (): Promise<void> => {
    using _ = await shares.take("readOnly", of("good"), never);
    writesUntilRead = writes;
  };
  const write = async (): Promise<void> => {
    while (writesUntilRead === undefined && writes < 500) {
      using _ = await shares.take("mutating", of("attacker"), never);
      writes++;
      // Longer than a turn: the read has to wait.
      now += 11;
      if (writes === 20) void read();
    }
  };
  await Promise.all(Array.from({ length: 40 }, write));
  expect(writesUntilRead).toBeLessThan(60);
});

describe("memory for bodies", () => {
  const MiB = 1 << 20;
  const limits = { bodyBytes: 8 * MiB };

  it("is refused to a key beyond its share, and given back", () => {
    const { body } = shared(1, limits);
    const first = body(of("a"), () => undefined);
    first.add(2 * MiB);
    expect(() => body(of("a"), () => undefined).add(1)).toThrow(new NoPlaceError("body-bytes"));
    body(of("b"), () => undefined).add(2 * MiB);
    first[Symbol.dispose]();
    body(of("a"), () => undefined).add(2 * MiB);
  });

  it("is taken from the largest body of the client with the most when none is left", () => {
    const { body } = shared(1, { bodyBytes: 8 * MiB, userShare: 1, keyShare: 1 });
    const told: string[] = [];
    const open = (user: string, name: string, bytes: number) => {
      const account = body(of(user), ({ reason }) => told.push(`${name} ${reason}`));
      account.add(bytes);
      return account;
    };
    open("modest", "m", 3 * MiB);
    open("greedy", "small", MiB);
    const large = open("greedy", "large", 3 * MiB);
    open("third", "t", 2 * MiB);
    expect(told).toEqual(["large body-bytes"]);
    expect(() => large.add(1)).toThrow(new NoPlaceError("body-bytes"));
  });
});
