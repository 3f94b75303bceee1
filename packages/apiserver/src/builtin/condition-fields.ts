// A condition as all newer kinds have it.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Condition)

import { s } from "@postern/apimachinery/schema/builder";

export const conditionFields = s.object({
  type: s.string().required().describe("What the condition is about."),
  status: s.string().required().describe("Status of the condition: True, False or Unknown."),
  observedGeneration: s.int64().describe("The generation of the object that it is about."),
  lastTransitionTime: s.timestamp().describe("Last time the status of the condition changed."),
  lastUpdateTime: s.timestamp().describe("When it was last looked at, of kinds that say so."),
  lastProbeTime: s.timestamp().describe("When it was last looked at, of kinds that say so."),
  reason: s.string().describe("The cause of the last change in one CamelCase word."),
  message: s.string().describe("The cause of the last change for people to read."),
});
