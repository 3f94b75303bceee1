// The fields of ClusterProfiles: virtual clusters as controllers for many clusters find them.
// Source: sigs.k8s.io/cluster-inventory-api/apis/v1alpha1/clusterprofile_types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";

export const CLUSTER_INVENTORY_GROUP = "multicluster.x-k8s.io";

/** On each ClusterProfile; its value is the name of the cluster manager. */
export const CLUSTER_MANAGER_LABEL = "x-k8s.io/cluster-manager";

/** The extension that client-go hands to credential plugins. Source: k8s.io/client-go/pkg/apis/clientauthentication/v1/types.go (Cluster) */
export const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** Names the virtual cluster, for `postern credentials get`. */
export type ExecExtension = {
  readonly project: string;
  /** Namespace of the project. */
  readonly namespace: string;
  readonly virtualCluster: string;
};

const conditionFields = s.object({
  type: s.string().required().describe("ControlPlaneHealthy or Joined."),
  status: s
    .string({ enum: ["True", "False", "Unknown"] })
    .required()
    .describe("True, False or Unknown."),
  lastTransitionTime: s.timestamp().required().describe("Last time the status of the condition changed."),
  reason: s.string().required().describe("Machine-readable reason for the last transition, in CamelCase."),
  message: s.string().required().describe("Human-readable message about the last transition."),
});

const propertyFields = s.object({
  name: s.string().required().describe("Name of the property."),
  value: s.string().required().describe("Value of the property."),
  lastObservedTime: s.timestamp().describe("Last time the property was observed."),
});

const extensionFields = s.object({
  name: s.string().required().describe("Name of the extension."),
  extension: s.anyObject().required().describe("Content of the extension."),
});

const clusterFields = s
  .object({
    server: s.string().required().describe("Address of the virtual cluster."),
    "certificate-authority-data": s
      .bytes()
      .describe("CA certificates of the address, in PEM. Absent where public CAs verify it."),
    extensions: s
      .list(extensionFields)
      .describe("client.authentication.k8s.io/exec: the virtual cluster, for the credential plugin."),
  })
  .required();

const accessProviderFields = s.object({
  name: s.string().required().describe("Name of the provider, by which clients choose a credential plugin."),
  cluster: clusterFields.describe("How to reach the virtual cluster, without a credential."),
});

export const clusterProfileFields = s
  .object({
    spec: s
      .object({
        displayName: s.string().describe("Display name of the virtual cluster."),
        clusterManager: s
          .object({ name: s.string().required().describe("Name of the cluster manager.") })
          .required()
          .describe("The platform."),
      })
      .required()
      .describe("Which cluster it is."),
    status: s
      .object({
        conditions: s
          .listMap(conditionFields, ["type"])
          .describe(
            "Joined: whether the virtual cluster exists and is not being deleted. ControlPlaneHealthy: the condition Ready of its instance.",
          ),
        version: s
          .object({ kubernetes: s.string().describe("Kubernetes version.") })
          .describe("Version of the virtual cluster."),
        properties: s
          .listMap(propertyFields, ["name"])
          .describe("Properties of the virtual cluster, such as cluster.clusterset.k8s.io: its unique ID."),
        accessProviders: s
          .listMap(accessProviderFields, ["name"])
          .describe("Ways to reach the virtual cluster. The provider of the platform is named as the platform."),
      })
      .describe("State of the cluster."),
  })
  .describe(
    "A virtual cluster as controllers for many clusters find it: made of its VirtualClusterInstance, and read-only.",
  );

export type ClusterProfile = KindOf<typeof clusterProfileFields>;
export type ClusterProfileCondition = Infer<typeof conditionFields>;
