// Whether an audit event can be written as it is: no text in it holds a credential, and none is too long. Nearly all events are plain, and one look at
// each text says so; the others are looked through in depth (bounded-texts.ts, request/credential-redaction.ts).

import type { Redact } from "../request/credential-redaction.ts";
import type { AuditEvent } from "./audit-event.ts";
import { MAX_MEMBER, MAX_TEXT, MAX_URI } from "./bounded-texts.ts";

/** Annotations that the handler chain writes: no client chooses their names. */
const OF_CHAIN: ReadonlySet<string> = new Set([
  "authentication.kubernetes.io/credential-id",
  "authorization.k8s.io/decision",
  "authorization.k8s.io/reason",
]);

/** False means that it may not be. Users are looked at once for all their events. */
export function isPlain(event: AuditEvent, redact: Redact): boolean {
  const { requestURI, verb, userAgent, sourceIPs, objectRef, responseStatus, annotations } = event;
  if (event.requestObject !== undefined || event.responseObject !== undefined) return false;
  if (responseStatus !== undefined && !saysNothing(responseStatus)) return false;
  if (requestURI.length > MAX_URI || redact(requestURI) !== requestURI) return false;
  // All members together are no longer than one may be.
  let length = plainLength(verb, redact) + plainLength(userAgent, redact);
  for (const name in objectRef) length += name.length + plainLength(objectRef[name as keyof typeof objectRef], redact);
  for (const name in annotations)
    length += (OF_CHAIN.has(name) ? name.length : plainLength(name, redact)) + plainLength(annotations[name], redact);
  for (const address of sourceIPs ?? []) length += address.length <= MAX_TEXT ? address.length + 1 : MAX_MEMBER;
  return length < MAX_MEMBER;
}

/** Infinite for a text that is not plain. */
const plainLength = (text: string | undefined, redact: Redact): number => {
  if (text === undefined) return 0;
  return text.length <= MAX_TEXT && redact(text) === text ? text.length : Number.POSITIVE_INFINITY;
};

const saysNothing = ({ status, message, reason, details }: NonNullable<AuditEvent["responseStatus"]>): boolean =>
  status === undefined && message === undefined && reason === undefined && details === undefined;
