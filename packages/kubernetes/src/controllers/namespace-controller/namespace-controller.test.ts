import type { Controller } from "@postern/apiserver/controllers/controller-port";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createTestCluster, type TestCluster, widgets } from "../../builtin/testing/test-cluster.ts";
import { createNamespaceController } from "./namespace-controller.ts";

let cluster: TestCluster;
let controller: Controller;

beforeEach(async () => {
  cluster = await createTestCluster([{ ...widgets, group: "", kind: "Pod", plural: "pods", singular: "pod" }]);
  controller = createNamespaceController(cluster.port, cluster.resource("namespaces"));
  await cluster.create("namespaces", { metadata: { name: "doomed" } });
});
afterEach(async () => {
  controller[Symbol.dispose]();
  await cluster[Symbol.asyncDispose]();
  expect(cluster.port.errors).toEqual([]);
});

const doomed = { name: "doomed" };
const widget = (name: string, finalizers: string[] = []) =>
  cluster.create("widgets", { metadata: { name, namespace: "doomed", finalizers } });
const conditionsOf = () =>
  Object.fromEntries(
    ((cluster.get("namespaces", doomed)?.["status"] as any)?.conditions ?? []).map((condition: any) => [
      condition.type,
      `${condition.status} ${condition.message}`,
    ]),
  );

describe("the namespace controller", () => {
  it("empties a namespace that is being deleted, and lets it go", async () => {
    await widget("a");
    await cluster.create("secrets", { metadata: { name: "s", namespace: "doomed" } });
    await cluster.create("widgets", { metadata: { name: "b", namespace: "other" } });
    const deleted = await cluster.delete("namespaces", doomed);
    expect(deleted["status"]).toEqual({ phase: "Terminating" });
    expect(deleted["spec"]).toEqual({ finalizers: ["kubernetes"] });
    await controller.idle();
    expect(cluster.names("namespaces")).toEqual(["default", "other"]);
    expect(cluster.names("widgets")).toEqual(["b"]);
    expect(cluster.names("secrets")).toEqual([]);
  });

  it("waits for objects with finalizers, and lists them in its status", async () => {
    await widget("a", ["example.com/held"]);
    await cluster.delete("namespaces", doomed);
    await controller.idle();
    expect(conditionsOf()).toEqual({
      NamespaceDeletionDiscoveryFailure: "False All resources successfully discovered",
      NamespaceDeletionGroupVersionParsingFailure: "False All legacy kube types successfully parsed",
      NamespaceDeletionContentFailure: "False All content successfully deleted, may be waiting on finalization",
      NamespaceContentRemaining:
        "True Some resources are remaining: widgets.management.example.com has 1 resource instances",
      NamespaceFinalizersRemaining:
        "True Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances",
    });
    await cluster.update("widgets", { name: "a", namespace: "doomed" }, (a) => ({
      ...a,
      metadata: { ...a.metadata, finalizers: [] },
    }));
    await controller.idle();
    expect(cluster.names("namespaces")).toEqual(["default", "other"]);
  });

  it("deletes nothing else before the last pod is gone", async () => {
    await widget("a");
    await cluster.create("pods", { metadata: { name: "p", namespace: "doomed", finalizers: ["example.com/held"] } });
    await cluster.delete("namespaces", doomed);
    await controller.idle();
    expect(cluster.get("pods", { name: "p", namespace: "doomed" })?.metadata.deletionTimestamp).toBeDefined();
    expect(cluster.names("widgets")).toEqual(["a"]);
    expect(conditionsOf().NamespaceContentRemaining).toBe(
      "True Some resources are remaining: pods. has 1 resource instances",
    );
    await cluster.update("pods", { name: "p", namespace: "doomed" }, (pod) => ({
      ...pod,
      metadata: { ...pod.metadata, finalizers: [] },
    }));
    await controller.idle();
    expect(cluster.names("widgets")).toEqual([]);
    expect(cluster.names("namespaces")).toEqual(["default", "other"]);
  });

  it("leaves a namespace that others hold, once its own work is done", async () => {
    await cluster.update("namespaces", { name: "doomed", subresource: "finalize" }, (namespace) => ({
      ...namespace,
      spec: { finalizers: ["kubernetes", "example.com/own"] },
    }));
    await cluster.delete("namespaces", doomed);
    await controller.idle();
    expect(cluster.get("namespaces", doomed)?.["spec"]).toEqual({ finalizers: ["example.com/own"] });
  });

  it("refuses new content in a terminating or missing namespace", async () => {
    await widget("a", ["example.com/held"]);
    await cluster.delete("namespaces", doomed);
    await expect(widget("b")).rejects.toMatchObject({
      code: 403,
      message:
        'widgets.management.example.com "b" is forbidden: unable to create new content in namespace doomed because it is being terminated',
      details: {
        causes: [
          {
            reason: "NamespaceTerminating",
            message: "namespace doomed is being terminated",
            field: "metadata.namespace",
          },
        ],
      },
    });
    await expect(
      cluster.create("widgets", { metadata: { name: "Bad Name", namespace: "absent" } }),
    ).rejects.toMatchObject({ code: 404, message: 'namespaces "absent" not found' });
  });

  it("never lets the first namespaces go", async () => {
    await expect(cluster.delete("namespaces", { name: "default" })).rejects.toMatchObject({
      code: 403,
      message: 'namespaces "default" is forbidden: this namespace may not be deleted',
    });
  });
});
