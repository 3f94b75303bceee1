import { expect, it } from "vitest";
import { createFixedKeyRing } from "../../../foundation/encryption/key-ring.ts";
import { createProofNonces, PERIOD_MS } from "./proof-nonces.ts";

const at = (now: number, secret = 1) =>
  createProofNonces(createFixedKeyRing(new Uint8Array(32).fill(secret)), { now: () => now });
const NOW = 1_000 * PERIOD_MS;

it("is accepted by every server with the same key, in its period and in the next, and where a clock is behind", () => {
  const nonce = at(NOW).current();
  for (const time of [NOW - PERIOD_MS, NOW, NOW + PERIOD_MS]) expect(at(time).periodOf(nonce)).toBe(1_000);
  for (const time of [NOW - 2 * PERIOD_MS, NOW + 2 * PERIOD_MS, NOW + 1e9])
    expect(at(time).periodOf(nonce)).toBeUndefined();
  expect(at(NOW, 2).periodOf(nonce)).toBeUndefined();
});

it.each<readonly [what: string, nonce: (good: string) => string]>([
  ["nothing", () => ""],
  ["another period", (good) => good.replace(/\.[^.]+\./, ".ru.")],
  ["another signature", (good) => good.slice(0, -1) + (good.endsWith("A") ? "Q" : "A")],
  ["more behind it", (good) => `${good}A`],
  ["the id of no key", (good) => good.replace(/^[^.]+/, "00000000")],
])("accepts no nonce with %s", (_what, forged) => {
  expect(at(NOW).periodOf(forged(at(NOW).current()))).toBeUndefined();
});
