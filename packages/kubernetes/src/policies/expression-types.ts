// The types of what expressions of policies and match conditions may ask about.
// Source: k8s.io/apiserver/pkg/admission/plugin/cel/compile.go (BuildRequestType, BuildNamespaceType)

import { type CelType, readCelType } from "@postern/cel/cel-type";

type Parts = { readonly [name: string]: CelType | string };

const objectOf = (parts: Parts): CelType => ({
  kind: "object",
  fields: new Map(
    Object.entries(parts).map(([property, type]) => [
      property,
      { property, type: typeof type === "string" ? readCelType(type) : type },
    ]),
  ),
});

const textsOf = (...names: readonly string[]): { readonly [name: string]: "string" } =>
  Object.fromEntries(names.map((name) => [name, "string" as const]));

const KIND = objectOf({ group: "string", version: "string", kind: "string" });
const RESOURCE = objectOf({ group: "string", version: "string", resource: "string" });

export const REQUEST_TYPE = objectOf({
  kind: KIND,
  resource: RESOURCE,
  subResource: "string",
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: "string",
  name: "string",
  namespace: "string",
  operation: "string",
  userInfo: objectOf({
    username: "string",
    uid: "string",
    groups: "list<string>",
    extra: "map<string, list<string>>",
  }),
  dryRun: "bool",
  options: "dyn",
});

/** Times are texts, as in any object that an expression has no schema of. */
export const NAMESPACE_TYPE = objectOf({
  metadata: objectOf({
    name: "string",
    generateName: "string",
    namespace: "string",
    labels: "map<string, string>",
    annotations: "map<string, string>",
    UID: "string",
    creationTimestamp: "dyn",
    deletionGracePeriodSeconds: "int",
    deletionTimestamp: "dyn",
    generation: "int",
    resourceVersion: "string",
    finalizers: "list<string>",
  }),
  spec: objectOf({ finalizers: "list<string>" }),
  status: objectOf({
    phase: "string",
    conditions: {
      kind: "list",
      of: objectOf({ ...textsOf("type", "status", "message", "reason"), lastTransitionTime: "dyn" }),
    },
  }),
});
