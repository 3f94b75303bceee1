// The fields of the kinds of the group apps: those of their specs together, and the status of each.
// Source: k8s.io/api/apps/v1/types.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches, retainingKeys } from "../builtin-resource.ts";
import { conditionFields } from "../condition-fields.ts";
import { labelSelector } from "../rbac/rbac-fields.ts";
import { podTemplateFields } from "./pod-fields.ts";
import { claimFields } from "./volumes.ts";

const count = (text: string) => s.int32().describe(text);

/** All of them together: each kind takes those that it has. */
export const ALL_SPEC = {
  replicas: count("How many pods there should be. Absent: 1."),
  selector: labelSelector.describe(
    "A label selector is a label query over a set of resources. The result of matchLabels and matchExpressions are ANDed.",
  ),
  template: podTemplateFields.describe(
    "PodTemplateSpec describes the data a pod should have when created from a template",
  ),
  minReadySeconds: count("Seconds for which a new pod has to be ready before it counts."),
  revisionHistoryLimit: count("How many old versions are kept. Absent: 10."),
  paused: s.boolean().describe("Indicates that the deployment is paused."),
  progressDeadlineSeconds: count("Seconds after which a change counts as failed. Absent: 600."),
  strategy: retainingKeys(
    s.object({
      type: s.string().describe('Type of deployment. Can be "Recreate" or "RollingUpdate". Default is RollingUpdate.'),
      rollingUpdate: s
        .object({
          maxUnavailable: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
          maxSurge: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
        })
        .describe("Parameters for the type RollingUpdate."),
    }),
  ).describe("How to replace existing pods with new ones."),
  updateStrategy: s
    .object({
      type: s.string().describe("Type of the update: RollingUpdate or OnDelete. Defaults to RollingUpdate."),
      rollingUpdate: s
        .object({
          partition: count("Pods below this number stay as they are."),
          maxUnavailable: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
          maxSurge: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
        })
        .describe("Parameters for the type RollingUpdate."),
    })
    .describe("How to replace existing pods with new ones."),
  serviceName: s.string().describe("serviceName is the name of the service that governs this StatefulSet."),
  volumeClaimTemplates: s
    .list(s.field<JsonObject>(kindSchema(claimFields.schema)))
    .describe("volumeClaimTemplates is a list of claims that pods are allowed to reference."),
  podManagementPolicy: s
    .string()
    .describe(
      "podManagementPolicy controls how pods are created during initial scale up, when replacing pods on nodes, or when scaling down.",
    ),
  persistentVolumeClaimRetentionPolicy: s
    .object({
      whenDeleted: s.string().describe("WhenDeleted specifies what happens to PVCs of a StatefulSet that is deleted."),
      whenScaled: s
        .string()
        .describe("WhenScaled specifies what happens to PVCs of a StatefulSet that is scaled down."),
    })
    .describe(
      "StatefulSetPersistentVolumeClaimRetentionPolicy describes the policy used for PVCs created from the StatefulSet VolumeClaimTemplates.",
    ),
  ordinals: s
    .object({ start: count("The number of the first pod.") })
    .describe("StatefulSetOrdinals describes the policy used for replica ordinal assignment in this StatefulSet."),
} as const;

const numbers = (names: string) =>
  Object.fromEntries(
    names.split(" ").map((name) => [name, s.int32().describe(`As reported by the controller: ${name}.`)]),
  );

/** `names`: its numbers. */
export const statusOf = (names: string, { hasRevisions = false, isUpdated = false } = {}) =>
  s.object({
    observedGeneration: s.int64().describe("Most recent generation observed by the controller."),
    conditions: mergedInPatches(
      s.listMap(isUpdated ? conditionFields("lastUpdateTime") : conditionFields(), ["type"]),
      "type",
    ).describe("Latest available observations of the object's current state."),
    ...(hasRevisions
      ? {
          currentRevision: s.string().describe("The version of the template that pods below currentReplicas have."),
          updateRevision: s.string().describe("The version of the template that the newest pods have."),
        }
      : {}),
    ...numbers(names),
  });

export type Spec = Infer<ReturnType<typeof s.object<typeof ALL_SPEC>>>;

/** Claims of templates are written as claims are. */
export const withClaimDefaults = (spec: Spec): Spec =>
  spec.volumeClaimTemplates === undefined
    ? spec
    : {
        ...spec,
        volumeClaimTemplates: spec.volumeClaimTemplates.map((claim) => ({
          ...claim,
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          // Objects of their types by now.
          spec: { volumeMode: "Filesystem", ...(claim["spec"] as JsonObject | undefined) },
          status: { phase: "Pending", ...(claim["status"] as JsonObject | undefined) },
        })),
      };
