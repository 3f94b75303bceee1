// Audit annotations of sign-in: user, provider, access key, or the reason for a refusal. Never codes, tokens or keys.

import { ACCESS_KEY_ANNOTATION, ISSUED_CREDENTIAL_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { redactCredentials } from "@postern/apimachinery/text/redact-credentials";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { SignInRoutesDeps } from "./sign-in-deps.ts";

type Noting = Pick<RequestContext, "audit">;
type Names = Pick<SignInRoutesDeps, "names">;

const MAX_TEXT = 256;

const note = ({ audit }: Noting, { names }: Names, name: string, text: string): void =>
  audit.annotate(names.key(name), redactCredentials(text).slice(0, MAX_TEXT));

/** Reasons may contain texts of the provider. */
export const auditRefusal = (context: Noting, deps: Names, why: string): void =>
  note(context, deps, "sign-in-refusal", why);

/** Notes a warning about a sign-in that succeeds. */
export const auditWarning = (context: Noting, deps: Names, warning: string): void =>
  note(context, deps, "sign-in-warning", warning);

export const auditProvider = (context: Noting, deps: Names, provider: string): void =>
  note(context, deps, "sign-in-provider", provider);

export const auditUser = (context: Noting, deps: Names, user: string): void =>
  note(context, deps, "sign-in-user", user);

/** The access key that was presented and refused, its owner, and why. A value that no key has is not noted. */
export function auditPresented(context: Noting, deps: Names & Pick<SignInRoutesDeps, "keys">, value: string): void {
  const key = deps.keys.find(value);
  if (key === undefined) return;
  const why = deps.keys.refusalOf(key);
  if (why !== undefined) auditRefusal(context, deps, why);
  context.audit.annotate(ACCESS_KEY_ANNOTATION, key.name);
  auditUser(context, deps, key.owner.name);
}

/** The access key of the session, by id, and its owner. */
export function auditIssued(context: Noting, deps: Names & Pick<SignInRoutesDeps, "keys">, value: string): void {
  const key = deps.keys.find(value);
  if (key === undefined) return;
  context.audit.annotate(ISSUED_CREDENTIAL_ANNOTATION, key.id);
  auditUser(context, deps, key.owner.name);
}
