// How objects of the core group point at others.
// Source: k8s.io/api/core/v1/types.go (ObjectReference, LocalObjectReference)

import { s } from "@postern/apimachinery/schema/builder";

export const objectReference = s.object(
  {
    kind: s.string().describe("Kind of the object."),
    namespace: s.string().describe("Namespace of the object."),
    name: s.string().describe("Name of the object."),
    uid: s.string().describe("UID of the object."),
    apiVersion: s.string().describe("Group and version of the object."),
    resourceVersion: s.string().describe("The version of the object that is meant, if one."),
    fieldPath: s.string().describe("The part of the object that is meant, if one."),
  },
  { atomic: true },
);

export const localObjectReference = s.object(
  { name: s.string().describe("Name of the object, in the same namespace.") },
  { atomic: true },
);
