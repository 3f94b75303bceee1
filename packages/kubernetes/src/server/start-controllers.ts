import { RBAC_GROUP } from "@postern/apiserver/authorization/rbac/policy-rule";
import {
  type Controller,
  type ControllerPort,
  controlledResources,
} from "@postern/apiserver/controllers/controller-port";
import type { ResourceRegistry } from "@postern/apiserver/registry/resource-registry";
import type { ServiceTotals } from "../builtin/services/service-totals.ts";
import { type ApiServiceDeps, createApiServiceController } from "../controllers/api-service/api-service-controller.ts";
import { createDisruptionController } from "../controllers/disruption/disruption-controller.ts";
import { createStaleDisruptions } from "../controllers/disruption/stale-disruptions.ts";
import { createEndpointsController } from "../controllers/endpoints/endpoints-controller.ts";
import { createEventExpiry } from "../controllers/event-expiry.ts";
import { createGarbageCollector } from "../controllers/garbage-collector/garbage-collector.ts";
import { createJobCompletion } from "../controllers/job-completion.ts";
import { createNamespaceController } from "../controllers/namespace-controller/namespace-controller.ts";
import {
  createNamespaceObjectController,
  type KeptObject,
} from "../controllers/namespace-objects/namespace-object-controller.ts";
import {
  DEFAULT_SERVICE_ACCOUNT,
  rootCertificateAuthority,
} from "../controllers/namespace-objects/namespace-objects.ts";
import { createNodeController } from "../controllers/nodes/node-controller.ts";
import { createPodGarbageCollector } from "../controllers/nodes/pod-garbage-collector.ts";
import { createQuotaController } from "../controllers/quotas/quota-controller.ts";
import { createRoleAggregationController } from "../controllers/role-aggregation/role-aggregation-controller.ts";
import { createTokenSecretController } from "../controllers/token-secrets/token-secret-controller.ts";
import { createVolumeProtection } from "../controllers/volume-protection.ts";
import { createJobPodRelease } from "../controllers/workloads/jobs/job-pod-release.ts";
import { createWorkloadControllers } from "../controllers/workloads/workload-controllers.ts";
import { createCustomResourceController } from "../custom-resources/custom-resource-controller.ts";
import { APIEXTENSIONS_GROUP } from "../custom-resources/custom-resource-definition.ts";
import { createPolicyStatusController } from "../policies/policy-status-controller.ts";
import { ADMISSION_GROUP } from "../policies/validating-admission-policy.ts";
import type { ServiceAccountTokens } from "../service-accounts/service-account-tokens.ts";
import { requiredResource } from "./required-resource.ts";
import type { ClusterOptions, StandardSurfaceDeps } from "./standard-surface-options.ts";

/** They run until they are disposed. */
export function startControllers(
  registry: ResourceRegistry,
  deps: StandardSurfaceDeps,
  { tokens, services }: { readonly tokens: ServiceAccountTokens | undefined; readonly services: ServiceTotals },
): readonly Controller[] {
  const { runtime, onControllerError: onError, queueMetrics, rootAuthority } = deps;
  const { customResources: compiled } = deps;
  const port: ControllerPort = { resources: controlledResources(registry), runtime, onError, queueMetrics };
  const namespaces = requiredResource(registry, "", "Namespace");
  const inNamespaces = (queueName: string, object: KeptObject): Controller => {
    const resource = requiredResource(registry, "", object.kind);
    return createNamespaceObjectController(port, { queueName, namespaces, resource, object });
  };
  const definitions = registry.findKind(APIEXTENSIONS_GROUP, "CustomResourceDefinition");
  return [
    // First: the others look after what it serves.
    ...(compiled === undefined || definitions === undefined
      ? []
      : [createCustomResourceController(port, definitions, { registry, compiled, caller: deps.cluster?.webhooks })]),
    ...(tokens === undefined
      ? []
      : [
          inNamespaces("serviceaccount", DEFAULT_SERVICE_ACCOUNT),
          createTokenSecretController(port, {
            secrets: requiredResource(registry, "", "Secret"),
            accounts: requiredResource(registry, "", "ServiceAccount"),
            tokens,
            rootAuthority,
          }),
        ]),
    ...(rootAuthority === undefined
      ? []
      : [inNamespaces("root_ca_cert_publisher", rootCertificateAuthority(rootAuthority))]),
    createNamespaceController(port, namespaces),
    createGarbageCollector(port),
    ...(deps.cluster === undefined
      ? []
      : [
          createQuotaController(port, requiredResource(registry, "", "ResourceQuota"), services),
          createApiServiceController(port, apiServiceOf(registry, deps.cluster)),
          createEndpointsController(port, {
            services: requiredResource(registry, "", "Service"),
            endpoints: requiredResource(registry, "", "Endpoints"),
            slices: requiredResource(registry, "discovery.k8s.io", "EndpointSlice"),
            pods: requiredResource(registry, "", "Pod"),
            keepsWorkloads: deps.cluster.keepsWorkloads,
          }),
          createDisruptionController(port, {
            budgets: requiredResource(registry, "policy", "PodDisruptionBudget"),
            pods: requiredResource(registry, "", "Pod"),
            owners: [
              requiredResource(registry, "", "ReplicationController"),
              ...["Deployment", "ReplicaSet", "StatefulSet"].map((kind) => requiredResource(registry, "apps", kind)),
            ],
          }),
          createStaleDisruptions(port, { pods: requiredResource(registry, "", "Pod") }),
          createJobCompletion(port, requiredResource(registry, "batch", "Job"), deps.cluster.completesJobs),
          createJobPodRelease(port, {
            pods: requiredResource(registry, "", "Pod"),
            jobs: requiredResource(registry, "batch", "Job"),
          }),
          createVolumeProtection(port, {
            volumes: requiredResource(registry, "", "PersistentVolume"),
            claims: requiredResource(registry, "", "PersistentVolumeClaim"),
            pods: requiredResource(registry, "", "Pod"),
          }),
          createNodeController(port, {
            nodes: requiredResource(registry, "", "Node"),
            leases: requiredResource(registry, "coordination.k8s.io", "Lease"),
            events: requiredResource(registry, "", "Event"),
          }),
          createPodGarbageCollector(port, {
            pods: requiredResource(registry, "", "Pod"),
            nodes: requiredResource(registry, "", "Node"),
            runsWorkloads: deps.cluster.runsWorkloads ?? (() => false),
          }),
          ...(deps.cluster.runsWorkloads === undefined
            ? []
            : [
                createWorkloadControllers(port, {
                  resource: (group, kind) => requiredResource(registry, group, kind),
                  runsWorkloads: deps.cluster.runsWorkloads,
                }),
              ]),
          createPolicyStatusController(
            port,
            requiredResource(registry, ADMISSION_GROUP, "ValidatingAdmissionPolicy"),
            registry,
          ),
        ]),
    createEventExpiry(port, requiredResource(registry, "", "Event")),
    createRoleAggregationController(port, requiredResource(registry, RBAC_GROUP, "ClusterRole")),
  ];
}

export const apiServiceOf = (registry: ResourceRegistry, { apiAddress: address }: ClusterOptions): ApiServiceDeps => ({
  resource: (group, kind) => requiredResource(registry, group, kind),
  address,
});
