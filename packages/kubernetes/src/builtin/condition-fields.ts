// Conditions: the members that all have, and those that some kinds have beside them.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Condition), and the conditions of k8s.io/api

import { s } from "@postern/apimachinery/schema/builder";

const MORE = {
  observedGeneration: s
    .int64()
    .describe("observedGeneration represents the .metadata.generation that the condition was set based upon."),
  lastUpdateTime: s.timestamp().describe("Last time the condition was checked or updated."),
  lastProbeTime: s.timestamp().describe("Last time the condition was checked or updated."),
} as const;

const common = {
  type: s.string().required().describe("Type of the condition."),
  status: s.string().required().describe("Status of the condition, one of True, False, Unknown."),
  lastTransitionTime: s.timestamp().describe("Last time the condition transitioned from one status to another."),
  reason: s.string().describe("Unique, one-word, CamelCase reason for the condition's last transition."),
  message: s.string().describe("Human-readable message indicating details about the last transition."),
} as const;

export const conditionFields = <const N extends keyof typeof MORE = never>(...more: readonly N[]) =>
  s.object({
    ...common,
    // The names are those of the type.
    ...(Object.fromEntries(more.map((name) => [name, MORE[name]])) as Pick<typeof MORE, N>),
  });
