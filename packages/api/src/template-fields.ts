// The template of a virtual cluster, as written and as rendered.

import { s } from "@postern/apimachinery/schema/builder";
import {
  ignoredBoolean,
  ignoredInstallations,
  ignoredMetadata,
  ignoredObject,
  ignoredString,
} from "./ignored-fields.ts";

const chartFields = s.object({
  name: s.string().describe("Name of the chart."),
  repo: s.string().describe("URL of the chart repository."),
  version: s.string().describe("Version of the chart."),
  username: ignoredString("Username for the repository."),
  password: ignoredString("Password for the repository. Use a Secret instead: this field is readable."),
  insecureSkipTlsVerify: ignoredBoolean("Whether to skip verification of the repository's certificate."),
});

const helmReleaseFields = s.object({
  chart: chartFields.describe("Helm chart of the virtual cluster."),
  values: s.string().describe("Helm values, as YAML."),
});

const accessPointFields = s.object({
  ingress: s
    .object({
      enabled: s
        .boolean()
        .describe("Whether clients reach the virtual cluster directly. Required to issue kubeconfigs for it."),
      annotations: s.map(s.string()).describe("Annotations for the Ingress in a connected cluster."),
    })
    .describe(
      "Ingress endpoint. In a connected cluster this needs the annotation with the ingress suffix on the cluster.",
    ),
});

const accessRule = s.object({
  users: s.list(s.string()).describe("Users that the rule applies to; * for all."),
  teams: s.list(s.string()).describe("Teams that the rule applies to."),
  clusterRole: s.string().describe("ClusterRole in the virtual cluster."),
});

/** A rule of who has which ClusterRole inside. */
export const insideAccessRules = s.list(accessRule);

export const templateFields = s.object({
  metadata: s
    .object({
      labels: s.map(s.string()).describe("Labels for the objects created from the template."),
      annotations: s.map(s.string()).describe("Annotations for the objects created from the template."),
    })
    .describe("Metadata for the objects created from the template."),
  accessPoint: accessPointFields.describe("Endpoint of the virtual cluster."),
  helmRelease: helmReleaseFields.describe(
    "Helm release in a connected cluster. Not used by built-in virtual clusters.",
  ),
  access: s
    .object({
      defaultClusterRole: s.string().describe("ClusterRole in the virtual cluster for all its users."),
      rules: insideAccessRules.describe("Additional ClusterRoles in the virtual cluster, for users and teams."),
    })
    .describe("Permissions in the virtual cluster. Has no effect: use spec.extraAccessRules of the instance."),
  forwardToken: s.boolean().describe("Same as forwardTokenMode TokenReview."),
  forwardTokenMode: s
    .string({ enum: ["", "Off", "TokenReview", "Passthrough"] })
    .describe(
      "Whether to forward the caller's token to the virtual cluster. Has no effect: tokens are never forwarded.",
    ),
  ...ignoredInstallations,
  pro: s
    .object({ enabled: s.boolean().describe("Whether the virtual cluster uses the features of the platform.") })
    .describe("Stored, but has no effect: all features are always enabled."),
  instanceTemplate: ignoredMetadata("For the instance."),
  spaceTemplate: ignoredObject("For the namespace of the virtual cluster."),
  workloadVirtualClusterTemplateSpec: ignoredObject("For a virtual cluster beside it that runs the workloads."),
  workloads: s
    .string({ enum: ["", "stored", "controlled", "completed"] })
    .describe(
      "How a built-in virtual cluster treats Pods, Deployments, Jobs and the like. stored: it stores them without running them. controlled: its controllers also create the ReplicaSets, Jobs and pods that Kubernetes would, which run nowhere. completed: as stored, and it completes every Job immediately, for charts that wait for a Job. Unset: it refuses them.",
    ),
  objects: s
    .string()
    .describe(
      "Manifests for a built-in virtual cluster, as YAML. Applied when the virtual cluster is created, and again when the text changes. Objects that are removed from the text are not deleted.",
    ),
});
