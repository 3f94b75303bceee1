// Audit annotations that the policies and webhooks of a cluster add to the event of a request.

import { isServerDomain } from "@postern/apimachinery/audit/audit-annotations";
import type { RequestContext } from "@postern/apiserver/context/request-context";

/** `owner`: name of the policy or webhook. One with a name that belongs to the server annotates nothing: its annotations would pass for those of the server. */
export function annotateEvent(
  { audit }: Pick<RequestContext, "audit">,
  owner: string,
  key: string,
  value: string,
): void {
  if (!isServerDomain(owner)) audit.annotate(`${owner}/${key}`, value);
}
