import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { describe, expect, it } from "vitest";
import { createFixedKeyRing } from "../../foundation/encryption/key-ring.ts";
import { followAccounts } from "../../foundation/store/record-accounts.ts";
import { createAccessKeyFormat } from "../access-keys/secrets/access-key-format.ts";
import { followReadRecords } from "./read-records.ts";
import { decodeWrapped, decodeWrappedEntry } from "./wrapped-record.ts";
import { createWrappedValues, REMEMBERED_MS, type Unwrapped } from "./wrapped-values.ts";

const PREFIX = "/registry/management/internal/wrapped-values/";
const MINUTE = 60_000;

/** Some servers on one store; each has its own memory. */
async function openServers({ servers = 1, objects = 1_000, secret = 7 } = {}) {
  const storage = createMemoryStorage();
  const time = manualTime();
  const { scheduler } = systemRuntime;
  const made = [];
  for (let at = 0; at < servers; at++) {
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler });
    await cache.ready();
    const records = { view: cache.view(PREFIX), prefix: PREFIX, storage };
    const values = createWrappedValues({
      records,
      accounts: followAccounts(records, scheduler, (record) => decodeWrapped(record).account),
      read: followReadRecords(records, scheduler),
      keyRing: createFixedKeyRing(new Uint8Array(32).fill(secret)),
      runtime: { clock: time.clock, random: systemRuntime.random },
      format: createAccessKeyFormat("postern"),
      limit: { objects, bytes: 1 << 20 },
    });
    made.push({
      cache,
      wrap: (user = "ann", accessKey = "the key") =>
        values.wrap({
          owner: { kind: "user", name: user },
          subject: { kind: "OwnedAccessKey", name: "k", uid: "u" },
          credential: { keyName: "k", keyUid: "u", keyID: "i" },
          content: { accessKey },
          validMs: 5 * MINUTE,
        }),
      read: (value: string, refusal?: "outside" | "revoked"): Promise<Unwrapped> =>
        values.unwrap(value, { at: time.clock.now(), address: "192.0.2.1", userAgent: "test" }, () => refusal),
      report: (value: string, discard = true): Promise<void> =>
        values.report(value, { at: time.clock.now(), address: "198.51.100.9", userAgent: "scanner" }, { discard }),
      settled: () => cache.refresh({ signal: new AbortController().signal }),
    });
  }
  const [first] = made;
  if (first === undefined) throw new Error("there is a server");
  const stored = async () => (await storage.list(PREFIX)).entries;
  return { ...first, made, time, stored };
}

describe("a wrapped value", () => {
  it("is read once on any of the servers, also by readers at the same moment", async () => {
    const { made, wrap } = await openServers({ servers: 2 });
    const { value } = await wrap();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, at) => made[at % 2]?.read(value)));
    expect(answers.filter((answer) => answer?.outcome === "read")).toHaveLength(1);
    expect(answers.filter((answer) => answer?.outcome === "read-before")).toHaveLength(19);
  });

  it("cannot be read once it was reported as leaked, and has one report however often it is", async () => {
    const { wrap, read, report, settled, stored } = await openServers();
    const [found, kept, other] = [await wrap(), await wrap(), await wrap()];
    await settled();
    await Promise.all([report(found.value), report(found.value), report(kept.value, false), report("noise")]);
    expect((await read(found.value)).outcome).toBe("unknown");
    expect((await read(kept.value)).outcome).toBe("read");
    expect((await read(other.value)).outcome).toBe("read");
    const reports = (await stored()).map((entry) => decodeWrappedEntry(entry).suspicious.map(({ why }) => why));
    expect(reports.toSorted()).toEqual([[], ["Leaked"], ["Leaked"]]);
  });

  it("expires, and its reading is remembered for a day", async () => {
    const { wrap, read, time } = await openServers();
    const [late, early] = [await wrap(), await wrap()];
    expect((await read(early.value)).outcome).toBe("read");
    time.advance(5 * MINUTE);
    expect((await read(late.value)).outcome).toBe("unknown");
    expect((await read(early.value)).outcome).toBe("read-before");
    time.advance(REMEMBERED_MS);
    expect((await read(early.value)).outcome).toBe("unknown");
  });

  it("is not used up by a refused reading; the first of each kind is written down", async () => {
    const { wrap, read, stored } = await openServers();
    const { value } = await wrap();
    const revisions = async () => (await stored()).map(({ revision }) => revision);
    expect((await read(value, "revoked")).outcome).toBe("revoked");
    for (const _ of [1, 2, 3]) expect((await read(value, "outside")).outcome).toBe("outside");
    const [before] = await revisions();
    await read(value, "outside");
    expect(await revisions()).toEqual([before]);
    expect(await read(value)).toMatchObject({ outcome: "read", content: { accessKey: "the key" } });
  });

  it("is opened by neither the store nor a server without it", async () => {
    const { wrap, read, stored } = await openServers();
    const { value, id } = await wrap("ann", "a secret in it");
    const text = () => stored().then((entries) => entries.map(({ value }) => Buffer.from(value).toString()).join());
    expect(await text()).toContain(id);
    expect(await text()).not.toContain("a secret in it");
    expect(await text()).not.toContain(value.split("_")[2]);
    const changed = `${value.slice(0, -8)}AAAAAAAA`;
    expect((await read(changed)).outcome).toBe("unknown");
    await read(value);
    expect(await text()).not.toContain("sealed");
  });

  it("of a full owner makes room by those that were read, and is refused where none was", async () => {
    const { wrap, read, stored, settled } = await openServers({ objects: 3 });
    const values = [await wrap(), await wrap(), await wrap()];
    await settled();
    await expect(wrap()).rejects.toMatchObject({ code: 403, message: expect.stringContaining("the limit is 3") });
    await wrap("ben");
    await read(values[1]?.value ?? "");
    await settled();
    await wrap();
    await settled();
    expect(await stored()).toHaveLength(4);
    await expect(wrap()).rejects.toMatchObject({ code: 403 });
    expect((await read(values[0]?.value ?? "")).outcome).toBe("read");
  });

  it("is not made in excess by requests at the same moment", async () => {
    const { wrap, stored } = await openServers({ objects: 3 });
    await Promise.allSettled(Array.from({ length: 10 }, () => wrap()));
    expect(await stored()).toHaveLength(3);
  });
});
