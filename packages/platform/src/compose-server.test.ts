import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import type { WatchCache } from "@postern/apiserver/cache/watch-cache";
import { createFaults } from "@postern/apiserver/logging/faults";
import { silentLogger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime as runtime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { deferred } from "@postern/apiserver/transport/testing/deferred";
import { http1 } from "@postern/apiserver/transport/testing/test-clients";
import { lastingPorts } from "@postern/stores/testing/lasting-ports";
import { expect, it } from "vitest";
import { composeServer } from "./compose-server.ts";
import { memoryBudgets } from "./features/budgets/memory-limit.ts";
import { loadConfiguration } from "./foundation/config/configuration.ts";
import { ONE_THREAD } from "./foundation/config/thread-share.ts";
import { openServerStore } from "./foundation/store/open-server-store.ts";
import { readServerSecrets } from "./foundation/store/server-keys.ts";
import { loadServingIdentity } from "./server/serving-identity.ts";

/** Loaded only once `until` has resolved. */
function loadedAfter(cache: WatchCache, until: Promise<void>): WatchCache {
  return new Proxy(cache, {
    get(of, member) {
      if (member === "ready") return () => until.then(() => of.ready());
      const value: unknown = Reflect.get(of, member, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });
}

it("answers probes while objects are loaded, and requests when they have been", async () => {
  const root = await mkdtemp(join(tmpdir(), "postern-compose-"));
  const teardown = createTeardown();
  teardown.defer(() => rm(root, { recursive: true }));
  const [port = 0] = await lastingPorts(1);
  const flags = { "data-dir": root, "secure-port": String(port), store: "memory", "shutdown-drain-seconds": "0" };
  const configuration = await loadConfiguration({ flags: new Map(Object.entries(flags)), workingDirectory: root });
  const metrics = createServerMetrics({ withProcessMetrics: false });
  const faults = createFaults({ logger: silentLogger });
  const common = { configuration, runtime, logger: silentLogger, faults, metrics, tracing: undefined, teardown };
  try {
    const secrets = await readServerSecrets(configuration);
    const store = await openServerStore({ ...common, secrets, stopping: undefined });
    const serving = await loadServingIdentity(configuration, runtime);
    const real = teardown.use(
      createWatchCache({ storage: store.storage, prefix: "/registry/", scheduler: runtime.scheduler }),
    );
    const loaded = deferred<void>();
    const composing = composeServer({
      ...common,
      share: ONE_THREAD,
      manifests: [],
      store,
      serving,
      cache: loadedAfter(real, loaded.promise),
      memory: memoryBudgets(4 * 2 ** 30, { bodyBytes: 2 ** 28, backlogBytes: 2 ** 27 }),
      loadConsole: undefined,
      loadDocumentation: undefined,
    });
    composing.catch(() => {});
    const statusOf = async (path: string) => (await http1({ port, path })).status;
    await expect.poll(() => statusOf("/livez").catch(() => 0)).toBe(200);
    expect(await statusOf("/readyz")).toBe(500);
    const waiting = statusOf("/version");
    const readiness = (async () => {
      while ((await statusOf("/readyz")) !== 200);
      // Whatever waits for readiness reads it next.
      expect(existsSync(join(root, "admin.kubeconfig"))).toBe(true);
    })();
    loaded.resolve();
    // A first start creates the roles behind it.
    expect([200, 403]).toContain(await waiting);
    expect((await composing).url.endsWith(String(port))).toBe(true);
    expect([await statusOf("/version"), await statusOf("/readyz")]).toEqual([200, 200]);
    await readiness;
  } finally {
    await teardown.run();
  }
});
