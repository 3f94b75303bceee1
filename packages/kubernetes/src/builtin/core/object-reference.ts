// How objects of the core group point at others.
// Source: k8s.io/api/core/v1/types.go (ObjectReference, LocalObjectReference)

import { s } from "@postern/apimachinery/schema/builder";

export const objectReference = s.object(
  {
    kind: s.string(),
    namespace: s.string(),
    name: s.string(),
    uid: s.string(),
    apiVersion: s.string(),
    resourceVersion: s.string(),
    fieldPath: s.string(),
  },
  { atomic: true },
);

export const localObjectReference = s.object(
  {
    name: s.string(),
  },
  { atomic: true },
);
