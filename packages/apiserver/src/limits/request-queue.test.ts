import { describe, expect, it } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";
import { createEventLoopBudget } from "./event-loop-budget.ts";
import { createFairShares, DEFAULT_FAIR_SHARES } from "./fair-shares.ts";
import { type Arriving, createRequestQueue } from "./request-queue.ts";

const known = (client: string): Arriving => ({ client, isKnown: true });
const stranger = (client: string): Arriving => ({ client, isKnown: false });

/** In which order requests are begun that have all arrived in one packet. */
async function orderOf(...arriving: readonly Arriving[]): Promise<string> {
  const arrivals = createRequestQueue(createEventLoopBudget({ elapsed: () => 0 }));
  const begun: string[] = [];
  await new Promise<void>((resolve) => {
    for (const each of arriving) {
      arrivals.add(each, () => {
        begun.push(each.client);
        if (begun.length === arriving.length) resolve();
      });
    }
  });
  return begun.join(" ");
}

describe("requests that arrive together", () => {
  it("start one per client in turns", async () => {
    expect(await orderOf(...["a", "a", "a", "b", "c", "b"].map(known))).toBe("a b c a b a");
  });

  it("of known clients wait for one stranger at most, from any number of addresses (security book 50)", async () => {
    const strangers = Array.from({ length: 40 }, (_, number) => stranger(String(number)));
    const order = await orderOf(...strangers, known("a"), known("b"), known("a"));
    expect(order).toMatch(/^a 0 b 1 a 2 3 4 /);
    // Nor do those who are known keep strangers waiting, such as those who sign in.
    expect(await orderOf(...Array.from({ length: 40 }, (_, number) => known(`k${number}`)), stranger("s"))).toMatch(
      /^k0 s k1 /,
    );
  });
});

describe("a request that arrives with others", () => {
  /** Notes of requests that arrive together, and of a callback for the next tick that each of them leaves behind. */
  async function notesOf(...answered: readonly boolean[]): Promise<string> {
    const arrivals = createRequestQueue(createEventLoopBudget({ elapsed: () => 0 }));
    const notes: string[] = [];
    await new Promise<void>((resolve) => {
      for (const [number, isAnswered] of answered.entries()) {
        arrivals.add(known("a"), () => {
          notes.push(`${number}`);
          process.nextTick(() => notes.push(`after ${number}`));
          if (number === answered.length - 1) setImmediate(resolve);
          return isAnswered;
        });
      }
    });
    return notes.join(", ");
  }

  it("starts in the same breath as the one before it, where that has been answered", async () => {
    expect(await notesOf(true, true, true)).toBe("0, 1, 2, after 0, after 1, after 2");
  });

  it("waits until the one before it waits, where that has not", async () => {
    expect(await notesOf(false, true, true)).toBe("0, after 0, 1, 2, after 1, after 2");
  });
});

it("a request whose turn it is gets its place although that is over (security book 50)", async () => {
  let now = 0;
  const clock = { elapsed: () => now };
  const eventLoopBudget = createEventLoopBudget(clock);
  const shares = createFairShares(DEFAULT_FAIR_SHARES, {
    clock,
    scheduler: systemRuntime.scheduler,
    eventLoopBudget,
  });
  const claimant = { user: "a", key: "a" };
  const takes = () => shares.take("readOnly", claimant, createSharedAbortController());
  const places: (Disposable | Promise<Disposable>)[] = [];
  await new Promise<void>((resolve) => {
    createRequestQueue(eventLoopBudget).add(known("a"), () => {
      now += 11;
      places.push(takes());
      queueMicrotask(() => {
        places.push(takes());
        resolve();
      });
    });
  });
  expect(places.map((place) => place instanceof Promise)).toEqual([false, true]);
});

describe("requests of a user that owes time", () => {
  /** Requests of the user, of which the first starts while another user's waits, and what has happened when the last one starts. */
  async function outcomes(...requests: readonly ("take" | "do without")[]): Promise<readonly string[]> {
    let now = 0;
    const clock = { elapsed: () => now };
    const eventLoopBudget = createEventLoopBudget(clock);
    const scheduler = { schedule: () => ({ [Symbol.dispose]: () => undefined }) };
    const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler, eventLoopBudget });
    const arrivals = createRequestQueue(eventLoopBudget);
    const given: string[] = [];
    const take = (number: number): void => {
      const place = shares.take("readOnly", { user: "dear", key: "dear" }, createSharedAbortController());
      const has = (how: string) => (held: Disposable) => {
        given.push(`${number} ${how}`);
        held[Symbol.dispose]();
      };
      if (place instanceof Promise) void place.then(has("waited"));
      else has("at once")(place);
    };
    eventLoopBudget.work("dear");
    now += 20;
    eventLoopBudget.rest();
    await new Promise<void>((resolve) => {
      for (const [number, what] of requests.entries()) {
        arrivals.add(known("dear"), () => {
          if (what === "take") take(number);
        });
        if (number === 0) arrivals.add(known("other"), () => undefined);
      }
      arrivals.add(known("dear"), resolve);
    });
    return given.sort();
  }

  it("wait for those of others, and not for its own (security book 50)", async () => {
    expect(await outcomes("take", "take", "take")).toEqual(["0 waited", "1 at once", "2 at once"]);
  });

  it("go on when those of others have started (security book 50)", async () => {
    expect(await outcomes("take", "do without", "do without", "do without")).toEqual(["0 waited"]);
  });
});

it("waiting requests get a place although more arrive than any turn has time for", async () => {
  let now = 0;
  const clock = { elapsed: () => now };
  const eventLoopBudget = createEventLoopBudget(clock);
  const arrivals = createRequestQueue(eventLoopBudget);
  const shares = createFairShares(DEFAULT_FAIR_SHARES, {
    clock,
    scheduler: systemRuntime.scheduler,
    eventLoopBudget,
  });
  let begun = 0;
  let begunUntilPlace: number | undefined;
  const attack = (): void => {
    begun++;
    // Longer than a turn.
    now += 11;
    if (begunUntilPlace === undefined && begun < 500) arrivals.add(stranger("x"), attack);
  };
  for (let each = 0; each < 20; each++) arrivals.add(stranger("x"), attack);
  await new Promise((resolve) => setImmediate(resolve));
  expect(eventLoopBudget.isOver()).toBe(true);
  using _ = await shares.take("readOnly", { user: "good", key: "good" }, createSharedAbortController());
  begunUntilPlace = begun;
  expect(begunUntilPlace).toBeLessThan(10);
});
