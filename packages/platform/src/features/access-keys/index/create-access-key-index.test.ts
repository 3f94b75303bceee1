// Recovery of an index that has missed something: the store no longer knows what comes next, and everything is loaded again.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { withGap } from "@postern/apiserver/storage/testing/with-gap";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "../testing/access-key-server.ts";

const user = { name: "root", groups: ["system:masters"] };

it("closes only the connections of keys that were revoked meanwhile", async () => {
  const inner = createMemoryStorage();
  const { storage, miss } = withGap(inner);
  await using server = await createAccessKeyServer({ storage });
  const cut: string[] = [];
  for (const name of ["stays", "goes"]) {
    const { body } = await server.send({
      method: "POST",
      url: "ownedaccesskeys",
      user,
      body: { metadata: { name }, spec: { subject: "jane" } },
    });
    const { credential } = await server.login(body.spec.key);
    credential?.onRevoked?.(() => void cut.push(name));
  }
  const { view, keys } = server.ownedAccessKeyResource;
  const revoked = view.get(keys.of("", "goes"));
  miss(view.revision);
  await inner.delete(revoked?.key ?? "", revoked?.revision ?? 0);
  await expect.poll(() => cut).toEqual(["goes"]);
  expect(server.keys.byName("goes")).toBeUndefined();
  expect(server.keys.byName("stays")?.name).toBe("stays");
});
