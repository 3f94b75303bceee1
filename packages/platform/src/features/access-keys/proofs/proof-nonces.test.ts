import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { expect, it } from "vitest";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { createProofNonces, PERIOD_MS } from "./proof-nonces.ts";

const NOW = 1_000 * PERIOD_MS;

/** A server that runs since long before. */
function at(now: number, secret = 1) {
  const time = manualTime(now - 1e9);
  const nonces = createProofNonces(createFixedKeyRing(new Uint8Array(32).fill(secret)), time.clock);
  time.advance(1e9);
  return { ...time, ...nonces };
}

it("is accepted by every server with the same key, in its period and in the next, and where a clock is behind", () => {
  const nonce = at(NOW).current();
  for (const time of [NOW - PERIOD_MS, NOW, NOW + PERIOD_MS]) expect(at(time).periodOf(nonce)).toBe(1_000);
  for (const time of [NOW - 2 * PERIOD_MS, NOW + 2 * PERIOD_MS, NOW + 1e9])
    expect(at(time).periodOf(nonce)).toBeUndefined();
  expect(at(NOW, 2).periodOf(nonce)).toBeUndefined();
});

it("is not accepted by a server that has started since, whose own one is, also when its clock is set", () => {
  const before = at(NOW).current();
  const time = manualTime(NOW + 1);
  const again = createProofNonces(createFixedKeyRing(new Uint8Array(32).fill(1)), time.clock);
  const own = again.current();
  expect([again.periodOf(before), again.periodOf(own)]).toEqual([undefined, 1_000]);
  expect(at(NOW).periodOf(own)).toBe(1_000);
  time.setTimeOfDay(NOW - 3_600_000);
  expect([again.periodOf(own), again.periodOf(again.current())]).toEqual([undefined, expect.any(Number)]);
});

it.each<readonly [what: string, nonce: (good: string) => string]>([
  ["nothing", () => ""],
  ["another time", (good) => good.replace(/\.[^.]+\./, ".ru.")],
  ["another signature", (good) => good.slice(0, -1) + (good.endsWith("A") ? "Q" : "A")],
  ["more behind it", (good) => `${good}A`],
  ["the id of no key", (good) => good.replace(/^[^.]+/, "00000000")],
])("accepts no nonce with %s", (_what, forged) => {
  expect(at(NOW).periodOf(forged(at(NOW).current()))).toBeUndefined();
});
