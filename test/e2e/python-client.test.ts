// The Python client of Kubernetes against the server: discovery, objects, patches, apply and watches.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startServer } from "../conformance/testing/start-server.ts";
import { startPostern, succeed, temporaryDirectory, tool } from "./testing/postern-process.ts";
import { PYTHON, pythonScript, whyNoPythonClient } from "./testing/python.ts";
import { startTenantClusters } from "./testing/tenant-clusters.ts";

const missing = await whyNoPythonClient();

const reason = missing === undefined ? "" : ` (skipped: ${missing})`;

it.skipIf(missing !== undefined)(`the Python client finds everything as in Kubernetes${reason} (M-05)`, async () => {
  await using directory = await temporaryDirectory();
  await using server = await startPostern(join(directory.path, "data"));
  const seen = JSON.parse(await succeed(tool(PYTHON, [pythonScript("python-client.py"), server.adminKubeconfig])));
  expect(seen).toEqual({
    discovered: {
      plural: "ownedaccesskeys",
      namespaced: [false, true],
      verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
      subresources: expect.arrayContaining(["accesskey", "kubeconfig", "status"]),
      version: expect.stringMatching(/^v1\.36/),
    },
    created: ["python", "one", true],
    exists: [409, "AlreadyExists"],
    read: ["one", null],
    merged: "two",
    patched: "three",
    stale: [409, "Conflict"],
    applied: [200, "four"],
    conflict: [409, "Conflict"],
    listed: ["python"],
    patches: {
      json: ["a", "b"],
      merge: ["b", "c"],
      strategic: ["d"],
      apply: ["d", "e"],
      default: ["d", "e", "f"],
    },
    strategic: [415, "UnsupportedMediaType"],
    unknown: [415, "UnsupportedMediaType"],
    // Objects deleted after the first page are still in the third: all pages show one state.
    pages: [["page-0", "page-1"], ["page-2", "page-3"], ["page-4"]],
    typed: [3, null, true],
    broken: [400, "BadRequest"],
    watched: [
      ["ADDED", "watched"],
      ["MODIFIED", "watched"],
      ["DELETED", "watched"],
    ],
    custom: "python",
    namespaces: ["default", "p-default"],
    streamed: ["ADDED", "V1Namespace"],
    roles: true,
    allowed: true,
    exact: true,
    deleted: ["Success", "python"],
    gone: [404, "NotFound"],
  });
  expect(await server.stop()).toBe(0);
});

it.skipIf(missing !== undefined)(`the Python client finds custom objects as in Kubernetes${reason}`, async () => {
  await using directory = await temporaryDirectory();
  await using server = await startServer();
  const kubeConfig = join(directory.path, "kube-config.json");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "here", user: "admin" } }],
    clusters: [{ name: "here", cluster: { server: server.url, "certificate-authority": server.caFile } }],
    users: [{ name: "admin", user: { token: "admin-token" } }],
  };
  await writeFile(kubeConfig, JSON.stringify(config), { mode: 0o600 });
  const seen = JSON.parse(await succeed(tool(PYTHON, [pythonScript("python-custom-objects.py"), kubeConfig])));
  expect(seen).toEqual({
    resources: ["ownedaccesskeys", "ownedaccesskeys/status", "widgets", "widgets/scale", "widgets/status"],
    created: ["one", 1, 1],
    exists: [409, "AlreadyExists"],
    invalid: [422, "Invalid"],
    listed: [["one", "two"], ["two"], ["one", "two"]],
    pages: [["one"], ["two"]],
    merged: 2,
    generation: 2,
    replaced: 4,
    stale: [409, "Conflict"],
    status: [5, 4],
    scaled: [7, 7, "Scale"],
    watched: [
      ["ADDED", "watched", 1],
      ["MODIFIED", "watched", 2],
      ["DELETED", "watched", 2],
    ],
    dryRun: [404, "NotFound"],
    deleted: "Success",
    gone: [404, "NotFound"],
    emptied: [],
    cluster: ["key", ["key"]],
    definitions: [],
  });
});

it.skipIf(missing !== undefined)(`the typed Python client takes answers with kinds of a cluster${reason}`, async () => {
  await using clusters = await startTenantClusters();
  const { config } = await clusters.create("python", { workloads: "stored" });
  const seen = JSON.parse(await succeed(tool(PYTHON, [pythonScript("python-workloads.py"), config])));
  expect(seen).toEqual({
    ReplicaSet: [1, { replicas: 0 }],
    DaemonSet: [
      1,
      { current_number_scheduled: 0, desired_number_scheduled: 0, number_misscheduled: 0, number_ready: 0 },
    ],
    StatefulSet: [1, { available_replicas: 0, replicas: 0 }],
    PodDisruptionBudget: [1, { current_healthy: 0, desired_healthy: 0, disruptions_allowed: 0, expected_pods: 0 }],
    Deployment: [1, {}],
    written: 0,
    lease: true,
    events: [["py"], ["py"]],
  });
});
