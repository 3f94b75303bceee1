// Refusals are kube-apiserver v1.32's, word for word.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { cellsOf, messageOf } from "../testing/scenarios.ts";
import { createTestCluster, type TestCluster } from "../testing/test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await createTestCluster();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe("namespaces", () => {
  it("become active, with a finalizer and a label of their name", async () => {
    const created = await cluster.create("namespaces", { metadata: { name: "n" }, status: { phase: "Odd" } });
    expect(created).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "n" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    expect(created.metadata.generation).toBe(undefined);
    const updated = await cluster.update("namespaces", { name: "n" }, (n) => ({
      ...n,
      spec: {},
      metadata: { ...n.metadata, labels: { a: "b" } },
    }));
    expect(updated["spec"]).toEqual({ finalizers: ["kubernetes"] });
    expect(updated.metadata.labels).toEqual({ a: "b", "kubernetes.io/metadata.name": "n" });
    expect(cellsOf(cluster, "namespaces", "n", "")).toEqual({ Name: "n", Status: "Active", Age: "5s" });
  });

  it.each([
    ["a.b", /Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots/],
    ["N", /a lowercase RFC 1123 label must consist/],
  ])("refuse the name %s", async (name, message) => {
    expect(await messageOf(cluster.create("namespaces", { metadata: { name } }))).toMatch(message);
  });

  it("go at once when nothing holds them", async () => {
    await cluster.create("namespaces", { metadata: { name: "n" } });
    await cluster.update("namespaces", { name: "n", subresource: "finalize" }, (n) => ({ ...n, spec: {} }));
    await cluster.delete("namespaces", { name: "n" });
    expect(cluster.names("namespaces")).toEqual(["default", "other"]);
  });
});

describe("secrets and config maps", () => {
  it("put stringData into data, over what is there, and give a type", async () => {
    const secret = await cluster.create("secrets", {
      metadata: { name: "s" },
      data: { a: "b2xk", b: "Yg==" },
      stringData: { a: "new" },
    });
    expect(secret).toMatchObject({ data: { a: "bmV3", b: "Yg==" }, type: "Opaque" });
    expect(secret["stringData"]).toBe(undefined);
    expect(cellsOf(cluster, "secrets", "s")).toEqual({ Name: "s", Type: "Opaque", Data: 2, Age: "5s" });
  });

  it.each([
    [{ type: "kubernetes.io/tls", data: { "tls.crt": "" } }, "data[tls.key]: Required value"],
    [{ type: "kubernetes.io/basic-auth" }, "[data[username]: Required value, data[password]: Required value]"],
    [
      { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": "eA==" } },
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be valid JSON',
    ],
    [
      { type: "kubernetes.io/service-account-token" },
      "metadata.annotations[kubernetes.io/service-account.name]: Required value",
    ],
    [
      { data: { "a/b": "" } },
      "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    ],
    [{ data: { a: "A".repeat(1_400_000) } }, "data: Too long: may not be more than 1048576 bytes"],
  ])("refuse %#", async (secret, message) => {
    const created = cluster.create("secrets", { metadata: { name: "s" }, ...secret } as never);
    expect(await messageOf(created)).toBe(`Secret "s" is invalid: ${message}`);
  });

  it("keep what is immutable", async () => {
    await cluster.create("secrets", { metadata: { name: "s" }, immutable: true, data: { a: "" } });
    const change = (edit: object) => messageOf(cluster.update("secrets", { name: "s" }, (s) => ({ ...s, ...edit })));
    const why = "Forbidden: field is immutable when `immutable` is set";
    expect(await change({ immutable: false })).toBe(`Secret "s" is invalid: immutable: ${why}`);
    expect(await change({ data: { a: "YQ==" } })).toBe(`Secret "s" is invalid: data: ${why}`);
    expect(await change({ type: "other" })).toBe(
      'Secret "s" is invalid: type: Invalid value: "other": field is immutable',
    );
    expect(await change({ metadata: { name: "s", namespace: "default", labels: { a: "b" } } })).toBe("allowed");
  });

  it("refuse a key that is in both halves of a config map", async () => {
    const both = { data: { a: "x" }, binaryData: { a: "eA==" } };
    expect(await messageOf(cluster.create("configmaps", { metadata: { name: "c" }, ...both }))).toBe(
      'ConfigMap "c" is invalid: data[a]: Invalid value: "a": duplicate of key present in binaryData',
    );
  });
});

describe("leases and events", () => {
  it("refuse a lease without a duration, and an event about another namespace", async () => {
    const lease = { metadata: { name: "l" }, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } };
    expect(await messageOf(cluster.create("leases", lease))).toBe(
      'Lease.coordination.k8s.io "l" is invalid: [spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0, spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0]',
    );
    const event = { metadata: { name: "e" }, involvedObject: { kind: "Pod", name: "p", namespace: "other" } };
    expect(await messageOf(cluster.create("events", event))).toBe(
      'Event "e" is invalid: involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    );
  });
});

describe("events", () => {
  it("say first when they were last seen, and their name last", async () => {
    const involvedObject = { kind: "Pod", name: "p", namespace: "default", fieldPath: "spec.containers{c}" };
    await cluster.create("events", {
      metadata: { name: "bare" },
      involvedObject: { kind: "Pod", namespace: "default" },
    });
    await cluster.create("events", {
      metadata: { name: "told" },
      involvedObject,
      reason: "Started",
      message: " has begun\n",
      type: "Normal",
      source: { component: "kubelet", host: "node" },
      count: 3,
    });
    expect(Object.entries(cellsOf(cluster, "events", "told"))).toEqual([
      ["Last Seen", "<unknown>"],
      ["Type", "Normal"],
      ["Reason", "Started"],
      ["Object", "pod/p"],
      ["Subobject", "spec.containers{c}"],
      ["Source", "kubelet, node"],
      ["Message", "has begun"],
      ["First Seen", "<unknown>"],
      ["Count", 3],
      ["Name", "told"],
    ]);
    expect(cellsOf(cluster, "events", "bare")).toMatchObject({
      Object: "pod",
      Source: "",
      Subobject: "",
      Message: "",
      Count: 1,
    });
  });

  it("are as old as their series, if they are one", async () => {
    const { creationTimestamp } = (await cluster.create("namespaces", { metadata: { name: "clock" } })).metadata;
    await cluster.create("events", {
      metadata: { name: "series" },
      involvedObject: { kind: "Pod", name: "p", namespace: "default" },
      firstTimestamp: "2000-01-01T00:00:00Z",
      lastTimestamp: "2000-01-01T00:00:00Z",
      series: { count: 7, lastObservedTime: creationTimestamp ?? "" },
    });
    expect(cellsOf(cluster, "events", "series")).toMatchObject({
      "Last Seen": expect.stringMatching(/^\d+s$/),
      Count: 7,
    });
    expect(cellsOf(cluster, "events", "series")["First Seen"]).toMatch(/^\d+y\d*d?$/);
  });
});
