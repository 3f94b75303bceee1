// A ledger that has missed something, and the limit of certificates of one holder.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { withGap } from "@postern/apiserver/storage/testing/with-gap";
import { expect, it } from "vitest";
import { type AccessKeyServer, createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";
import type { IssuedCertificate } from "./issued-certificate.ts";

it("closes only the connections of certificates that were revoked meanwhile", async () => {
  const inner = createMemoryStorage();
  const { storage, miss } = withGap(inner);
  await using server = await createAccessKeyServer({ storage });
  const { certificates, cache } = server;
  const cut: string[] = [];
  for (const serial of ["5A", "60"]) {
    await certificates.record({
      serial,
      commonName: "jane",
      organizations: [],
      issuedAt: 0,
      notAfter: Number.MAX_SAFE_INTEGER,
      instanceUid: "demo",
    });
    certificates.onRevoked(serial, () => void cut.push(serial));
  }
  const { entries } = await inner.list("/registry/management/internal/certificates/");
  const gone = entries.find(({ key }) => key.endsWith("/60"));
  miss(cache.revision);
  await inner.delete(gone?.key ?? "", gone?.revision ?? 0);
  await expect.poll(() => cut).toEqual(["60"]);
  expect(certificates.find("60")).toBeUndefined();
  expect(certificates.refusalOf("5A", "demo")).toBeUndefined();
});

function certificateOf(owner: string | undefined, serial: string, more: Partial<IssuedCertificate> = {}) {
  const issuedTo =
    owner === undefined
      ? undefined
      : {
          owner: { kind: "user" as const, name: owner },
          ownerUid: undefined,
          project: "team",
          virtualCluster: "dev",
          parentUid: undefined,
          origins: [],
        };
  const subject = { commonName: owner ?? "dev", organizations: [], issuedAt: 0 };
  return { serial, ...subject, notAfter: Number.MAX_SAFE_INTEGER, instanceUid: "demo", issuedTo, ...more };
}

const fill = async ({ certificates }: AccessKeyServer, owner: string | undefined, prefix: string, count: number) => {
  for (let number = 0; number < count; number++) {
    await certificates.record(certificateOf(owner, `${prefix}${number.toString(16).toUpperCase()}`));
  }
};
const LIMIT = { objects: 5, bytes: 1 << 20 };

it("refuses certificates of an owner who has the most, with the number, and takes those of others", async () => {
  await using server = await createAccessKeyServer({ certificateLimit: LIMIT });
  const { certificates } = server;
  await fill(server, "jane", "A", 5);
  const message = /the user "jane" has 5 client certificates .* and the limit is 5 /;
  await expect(certificates.record(certificateOf("jane", "AF"))).rejects.toMatchObject({
    code: 403,
    message: expect.stringMatching(message),
  });
  expect(certificates.find("AF")).toBeUndefined();
  await fill(server, "joe", "B", 5);
  // New facts about one that is known are no new certificate.
  await certificates.record(certificateOf("jane", "A0", { commonName: "changed" }));
  expect(certificates.find("A0")?.commonName).toBe("changed");
  expect(certificates.ownedBy({ kind: "user", name: "jane" })).toHaveLength(5);
});

it("counts those without an owner for their virtual cluster", async () => {
  await using server = await createAccessKeyServer({ certificateLimit: LIMIT });
  await fill(server, undefined, "C", 5);
  await expect(fill(server, undefined, "D", 1)).rejects.toMatchObject({ code: 403 });
  await server.certificates.record(certificateOf(undefined, "E0", { instanceUid: "other" }));
});

it("counts the bytes of records by holder", async () => {
  await using server = await createAccessKeyServer({ certificateLimit: { objects: 5, bytes: 3_000 } });
  const groups = Array.from({ length: 100 }, (_, number) => `a group with a long name ${number}`);
  await server.certificates.record(certificateOf("jane", "A0", { organizations: groups }));
  await expect(server.certificates.record(certificateOf("jane", "A1"))).rejects.toMatchObject({ code: 403 });
});

it("counts what is being written", async () => {
  await using server = await createAccessKeyServer({ certificateLimit: LIMIT });
  const serials = Array.from({ length: 10 }, (_, number) => `B${number}`);
  const outcomes = await Promise.allSettled(
    serials.map((serial) => server.certificates.record(certificateOf("joe", serial))),
  );
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
});

it("forgets first what nobody accepts any more, and still refuses it", async () => {
  await using server = await createAccessKeyServer({ certificateLimit: LIMIT });
  const { certificates } = server;
  await fill(server, "jane", "A", 3);
  await certificates.record(certificateOf("jane", "F0", { isVerifiedElsewhere: true }));
  await certificates.record(certificateOf("jane", "F1", { notAfter: 1 }));
  await certificates.record(certificateOf("jane", "B0"));
  expect(certificates.find("F1")).toBeUndefined();
  for (const serial of ["A0", "F0"]) await certificates.revoke(serial);
  await certificates.record(certificateOf("jane", "B1"));
  expect(certificates.refusalOf("A0", "demo")).toBe("the certificate is not known");
  // A cluster accepts it until its end, and the list says so.
  expect(certificates.find("F0")).toBeDefined();
  await expect(certificates.record(certificateOf("jane", "B2"))).rejects.toMatchObject({ code: 403 });
});
