// Audit annotations that the policies and webhooks of a cluster add to the event of a request.

import { isServerDomain } from "@postern/apimachinery/audit/audit-annotations";
import type { RequestContext } from "@postern/apiserver/context/request-context";

/** `owner`: name of the policy or webhook. */
export type AnnotateEvent = (context: Pick<RequestContext, "audit">, owner: string, key: string, value: string) => void;

/**
 * A policy or webhook with a name that belongs to the server annotates nothing: its annotations would pass for those of the server. `ownDomain`: a domain below which
 * the server annotates events, beside those of Kubernetes. Default: none.
 */
export const createEventAnnotations =
  (ownDomain?: string): AnnotateEvent =>
  ({ audit }, owner, key, value) => {
    if (owner !== ownDomain && !isServerDomain(owner)) audit.annotate(`${owner}/${key}`, value);
  };
