// The fields of the kinds of the group apps: those of their specs together, and the status of each.
// Source: k8s.io/api/apps/v1/types.go

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches, retainingKeys } from "../../builtin-resource.ts";
import { conditionFields } from "../../condition-fields.ts";
import { labelSelector } from "../../rbac/rbac-fields.ts";
import { podTemplateFields } from "../pods/pod-fields.ts";
import { claimFields } from "../volumes/volumes.ts";

/** All of them together: each kind takes those that it has. */
export const ALL_SPEC = {
  replicas: s.int32(),
  selector: labelSelector,
  template: podTemplateFields,
  minReadySeconds: s.int32(),
  revisionHistoryLimit: s.int32(),
  paused: s.boolean(),
  progressDeadlineSeconds: s.int32(),
  strategy: retainingKeys(
    s.object({
      type: s.string(),
      rollingUpdate: s.object({
        maxUnavailable: s.intOrString(),
        maxSurge: s.intOrString(),
      }),
    }),
  ),
  // Of two types, so that OpenAPI documents have no name for it, and no description.
  updateStrategy: s.object({
    type: s.string().describe("Type of the update: RollingUpdate or OnDelete. Defaults to RollingUpdate."),
    rollingUpdate: s
      .object({
        partition: s.int32().describe("Pods below this number stay as they are."),
        maxUnavailable: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
        maxSurge: s.intOrString().describe("IntOrString is a type that can hold an int32 or a string."),
      })
      .describe("Parameters for the type RollingUpdate."),
  }),
  serviceName: s.string(),
  volumeClaimTemplates: s.list(s.field<JsonObject>(kindSchema(claimFields.schema))),
  podManagementPolicy: s.string(),
  persistentVolumeClaimRetentionPolicy: s.object({
    whenDeleted: s.string(),
    whenScaled: s.string(),
  }),
  ordinals: s.object({ start: s.int32() }),
} as const;

const numbers = (names: string) => Object.fromEntries(names.split(" ").map((name) => [name, s.int32()]));

/** `names`: its numbers. */
export const statusOf = (names: string, { hasRevisions = false, isUpdated = false } = {}) =>
  s.object({
    observedGeneration: s.int64(),
    conditions: mergedInPatches(
      s.listMap(isUpdated ? conditionFields("lastUpdateTime") : conditionFields(), ["type"]),
      "type",
    ),
    ...(hasRevisions
      ? {
          currentRevision: s.string(),
          updateRevision: s.string(),
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
