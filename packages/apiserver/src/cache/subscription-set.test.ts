import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Subscription } from "./subscription.ts";
import { SubscriptionSet } from "./subscription-set.ts";
import type { CacheEvent } from "./watch-cache.ts";

const SEED = Number(process.env["TEST_SEED"]);

const segment = fc.constantFrom("a", "ab", "abc", "b");
const key = fc.tuple(segment, segment, segment).map((segments) => `/${segments.join("/")}`);
/** Of folders, of objects, and of what begins with a part of a name. */
const prefix = fc.tuple(key, fc.nat(9)).map(([whole, length]) => whole.slice(0, length + 1));

const eventOf = (at: string, revision: number) => ({ type: "put", object: { key: at, revision } }) as CacheEvent;

test(`offers an event only to subscriptions whose prefix matches its key (seed ${SEED})`, () => {
  fc.assert(
    fc.property(
      fc.array(prefix, { maxLength: 12 }),
      fc.array(fc.nat(11), { maxLength: 6 }),
      fc.array(key, { minLength: 1, maxLength: 6 }),
      (prefixes, removed, keys) => {
        const set = new SubscriptionSet();
        const told = prefixes.map((): string[] => []);
        const subscriptions = prefixes.map((each, at) => {
          const events = (batch: readonly CacheEvent[]) => told[at]?.push(...batch.map(({ object }) => object.key));
          return new Subscription(each, 0, { events, error: () => {} }, () => {});
        });
        for (const subscription of subscriptions) {
          set.add(subscription);
          subscription.release(0);
        }
        for (const at of removed) if (subscriptions[at] !== undefined) set.remove(subscriptions[at]);
        set.dispatch(keys.map((each, at) => eventOf(each, at + 1)));
        const expected = prefixes.map((each, at) =>
          removed.includes(at) ? [] : keys.filter((one) => one.startsWith(each)),
        );
        expect(told).toEqual(expected);
        expect(set.isEmpty).toBe(
          (removed.length > 0 && prefixes.every((_, at) => removed.includes(at))) || prefixes.length === 0,
        );
      },
    ),
    { seed: SEED, numRuns: 500 },
  );
});

test("reports progress to many watches in parts, and not to ended ones", async () => {
  const count = 1_700;
  const set = new SubscriptionSet();
  const told: number[] = [];
  const subscriptions = Array.from({ length: count }, (_, at) => {
    const observer = { events: () => {}, progress: () => void told.push(at), error: () => {} };
    return new Subscription(`/things/thing-${at}`, 0, observer, () => {});
  });
  for (const subscription of subscriptions) {
    set.add(subscription);
    subscription.release(0);
  }
  told.length = 0;
  set.progress(7);
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThan(count / 2);
  for (const subscription of subscriptions.slice(-100)) subscription.end();
  while (told.length < count - 100) await nextTurn();
  await nextTurn();
  expect(told).toEqual(Array.from({ length: count - 100 }, (_, at) => at));
});
