// The JavaScript client of Kubernetes against the server: objects, patches, apply, pages and watches. Its informer: informers.test.ts.

import {
  AuthorizationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OwnServer, startOwnServer } from "./testing/own-server.ts";
import type { PosternProcess } from "./testing/postern-process.ts";

const GROUP = { group: "management.postern", version: "v1", plural: "ownedaccesskeys" };
const API = "management.postern/v1";
const SECRETS = "/api/v1/namespaces/default/secrets";

let server: OwnServer;
let config: KubeConfig;

beforeAll(async () => {
  server = await startOwnServer();
  config = configOf(server);
});

afterAll(() => server?.[Symbol.asyncDispose]());

function configOf({ adminKubeconfig }: PosternProcess): KubeConfig {
  const loaded = new KubeConfig();
  loaded.loadFromFile(adminKubeconfig);
  return loaded;
}

const key = (name: string, spec: object): any => ({
  apiVersion: API,
  kind: "OwnedAccessKey",
  metadata: { name },
  spec,
});

describe("the JavaScript client", () => {
  it("finds resources by their kind, and creates, patches, applies and deletes them (M-06)", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const created: any = await objects.create(key("js", { displayName: "one", ttl: 3600 }));
    expect(created.spec).toMatchObject({ displayName: "one", user: "admin", key: expect.stringMatching(/^pst_/) });
    const patch = async (body: any, strategy: PatchStrategy, force?: boolean) =>
      ((await objects.patch({ ...key("js", {}), ...body }, undefined, undefined, "js", force, strategy)) as any).spec;
    expect(await patch({ spec: { displayName: "two" } }, PatchStrategy.MergePatch)).toMatchObject({
      displayName: "two",
    });
    await expect(patch({ spec: { displayName: "three" } }, PatchStrategy.StrategicMergePatch)).rejects.toMatchObject({
      code: 415,
    });
    const applied = key("js", { displayName: "four" });
    expect(await patch(applied, PatchStrategy.ServerSideApply, true)).toMatchObject({ displayName: "four" });
    const other = objects.patch(
      key("js", { displayName: "five" }),
      undefined,
      undefined,
      "other",
      false,
      PatchStrategy.ServerSideApply,
    );
    await expect(other).rejects.toMatchObject({ code: 409 });
    const list: any = await objects.list(API, "OwnedAccessKey");
    expect(list.items.map(({ metadata }: any) => metadata.name).sort()).toEqual(["admin", "js"]);
    expect(await objects.delete(key("js", {}))).toMatchObject({ status: "Success", details: { name: "js" } });
    await expect(objects.read(key("js", {}))).rejects.toMatchObject({ code: 404 });
  });

  it("works on custom objects and asks for rights", async () => {
    const custom = config.makeApiClient(CustomObjectsApi);
    await custom.createClusterCustomObject({ ...GROUP, body: key("custom", {}) });
    const body = [{ op: "add", path: "/metadata/labels", value: { a: "b" } }];
    const options = setHeaderOptions("Content-Type", PatchStrategy.JsonPatch);
    await custom.patchClusterCustomObject({ ...GROUP, name: "custom", body }, options);
    const { items } = await custom.listClusterCustomObject({ ...GROUP, labelSelector: "a=b" });
    expect(items.map(({ metadata }: any) => metadata.name)).toEqual(["custom"]);
    const resourceAttributes = { verb: "create", group: GROUP.group, resource: "projects" };
    const review = { body: { spec: { resourceAttributes } } };
    const { status } = await config.makeApiClient(AuthorizationV1Api).createSelfSubjectAccessReview(review);
    expect(status?.allowed).toBe(true);
  });

  it("patches built-in resources by every content type (M-06)", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const where = { namespace: "default", name: "patched" };
    await core.createNamespacedSecret({
      namespace: "default",
      body: { metadata: { name: "patched" }, stringData: { a: "1" } },
    });
    const patch = async (strategy: PatchStrategy, body: any, more = {}) =>
      Object.keys(
        (await core.patchNamespacedSecret({ ...where, body, ...more }, setHeaderOptions("Content-Type", strategy)))
          .data ?? {},
      ).toSorted();
    expect(await patch(PatchStrategy.JsonPatch, [{ op: "add", path: "/data/b", value: "Yg==" }])).toEqual(["a", "b"]);
    expect(await patch(PatchStrategy.MergePatch, { data: { a: null, c: "Yw==" } })).toEqual(["b", "c"]);
    const replacing = { data: { $patch: "replace", d: "ZA==" } };
    expect(await patch(PatchStrategy.StrategicMergePatch, replacing)).toEqual(["d"]);
    const applied = { apiVersion: "v1", kind: "Secret", metadata: { name: "patched" }, data: { e: "ZQ==" } };
    expect(await patch(PatchStrategy.ServerSideApply, applied, { fieldManager: "js" })).toEqual(["d", "e"]);
    await core.deleteNamespacedSecret(where);
  });

  it("lists in pages that are of one state (M-06)", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const names = Array.from({ length: 5 }, (_, index) => `page-${index}`);
    for (const name of names) {
      await core.createNamespacedSecret({
        namespace: "default",
        body: { metadata: { name, labels: { pages: "yes" } } },
      });
    }
    const pages: (string | undefined)[][] = [];
    let _continue: string | undefined;
    do {
      const page = await core.listNamespacedSecret({
        namespace: "default",
        labelSelector: "pages=yes",
        limit: 2,
        ...(_continue === undefined ? {} : { _continue }),
      });
      pages.push(page.items.map(({ metadata }) => metadata?.name));
      ({ _continue } = page.metadata ?? {});
      if (pages.length === 1) await core.deleteNamespacedSecret({ namespace: "default", name: "page-4" });
    } while (_continue !== undefined && _continue !== "");
    expect(pages).toEqual([["page-0", "page-1"], ["page-2", "page-3"], ["page-4"]]);
    await core.deleteCollectionNamespacedSecret({ namespace: "default", labelSelector: "pages=yes" });
  });

  it("watches (M-06)", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const { metadata } = await core.listNamespacedSecret({ namespace: "default" });
    const seen: string[] = [];
    const query = { resourceVersion: metadata?.resourceVersion, allowWatchBookmarks: true };
    const onEvent = (type: string, object: any): void => void seen.push(`${type} ${object.metadata.name}`);
    const watch = await new Watch(config).watch(SECRETS, query, onEvent, () => {});
    await core.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "watched" } } });
    await core.deleteNamespacedSecret({ namespace: "default", name: "watched" });
    await expect.poll(() => seen).toEqual(["ADDED watched", "DELETED watched"]);
    watch.abort();
  });
});
