// Refusals are kube-apiserver v1.32's, word for word.

import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { alice, grantToAlice, messageOf } from "./testing/scenarios.ts";
import { createTestCluster, ownerReferenceTo, type TestCluster } from "./testing/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("owner references", () => {
  it("need the right to delete: the owner for blockOwnerDeletion (422), the object for any change (403)", async () => {
    await grantToAlice(cluster, [{ verbs: ["get"], apiGroups: [""], resources: ["configmaps"] }]);
    const owner = await cluster.create("configmaps", { metadata: { name: "owner" } });
    const owned = (more: object, user = alice) =>
      messageOf(
        cluster.create(
          "configmaps",
          { metadata: { name: "c", ownerReferences: [ownerReferenceTo(owner, more)] } },
          user,
        ),
      );
    expect(await owned({ blockOwnerDeletion: true })).toBe(
      'ConfigMap "c" is invalid: metadata.ownerReferences[0].blockOwnerDeletion: Forbidden: cannot set blockOwnerDeletion if an ownerReference refers to a resource you can\'t delete',
    );
    expect(await owned({ blockOwnerDeletion: true, kind: "Nothing" })).toMatch(/cannot find RESTMapping.*Kind Nothing/);
    expect(await owned({})).toBe("allowed");
    const clear = (user?: UserInfo) =>
      messageOf(
        cluster.update(
          "configmaps",
          { name: "c" },
          (c) => ({ ...c, metadata: { ...c.metadata, ownerReferences: [] } }),
          user,
        ),
      );
    expect(await clear(alice)).toBe(
      'configmaps "c" is forbidden: cannot set an ownerRef on a resource you can\'t delete: , <nil>',
    );
    expect(await clear()).toBe("allowed");
  });

  it("need no right to delete the owner where its finalizers may be updated", async () => {
    await grantToAlice(cluster, [
      { verbs: ["update"], apiGroups: [""], resources: ["secrets/finalizers"], resourceNames: ["owner"] },
    ]);
    const owned = async (name: string) => {
      const owner = await cluster.create("secrets", { metadata: { name } });
      const ownerReferences = [ownerReferenceTo(owner, { blockOwnerDeletion: true })];
      return messageOf(cluster.create("configmaps", { metadata: { name, ownerReferences } }, alice));
    };
    expect(await owned("owner")).toBe("allowed");
    expect(await owned("other")).toMatch(/blockOwnerDeletion: Forbidden/);
  });
});
