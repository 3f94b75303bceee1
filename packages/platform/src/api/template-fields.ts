// What a virtual cluster is made of: the template of an instance, and the same once it has been rendered.

import { s } from "@postern/apimachinery/schema/builder";
import { keptBoolean, keptInstallations, keptMetadata, keptObject, keptString } from "./kept-fields.ts";

const chartFields = s.object({
  name: s.string().describe("Name of the chart."),
  repo: s.string().describe("URL of the repository that it lies in."),
  version: s.string().describe("Version of the chart."),
  username: keptString("Name to log in to the repository with."),
  password: keptString("Password for the repository. It belongs into a Secret: this field is readable."),
  insecureSkipTlsVerify: keptBoolean("True: the certificate of the repository is not checked."),
});

const helmReleaseFields = s.object({
  chart: chartFields.describe("The Helm chart that the virtual cluster is installed from."),
  values: s.string().describe("Its values, as YAML text."),
});

const accessPointFields = s.object({
  ingress: s
    .object({
      enabled: s
        .boolean()
        .describe(
          "True: clients reach the virtual cluster without the platform's proxy, and kube configs are handed out.",
        ),
      annotations: s.map(s.string()).describe("Annotations for the Ingress in a connected cluster."),
    })
    .describe(
      "The ingress endpoint. In a connected cluster it needs the cluster's annotation with the ingress suffix.",
    ),
});

const accessRule = s.object({
  users: s.list(s.string()).describe("Names of the users it is for; * is every user."),
  teams: s.list(s.string()).describe("Names of the teams it is for."),
  clusterRole: s.string().describe("The ClusterRole that they have inside the virtual cluster."),
});

/** A rule of who has which ClusterRole inside. */
export const insideAccessRules = s.list(accessRule);

export const templateFields = s.object({
  metadata: s
    .object({
      labels: s.map(s.string()).describe("Labels for what is made of the template."),
      annotations: s.map(s.string()).describe("Annotations for what is made of the template."),
    })
    .describe("Metadata for what is made of the template."),
  accessPoint: accessPointFields.describe("How clients reach the virtual cluster."),
  helmRelease: helmReleaseFields.describe(
    "What is installed in a connected cluster. Built-in virtual clusters have none.",
  ),
  access: s
    .object({
      defaultClusterRole: s.string().describe("The ClusterRole inside for everybody who may use the virtual cluster."),
      rules: insideAccessRules.describe("Who has another ClusterRole inside."),
    })
    .describe(
      "Rights inside the virtual cluster. Kept as they are; spec.extraAccessRules of the instance is what counts.",
    ),
  forwardToken: s.boolean().describe("True: as forwardTokenMode TokenReview, which is to be preferred."),
  forwardTokenMode: s
    .string({ enum: ["", "Off", "TokenReview", "Passthrough"] })
    .describe(
      "Whether a caller's token goes on to the virtual cluster. Tokens never do here; the field is kept as it is.",
    ),
  ...keptInstallations,
  pro: s
    .object({ enabled: s.boolean().describe("True: the virtual cluster has the features of the platform.") })
    .describe("Kept as it is, without effect: every virtual cluster has them."),
  instanceTemplate: keptMetadata("For the instance."),
  spaceTemplate: keptObject("For the namespace that the virtual cluster lives in."),
  workloadVirtualClusterTemplateSpec: keptObject("For a virtual cluster beside it that runs the workloads."),
  workloads: s
    .string({ enum: ["", "stored"] })
    .describe(
      "stored: a built-in virtual cluster keeps Pods, Deployments, Jobs and the like as objects; nothing runs them. Absent: it refuses them.",
    ),
  objects: s
    .string()
    .describe(
      "Manifests for a built-in virtual cluster, as YAML text: applied when it is made, and again when the text changes. What is taken out of it stays.",
    ),
});
