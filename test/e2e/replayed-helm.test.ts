// The requests that Helm sends, one after the other and with their headers, to the management API and to an embedded virtual cluster: each
// answer is what the client goes on with.
// Source: helm/pkg/{kube,storage/driver}

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import {
  expectStatus,
  MERGE,
  OPENAPI_V2,
  REPLAY_TARGETS,
  STRATEGIC,
  useReplayServer,
} from "./testing/replayed-client.ts";

const { sendTo } = useReplayServer();

describe.each(REPLAY_TARGETS)("in $where", ({ base, collection, kind, content, valueAt, object }) => {
  it("Helm installs, upgrades by a three-way patch, rolls back and uninstalls a release", async () => {
    const send = sendTo(base, "Helm/3.17.0");
    const secrets = "/api/v1/namespaces/default/secrets";
    const list = async (selector: string): Promise<readonly any[]> =>
      (await expectStatus(200, send("GET", `${secrets}?labelSelector=${encodeURIComponent(selector)}`))).items;
    // Larger than most releases, and of a kind that compression makes no smaller.
    const notes = Array.from({ length: 4_000 }, (_, index) => createHash("sha256").update(`${index}`).digest("base64"));
    const release = (version: number, status: string, old?: any): object => ({
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name: `sh.helm.release.v1.shop.v${version}`,
        namespace: "default",
        labels: { name: "shop", owner: "helm", status, version: String(version), modifiedAt: "1764000000" },
        ...(old === undefined ? {} : { resourceVersion: old.metadata.resourceVersion, uid: old.metadata.uid }),
      },
      type: "helm.sh/release.v1",
      data: {
        release: Buffer.from(
          gzipSync(JSON.stringify({ name: "shop", version, info: { status }, notes })).toString("base64"),
        ).toString("base64"),
      },
    });
    const path = `${collection}/helm`;
    const managed = {
      labels: { "app.kubernetes.io/managed-by": "Helm" },
      annotations: { "meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "default" },
    };

    // helm install
    await expectStatus(200, send("GET", "/version?timeout=32s"));
    expect(await list("name=shop,owner=helm")).toEqual([]);
    await expectStatus(200, send("GET", "/openapi/v2?timeout=32s", { accept: OPENAPI_V2 }));
    await expectStatus(404, send("GET", path));
    await expectStatus(201, send("POST", secrets, { body: release(1, "pending-install") }));
    await expectStatus(201, send("POST", `${collection}?fieldManager=helm`, { body: object("helm", "one", managed) }));
    const deployed = async (version: number, status: string): Promise<any> => {
      const old = await expectStatus(200, send("GET", `${secrets}/sh.helm.release.v1.shop.v${version}`));
      return await expectStatus(
        200,
        send("PUT", `${secrets}/sh.helm.release.v1.shop.v${version}`, { body: release(version, status, old) }),
      );
    };
    const first = await deployed(1, "deployed");
    expect(first).toMatchObject({ type: "helm.sh/release.v1", metadata: { labels: { status: "deployed" } } });
    await expectStatus(409, send("POST", secrets, { body: release(1, "pending-install") }));

    // helm upgrade: another client has changed the object meanwhile; that stays, as it is in neither manifest.
    await expectStatus(
      200,
      send("PATCH", path, { type: MERGE, body: { metadata: { annotations: { theirs: "yes" } } } }),
    );
    const [last] = await list("name=shop,owner=helm,status=deployed");
    expect(last.data.release.length).toBeGreaterThan(100_000);
    await expectStatus(201, send("POST", secrets, { body: release(2, "pending-upgrade") }));
    await expectStatus(200, send("GET", path));
    const type = kind === "ConfigMap" ? STRATEGIC : MERGE;
    const patched = await expectStatus(200, send("PATCH", `${path}?fieldManager=helm`, { type, body: content("two") }));
    expect(valueAt(patched)).toBe("two");
    expect(patched.metadata.annotations).toEqual({ ...managed.annotations, theirs: "yes" });
    await deployed(1, "superseded");
    await deployed(2, "deployed");

    // helm rollback 1: a third revision with the first manifest.
    await expectStatus(201, send("POST", secrets, { body: release(3, "pending-rollback") }));
    expect(
      valueAt(await expectStatus(200, send("PATCH", `${path}?fieldManager=helm`, { type, body: content("one") }))),
    ).toBe("one");
    await deployed(2, "superseded");
    await deployed(3, "deployed");
    const history = await list("name=shop,owner=helm");
    expect(history.map(({ metadata }) => [metadata.labels.version, metadata.labels.status])).toEqual([
      ["1", "superseded"],
      ["2", "superseded"],
      ["3", "deployed"],
    ]);
    // helm list, over all namespaces.
    const all = await expectStatus(200, send("GET", "/api/v1/secrets?labelSelector=owner%3Dhelm"));
    expect(all.items).toHaveLength(3);
    const byType = await expectStatus(200, send("GET", `${secrets}?fieldSelector=type%3Dhelm.sh%2Frelease.v1&limit=2`));
    expect(byType.items).toHaveLength(2);

    // helm uninstall
    await deployed(3, "uninstalling");
    await expectStatus(200, send("DELETE", path, { body: { propagationPolicy: "Background" } }));
    await expect.poll(async () => (await send("GET", path)).status).toBe(404);
    for (const version of [1, 2, 3])
      await expectStatus(200, send("DELETE", `${secrets}/sh.helm.release.v1.shop.v${version}`));
    expect(await list("name=shop,owner=helm")).toEqual([]);
  });
});
