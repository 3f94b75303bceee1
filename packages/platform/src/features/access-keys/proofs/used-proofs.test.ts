import { expect, it } from "vitest";
import { createUsedProofs } from "./used-proofs.ts";

const proof = (id: string, more: { period?: number; now?: number; owner?: string; thumbprint?: string } = {}) => ({
  ...{ period: 1, now: 1, owner: "user a", thumbprint: "jwk:a", id },
  ...more,
});

it("takes a proof once, and one with the same identifier by another key as well", () => {
  const used = createUsedProofs();
  expect([proof("1"), proof("1"), proof("2"), proof("1", { thumbprint: "jwk:b" })].map(used.take)).toEqual([
    ...[true, false, true, true],
  ]);
});

it("remembers a proof while its nonce is accepted, whatever comes meanwhile", () => {
  const used = createUsedProofs();
  used.take(proof("1", { period: 5, now: 5 }));
  used.take(proof("2", { period: 6, now: 6 }));
  expect(used.take(proof("1", { period: 5, now: 6 }))).toBe(false);
  // By the clock of a server that is behind.
  expect(used.take(proof("1", { period: 5, now: 4 }))).toBe(false);
});

it("refuses more than an owner may have, and leaves room for others when it is full", () => {
  const used = createUsedProofs({ owner: 6, all: 10 });
  const take = (owner: string, count: number) =>
    Array.from({ length: count }, (_, at) => used.take(proof(`${at}`, { owner, thumbprint: owner }))).filter(
      (each) => each === true,
    ).length;
  expect(take("a", 20)).toBe(6);
  expect(take("b", 20)).toBe(4);
  expect([take("a", 1), take("c", 20)]).toEqual([0, 3]);
  expect(used.take(proof("new", { owner: "a", period: 2, now: 2 }))).toBe(true);
});
