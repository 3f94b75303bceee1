// Starts all controllers.

import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import {
  type Controller,
  type ControllerPort,
  controlledResources,
} from "@postern/apiserver/controllers/controller-port";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createEventExpiry } from "@postern/kubernetes/controllers/event-expiry";
import { createGarbageCollector } from "@postern/kubernetes/controllers/garbage-collector/garbage-collector";
import { createNamespaceController } from "@postern/kubernetes/controllers/namespace-controller/namespace-controller";
import { createRoleAggregationController } from "@postern/kubernetes/controllers/role-aggregation/role-aggregation-controller";
import { requiredResource } from "@postern/kubernetes/server/required-resource";
import { DAY_MS, type PlatformCore } from "../core/platform-core.ts";
import { createAccessKeyConditions } from "../features/access-keys/controllers/access-key-conditions.ts";
import { createAccessKeyGracePeriods } from "../features/access-keys/controllers/access-key-grace-periods.ts";
import { createAccessKeyOwners } from "../features/access-keys/controllers/access-key-owners.ts";
import { createAccessKeyReaper } from "../features/access-keys/controllers/access-key-reaper.ts";
import { createEndedCertificates, createRetiredValues } from "../features/access-keys/controllers/ended-credentials.ts";
import { createValueClaimController } from "../features/access-keys/controllers/unique-values.ts";
import { createProjectController } from "../features/projects/controllers/project-controller.ts";
import { createProjectQuotas } from "../features/projects/controllers/project-quotas.ts";
import { createIdentityProviderController } from "../features/sign-in/controllers/identity-providers.ts";
import { createLoginSessions } from "../features/sign-in/controllers/login-sessions.ts";
import { createTrustRuleController } from "../features/trust/controllers/trust-rules.ts";
import { createTakenTokenReaper } from "../features/trust/used-tokens.ts";
import { createClusterController } from "../features/virtual-clusters/controllers/clusters/cluster-controller.ts";
import { createInsideBindingsController } from "../features/virtual-clusters/controllers/inside-bindings/inside-bindings-controller.ts";
import { createSpaceController } from "../features/virtual-clusters/controllers/space-instances/space-controller.ts";
import { createVirtualClusterController } from "../features/virtual-clusters/controllers/virtual-cluster-instances/virtual-cluster-controller.ts";
import type { Configuration } from "../foundation/config/configuration.ts";
import { SERVED_VERSION } from "../foundation/served-version.ts";
import { createRecordReaper } from "../foundation/store/expiring-records.ts";
import type { ManagementSurface } from "./management-surface.ts";
import { createNoticeController, type NoticeControllerDeps } from "./notice-controller.ts";
import type { SignInParts } from "./sign-in.ts";

export function startControllers(
  core: PlatformCore,
  surface: ManagementSurface,
  runtime: Runtime,
  storage: Storage,
  { proxy, accessKeys: keySettings, notices }: Pick<Configuration, "proxy" | "accessKeys" | "notices">,
  noticed: Pick<NoticeControllerDeps, "webhook" | "metrics">,
  signIn: SignInParts,
): readonly Controller[] {
  const { names, keys } = core;
  const { registry, backends, spaces, embeddedClusters, reached, controlPlaneKeys, onError, queueMetrics } = surface;
  const own = (kind: string) => requiredResource(registry, names.managementGroup, kind);
  const port: ControllerPort = {
    resources: controlledResources(registry),
    runtime,
    onError,
    queueMetrics,
  };
  const accessKeys = own("OwnedAccessKey");
  const namespaces = requiredResource(registry, "", "Namespace");
  const projects = own("Project");
  const clusters = own("Cluster");
  const instances = own("VirtualClusterInstance");
  const remove = async (uid: string, signal: AbortSignal): Promise<void> => {
    await controlPlaneKeys.revokeVirtualCluster(uid, signal);
    await embeddedClusters.remove(uid, signal);
    reached.remove(uid);
  };
  const stop = (uid: string): Promise<void> => embeddedClusters.stop(uid);
  const recheckMs = proxy.healthCheckIntervalSeconds * 1000;
  return [
    createNamespaceController(port, namespaces),
    createGarbageCollector(port),
    createEventExpiry(port, requiredResource(registry, "", "Event")),
    createRoleAggregationController(port, requiredResource(registry, RBAC_GROUP, "ClusterRole")),
    createAccessKeyGracePeriods({ port, accessKeys, keys, keyRecords: core.keyRecords }),
    createAccessKeyReaper({ port, accessKeys, keys, keepExpiredSeconds: keySettings.keepExpiredSeconds }),
    createNoticeController({ port, core, surface, storage, configuration: { notices }, ...noticed }),
    createAccessKeyConditions({ port, keys, keyRecords: core.keyRecords, storage, users: own("User") }),
    createValueClaimController({
      port,
      keys,
      claims: core.valueRecords,
      storage,
      rememberMs: keySettings.rememberValuesDays * DAY_MS,
    }),
    createAccessKeyOwners({ port, accessKeys, users: own("User"), teams: own("Team"), keys }),
    createProjectController(port, { names, projects, namespaces }),
    createProjectQuotas(port, {
      names,
      projects,
      instances: [instances, own("SpaceInstance")],
      accessKeys,
      lookup: surface.lookup,
      keyQuota: surface.keyQuota,
    }),
    createClusterController(port, { clusters, localVersion: SERVED_VERSION.gitVersion, reached, recheckMs }),
    createVirtualClusterController(port, {
      names,
      instances,
      clusters,
      templates: own("VirtualClusterTemplate"),
      lookup: surface.lookup,
      backends,
      remove,
      stop,
      recheckMs,
    }),
    createInsideBindingsController(port, { names, instances, backends }),
    createTrustRuleController(port, { ...core, resource: own("ClusterTrustRule") }),
    createTrustRuleController(port, { ...core, resource: own("TrustRule") }),
    createRetiredValues(port, core),
    createEndedCertificates(port, core),
    createTakenTokenReaper(port, core.takenTokens),
    createRecordReaper(port, core.signInRecords),
    createIdentityProviderController({ port, resource: own("IdentityProvider"), ...signIn }),
    createLoginSessions({ port, accessKeys, ...signIn, secrets: core.secrets, revoke: surface.mint.revoke }),
    createSpaceController(port, { names, instances: own("SpaceInstance"), clusters, spaces, recheckMs }),
  ];
}
