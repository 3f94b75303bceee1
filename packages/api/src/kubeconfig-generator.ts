// The fields of kubeconfig generators: the virtual clusters of a project for which a Secret has kubeconfigs.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { description, displayName } from "./display-fields.ts";

/** A key that is replaced in time for its readers, and no oftener than a controller of many clusters can. */
export const MIN_GENERATED_TTL_SECONDS = 3_600;
/** A month. */
export const MAX_GENERATED_TTL_SECONDS = 2_678_400;
export const DEFAULT_GENERATED_TTL_SECONDS = 86_400;

export const GENERATED_FORMATS = ["Kubeconfig", "ArgoCD", "Flux"] as const;

const requirement = s.object({
  key: s.string({ maxLength: 317 }).required().describe("Key of the label."),
  operator: s
    .string({ enum: ["In", "NotIn", "Exists", "DoesNotExist"] })
    .required()
    .describe("Relation to the values."),
  values: s.list(s.string({ maxLength: 63 }), { maxItems: 100 }).describe("Values for In and NotIn."),
});

const selector = s.object({
  matchLabels: s.map(s.string({ maxLength: 63 })).describe("Labels that a virtual cluster must have, all of them."),
  matchExpressions: s
    .list(requirement, { maxItems: 20 })
    .describe("Requirements for labels of a virtual cluster, all of which must hold."),
});

const secretTemplate = s.object({
  labels: s.map(s.string({ maxLength: 63 })).describe("Labels of the Secrets."),
  annotations: s.map(s.string()).describe("Annotations of the Secrets."),
  copyLabels: s
    .set(s.string({ minLength: 1, maxLength: 317 }), { maxItems: 50 })
    .describe(
      "Keys of labels that each Secret gets from its virtual cluster, if that has them. They take precedence over labels. Only for formats with a Secret for each virtual cluster.",
    ),
});

const argoCD = s.object({
  project: s
    .string({ minLength: 1, maxLength: 253 })
    .describe("AppProject that the clusters belong to: applications of others cannot use them."),
  namespaces: s
    .set(s.string({ minLength: 1, maxLength: 63 }), { maxItems: 100 })
    .describe("Namespaces of the virtual clusters that Argo CD manages. If unset, all of them."),
  clusterResources: s
    .boolean()
    .describe("Whether Argo CD manages resources without a namespace as well, if namespaces is set."),
  shard: s
    .int32({ minimum: 0, maximum: 1_000 })
    .describe("Shard of the application controller that manages the clusters. If unset, Argo CD chooses it."),
});

const spec = s.object({
  displayName,
  description,
  selector: selector
    .required()
    .describe("Selects virtual clusters of the project by their labels. An empty selector selects all of them."),
  role: s
    .string({ enum: ["view"] })
    .describe("view: read-only credentials without access to Secrets. Defaults to all permissions of the creator."),
  ttlSeconds: s
    .int32({ minimum: MIN_GENERATED_TTL_SECONDS, maximum: MAX_GENERATED_TTL_SECONDS })
    .describe(
      `TTL of the credentials, in seconds. Each is replaced when a third of it is left. Defaults to ${DEFAULT_GENERATED_TTL_SECONDS}.`,
    ),
  format: s
    .string({ enum: GENERATED_FORMATS })
    .describe(
      "Kubeconfig (the default): one Secret that has a kubeconfig with a context for each virtual cluster. ArgoCD: a cluster Secret of Argo CD for each. Flux: a Secret for each, with a kubeconfig as the key value, or secretRef.key. Immutable.",
    ),
  secretRef: s
    .object({
      name: s
        .string({ minLength: 1, maxLength: 253 })
        .required()
        .describe(
          "Name of the Secret in the namespace of the generator. Where there is a Secret for each virtual cluster, a dash and the name of the virtual cluster follow. Immutable.",
        ),
      key: s
        .string({ minLength: 1, maxLength: 253 })
        .describe(
          "Key of the kubeconfig in the Secret. Defaults to config, and to value for the format Flux. Not for the format ArgoCD. Immutable.",
        ),
    })
    .required()
    .describe("The Secret that receives the credentials. It must not exist yet."),
  argoCD: argoCD.describe("Settings of the clusters in Argo CD. Only for the format ArgoCD."),
  secretTemplate: secretTemplate.describe(
    "Labels and annotations of the Secrets, for programs that select Secrets by them, 16 KiB of JSON at most. Others that are on a Secret stay.",
  ),
});

const generatedCluster = s.object({
  name: s.string().required().describe("Name of the virtual cluster."),
  secret: s.string().describe("Name of the Secret that has its credential."),
  accessKey: s.string().describe("Name of the access key in the Secret."),
  issuedTimestamp: s.timestamp().describe("When that access key was created."),
  expirationTimestamp: s.timestamp().describe("When that access key expires."),
  conditions: conditionsField,
});

const status = s.object({
  observedGeneration: s.int64().describe("Generation that the status describes."),
  creator: s
    .object({
      kind: s.string().describe("Kind of the creator: user, team or subject."),
      name: s.string().describe("Name of the creator."),
      uid: s.string().describe("UID of the creator."),
    })
    .describe("The owner of the credentials. Only the creator may change the spec."),
  accessKey: s
    .string()
    .describe("Name of the access key with which all others are created: they become invalid with it."),
  previousAccessKey: s.string().describe("The access key before that, until no Secret needs it any more."),
  selected: s.int32().describe("Number of virtual clusters that the selector matches."),
  ready: s.int32().describe("Number of those with a current credential in a Secret."),
  clusters: s.listMap(generatedCluster, ["name"]).describe("State of each virtual cluster."),
  conditions: conditionsField,
});

export const kubeconfigGeneratorFields = s
  .object({
    spec: spec.required().describe("Virtual clusters, and the Secret that has credentials for them."),
    status: status.describe("Observed state. Set by the server."),
  })
  .describe(
    "Keeps Secrets with kubeconfigs for the virtual clusters of a project. The credentials are access keys of the creator, one for each virtual cluster.",
  );

export type KubeconfigGenerator = KindOf<typeof kubeconfigGeneratorFields>;
export type KubeconfigGeneratorStatus = Infer<typeof status>;
export type GeneratedCluster = Infer<typeof generatedCluster>;
