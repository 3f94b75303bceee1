import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EtcdStorageOptions, openEtcdStorage } from "../etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "../testing/start-etcd.ts";
import { EtcdPrefixError } from "./other-etcd-users.ts";

describe.skipIf(whyNoEtcd() !== undefined)("an etcd that others use", () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd?.[Symbol.asyncDispose]());

  const open = (prefix: string, options: Partial<EtcdStorageOptions> = {}) =>
    openEtcdStorage({ endpoints: etcd.endpoints, prefix, ...options });

  it("is installed into while empty, and opened later with its own keys, whatever others have added", async () => {
    await using first = await open("/mine", { mustBeInstalled: true });
    await first.create("/a", Buffer.from("1"));
    await using _other = await open("/registry");
    await _other.create("/secrets/of-others", Buffer.from("1"));
    await using again = await open("/mine", { mustBeInstalled: true });
    expect(await again.get("/a")).toBeDefined();
  });

  it.each(["/mien", "/min", "/mine2", "/zzz", "/a"])(
    "does not open at %s, where there are no keys, and writes nothing",
    async (prefix) => {
      await using own = await open("/mine");
      const before = await own.currentRevision();
      const refused = open(prefix, { mustBeInstalled: true });
      await expect(refused).rejects.toThrow(EtcdPrefixError);
      await expect(refused).rejects.toThrow(/no keys below .* keys of other applications/);
      await expect(refused).rejects.not.toThrow(/of-others/);
      expect(await own.currentRevision()).toBe(before);
      await expect(open(prefix, { mustBeInstalled: true })).rejects.toThrow(EtcdPrefixError);
      await using _asked = await open(`${prefix}-asked`, { mustBeInstalled: false });
    },
  );

  it.each([
    ["unless-shared", false],
    ["never", false],
    ["always", true],
  ] as const)("is compacted: %s, %s", async (compaction, isCompacted) => {
    await using other = await open("/registry");
    const old = await other.create(`/history/${compaction}`, Buffer.from("1"));
    await other.create(`/newer/${compaction}`, Buffer.from("1"));
    await using own = await open("/mine", { compaction });
    await own.compact(await own.currentRevision());
    const reading = other.list("/history/", { revision: old });
    if (isCompacted) await expect(reading).rejects.toThrow(RevisionCompactedError);
    else expect((await reading).entries.length).toBeGreaterThan(0);
  });

  it("is compacted only by its single user", async () => {
    await using alone = await startEtcd();
    await using own = await openEtcdStorage({
      endpoints: alone.endpoints,
      prefix: "/mine",
      compaction: "unless-shared",
      mustBeInstalled: true,
    });
    const old = await own.create("/a", Buffer.from("1"));
    await own.create("/b", Buffer.from("1"));
    await own.compact(await own.currentRevision());
    await expect(own.list("/", { revision: old })).rejects.toThrow(RevisionCompactedError);
  });
});
