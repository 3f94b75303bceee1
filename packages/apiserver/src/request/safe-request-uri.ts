// The request URI as logs, traces and audit events may hold it.

import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";

/** Parameters of the Kubernetes API, none of which carries a secret. The values of any others are left out. */
const KNOWN: ReadonlySet<string> = new Set([
  "allowWatchBookmarks",
  "as",
  "container",
  "continue",
  "dryRun",
  "exclude",
  "extended",
  "fieldManager",
  "fieldSelector",
  "fieldValidation",
  "follow",
  "force",
  "gracePeriodSeconds",
  "includeObject",
  "labelSelector",
  "limit",
  "orphanDependents",
  "pretty",
  "propagationPolicy",
  "resourceVersion",
  "resourceVersionMatch",
  "sendInitialEvents",
  "tailLines",
  "timeout",
  "timeoutSeconds",
  "verbose",
  "watch",
]);

/**
 * The URI as sent, but for credentials, wherever they stand, and for the values of parameters whose content is not known, which become
 * `REDACTED`.
 */
export function safeRequestUri(uri: string): string {
  const at = uri.indexOf("?");
  if (at < 0) return redactCredentials(uri);
  const parameters = uri.slice(at + 1).split("&");
  return redactCredentials(`${uri.slice(0, at)}?${parameters.map(safeParameter).join("&")}`);
}

function safeParameter(parameter: string): string {
  const at = parameter.indexOf("=");
  if (at < 0) return KNOWN.has(parameter) || parameter === "" ? parameter : "REDACTED";
  const name = parameter.slice(0, at);
  return KNOWN.has(name) ? parameter : `${name}=REDACTED`;
}
