// What the ledger does when it has missed something: the store no longer knows what comes next, and everything is loaded again.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { withGap } from "@postern/apiserver/storage/testing/with-gap";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../access-keys/testing/access-key-server.ts";

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
  const { entries } = await inner.list("/registry/test/internal/certificates/");
  const gone = entries.find(({ key }) => key.endsWith("/60"));
  miss(cache.revision);
  await inner.delete(gone?.key ?? "", gone?.revision ?? 0);
  await expect.poll(() => cut).toEqual(["60"]);
  expect(certificates.find("60")).toBeUndefined();
  expect(certificates.refusalOf("5A", "demo")).toBeUndefined();
});
