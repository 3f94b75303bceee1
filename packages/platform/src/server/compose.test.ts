// The orders that clients and operators see: kinds in discovery, and controllers at the start of a leader.

import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { systemRuntime } from "@postern/apiserver/runtime/system-runtime";
import { createTeardown } from "@postern/apiserver/runtime/teardown";
import { createMemoryStorage } from "@postern/apiserver/storage/memory/memory-storage";
import { expect, test } from "vitest";
import { platformParts } from "../testing/platform-parts.ts";
import { composePlatform } from "./compose.ts";

const KINDS = `
  ownedaccesskeys users teams projects clusters virtualclusterinstances virtualclustertemplates spaceinstances
  selves selfsubjectaccessreviews accesskeys projectsecrets sharedsecrets clustertrustrules trustrules
  identityproviders clusteraccesspolicies accesspolicies accessrequests kubeconfiggenerators clusterprofiles namespaces secrets services events events leases roles rolebindings clusterroles
  clusterrolebindings tokenreviews selfsubjectreviews subjectaccessreviews localsubjectaccessreviews
  selfsubjectaccessreviews selfsubjectrulesreviews customresourcedefinitions
`
  .trim()
  .split(/\s+/);

const QUEUES = `
  namespace garbage_collector ClusterRoleAggregator access_key_grace_periods access_key_notices
  access_key_notice_deliveries access_key_conditions access_key_owners project project_quota cluster
  virtual_cluster_instance inside_bindings cluster_agent trust_rule trust_rule kubeconfig_generator access_request wrapped_value_notices identity_provider login_session space_instance
`
  .trim()
  .split(/\s+/);

test("kinds and work queues are in the order that clients and operators know", async () => {
  const teardown = createTeardown();
  await using _ = { [Symbol.asyncDispose]: () => teardown.run() };
  const storage = teardown.use(createMemoryStorage());
  const cache = teardown.use(createWatchCache({ storage, prefix: "/registry/", scheduler: systemRuntime.scheduler }));
  await cache.ready();
  const lifetime = new AbortController();
  const metrics = createServerMetrics({ withProcessMetrics: false });
  const queues: string[] = [];
  const workQueues: typeof metrics.workQueues = {
    follow(name, state) {
      queues.push(name);
      return metrics.workQueues.follow(name, state);
    },
  };
  const platform = await composePlatform(
    platformParts({
      storage,
      cache,
      runtime: systemRuntime,
      signal: lifetime.signal,
      metrics: Object.create(metrics, { workQueues: { value: workQueues } }),
    }),
    teardown,
  );
  teardown.defer(() => lifetime.abort());
  for (const controller of platform.startControllers(systemRuntime)) teardown.use(controller);
  expect(platform.api.registry.definitions.map(({ plural }) => plural)).toEqual(KINDS);
  expect(queues).toEqual(QUEUES);
});
