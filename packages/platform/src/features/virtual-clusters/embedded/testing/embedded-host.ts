// Embedded virtual clusters over a store in memory: real surfaces, authorities and controllers, without the platform around them.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import type { Scheduler } from "@postern/apiserver/runtime/clock";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";
import type { ApiAddress } from "@postern/kubernetes/controllers/api-service/api-service-controller";
import { createInternalValues } from "../../../../foundation/encryption/internal-records.ts";
import { createFixedKeyRing } from "../../../../foundation/encryption/key-ring.ts";
import { createAddressRules } from "../../../../foundation/upstream/address-rules.ts";
import { TEST_VERSION } from "../../../../server/testing/tenancy.ts";
import type { RotationStates } from "../../../certificate-authorities/rotation-states.ts";
import { standardBindings } from "../bind-roles.ts";
import { createEmbeddedBackend } from "../embedded-backend.ts";
import { createEmbeddedClusters, NO_SETTINGS } from "../embedded-clusters.ts";

export const names = {
  name: "example",
  domain: "example.com",
  insideRoleGroup: (role: string) => `example:role:${role}`,
};
export const root = { name: "root", groups: ["example:role:cluster-admin"] };
export const { signal } = new AbortController();

export type EmbeddedHost = Awaited<ReturnType<typeof createEmbeddedHost>>;

export async function createEmbeddedHost(storage = createMemoryStorage(), serverKey = 7, rotations?: RotationStates) {
  let skipped = 0;
  const address: { now: ApiAddress | undefined } = { now: { ip: "203.0.113.7", port: 8443 } };
  const clock = { now: () => Date.now() + skipped, elapsed: () => performance.now() + skipped };
  const planned = new Set<() => void>();
  const soon = new Set<Disposable>();
  /** Real timers for what is soon; what is a minute away or more happens when the test says so. */
  const scheduler: Scheduler = {
    schedule(delayMs, task) {
      if (delayMs < 60_000) return planSoon(delayMs, task);
      planned.add(task);
      return { [Symbol.dispose]: () => void planned.delete(task) };
    },
  };
  function planSoon(delayMs: number, task: () => void): Disposable {
    const timer = systemRuntime.scheduler.schedule(delayMs, () => {
      soon.delete(handle);
      task();
    });
    const handle = {
      [Symbol.dispose]() {
        soon.delete(handle);
        timer[Symbol.dispose]();
      },
    };
    soon.add(handle);
    return handle;
  }
  const runtime = { ...systemRuntime, clock, scheduler };
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const errors: unknown[] = [];
  const withWorkloads = new Set<string>();
  const metrics = createServerMetrics();
  const clusters = createEmbeddedClusters({
    storage,
    cache,
    runtime,
    rotations,
    names,
    firstBindings: standardBindings(names),
    servingAuthority: { pem: "the authority\n", onChange: () => ({ [Symbol.dispose]: () => undefined }) },
    apiAddress: () => address.now,
    continueTokens: createContinueTokens(),
    sealedValues: createInternalValues(createFixedKeyRing(new Uint8Array(32).fill(serverKey)), systemRuntime.random),
    version: TEST_VERSION,
    webhookMetrics: metrics.webhooks,
    webhooks: { addresses: createAddressRules({ allow: ["127.0.0.1"] }), userAgent: names.name },
    settingsOf: (uid) => ({ ...NO_SETTINGS, keepsWorkloads: withWorkloads.has(uid) }),
    onError: (error) => errors.push(error),
  });
  const backend = (uid: string) =>
    createEmbeddedBackend(
      { clusters, names, runtime, version: TEST_VERSION, serverCertificateAuthority: undefined },
      uid,
    );
  /** Runs until no controller of the cluster has anything left to do. */
  async function settled(uid: string): Promise<void> {
    const cluster = await clusters.open(uid);
    for (let round = 0; round < 5; round++) {
      await cluster.idle();
      await cache.refresh();
    }
  }

  /** With the credential that let the user in, where there is one. */
  async function requestAs(uid: string, call: TestRequest & { readonly credential?: Credential }) {
    const context = createTestContext({
      ...call,
      headers: { ...(call.body === undefined ? {} : { "content-type": "application/json" }), ...call.headers },
    });
    const { status, body } = await backend(uid).proxy(
      context.with({ credential: call.credential, receivedAt: clock.now() }),
      call.user ?? root,
    );
    if (body.type !== "bytes") throw new Error("the answer is a stream");
    const text = Buffer.from(body.bytes).toString();
    return { status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  /** The events of a watch, as they come. The watch ends with the iteration. */
  async function* watchIn(uid: string, url: string): AsyncGenerator<any> {
    const stop = new AbortController();
    const context = createTestContext({ url, signal: stop.signal });
    const { body } = await backend(uid).proxy(context, root);
    if (body.type !== "stream") throw new Error("the answer is no stream");
    let text = "";
    let wake = (): void => {};
    let isOver = false;
    const sink = {
      bufferedBytes: 0,
      write(chunk: Uint8Array | string) {
        text += Buffer.from(chunk).toString();
        wake();
        return true;
      },
    };
    const done = body.run(sink, stop.signal).finally(() => {
      isOver = true;
      wake();
    });
    try {
      for (;;) {
        const end = text.indexOf("\n");
        if (end >= 0) {
          const line = text.slice(0, end);
          text = text.slice(end + 1);
          yield JSON.parse(line);
        } else if (isOver) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      stop.abort();
      await done;
    }
  }

  return {
    storage,
    cache,
    clusters,
    errors,
    metrics,
    backend,
    async setUp(uid: string) {
      await backend(uid).provision(signal);
      await backend(uid).bindRoles(["cluster-admin", "edit", "view"], signal);
      // Aggregated roles, and what every namespace has, fill in a moment later.
      await settled(uid);
    },
    request: (uid: string, call: TestRequest) => requestAs(uid, call),
    requestAs,
    watch: watchIn,
    settled,
    /** As `spec.template.workloads: stored` does. */
    keepWorkloads(uid: string) {
      withWorkloads.add(uid);
    },
    /** Where clusters that start from now on are reached. */
    reachedAt(next: ApiAddress | undefined) {
      address.now = next;
    },
    moveTime(ms: number) {
      skipped += ms;
    },
    /** How many tasks of the clusters wait for their time. */
    waiting: () => planned.size + soon.size,
    /** Runs everything that was planned for a minute from now or later. */
    runPlanned() {
      for (const task of [...planned]) {
        planned.delete(task);
        task();
      }
    },
    async keysOf(prefix: string) {
      return (await storage.list(prefix)).entries.map(({ key }) => key);
    },
    async dump() {
      const { entries } = await storage.list("/");
      return entries.map(({ value }) => Buffer.from(value).toString("latin1")).join("\n");
    },
    async [Symbol.asyncDispose]() {
      clusters[Symbol.dispose]();
      await cache[Symbol.asyncDispose]();
    },
  };
}
