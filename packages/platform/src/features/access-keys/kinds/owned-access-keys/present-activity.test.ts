import { CachedObject } from "@postern/apiserver/cache/cached-object";
import { describe, expect, it } from "vitest";
import type { AccessKeyState } from "../../access-key-state.ts";
import type { WrittenActivity } from "../../last-use/last-activity.ts";
import { presentActivities, presentActivity } from "./present-activity.ts";

const USED_AT = Date.parse("2026-01-02T03:04:05Z");
const ENDS_AT = Date.parse("2026-01-02T04:04:05Z");

const record = (name: string, spec = {}): CachedObject =>
  CachedObject.fromObject(`/keys/${name}`, {
    apiVersion: "v1",
    kind: "OwnedAccessKey",
    metadata: { name, uid: `uid-${name}`, resourceVersion: "7" },
    spec,
  });
const statusOf = (object: CachedObject | undefined) => object?.decode()["status"];

/** Of keys by name: when they were used last. `end` is that of all of them. */
function world(used: Map<string, number>, end: { at: number } = { at: ENDS_AT }) {
  const written = new Map<string, WrittenActivity>();
  const writtenOf = ({ key }: CachedObject): WrittenActivity | undefined => {
    const name = key.slice("/keys/".length);
    const at = used.get(name);
    const known = written.get(name);
    if (at === undefined || known?.at === at) return at === undefined ? undefined : known;
    const next = { uid: `uid-${name}`, at, from: undefined, networks: [] };
    written.set(name, next);
    return next;
  };
  return {
    activity: {
      writtenOf,
      usedNames: (most: number) => (used.size > most ? undefined : [...used.keys()]),
    },
    keys: { byUid: () => ({ expiresAt: end.at }) as AccessKeyState },
  };
}

describe("presentActivities", () => {
  const records = Array.from({ length: 20 }, (_, at) => record(`key-${at + 10}`, { ttlAfterLastActivity: at === 3 }));

  it("shows what presentActivity shows, whether few or many of the keys were used", () => {
    for (const count of [0, 2, 20]) {
      const used = new Map(records.slice(0, count).map(({ key }) => [key.slice("/keys/".length), USED_AT]));
      const deps = world(used);
      const shown = presentActivities(deps)(records);
      expect(shown.map((object) => object.decode())).toEqual(
        records.map((object) => presentActivity(deps)(object).decode()),
      );
      expect(shown.filter((object) => statusOf(object) !== undefined)).toHaveLength(count);
    }
  });

  it("shows the same object for as long as its use and its end stay what they are", () => {
    const used = new Map([["key-13", USED_AT]]);
    const end = { at: ENDS_AT };
    const present = presentActivities(world(used, end));
    const show = (): CachedObject | undefined => present(records)[3];
    const first = show();
    expect(statusOf(first)).toEqual({
      lastActivity: "2026-01-02T03:04:05Z",
      expirationTimestamp: "2026-01-02T04:04:05Z",
    });
    expect(show()).toBe(first);

    end.at += 60_000;
    const second = show();
    expect(statusOf(second)).toMatchObject({ expirationTimestamp: "2026-01-02T04:05:05Z" });
    expect(show()).toBe(second);

    used.set("key-13", USED_AT + 1_000);
    expect(statusOf(show())).toMatchObject({ lastActivity: "2026-01-02T03:04:06Z" });
    expect(statusOf(present([record("key-13", { disabled: true })])[0])).toEqual({
      lastActivity: "2026-01-02T03:04:06Z",
    });
  });

  it("keeps at most its limit", () => {
    const [first, second] = records;
    if (first === undefined || second === undefined) throw new Error("there are no records");
    const used = new Map([first, second].map(({ key }) => [key.slice("/keys/".length), USED_AT]));
    const size = presentActivity(world(used))(first).byteLength;
    const present = presentActivities(world(used), size);
    const [shown] = present([first]);
    expect(present([first])[0]).toBe(shown);
    present([second]);
    expect(present([first])[0]).not.toBe(shown);
  });
});
