// The JavaScript client of Kubernetes against the server: objects, patches, apply, watches, and an informer that has to keep up.

import { join } from "node:path";
import {
  AuthorizationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
  type V1Secret,
  Watch,
} from "@kubernetes/client-node";
import { openSqliteStorage } from "@postern/stores/sqlite/sqlite-storage";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type PosternProcess, startPostern, temporaryDirectory } from "./testing/postern-process.ts";

const GROUP = { group: "management.postern", version: "v1", plural: "ownedaccesskeys" };
const API = "management.postern/v1";
const SECRETS = "/api/v1/namespaces/default/secrets";
const OBJECTS = 2_000;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let server: PosternProcess;
let config: KubeConfig;

beforeAll(async () => {
  directory = await temporaryDirectory();
  server = await startPostern(join(directory.path, "data"));
  config = configOf(server);
});

afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await directory?.[Symbol.asyncDispose]();
});

function configOf({ adminKubeConfig }: PosternProcess): KubeConfig {
  const loaded = new KubeConfig();
  loaded.loadFromFile(adminKubeConfig);
  return loaded;
}

const key = (name: string, spec: object): any => ({
  apiVersion: API,
  kind: "OwnedAccessKey",
  metadata: { name },
  spec,
});

/** Does something for each, some at a time. */
async function forEachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const left = [...items];
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item);
  };
  await Promise.all(Array.from({ length: 32 }, worker));
}

describe("the JavaScript client", () => {
  it("M-06 finds resources by their kind, and creates, patches, applies and deletes them", async () => {
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

  it("M-06 watches", async () => {
    const core = config.makeApiClient(CoreV1Api);
    const { metadata } = await core.listNamespacedSecret({ namespace: "default" });
    const seen: string[] = [];
    const query = { resourceVersion: metadata?.resourceVersion, allowWatchBookmarks: true };
    const onEvent = (type: string, object: any): void => void seen.push(`${type} ${object.metadata.name}`);
    const watch = await new Watch(config).watch(SECRETS, query, onEvent, () => {});
    await core.createNamespacedSecret({ namespace: "default", body: { metadata: { name: "watched" } } });
    await core.deleteNamespacedSecret({ namespace: "default", name: "watched" });
    await expect.poll(() => seen, { timeout: 10_000 }).toEqual(["ADDED watched", "DELETED watched"]);
    watch.abort();
  });
});

describe("an informer", () => {
  it("M-06 ends with exactly what the server has, after churn, a restart, and a restart behind which history was forgotten", async () => {
    const { port } = new URL(server.url);
    const core = config.makeApiClient(CoreV1Api);
    const body = (name: string, value: number): V1Secret => ({
      metadata: { name },
      stringData: { value: String(value) },
    });
    const names = Array.from({ length: OBJECTS }, (_, index) => `object-${index}`);
    const churn = (api: CoreV1Api, round: number): Promise<void> =>
      forEachOf(
        names.filter((_, index) => index % 10 === round),
        async (name) => {
          await api.replaceNamespacedSecret({ namespace: "default", name, body: body(name, round) });
          await api.createNamespacedSecret({ namespace: "default", body: body(`${name}-${round}`, round) });
          if (Number(name.slice(7)) % 20 < 10) await api.deleteNamespacedSecret({ namespace: "default", name });
        },
      );
    const essence = (secrets: readonly V1Secret[]): readonly string[] =>
      secrets.map(({ metadata }) => `${metadata?.name} ${metadata?.uid} ${metadata?.resourceVersion}`).sort();

    const informer = makeInformer(config, SECRETS, () => core.listNamespacedSecret({ namespace: "default" }));
    const handled = new Map<string, string>();
    const keep = ({ metadata }: V1Secret): void =>
      void handled.set(metadata?.uid ?? "", metadata?.resourceVersion ?? "");
    informer.on("add", keep);
    informer.on("update", keep);
    informer.on("delete", ({ metadata }) => void handled.delete(metadata?.uid ?? ""));
    let isOver = false;
    // As its documentation has it: whoever uses it starts it again after an error.
    const again = (): void => {
      if (!isOver) setTimeout(() => void informer.start().catch(again), 50);
    };
    informer.on("error", again);

    const settled = async (): Promise<void> => {
      const { items } = await core.listNamespacedSecret({ namespace: "default" });
      const expected = essence(items);
      await expect.poll(() => essence(informer.list("default")), { timeout: 30_000 }).toEqual(expected);
      const kept = items.map(({ metadata }): [string, string] => [
        metadata?.uid ?? "",
        metadata?.resourceVersion ?? "",
      ]);
      expect(handled).toEqual(new Map(kept));
    };

    await forEachOf(names.slice(0, OBJECTS / 2), (name) =>
      core.createNamespacedSecret({ namespace: "default", body: body(name, 0) }),
    );
    await informer.start();
    await forEachOf(names.slice(OBJECTS / 2), (name) =>
      core.createNamespacedSecret({ namespace: "default", body: body(name, 0) }),
    );
    await churn(core, 1);
    await settled();

    const dataDir = server.dataDir;
    await server.stop("SIGKILL");
    server = await startPostern(dataDir, ["--secure-port", port]);
    await churn(core, 2);
    await settled();

    // Elsewhere, so that the informer sees nothing of it, and then without the history that it would go on from.
    expect(await server.stop()).toBe(0);
    server = await startPostern(dataDir);
    await churn(configOf(server).makeApiClient(CoreV1Api), 3);
    expect(await server.stop()).toBe(0);
    const storage = await openSqliteStorage({ path: join(dataDir, "postern.db") });
    await storage.compact(await storage.currentRevision());
    await storage[Symbol.asyncDispose]();
    server = await startPostern(dataDir, ["--secure-port", port]);
    await settled();
    isOver = true;
    await informer.stop();
  });
});
