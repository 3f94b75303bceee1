// The requests that Terraform, Helm, Argo CD and Flux send, one after the other and with their headers, to the management API and to an
// embedded virtual cluster: each answer is what the client goes on with.
// Sources: terraform-provider-kubernetes/manifest/provider, helm/pkg/{kube,storage/driver}, argoproj/gitops-engine/pkg/{cache,diff,sync},
// fluxcd/pkg/ssa

import { createHash } from "node:crypto";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, adminKey, type HttpClient, httpClient } from "./testing/http-client.ts";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

const DEMO = "/kubernetes/project/default/virtualcluster/demo";
const APPLY = "application/apply-patch+yaml";
const MERGE = "application/merge-patch+json";
const STRATEGIC = "application/strategic-merge-patch+json";
const OPENAPI_V2 =
  "application/com.github.proto-openapi.spec.v2.v1.0+protobuf,application/com.github.proto-openapi.spec.v2@v1.0+protobuf,application/json";
const AGGREGATED =
  "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

type Send = (
  method: string,
  path: string,
  options?: { readonly body?: object; readonly type?: string; readonly accept?: string; readonly agent?: string },
) => Promise<Answer>;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let http: HttpClient;
let key: string;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startPostern(join(directory.path, "data"));
  http = await httpClient(server);
  key = await adminKey(server);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

const sendTo =
  (base: string, agent: string): Send =>
  (method, path, { body, type = "application/json", accept = "application/json, */*" } = {}) =>
    http(`${base}${path}`, {
      method,
      key,
      headers: { accept, "user-agent": agent, ...(body === undefined ? {} : { "content-type": type }) },
      ...(body === undefined ? {} : { body }),
    });

/** The body of an answer that must have this status. */
async function expectStatus(status: number, answer: Promise<Answer>): Promise<any> {
  const { status: found, text, body } = await answer;
  expect(found, text.slice(0, 500)).toBe(status);
  return body;
}

/** What is known of each resource that can be listed: its path, and its kind. */
async function listableResources(
  send: Send,
): Promise<readonly { readonly path: string; readonly kind: string; readonly verbs: readonly string[] }[]> {
  const core = await expectStatus(200, send("GET", "/api", { accept: AGGREGATED }));
  const groups = await expectStatus(200, send("GET", "/apis", { accept: AGGREGATED }));
  return [...core.items, ...groups.items].flatMap(({ metadata, versions }: any) =>
    versions.flatMap(({ version, resources }: any) =>
      resources
        .filter(({ verbs }: any) => verbs.includes("list"))
        .map(({ resource, responseKind, verbs }: any) => ({
          path:
            metadata.name === undefined
              ? `/api/${version}/${resource}`
              : `/apis/${metadata.name}/${version}/${resource}`,
          kind: responseKind.kind,
          verbs,
        })),
    ),
  );
}

type Target = {
  readonly where: string;
  readonly base: string;
  readonly collection: string;
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: object;
  readonly content: (value: string) => object;
  readonly valueAt: (object: any) => unknown;
  readonly valuePath: string;
};

const TARGETS: readonly Target[] = [
  {
    where: "the management API",
    base: "/kubernetes/management",
    collection: "/apis/management.postern/v1/ownedaccesskeys",
    kind: "OwnedAccessKey",
    apiVersion: "management.postern/v1",
    metadata: {},
    content: (value) => ({ spec: { displayName: value, user: "admin" } }),
    valueAt: ({ spec }) => spec.displayName,
    valuePath: ".spec.displayName",
  },
  {
    where: "a virtual cluster",
    base: DEMO,
    collection: "/api/v1/namespaces/default/configmaps",
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { namespace: "default" },
    content: (value) => ({ data: { value } }),
    valueAt: ({ data }) => data.value,
    valuePath: ".data.value",
  },
];

describe.each(TARGETS)("in $where", (target) => {
  const { base, collection, kind, apiVersion, content, valueAt, valuePath } = target;
  const object = (name: string, value: string, metadata: object = {}): object => ({
    apiVersion,
    kind,
    metadata: { name, ...target.metadata, ...metadata },
    ...content(value),
  });

  describe("Terraform's kubernetes_manifest", () => {
    const send = sendTo(base, "HashiCorp/1.0 Terraform/1.11.4");
    const path = `${collection}/terraform`;
    const apply = (value: string, query = "", manager = "Terraform") =>
      send("PATCH", `${path}?fieldManager=${manager}&force=false${query}`, {
        type: APPLY,
        body: object("terraform", value),
      });

    it("finds the type of a resource in OpenAPI, and its path by discovery", async () => {
      const { definitions, paths } = await expectStatus(
        200,
        send("GET", "/openapi/v2?timeout=32s", { accept: "application/json" }),
      );
      const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["", apiVersion];
      const type: any = Object.values(definitions).find((definition: any) =>
        (definition["x-kubernetes-group-version-kind"] ?? []).some(
          (each: any) => each.group === group && each.version === version && each.kind === kind,
        ),
      );
      expect(type.properties).toMatchObject({ apiVersion: {}, kind: {}, metadata: {} });
      expect(Object.keys(paths)).toContain(collection.replace("/namespaces/default/", "/namespaces/{namespace}/"));
      // As client-go asks: protobuf first, then JSON.
      expect((await send("GET", "/openapi/v2?timeout=32s", { accept: OPENAPI_V2 })).status).toBe(200);
      const resources = await listableResources(send);
      expect(resources.map((each) => each.kind)).toContain(kind);
    });

    it("plans by a dry run, creates, sees no difference, changes, meets a conflict and deletes", async () => {
      await expectStatus(404, send("GET", path));
      expect(valueAt(await expectStatus(201, apply("one", "&dryRun=All")))).toBe("one");
      await expectStatus(404, send("GET", path));
      const created = await expectStatus(201, apply("one"));
      expect(created.metadata.uid).toBeTruthy();
      const planned = await expectStatus(200, apply("one", "&dryRun=All"));
      const read = await expectStatus(200, send("GET", path));
      expect(planned.metadata.resourceVersion).toBe(read.metadata.resourceVersion);
      expect(valueAt(await expectStatus(200, apply("two", "&dryRun=All")))).toBe("two");
      expect(valueAt(await expectStatus(200, send("GET", path)))).toBe("one");
      expect(valueAt(await expectStatus(200, apply("two")))).toBe("two");

      await expectStatus(200, send("PATCH", `${path}?fieldManager=somebody`, { type: MERGE, body: content("theirs") }));
      const conflict = await expectStatus(409, apply("three"));
      expect(conflict).toMatchObject({
        reason: "Conflict",
        details: { causes: [{ reason: "FieldManagerConflict", field: valuePath }] },
      });
      expect(conflict.message).toContain('conflict with "somebody"');
      const forced = send("PATCH", `${path}?fieldManager=Terraform&force=true`, {
        type: APPLY,
        body: object("terraform", "three"),
      });
      expect(valueAt(await expectStatus(200, forced))).toBe("three");
      await expectStatus(200, send("DELETE", path));
      await expect.poll(async () => (await send("GET", path)).status).toBe(404);
    });
  });

  describe("Argo CD", () => {
    const send = sendTo(base, "argocd-application-controller/v2.14.0");

    it("reads what cluster it is, and lists and watches every resource from the version of its list", async () => {
      expect(await expectStatus(200, send("GET", "/version?timeout=32s"))).toMatchObject({ major: "1", minor: "32" });
      await expectStatus(200, send("GET", "/openapi/v2?timeout=32s", { accept: OPENAPI_V2 }));
      const resources = (await listableResources(send)).filter(({ verbs }) => verbs.includes("watch"));
      expect(resources.length).toBeGreaterThan(8);
      const versions = await Promise.all(
        resources.map(async ({ path, kind: listed }) => {
          const list = await expectStatus(200, send("GET", `${path}?limit=500`));
          expect(list.kind).toMatch(/List$/);
          expect(
            list.items.every((item: any) => item.metadata.uid !== undefined),
            listed,
          ).toBe(true);
          return list.metadata.resourceVersion;
        }),
      );
      await expectStatus(201, send("POST", collection, { body: object("argo-watched", "one") }));
      await expectStatus(200, send("DELETE", `${collection}/argo-watched`));
      const plural = collection.slice(collection.lastIndexOf("/") + 1);
      const seen = await Promise.all(
        resources.map(async ({ path }, index) => {
          const query = `allowWatchBookmarks=true&resourceVersion=${versions[index]}&timeoutSeconds=1&watch=true`;
          const { status, text } = await send("GET", `${path}?${query}`);
          expect(status, text).toBe(200);
          const events = text
            .trim()
            .split("\n")
            .filter(Boolean)
            .map((line) => JSON.parse(line));
          expect(events.filter(({ type }) => type === "ERROR")).toEqual([]);
          return path.endsWith(`/${plural}`)
            ? events.filter((event) => event.object.metadata.name === "argo-watched").map(({ type }) => type)
            : [];
        }),
      );
      expect(seen.flat()).toEqual(["ADDED", "DELETED"]);
    });

    it("lists in pages that are all of one state", async () => {
      const names = Array.from({ length: 7 }, (_, index) => `argo-page-${index}`);
      for (const name of names) {
        await expectStatus(201, send("POST", collection, { body: object(name, "one", { labels: { pages: "yes" } }) }));
      }
      const found: string[] = [];
      const versions = new Set<string>();
      let token = "";
      do {
        const page = await expectStatus(
          200,
          send(
            "GET",
            `${collection}?labelSelector=pages%3Dyes&limit=3${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`,
          ),
        );
        found.push(...page.items.map(({ metadata }: any) => metadata.name));
        versions.add(page.metadata.resourceVersion);
        token = page.metadata.continue ?? "";
        // What comes meanwhile is in none of the pages.
        if (found.length === 3) {
          await expectStatus(
            201,
            send("POST", collection, { body: object("argo-page-9", "one", { labels: { pages: "yes" } }) }),
          );
        }
      } while (token !== "");
      expect(found).toEqual(names);
      expect(versions.size).toBe(1);
      await expectStatus(200, send("DELETE", `${collection}?labelSelector=pages%3Dyes`));
      const left = await expectStatus(200, send("GET", `${collection}?labelSelector=pages%3Dyes`));
      expect(left.items).toEqual([]);
    });

    it("diffs on the server, syncs, heals itself and prunes", async () => {
      const tracked = { annotations: { "argocd.argoproj.io/tracking-id": `shop:${kind}:argo` } };
      const path = `${collection}/argo`;
      const apply = (value: string, query = "") =>
        send("PATCH", `${path}?fieldManager=argocd-controller&force=true${query}`, {
          type: APPLY,
          body: object("argo", value, tracked),
        });
      expect(valueAt(await expectStatus(201, apply("one", "&dryRun=All")))).toBe("one");
      await expectStatus(201, apply("one"));
      await expectStatus(
        200,
        send("PATCH", `${path}?fieldManager=kubectl-edit`, { type: MERGE, body: content("drifted") }),
      );
      const live = await expectStatus(200, send("GET", path));
      const predicted = await expectStatus(200, apply("one", "&dryRun=All"));
      expect([valueAt(live), valueAt(predicted)]).toEqual(["drifted", "one"]);
      // The prediction takes the field over; nobody but the two managers of the live object is in it.
      const managers = ({ metadata }: any) => metadata.managedFields.map(({ manager }: any) => manager).toSorted();
      expect(managers(live)).toEqual(["argocd-controller", "kubectl-edit"]);
      expect(managers(predicted)).toEqual(["argocd-controller"]);
      await expectStatus(200, apply("one"));
      const healed = await expectStatus(200, send("GET", path));
      expect([valueAt(healed), healed.metadata.annotations]).toEqual(["one", tracked.annotations]);
      await expectStatus(200, send("DELETE", path, { body: { propagationPolicy: "Foreground" } }));
      await expect.poll(async () => (await send("GET", path)).status).toBe(404);
    });
  });

  it("Flux applies by dry run first, and collects what left the inventory", async () => {
    const send = sendTo(base, "kustomize-controller/v1.4.0");
    const labels = {
      "kustomize.toolkit.fluxcd.io/name": "shop",
      "kustomize.toolkit.fluxcd.io/namespace": "flux-system",
    };
    const path = `${collection}/flux`;
    const apply = (value: string, query: string) =>
      send("PATCH", `${path}?fieldManager=kustomize-controller&force=true${query}`, {
        type: APPLY,
        body: object("flux", value, { labels }),
      });
    await expectStatus(201, apply("one", "&dryRun=All"));
    const created = await expectStatus(201, apply("one", ""));
    // Unchanged by the dry run: Flux does not apply at all.
    const again = await expectStatus(200, apply("one", "&dryRun=All"));
    expect(again.metadata).toEqual(created.metadata);
    const { uid } = created.metadata;
    await expectStatus(409, send("DELETE", path, { body: { preconditions: { uid: "another" } } }));
    await expectStatus(
      200,
      send("DELETE", path, { body: { propagationPolicy: "Background", preconditions: { uid } } }),
    );
    await expectStatus(404, send("GET", path));
  });

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

    // helm upgrade: somebody has changed the object meanwhile; that stays, as it is in neither manifest.
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
