import { createClockEpochs } from "@postern/apiserver/runtime/clock-epochs";
import { describe, expect, it, test } from "vitest";
import { createLastActivity } from "../last-use/last-activity.ts";
import { evaluatedKeys, type KeyRecord, type KeyWorld, keyRecord, keyWorld } from "../testing/key-world.ts";
import { createKeyExpirations } from "./key-expirations.ts";

const NOW = 1_000_000;
const ends = (world: Partial<KeyWorld> = {}) => evaluatedKeys(keyWorld(world)).ends;

describe("the end of a key by its own life", () => {
  test.each<readonly [what: string, parts: Partial<KeyRecord>, world: Partial<KeyWorld>, end: number | undefined]>([
    ["none", {}, {}, undefined],
    ["from its creation", { ttl: 10, createdAt: 5_000 }, {}, 15_000],
    ["not from its use", { ttl: 10, createdAt: 5_000, lastActivity: 7_000 }, {}, 15_000],
    [
      "from its use, where it says so",
      { ttl: 10, createdAt: 5_000, lastActivity: 7_000, countsFromActivity: true },
      {},
      17_000,
    ],
    [
      "from a use that is not written",
      { ttl: 10, countsFromActivity: true },
      { uses: [{ uid: "key-uid", at: 8_000 }] },
      18_000,
    ],
    [
      "from the later use, the one written",
      { ttl: 10, countsFromActivity: true, lastActivity: 9_000 },
      { uses: [{ uid: "key-uid", at: 8_000 }] },
      19_000,
    ],
    ["by the setting", { createdAt: 5_000 }, { maxTTLSeconds: 20 }, 25_000],
  ])("%s", (_what, parts, world, end) => expect(ends(world).ownExpiration(keyRecord(parts))).toBe(end));
});

describe("the expiration of a key with its parents", () => {
  const made = (parts: Partial<KeyRecord>, ...parents: readonly Partial<KeyRecord>[]): number | undefined => {
    const keys = parents.map((each, at) => keyRecord({ uid: `parent-${at}`, ...each }));
    return ends({ keys }).expirationWithAncestors(keyRecord({ parentUids: keys.map(({ uid }) => uid), ...parts }));
  };

  it("is the earliest of all", () => {
    expect(made({}, {}, {})).toBeUndefined();
    expect(made({ ttl: 10 }, {}, {})).toBe(10_000);
    expect(made({}, {}, { ttl: 20 })).toBe(20_000);
    expect(made({ ttl: 30 }, { ttl: 20 }, { ttl: 40 })).toBe(20_000);
    expect(made({ ttl: 30 }, { ttl: 50 })).toBe(30_000);
    expect(made({ parentUids: ["parent-0"] }, { parentUids: ["parent-1"] }, { ttl: 3 })).toBe(3_000);
  });

  it("is that of the grace of a value that a rotation replaced", () => {
    expect(made({ acceptedUntil: 7 })).toBe(7);
    expect(made({ acceptedUntil: 7_000, ttl: 5 })).toBe(5_000);
    expect(made({ ttl: 10 }, { acceptedUntil: 7 })).toBe(7);
  });

  it("has long been when one of them is gone, or they go round in a circle", () => {
    expect(made({ parentUids: ["gone"] })).toBe(0);
    expect(made({ parentUids: ["parent-0"] }, { parentUids: ["parent-0"] })).toBe(0);
  });

  it("is known through sixteen others, and no further", () => {
    const chain = (length: number): number | undefined => {
      const keys = Array.from({ length }, (_, at) => keyRecord({ uid: `uid-${at}`, parentUids: [`uid-${at + 1}`] }));
      const last = keyRecord({ uid: `uid-${length}`, ttl: 5 });
      return ends({ keys: [...keys, last] }).expirationWithAncestors(keyRecord({ parentUids: ["uid-0"] }));
    };
    expect([chain(15), chain(16)]).toEqual([5_000, 0]);
  });
});

describe("whether a key has ended", () => {
  const ended = (parts: Partial<KeyRecord>, usedAt?: number, graceMs?: number): boolean => {
    const uses = usedAt === undefined ? [] : [{ uid: "key-uid", at: usedAt }];
    return ends({ uses }).hasEnded(keyRecord(parts), graceMs);
  };

  it("is reported to the millisecond", () => {
    expect(ended({})).toBe(false);
    expect(ended({ ttl: 1_000 })).toBe(true);
    expect(ended({ ttl: 1_000, createdAt: 1 })).toBe(false);
  });

  it("counts the grace that is asked for", () => {
    expect([ended({ ttl: 999 }, undefined, 1_000), ended({ ttl: 999 }, undefined, 1_001)]).toEqual([true, false]);
    const counted = { ttl: 10, countsFromActivity: true };
    expect([ended(counted, NOW - 12_000, 2_000), ended(counted, NOW - 12_000, 2_001)]).toEqual([true, false]);
  });

  it("is postponed by each use, where the key has an idle timeout", () => {
    expect(ended({ ttl: 10 }, NOW - 1)).toBe(true);
    expect(ended({ ttl: 10, countsFromActivity: true }, NOW - 10_000)).toBe(true);
    expect(ended({ ttl: 10, countsFromActivity: true }, NOW - 9_999)).toBe(false);
    expect(ended({ ttl: 10, countsFromActivity: true, lastActivity: NOW - 9_999 }, NOW - 20_000)).toBe(false);
    expect(ended({ ttl: 10, countsFromActivity: true })).toBe(true);
  });

  it("stays expired when the clock is set back, and each use counts by its own clock (security book 14)", () => {
    let time = NOW;
    let elapsed = 0;
    const epochs = createClockEpochs({ now: () => time, elapsed: () => elapsed });
    const activity = createLastActivity(epochs);
    const { hasEnded } = createKeyExpirations({ byUid: () => undefined, activity, epochs, maxTTLSeconds: 0 });
    const key = keyRecord({ ttl: 10, createdAt: NOW, epoch: epochs.current() });
    elapsed += 10_000;
    time = 0;
    expect(hasEnded(key)).toBe(true);
    expect(hasEnded({ ...key, ttl: 11 })).toBe(false);

    const used = { ...key, countsFromActivity: true };
    activity.record(used.uid, time);
    expect(hasEnded(used)).toBe(false);
    elapsed += 10_000;
    time = 9_000;
    expect(hasEnded(used)).toBe(true);
  });
});
