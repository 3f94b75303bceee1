// How objects of the core group point at others.
// Source: k8s.io/api/core/v1/types.go (ObjectReference, LocalObjectReference)

import { s } from "@postern/apimachinery/schema/builder";

export const objectReference = s.object(
  {
    kind: s.string().describe("Kind of the referent."),
    namespace: s.string().describe("Namespace of the referent."),
    name: s.string().describe("Name of the referent."),
    uid: s.string().describe("UID of the referent."),
    apiVersion: s.string().describe("API version of the referent."),
    resourceVersion: s.string().describe("Specific resourceVersion to which this reference is made, if any."),
    fieldPath: s
      .string()
      .describe(
        "If referring to a piece of an object instead of an entire object, this string should contain a valid JSON/Go field access statement, such as desiredState.manifest.containers[2].",
      ),
  },
  { atomic: true },
);

export const localObjectReference = s.object(
  {
    name: s
      .string()
      .describe(
        "Name of the referent. This field is effectively required, but due to backwards compatibility is allowed to be empty.",
      ),
  },
  { atomic: true },
);
