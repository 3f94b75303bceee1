// Conditions: the members that all have, and those that some kinds have beside them.
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/types.go (Condition), and the conditions of k8s.io/api

import { s } from "@postern/apimachinery/schema/builder";

const MORE = {
  observedGeneration: s.int64(),
  lastUpdateTime: s.timestamp(),
  lastProbeTime: s.timestamp(),
} as const;

const common = {
  type: s.string().required(),
  status: s.string().required(),
  lastTransitionTime: s.timestamp(),
  reason: s.string(),
  message: s.string(),
} as const;

export const conditionFields = <const N extends keyof typeof MORE = never>(...more: readonly N[]) =>
  s.object({
    ...common,
    // The names are those of the type.
    ...(Object.fromEntries(more.map((name) => [name, MORE[name]])) as Pick<typeof MORE, N>),
  });
