// The last use of certificates: exact where it was seen, within a minute elsewhere, and gone with its certificate.

import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { manualTime } from "@postern/apiserver/runtime/testing/manual-time";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";
import { certificateUseWriter } from "./feature.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";
import { LatestUsed, withLastUses } from "./outdated-certificates.ts";

const RECORDS = "/registry/management/internal/certificate-activity/";
const NOW = 1_000_000;

const certificate = (serial: string): IssuedCertificate => ({
  ...{ serial, commonName: `cn-${serial}`, organizations: [], issuedAt: 0, instanceUid: "demo" },
  notAfter: 4_102_444_800_000,
});
const request = (serial: string, address: string, userAgent?: string) =>
  ({
    peerCertificate: () => ({ serialNumber: serial }),
    remoteAddress: address,
    headers: userAgent === undefined ? {} : { "user-agent": userAgent },
  }) as never;

it("is that of all servers of a store, and goes with the certificate", async () => {
  const storage = createMemoryStorage();
  await using one = await createAccessKeyServer({ storage });
  await using other = await createAccessKeyServer({ storage });
  const teardown = createTeardown();
  const writerOf = (server: typeof one) => {
    const time = manualTime();
    const { certificates } = server;
    const failures: unknown[] = [];
    const writer = certificateUseWriter(
      {
        records: (kind: string) => ({
          view: server.cache.view(`/registry/management/internal/${kind}/`),
          prefix: `/registry/management/internal/${kind}/`,
        }),
        storage,
        runtime: { scheduler: time.scheduler },
        onError: (error: unknown) => void failures.push(error),
      } as never,
      certificates,
    );
    teardown.use(writer);
    return {
      async flush() {
        await writer.flush();
        for (const { cache } of [one, other]) await cache.waitFor(await storage.currentRevision());
        expect(failures).toEqual([]);
      },
    };
  };
  const writers = [writerOf(one), writerOf(other)] as const;
  await one.certificates.record(certificate("A1"));
  await other.cache.waitFor(await storage.currentRevision());
  one.certificates.noteUse(request("A1", "192.0.2.1", `curl/8 ${"x".repeat(1000)}`));
  expect(one.certificates.lastUseOf("A1")?.from?.address).toBe("192.0.2.1");
  expect(other.certificates.lastUseOf("A1")).toBeUndefined();
  await writers[0].flush();
  const seen = other.certificates.lastUseOf("A1");
  expect(seen?.from?.userAgent).toMatch(/^curl\/8 x+$/);
  expect(seen?.from?.userAgent).toHaveLength(200);
  other.time.advance(5_000);
  other.certificates.noteUse(request("A1", "192.0.2.2"));
  await writers[1].flush();
  expect(one.certificates.lastUseOf("A1")).toMatchObject({ from: { address: "192.0.2.2", userAgent: "" } });
  // A use of a certificate without a record leaves nothing.
  one.certificates.noteUse(request("FF", "192.0.2.3"));
  await writers[0].flush();
  const names = async () => (await storage.list(RECORDS)).entries.map(({ key }) => key.slice(RECORDS.length));
  expect(await names()).toEqual(["a1"]);
  await one.certificates.forget("A1");
  await other.cache.waitFor(await storage.currentRevision());
  await writers[0].flush();
  expect(await names()).toEqual([]);
  expect(one.certificates.lastUseOf("A1")).toBeUndefined();
  await teardown.run();
});

it("lists the hundred that were used last, the latest first, with the numbers of all", () => {
  const uses = new Map(Array.from({ length: 1_000 }, (_, at) => [`S${at}`, NOW + ((at * 7_919) % 1_000)]));
  const all = [...uses.keys(), "unused"].map(certificate);
  const steps = withLastUses(all, NOW + 500, {
    lastUseOf: (serial) => {
      const at = uses.get(serial);
      return at === undefined ? undefined : { at, from: undefined };
    },
  });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const { count, used, items } = step.value;
  expect([count, used, items.length]).toEqual([1_001, 500, 100]);
  const latest = [...uses].sort(([, one], [, two]) => two - one).slice(0, 100);
  expect(items.map(({ id }) => id)).toEqual(latest.map(([serial]) => `serial:${serial}`));
  expect(items.every(({ lastActivity }) => lastActivity !== undefined)).toBe(true);
});

it("describes only what is listed, and counts no use where no rotation is prepared", () => {
  const latest = new LatestUsed(undefined);
  let described = 0;
  for (let at = 0; at < 1_000; at++)
    latest.add({ at, from: undefined }, () => {
      described++;
      return { kind: "Certificate", id: String(at) };
    });
  const { count, used } = latest.credentials();
  expect([count, used, described]).toEqual([1_000, 0, 100]);
});
