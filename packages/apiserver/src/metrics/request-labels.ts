// The labels by which requests are counted, in the words of kube-apiserver's metrics.
// Source: k8s.io/apiserver/pkg/endpoints/metrics/metrics.go (cleanVerb, CleanScope)

import { queryBoolean } from "../request/query-values.ts";
import type { RequestInfo } from "../request/request-info.ts";
import { type ApiRequest, headerOf } from "../transport/api-request.ts";

export const REQUEST_LABELS = [
  "verb",
  "dry_run",
  "group",
  "version",
  "resource",
  "subresource",
  "scope",
  "component",
] as const;
export const NO_DRY_RUN = REQUEST_LABELS.filter((label) => label !== "dry_run");

export type RequestLabels = { readonly [label in (typeof REQUEST_LABELS)[number]]: string };

const VERBS: ReadonlyMap<string, string> = new Map([
  ["get", "GET"],
  ["list", "LIST"],
  ["watch", "WATCH"],
  ["create", "POST"],
  ["update", "PUT"],
  ["patch", "PATCH"],
  ["delete", "DELETE"],
  ["deletecollection", "DELETECOLLECTION"],
  ["proxy", "CONNECT"],
]);
const METHODS: ReadonlySet<string> = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]);
const APPLY = /^application\/apply-patch\+/;

/** `known` is false for resources that the server does not have, of which clients can name any number. */
export function requestLabelsOf(request: ApiRequest, info: RequestInfo, known: boolean): RequestLabels {
  const dryRun = info.isResourceRequest && request.method !== "GET" && request.query.has("dryRun");
  return {
    verb: metricVerb(request, info),
    dry_run: dryRun && queryBoolean(request.query, "dryRun") ? "All" : "",
    group: known ? info.apiGroup : "",
    version: known ? info.apiVersion : "",
    resource: known ? info.resource : "",
    subresource: known ? info.subresource : "",
    scope: scopeOf(info),
    component: "apiserver",
  };
}

function metricVerb(request: ApiRequest, info: RequestInfo): string {
  if (!info.isResourceRequest) return METHODS.has(request.method) ? request.method : "other";
  if (info.verb === "patch" && APPLY.test(headerOf(request, "content-type"))) return "APPLY";
  return VERBS.get(info.verb) ?? "other";
}

function scopeOf(info: RequestInfo): string {
  if (!info.isResourceRequest) return "";
  if (info.name !== "") return "resource";
  return info.namespace === "" ? "cluster" : "namespace";
}
