// The parameters of operations, each described once.

import type { QueryParameter } from "../../registry/resource-definition.ts";

export type ParameterName = keyof typeof QUERY_PARAMETERS;

export type Parameter = Omit<QueryParameter, "name">;

/** A parameter that many operations have, or one of a subresource. */
export type ParameterReference = ParameterName | QueryParameter;

const QUERY_PARAMETERS = {
  allowWatchBookmarks: {
    type: "boolean",
    description:
      'allowWatchBookmarks requests watch events with type "BOOKMARK". If this is not a watch, this field is ignored.',
  },
  continue: {
    type: "string",
    description:
      "The continue token of the previous page of this list. All other parameters must be the same. For an expired token, the response is 410 with a new token that continues from the newest state. Not supported for watches.",
  },
  dryRun: {
    type: "string",
    description: "`All`: the request goes through every check, and nothing is stored.",
  },
  fieldManager: {
    type: "string",
    description:
      "The name under which the changed fields are owned: at most 128 bytes, printable. Required for apply requests; other writes default to the user agent.",
  },
  fieldSelector: {
    type: "string",
    description: "Selects objects by the value of fields, such as `metadata.name=example`. Default: all.",
  },
  fieldValidation: {
    type: "string",
    description:
      "What happens to unknown and duplicate fields. `Ignore`: they are dropped. `Warn`, the default: they are dropped, and a warning names each. `Strict`: the request is refused.",
  },
  force: {
    type: "boolean",
    description: "Takes over fields that other managers own. For apply requests only.",
  },
  gracePeriodSeconds: {
    type: "integer",
    description: "How long the object may take to end, in seconds; 0 means at once. Default: what the kind says.",
  },
  ignoreStoreReadErrorWithClusterBreakingPotential: {
    type: "boolean",
    description: "Deletes an object that can no longer be read from the store. Not supported here.",
  },
  labelSelector: {
    type: "string",
    description: "Selects objects by their labels, such as `app=web,tier!=cache`. Default: all.",
  },
  limit: {
    type: "integer",
    description:
      "At most this many objects are returned; when there are more, the list carries a `continue` token for the next page, which shows the state as of the first page. Not for watches.",
  },
  orphanDependents: {
    type: "boolean",
    description: "Deprecated, use `propagationPolicy`. True leaves the objects that this one owns in place.",
  },
  pretty: {
    type: "string",
    description: "`true`: the answer is indented. Default: only for curl, wget and browsers.",
  },
  propagationPolicy: {
    type: "string",
    description:
      "What happens to the objects that this one owns. `Orphan`: they stay. `Background`: they are deleted afterwards. `Foreground`: they are deleted first.",
  },
  resourceVersion: {
    type: "string",
    description:
      "How fresh the answer must be: absent for the newest state, `0` for any, another value for at least or exactly that version, see `resourceVersionMatch`.",
  },
  resourceVersionMatch: {
    type: "string",
    description: "`NotOlderThan` or `Exact`: how `resourceVersion` is meant for a list.",
  },
  sendInitialEvents: {
    type: "boolean",
    description:
      "Lets a watch begin with an ADDED event for every object there is, ended by a bookmark with the annotation `k8s.io/initial-events-end`. Needs `resourceVersionMatch=NotOlderThan`.",
  },
  shardSelector: {
    type: "string",
    description: "Selects a part of the objects by a hash of their identity. Not supported here.",
  },
  timeoutSeconds: {
    type: "integer",
    description: "Ends the list or watch after this many seconds.",
  },
  watch: {
    type: "boolean",
    description: "Answers with a stream of changes from `resourceVersion` on instead of a list.",
  },
} as const satisfies { readonly [name: string]: Parameter };

export const queryParameter = (parameter: ParameterReference): QueryParameter =>
  typeof parameter === "string" ? { name: parameter, ...QUERY_PARAMETERS[parameter] } : parameter;

export const LIST_PARAMETERS: readonly ParameterName[] = [
  "allowWatchBookmarks",
  "continue",
  "fieldSelector",
  "labelSelector",
  "limit",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "timeoutSeconds",
  "watch",
];

export const WRITE_PARAMETERS: readonly ParameterName[] = ["dryRun", "fieldManager", "fieldValidation"];

export const PATCH_PARAMETERS: readonly ParameterName[] = [...WRITE_PARAMETERS, "force"];

export const DELETE_PARAMETERS: readonly ParameterName[] = [
  "dryRun",
  "gracePeriodSeconds",
  "ignoreStoreReadErrorWithClusterBreakingPotential",
  "orphanDependents",
  "propagationPolicy",
];

/** Lists and watches of built-in kinds. */
export const BUILTIN_LIST_PARAMETERS: readonly ParameterName[] = [...LIST_PARAMETERS, "shardSelector" as const].sort();

/** Deletions of collections of built-in kinds take the options of both. */
export const DELETE_COLLECTION_PARAMETERS: readonly ParameterName[] = [
  ...BUILTIN_LIST_PARAMETERS.filter((name) => name !== "allowWatchBookmarks" && name !== "watch"),
  ...DELETE_PARAMETERS,
].sort();

export const NAMESPACE_DESCRIPTION = "The namespace of the objects.";
