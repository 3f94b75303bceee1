// The fields of Clusters.

import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { ignoredObject, ignoredSecretRef } from "./ignored-fields.ts";
import { accessRuleFields, ownerFields } from "./owner.ts";
import { sessionRecordingFields } from "./session-recording.ts";

/** The cluster that is there from the start: what lives in it is served by this process. */
export const EMBEDDED_CLUSTER = "embedded";

const kubeconfigRefFields = s.object({
  secretNamespace: s.string().describe("Namespace of the Secret. Defaults to the cluster's management namespace."),
  secretName: s.string({ minLength: 1 }).required().describe("Name of the Secret."),
  key: s.string().describe("Key of the kubeconfig in the Secret. Defaults to config."),
});

export const clusterFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Display name. Defaults to the name of the object."),
        description: s.string().describe("Description of the cluster."),
        owner: ownerFields.describe("User or team that administers the cluster. Defaults to the caller."),
        access: s.list(accessRuleFields).describe("Additional users and teams that may use the cluster."),
        local: s
          .boolean()
          .describe("Whether this is the built-in cluster, whose virtual clusters the server itself serves."),
        managementNamespace: s.string().describe("Namespace in the cluster for the platform's own objects."),
        kubeConfigRef: kubeconfigRefFields.describe("Reference to the Secret with the kubeconfig of the cluster."),
        networkPeer: s
          .boolean()
          .describe(
            "Whether an agent in the cluster connects to the platform, through a tunnel that it opens. The platform then needs no kubeconfig, and no address of the cluster.",
          ),
        unusable: s.boolean().describe("Whether the cluster is closed to new instances. Same as usable: false."),
        config: ignoredSecretRef("Reference to a kubeconfig. Use spec.kubeConfigRef instead."),
        metrics: ignoredObject("A store for metrics in the cluster."),
        opencost: ignoredObject("An OpenCost in the cluster."),
        argoCD: ignoredObject("An Argo CD in the cluster."),
        sessionRecording: sessionRecordingFields.describe(
          "Recording of exec and attach in the cluster, and in the virtual clusters and spaces that are placed in it. The strictest setting of the cluster and of the project holds. Changing it requires the verb restrict on clusters.",
        ),
        usable: s.boolean().describe("Whether new instances can be placed in the cluster. Defaults to true."),
      })
      .describe("Desired state of the cluster."),
    status: s
      .object({
        phase: s
          .string()
          .describe(
            "Initialized when the server can reach the cluster, Pending or Failed otherwise. Set by the server.",
          ),
        reason: s.string().describe("Machine-readable reason for the phase. Set by the server."),
        message: s.string().describe("Human-readable message about the phase. Set by the server."),
        version: s.string().describe("Kubernetes version of the cluster. Set by the server."),
        conditions: conditionsField,
        online: s.boolean().describe("Whether the cluster's agent is connected. Set by the server."),
        agent: s
          .object({
            version: s.string().describe("Version of the agent."),
            connections: s.int32().describe("Tunnels that the agent has open to the server that looked."),
            roundTripMilliseconds: s.int32().describe("Time of a message to the agent and back, some seconds ago."),
          })
          .describe("The agent of the cluster, while it is connected. Set by the server."),
      })
      .describe("Observed state of the cluster."),
  })
  .describe("A host cluster for virtual clusters and spaces: the built-in one, or a connected cluster.");

export type Cluster = KindOf<typeof clusterFields>;

/** Whether what lives in it is served by this process. */
export const isLocalCluster = ({ spec }: Cluster): boolean => spec?.local === true;

/** Whether it takes no new instances. */
export const isClosedCluster = ({ spec }: Pick<Cluster, "spec">): boolean =>
  spec?.usable === false || spec?.unusable === true;
