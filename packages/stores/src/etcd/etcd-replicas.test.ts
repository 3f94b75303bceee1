import type { Replicas } from "@postern/apiserver/storage/replicas";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEtcdReplicas } from "./etcd-replicas.ts";
import { type EtcdStorage, openEtcdStorage } from "./etcd-storage.ts";
import { type EtcdCluster, startEtcd, whyNoEtcd } from "./testing/start-etcd.ts";

/** Far longer than the test: what ends sooner has not ended by it. */
const NEVER_MS = 600_000;

describe.skipIf(whyNoEtcd() !== undefined)("the servers on one etcd", () => {
  let etcd: EtcdCluster;
  const storages: EtcdStorage[] = [];
  beforeAll(async () => {
    etcd = await startEtcd();
    for (let count = 0; count < 2; count++) storages.push(await openEtcdStorage({ endpoints: etcd.endpoints }));
  });
  afterAll(async () => {
    for (const storage of storages) await storage[Symbol.asyncDispose]();
    await etcd[Symbol.asyncDispose]();
  });

  const enter = (index: number, id: string, more: Partial<Parameters<typeof createEtcdReplicas>[0]> = {}): Replicas => {
    const storage = storages[index];
    if (storage === undefined) throw new Error("no such server");
    const ready = { waitFor: async () => {}, revision: () => 0, refresh: async () => {}, boundMs: NEVER_MS };
    return createEtcdReplicas({ storage, id, ...ready, ...more });
  };

  test("a single server does not wait, and is fresh from its registration until it leaves", async () => {
    const only = enter(0, "only");
    expect(only.isFresh()).toBe(false);
    await only.entered;
    expect(only.isFresh()).toBe(true);
    await only.allKnow();
    await only[Symbol.asyncDispose]();
    expect(only.isFresh()).toBe(false);
  });

  test("one that has written waits until the other shows all of it", async () => {
    let show = (): void => {};
    const shown = new Promise<void>((resolve) => {
      show = resolve;
    });
    let asked = (_revision: number): void => {};
    const wasAsked = new Promise<number>((resolve) => {
      asked = resolve;
    });
    await using near = enter(0, "near");
    await using far = enter(1, "far", {
      waitFor(revision) {
        asked(revision);
        return shown;
      },
    });
    await Promise.all([near.entered, far.entered]);
    const written = await storages[0]?.create("/registry/a/b/c/d", Buffer.from("1"));
    let isOver = false;
    const waiting = near.allKnow().then(() => {
      isOver = true;
    });
    expect(await wasAsked).toBeGreaterThan(written ?? Number.NaN);
    expect(isOver).toBe(false);
    show();
    await waiting;
  });

  test("stops waiting for one that leaves, and waits within the bound for a silent one", async () => {
    const silence = new Promise<void>(() => {});
    await using near = enter(0, "near", { boundMs: 300 });
    let asked = (): void => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const far = enter(1, "far", {
      waitFor() {
        asked();
        return silence;
      },
    });
    await Promise.all([near.entered, far.entered]);
    await near.allKnow();
    await wasAsked;
    await using patient = enter(0, "patient");
    await patient.entered;
    const waiting = patient.allKnow();
    await far[Symbol.asyncDispose]();
    await waiting;
  });

  test("is not fresh before everything is loaded that was written before it was known", async () => {
    let load = (): void => {};
    const loaded = new Promise<void>((resolve) => {
      load = resolve;
    });
    let loading = (): void => {};
    const isLoading = new Promise<void>((resolve) => {
      loading = resolve;
    });
    await using late = enter(0, "late", {
      refresh() {
        loading();
        return loaded;
      },
    });
    await isLoading;
    expect(late.isFresh()).toBe(false);
    let isToldStale = false;
    using _ = late.onStale(() => {
      isToldStale = true;
    });
    await Promise.resolve();
    expect(isToldStale).toBe(true);
    load();
    await late.entered;
    expect(late.isFresh()).toBe(true);
  });
});
