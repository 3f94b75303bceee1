// The fields of Clusters.

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { keptObject, keptSecretRef } from "./kept-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";

/** The cluster that is there from the start: what lives in it is served by this process. */
export const EMBEDDED_CLUSTER = "embedded";

const kubeConfigRefFields = s.object({
  secretNamespace: s.string().describe("Namespace of the Secret. Absent: the management namespace of the cluster."),
  secretName: s.string({ minLength: 1 }).required().describe("Name of the Secret."),
  key: s.string().describe("Key of the kube config in the Secret. Absent: config."),
});

export const clusterFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Name for people. Absent: the name of the object."),
        description: s.string().describe("What the cluster is."),
        owner: ownerFields.describe("Who administers the cluster. Absent on create: the caller."),
        access: s.list(accessRuleFields).describe("Who else may use the cluster."),
        local: s
          .boolean()
          .describe(
            "True for the cluster that is this server itself: virtual clusters in it are served by the server.",
          ),
        managementNamespace: s.string().describe("Namespace of the cluster that holds what the platform keeps there."),
        kubeConfigRef: kubeConfigRefFields.describe("Where the kube config lies by which the cluster is reached."),
        networkPeer: s
          .boolean()
          .describe(
            "True: the cluster connects to the platform by itself. Such clusters are not reached by this release.",
          ),
        unusable: s.boolean().describe("True keeps new instances out of the cluster, as usable: false does."),
        config: keptSecretRef("Where a kube config lies. What counts is spec.kubeConfigRef."),
        metrics: keptObject("A store for metrics in the cluster."),
        opencost: keptObject("An OpenCost in the cluster."),
        argoCD: keptObject("An Argo CD in the cluster."),
        usable: s.boolean().describe("False keeps new instances out of the cluster. Absent: true."),
      })
      .describe("The cluster as it should be."),
    status: s
      .object({
        phase: s
          .string()
          .describe("Initialized once it is reached; Pending or Failed before. Filled in by the server."),
        reason: s.string().describe("Why, in one word. Filled in by the server."),
        message: s.string().describe("Why, for people to read. Filled in by the server."),
        version: s.string().describe("The Kubernetes version that it answers with. Filled in by the server."),
        conditions: conditionsField,
        online: s.boolean().describe("Whether the cluster is connected, as others have written it."),
      })
      .describe("The cluster as it is."),
  })
  .describe("A cluster in which virtual clusters and spaces live: this server itself, or one that is connected.");

export type Cluster = KindOf<typeof clusterFields>;

/** Whether what lives in it is served by this process. */
export const isLocalCluster = ({ spec }: Cluster): boolean => spec?.local === true;
