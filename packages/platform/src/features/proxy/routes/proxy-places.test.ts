// Clusters that do not answer: requests to them do not keep those of others waiting.

import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { expect, it } from "vitest";
import { startPlatform } from "../../../testing/running-platform.ts";
import { serveUpstream } from "../testing/serve-upstream.ts";

const THEIRS = "/kubernetes/project/shop/virtualcluster/theirs/api/v1/namespaces";
const NAMESPACE = { apiVersion: "v1", kind: "Namespace", metadata: { name: "new" } };

it("gives the places of requests for an external cluster to others", async () => {
  const arrived = deferred();
  let asked = 0;
  const { url, certificateAuthorityPem, server } = await serveUpstream((request, response) => {
    if (request.method === "GET") response.setHeader("content-type", "application/json").end("{}");
    else if (++asked === 2) arrived.resolve();
  });
  await using platform = await startPlatform({
    "proxy-allowed-addresses": ["127.0.0.1/32"],
    "max-mutating-requests-inflight": "2",
    "fairness-user-share-percent": "100",
    "fairness-key-share-percent": "100",
    "fairness-queue-seconds": "1",
  });
  const keys = [];
  for (const name of ["ann", "ben"]) {
    await platform.create("users", { metadata: { name } });
    const made = await platform.create("ownedaccesskeys", { metadata: { name }, spec: { user: name } });
    keys.push(made.spec.key);
  }
  const members = ["ann", "ben"].map((name) => ({ kind: "User", name, clusterRole: "postern:project-admin" }));
  await platform.create("projects", { metadata: { name: "shop" }, spec: { members } });
  const kubeconfig = {
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [
      {
        name: "a",
        cluster: {
          server: url,
          "certificate-authority-data": Buffer.from(certificateAuthorityPem ?? "").toString("base64"),
        },
      },
    ],
    users: [{ name: "a", user: { token: "own" } }],
  };
  await platform.create("/api/v1/namespaces/p-shop/secrets", {
    metadata: { name: "vc-theirs" },
    stringData: { config: JSON.stringify(kubeconfig) },
  });
  await platform.create("namespaces/p-shop/virtualclusterinstances", {
    metadata: { name: "theirs" },
    spec: { external: true },
  });
  const [ann, ben] = keys;
  await expect
    .poll(async () => (await platform.send({ path: THEIRS, key: ann })).status, { timeout: 40_000 })
    .toBe(200);

  const waiting = [1, 2].map(() => platform.send({ method: "POST", path: THEIRS, key: ann, body: NAMESPACE }));
  await arrived.promise;
  const secret = { metadata: { generateName: "own-" } };
  const path = "/api/v1/namespaces/p-shop/secrets";
  expect((await platform.send({ method: "POST", path, key: ben, body: secret })).status).toBe(201);
  server.closeAllConnections();
  for (const { status } of await Promise.all(waiting)) expect(status).toBeGreaterThanOrEqual(502);
});
