// A condition as all newer kinds have it.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Condition)

import { s } from "@postern/apimachinery/schema/builder";

export const conditionFields = s.object({
  type: s.string().required().describe("Type of the condition."),
  status: s.string().required().describe("Status of the condition, one of True, False, Unknown."),
  observedGeneration: s
    .int64()
    .describe("observedGeneration represents the .metadata.generation that the condition was set based upon."),
  lastTransitionTime: s.timestamp().describe("Last time the condition transitioned from one status to another."),
  lastUpdateTime: s.timestamp().describe("Last time the condition was checked or updated."),
  lastProbeTime: s.timestamp().describe("Last time the condition was checked or updated."),
  reason: s.string().describe("Unique, one-word, CamelCase reason for the condition's last transition."),
  message: s.string().describe("Human-readable message indicating details about the last transition."),
});
