import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import {
  definitionManifest,
  definitionVersion,
} from "@postern/kubernetes/custom-resources/testing/definition-manifest";
import { describe, expect, it } from "vitest";
import { virtualClusterComposition } from "../../../foundation/encryption/internal-records.ts";
import type { RotationState } from "../../certificate-authorities/rotation-states.ts";
import { createEmbeddedHost, type EmbeddedHost, root, signal } from "./testing/embedded-host.ts";

const configMap = (name: string) => ({ metadata: { name }, data: { a: "b" } });
const MAPS = "/api/v1/namespaces/default/configmaps";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DEFINITION = definitionManifest(
  { group: "example.com", kind: "Widget", plural: "widgets" },
  definitionVersion("v1", { type: "object" }),
);

describe("the life of embedded virtual clusters", () => {
  it("begins with provisioning, and is found again by the next process, which starts it only when it is used", async () => {
    const storage = createMemoryStorage();
    let authority = "";
    {
      await using host = await createEmbeddedHost(storage);
      await expect(host.request("one", { url: "/api" })).rejects.toMatchObject({ code: 503 });
      expect(await host.backend("one").health(signal)).toMatchObject({ ready: false, reason: "NotProvisioned" });
      await host.setUp("one");
      authority = (await host.clusters.open("one")).authority.certificatePem;
      await host.request("one", { method: "POST", url: MAPS, body: configMap("kept") });
    }
    await using host = await createEmbeddedHost(storage);
    expect(await host.backend("one").health(signal)).toMatchObject({ ready: true });
    await host.backend("one").bindRoles(["cluster-admin", "edit", "view"], signal);
    expect(host.clusters.running).toBe(0);
    expect((await host.request("one", { url: `${MAPS}/kept` })).status).toBe(200);
    expect(host.clusters.running).toBe(1);
    expect((await host.clusters.open("one")).authority.certificatePem).toBe(authority);
  });

  it("accepts callers from the platform from the first request on", async () => {
    await using host = await createEmbeddedHost();
    await host.clusters.provision("one", signal);
    const user = { name: "alice", groups: ["example:role:edit"] };
    expect((await host.request("one", { method: "POST", url: MAPS, body: configMap("first"), user })).status).toBe(201);
  });

  it("starts a cluster once, however many ask for it at the same time", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.clusters.stop("one");
    const opened = await Promise.all(Array.from({ length: 20 }, () => host.clusters.open("one")));
    expect(new Set(opened).size).toBe(1);
  });

  it("keeps the private key of an authority sealed under the server key", async () => {
    const storage = createMemoryStorage();
    await using host = await createEmbeddedHost(storage);
    await host.setUp("one");
    const { privateKeyPem } = (await host.clusters.open("one")).authority;
    const everything = await host.dump();
    for (const line of privateKeyPem.split("\n").filter((text) => text !== "")) {
      expect(everything).not.toContain(line);
    }
    await using stranger = await createEmbeddedHost(storage, 8);
    await expect(stranger.clusters.open("one")).rejects.toThrow("cannot be decrypted");
  });

  it("publishes a step of a rotation that no server heard of, where the same step is asked for again", async () => {
    let known: RotationState | undefined;
    let isCutOff = false;
    const disposable = { [Symbol.dispose]: () => undefined };
    await using host = await createEmbeddedHost(undefined, undefined, {
      of: () => known,
      preparedSince: () => undefined,
      onChange: () => disposable,
      async publish(_id, state) {
        if (isCutOff) throw new Error("the server has ended");
        known = state;
      },
      forget: async () => {},
      ...disposable,
    });
    await host.setUp("one");
    await host.clusters.rotate("one", "Prepare");
    expect(known).toMatchObject({ generation: 2, phase: "Prepared" });
    isCutOff = true;
    await expect(host.clusters.rotate("one", "Complete")).rejects.toThrow("has ended");
    isCutOff = false;
    await expect(host.clusters.rotate("one", "Complete")).rejects.toMatchObject({ code: 409 });
    expect(known).toEqual({ generation: 2, phase: "Completed" });
  });

  it("does not decrypt a record in the place of another", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.clusters.stop("two");
    const of = (uid: string) => `/registry/${virtualClusterComposition(uid)}/internal/certificate-authority`;
    const [one, two] = [await host.storage.get(of("one")), await host.storage.get(of("two"))];
    await host.storage.update(of("two"), one!.value, two!.revision);
    await expect(host.clusters.open("two")).rejects.toThrow("cannot be decrypted");
  });

  it("leaves nothing behind that a later cluster of its name could inherit (security book 11)", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    await host.setUp("two");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("mine") });
    const { authority } = await host.clusters.open("one");
    const others = await host.keysOf("/registry/vc-two/");
    await host.clusters.remove("one", signal);
    expect(await host.keysOf("/registry/vc-one/")).toEqual([]);
    expect(await host.keysOf("/registry/vc-two/")).toEqual(others);
    await expect(host.request("one", { url: "/api" })).rejects.toMatchObject({ code: 503 });
    await host.setUp("one");
    expect((await host.clusters.open("one")).authority.certificatePem).not.toBe(authority.certificatePem);
    await expect(host.request("one", { url: `${MAPS}/mine` })).rejects.toMatchObject({ code: 404 });
  });

  it("takes no write of a request that was under way when it was removed", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const requests = Array.from({ length: 50 }, (_, index) =>
      host.request("one", { method: "POST", url: MAPS, body: configMap(`late-${index}`) }).catch(() => undefined),
    );
    await host.clusters.remove("one", signal);
    await Promise.all(requests);
    expect(await host.keysOf("/registry/vc-one/")).toEqual([]);
  });

  it("is not started again while it is removed, as after its thread has ended", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const removed = host.clusters.remove("one", signal);
    await expect(host.clusters.open("one")).rejects.toMatchObject({ code: 503 });
    await removed;
    expect(await host.keysOf("/registry/vc-one/")).toEqual([]);
    expect(host.clusters.running).toBe(0);
  });

  it("ends the watches of a stopping cluster", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const context = createTestContext({ url: `${MAPS}?watch=1` });
    const { body } = await host.backend("one").proxy(context, root);
    if (body.type !== "stream") throw new Error("a watch is a stream");
    const over = body.run({ write: () => true, bufferedBytes: 0 }, context.signal);
    await host.clusters.stop("one");
    await over;
  });

  it("counts as many keys after the removal of a cluster as before it was made, also with tokens and certificates", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("other");
    const before = await host.keysOf("/");
    await host.setUp("one");
    await host.request("one", { method: "POST", url: MAPS, body: configMap("mine") });
    const token = "/api/v1/namespaces/default/serviceaccounts/default/token";
    await host.request("one", { method: "POST", url: token, body: {} });
    const request = { commonName: "dev", organizations: [], expirationSeconds: 600 };
    await host.backend("one").issueClientCertificate(request, signal);
    expect((await host.keysOf("/")).length).toBeGreaterThan(before.length);
    const views = host.cache.view("/registry/vc-one/core/configmaps/");
    await host.clusters.remove("one", signal);
    expect(await host.keysOf("/")).toEqual(before);
    // Views in the cache are gone as well.
    expect(host.cache.view("/registry/vc-one/core/configmaps/")).not.toBe(views);
  });

  it.each(["GET", "PUT", "PATCH", "DELETE"])("has no %s of the token of a service account", async (method) => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const url = "/api/v1/namespaces/default/serviceaccounts/default/token";
    await expect(host.request("one", { method, url, body: {} })).rejects.toMatchObject({ code: 405, details: {} });
  });

  it("ends the watches of a removed cluster, and runs nothing more for it", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const { body } = await host.backend("one").proxy(createTestContext({ url: `${MAPS}?watch=1` }), root);
    if (body.type !== "stream") throw new Error("a watch is a stream");
    const over = body.run({ write: () => true, bufferedBytes: 0 }, signal);
    await host.clusters.remove("one", signal);
    await over;
    expect(host.clusters.running).toBe(0);
    expect(host.errors).toEqual([]);
  });
});

describe("the memory of a deleted cluster", () => {
  async function expectCollected(kept: readonly WeakRef<object>[]): Promise<void> {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    // Views that were requested in a turn of the event loop stay until its end.
    const left = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve));
      collect();
      return kept.filter((each) => each.deref() !== undefined).length;
    };
    await expect.poll(left).toBe(0);
  }

  const referenceTo = async (host: EmbeddedHost, uid: string) => new WeakRef<object>(await host.clusters.open(uid));

  it("is nothing, whether it was stopped, or woken and removed in the middle of its work", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("other");
    await host.clusters.stop("other");
    const kept: WeakRef<object>[] = [];
    for (const uid of ["one", "two"]) {
      await host.setUp(uid);
      await host.request(uid, { method: "POST", url: DEFINITIONS, body: DEFINITION });
      await host.settled(uid);
      expect((await host.request(uid, { url: "/apis/example.com/v1/widgets" })).status).toBe(200);
      kept.push(await referenceTo(host, uid));
      await host.clusters.stop(uid);
      kept.push(await referenceTo(host, uid));
    }
    await host.clusters.stop("one");
    await host.clusters.remove("two", signal);
    await expectCollected(kept);
  });

  it("has no task and no subscription", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("other");
    const before = host.waiting();
    await host.clusters.provision("one", signal);
    expect(host.waiting()).toBeGreaterThan(before);
    const prefixes = new Set((await host.keysOf("/registry/vc-one/")).map((key) => key.split("/", 5).join("/")));
    const views = [...prefixes].map((prefix) => [prefix, host.cache.view(`${prefix}/`)] as const);
    expect(views.length).toBeGreaterThan(3);
    await host.clusters.remove("one", signal);
    expect(host.waiting()).toBe(before);
    for (const [prefix, view] of views) expect(host.cache.view(`${prefix}/`), prefix).not.toBe(view);
  });
});

describe("the memory of a stopped cluster", () => {
  it("is its objects, without resources that have none; a start that came first loses nothing", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const empty = host.cache.view("/registry/vc-one/batch/jobs/");
    const filled = host.cache.view("/registry/vc-one/core/namespaces/");
    const stopping = host.clusters.stop("one");
    await host.clusters.open("one");
    await stopping;
    expect(host.cache.view("/registry/vc-one/batch/jobs/")).toBe(empty);
    expect((await host.request("one", { method: "POST", url: MAPS, body: configMap("first") })).status).toBe(201);
    await host.clusters.stop("one");
    expect(host.cache.view("/registry/vc-one/batch/jobs/")).not.toBe(empty);
    expect(host.cache.view("/registry/vc-one/core/namespaces/")).toBe(filled);
    expect((await host.request("one", { url: `${MAPS}/first` })).status).toBe(200);
  });
});

describe("an unused cluster", () => {
  const TEN_MINUTES = 10 * 60_000;

  it("is stopped after ten minutes, and starts again with the next request", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    host.moveTime(TEN_MINUTES - 1_000);
    host.runPlanned();
    await host.request("one", { url: MAPS });
    expect(host.clusters.running).toBe(1);
    host.moveTime(TEN_MINUTES);
    host.runPlanned();
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.clusters.running).toBe(0);
    expect((await host.request("one", { url: MAPS })).status).toBe(200);
    expect(host.clusters.running).toBe(1);
  });

  it("keeps running while there are watches", async () => {
    await using host = await createEmbeddedHost();
    await host.setUp("one");
    const leave = new AbortController();
    const { body } = await host.backend("one").proxy(createTestContext({ url: `${MAPS}?watch=1` }), root);
    if (body.type !== "stream") throw new Error("a watch is a stream");
    const over = body.run({ write: () => true, bufferedBytes: 0 }, leave.signal);
    host.moveTime(TEN_MINUTES);
    host.runPlanned();
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.clusters.running).toBe(1);
    leave.abort();
    await over;
    host.moveTime(TEN_MINUTES);
    host.runPlanned();
    await new Promise((resolve) => setImmediate(resolve));
    expect(host.clusters.running).toBe(0);
  });
});
