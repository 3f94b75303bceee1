import { describe, expect, it } from "vitest";
import { systemRuntime } from "../runtime/system-runtime.ts";
import { createSharedAbortController } from "../storage/shared-abort-controller.ts";
import { createFairShares, DEFAULT_FAIR_SHARES } from "./fair-shares.ts";
import { type Arriving, createArrivals, createTurn } from "./turn.ts";

const known = (client: string): Arriving => ({ client, isKnown: true });
const stranger = (client: string): Arriving => ({ client, isKnown: false });

/** In which order requests are begun that have all arrived in one packet. */
async function orderOf(...arriving: readonly Arriving[]): Promise<string> {
  const arrivals = createArrivals(createTurn({ elapsed: () => 0 }));
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

it("waiting requests get a place although more arrive than any turn has time for", async () => {
  let now = 0;
  const clock = { elapsed: () => now };
  const turn = createTurn(clock);
  const arrivals = createArrivals(turn);
  const shares = createFairShares(DEFAULT_FAIR_SHARES, { clock, scheduler: systemRuntime.scheduler, turn });
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
  expect(turn.isOver()).toBe(true);
  using _ = await shares.take("readOnly", { user: "good", key: "good" }, createSharedAbortController());
  begunUntilPlace = begun;
  expect(begunUntilPlace).toBeLessThan(10);
});
