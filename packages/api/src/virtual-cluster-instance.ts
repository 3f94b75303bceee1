// The fields of VirtualClusterInstances.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";
import { insideAccessRules, templateFields } from "./template-fields.ts";

export const PHASES = ["Pending", "Ready", "Sleeping", "Failed"] as const;
export type Phase = (typeof PHASES)[number];

const templateRefFields = s.object({
  name: s.string().describe("Name of the template."),
  version: s.string().describe("Version of the template, such as 1.2.x. Defaults to the newest."),
  syncOnce: s.boolean().describe("Whether later changes of the template are ignored."),
});

const clusterRefFields = s.object({
  cluster: s.string().describe("Name of the cluster."),
  namespace: s.string().describe("Namespace in that cluster."),
  virtualCluster: s.string().describe("Name of the virtual cluster in that namespace."),
});

const specFields = s.object({
  displayName: s.string().describe("Display name. Defaults to the name of the object."),
  description: s.string().describe("What the virtual cluster is for."),
  owner: ownerFields.describe(
    "User or team that owns the virtual cluster, with all permissions in it. Defaults to the caller.",
  ),
  templateRef: templateRefFields.describe(
    "VirtualClusterTemplate of the virtual cluster. Ignored if spec.template is set.",
  ),
  template: templateFields.describe("Template of the virtual cluster."),
  clusterRef: clusterRefFields.describe(
    "Cluster and namespace of the virtual cluster. The server fills in what is unset at creation, except for the cluster of an external one. Immutable.",
  ),
  parameters: s.string().describe("Parameters of the template that templateRef names, as YAML."),
  extraAccessRules: insideAccessRules.describe("Additional ClusterRoles in the virtual cluster, for users and teams."),
  access: s.list(accessRuleFields).describe("Additional access rules for the instance."),
  networkPeer: s
    .boolean()
    .describe(
      "Whether an agent in an external virtual cluster connects to the platform, through a tunnel that it opens. The platform then needs no kubeconfig, and no address of it.",
    ),
  verifiesTokens: s
    .boolean()
    .describe(
      "Whether the virtual cluster asks the platform about tokens, by webhook. Kubeconfigs with a token then have its own address; " +
        "otherwise they lead through the platform. Embedded virtual clusters are always reached through it.",
    ),
  external: s.boolean().describe("Whether it is an external virtual cluster, reached by its own kubeconfig."),
  standalone: s.boolean().describe("Whether it runs on its own nodes."),
});

const statusFields = s.object({
  phase: s.string({ enum: PHASES }).describe("Pending, Ready, Sleeping or Failed."),
  reason: s.string().describe("Machine-readable reason why it is not ready."),
  message: s.string().describe("Human-readable message about why it is not ready."),
  serviceUID: s.string().describe("Unique ID of the virtual cluster; a new one with the same name gets another ID."),
  kubernetesVersion: s.string().describe("Kubernetes version of the virtual cluster."),
  deployHash: s.string().describe("Hash of the deployed release."),
  conditions: conditionsField,
  virtualClusterObjects: s.anyObject().describe("Objects that were created in the virtual cluster."),
  spaceObjects: s.anyObject().describe("Objects that were created in the host cluster."),
  virtualCluster: templateFields.describe("The template with its parameters resolved."),
  ignoreReconciliation: s.boolean().describe("Whether the server stops reconciling the virtual cluster."),
  sleepModeConfig: s.anyObject().describe("Sleep mode settings."),
  canUse: s.boolean().describe("Whether you may use it. Returned only with ?extended=true."),
  canUpdate: s.boolean().describe("Whether you may update it. Returned only with ?extended=true."),
  online: s.boolean().describe("Whether it is connected. Returned only with ?extended=true."),
});

export const virtualClusterInstanceFields = s
  .object({
    spec: specFields.describe("Desired state of the virtual cluster."),
    status: statusFields.describe("Observed state of the virtual cluster. Set by the server."),
  })
  .describe("A virtual cluster of a project.");

export type VirtualClusterInstance = KindOf<typeof virtualClusterInstanceFields>;
export type VirtualClusterInstanceSpec = Infer<typeof specFields>;
export type VirtualClusterInstanceStatus = Infer<typeof statusFields>;

/** Whether it is reached by a kubeconfig of its own, and not through a cluster of the platform's. */
export const isRunByOthers = ({ spec }: Pick<VirtualClusterInstance, "spec">): boolean =>
  spec?.external === true || spec?.standalone === true;

/** Whether an agent in it connects to the platform. */
export const isTunnelled = (instance: Pick<VirtualClusterInstance, "spec">): boolean =>
  isRunByOthers(instance) && instance.spec?.networkPeer === true;

/** Template that the virtual cluster is made from: its own, or the rendered one that it refers to. */
export const templateOf = ({ spec, status }: Pick<VirtualClusterInstance, "spec" | "status">) =>
  spec?.template ?? status?.virtualCluster;

/** Whether clients can reach it directly, so that kubeconfigs are issued. */
export const hasIngressEndpoint = (instance: VirtualClusterInstance): boolean =>
  templateOf(instance)?.accessPoint?.ingress?.enabled === true;
