import { describe, expect, test } from "vitest";
import { EtcdKeys } from "./etcd-keys.ts";

const keys = new EtcdKeys("/postern");
const isPermissionSubset = (key: Uint8Array, range: { key: Uint8Array; range_end: Uint8Array }) =>
  Buffer.compare(key, range.key) >= 0 && Buffer.compare(key, range.range_end) < 0;

describe("keys in etcd", () => {
  test.each(["/a", "/registry/main/core/things/n1/é", "/\u{1f600}", "/\u{10ffff}"])("%s is found again", (key) => {
    expect(keys.decode(keys.encode(key))).toBe(key);
    expect(isPermissionSubset(keys.encode(key), keys.range("/"))).toBe(true);
    expect(isPermissionSubset(keys.encode(key), keys.range(""))).toBe(true);
    expect(isPermissionSubset(keys.encode(key), keys.everything)).toBe(true);
  });

  test("the server's own keys are watched, but neither listed nor shown", () => {
    for (const key of [keys.tick, keys.leader("controllers")]) {
      expect(keys.decode(key)).toBeUndefined();
      expect(isPermissionSubset(key, keys.everything)).toBe(true);
      expect(isPermissionSubset(key, keys.range(""))).toBe(false);
    }
  });

  test.each(["/posternal", "/poster", "/postern0"])(
    "the keys of another server under %s are not among ours",
    (prefix) => {
      const other = new EtcdKeys(prefix);
      expect(keys.decode(other.encode("/a"))).toBeUndefined();
      for (const key of [other.encode("/a"), other.tick]) expect(isPermissionSubset(key, keys.everything)).toBe(false);
    },
  );

  test("a range begins behind startAfter, but never before its prefix", () => {
    const range = keys.range("/b/", "/b/1");
    expect(isPermissionSubset(keys.encode("/b/1"), range)).toBe(false);
    expect(isPermissionSubset(keys.encode("/b/1\0"), range)).toBe(true);
    expect(isPermissionSubset(keys.encode("/a"), keys.range("/b/", "/a"))).toBe(false);
    expect(isPermissionSubset(keys.encode("/b/0"), keys.range("/b/", "/a"))).toBe(true);
  });
});
