// What the index does when it has missed something: the store no longer knows what comes next, and everything is loaded anew.

import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import type { WatchObserver } from "@postern/apiserver/storage/storage";
import { RevisionCompactedError } from "@postern/apiserver/storage/storage-errors";
import { withMethods } from "@postern/apiserver/storage/testing/with-methods";
import { expect, it } from "vitest";
import { createAccessKeyServer } from "./testing/access-key-server.ts";

const user = { name: "root", groups: ["system:masters"] };

it("cuts what a key has open that was revoked meanwhile, and nothing of the others", async () => {
  const inner = createMemoryStorage();
  const watches = new Map<Disposable, WatchObserver>();
  const storage = withMethods(inner, {
    watch(prefix, from, observer) {
      const watch = inner.watch(prefix, from, observer);
      watches.set(watch, observer);
      return watch;
    },
  });
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
  const revision = view.revision;
  for (const [watch, observer] of watches) {
    watch[Symbol.dispose]();
    observer.error(new RevisionCompactedError(revision, revision));
  }
  await inner.delete(revoked?.key ?? "", revoked?.revision ?? 0);
  await expect.poll(() => cut).toEqual(["goes"]);
  expect(server.keys.byName("goes")).toBeUndefined();
  expect(server.keys.byName("stays")?.name).toBe("stays");
});
