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
  version: s.string().describe("Version of the template, such as 1.2.x. Absent: the newest."),
  syncOnce: s.boolean().describe("True: later versions of the template change nothing."),
});

const clusterRefFields = s.object({
  cluster: s.string().describe("Name of the cluster that the virtual cluster lives in."),
  namespace: s.string().describe("Namespace in that cluster."),
  virtualCluster: s.string().describe("Name of the virtual cluster in that namespace."),
});

const specFields = s.object({
  displayName: s.string().describe("Name for people. Absent: the name of the object."),
  description: s.string().describe("What the virtual cluster is for."),
  owner: ownerFields.describe("Who it belongs to, with all rights in it. Absent on create: the caller."),
  templateRef: templateRefFields.describe(
    "The template that it was made from. Kept as it is: this release has no templates.",
  ),
  template: templateFields.describe("What it is made of."),
  clusterRef: clusterRefFields.describe(
    "Where it lives. What is absent on create is filled in by the server, but for the cluster of one that is external. Cannot be changed afterwards.",
  ),
  parameters: s.string().describe("Values for the parameters of the template, as YAML text."),
  extraAccessRules: insideAccessRules.describe("Who has which ClusterRole inside, beside what the project gives."),
  access: s.list(accessRuleFields).describe("Who else may do what with the instance."),
  networkPeer: s
    .boolean()
    .describe(
      "True: it connects to the platform by itself. Unless it is external as well, it is not reached by this release.",
    ),
  external: s.boolean().describe("True: it is run by others, and reached by a kube config of its own."),
  standalone: s.boolean().describe("True: it runs on machines of its own."),
});

const statusFields = s.object({
  phase: s.string({ enum: PHASES }).describe("Pending, Ready, Sleeping or Failed."),
  reason: s.string().describe("Why it is not ready, in one word."),
  message: s.string().describe("Why it is not ready, for people to read."),
  serviceUID: s.string().describe("Tells this virtual cluster from any other, also from one of its name."),
  kubernetesVersion: s.string().describe("The version that it answers with."),
  deployHash: s.string().describe("Tells one state of what was installed from another."),
  conditions: conditionsField,
  virtualClusterObjects: s.anyObject().describe("What has been made in the virtual cluster."),
  spaceObjects: s.anyObject().describe("What has been made beside it."),
  virtualCluster: templateFields.describe("The template with everything filled in."),
  ignoreReconciliation: s.boolean().describe("True: the server leaves the virtual cluster as it is."),
  sleepModeConfig: s.anyObject().describe("When it sleeps."),
  canUse: s.boolean().describe("Whether the caller may use it. Only with ?extended=true."),
  canUpdate: s.boolean().describe("Whether the caller may change it. Only with ?extended=true."),
  online: s.boolean().describe("Whether it is connected. Only with ?extended=true."),
});

export const virtualClusterInstanceFields = s
  .object({
    spec: specFields.describe("The virtual cluster as it should be."),
    status: statusFields.describe("The virtual cluster as it is. Filled in by the server."),
  })
  .describe("A virtual cluster of a project: in the namespace of the project, living in one of its clusters.");

export type VirtualClusterInstance = KindOf<typeof virtualClusterInstanceFields>;
export type VirtualClusterInstanceSpec = Infer<typeof specFields>;
export type VirtualClusterInstanceStatus = Infer<typeof statusFields>;

/** Whether it is reached by a kube config of its own, and not through a cluster of the platform's. */
export const isRunByOthers = ({ spec }: Pick<VirtualClusterInstance, "spec">): boolean =>
  spec?.external === true || spec?.standalone === true;

/** What is made of the template. This release has no templates to draw from: it is what the spec says. */
export const renderTemplate = ({ spec }: VirtualClusterInstance): VirtualClusterInstanceStatus["virtualCluster"] =>
  spec?.template;

/** Whether clients may reach it by themselves, so that kube configs are handed out. */
export const hasIngressEndpoint = ({ spec, status }: VirtualClusterInstance): boolean =>
  (spec?.template ?? status?.virtualCluster)?.accessPoint?.ingress?.enabled === true;
