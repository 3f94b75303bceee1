// Embedded virtual clusters over a store in memory: real surfaces, authorities and controllers, without the platform around them.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createContinueTokens } from "@postern/apiserver/registry/store/continue-token";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { createTestContext, type TestRequest } from "@postern/apiserver/testing/test-context";
import { createSealedValues } from "../../access-keys/sealed-value.ts";
import { TEST_VERSION } from "../../resources/testing/tenancy.ts";
import { createEmbeddedBackend } from "../embedded-backend.ts";
import { createEmbeddedClusters } from "../embedded-clusters.ts";

export const names = { name: "example", insideRoleGroup: (role: string) => `example:role:${role}` };
export const root = { name: "root", groups: ["example:role:cluster-admin"] };
export const { signal } = new AbortController();

export type EmbeddedHost = Awaited<ReturnType<typeof createEmbeddedHost>>;

const rulesOf = (role: any): readonly unknown[] => role?.rules ?? [];

export async function createEmbeddedHost(storage = createMemoryStorage(), serverKey = 7) {
  const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler });
  await cache.ready();
  const errors: unknown[] = [];
  const clusters = createEmbeddedClusters({
    storage,
    cache,
    runtime: systemRuntime,
    continueTokens: createContinueTokens(),
    sealedValues: createSealedValues([new Uint8Array(32).fill(serverKey)], systemRuntime.random),
    version: TEST_VERSION,
    onError: (error) => errors.push(error),
  });
  const backend = (uid: string) =>
    createEmbeddedBackend(
      { clusters, names, runtime: systemRuntime, version: TEST_VERSION, serverCertificateAuthority: undefined },
      uid,
    );
  return {
    storage,
    clusters,
    errors,
    backend,
    async setUp(uid: string) {
      await backend(uid).provision(signal);
      await backend(uid).bindRoles(["cluster-admin", "edit", "view"], signal);
      // Aggregated roles fill in a moment later.
      const { view, keys } = (await clusters.open(uid)).resource("rbac.authorization.k8s.io", "ClusterRole");
      const filled = () => ["edit", "view"].every((role) => rulesOf(view.get(keys.of("", role))?.decode()).length > 0);
      while (!filled()) await new Promise((resolve) => setImmediate(resolve));
    },
    async request(uid: string, call: TestRequest) {
      const context = createTestContext({
        ...call,
        headers: call.body === undefined ? {} : { "content-type": "application/json", ...call.headers },
      });
      const { status, body } = await backend(uid).proxy(
        { ...context, receivedAt: systemRuntime.clock.now() },
        call.user ?? root,
      );
      if (body.type !== "bytes") throw new Error("the answer is a stream");
      const text = Buffer.from(body.bytes).toString();
      return { status, body: text.startsWith("{") ? JSON.parse(text) : text };
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
