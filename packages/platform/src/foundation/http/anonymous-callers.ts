// Routes that anybody may call: what they ask for proves itself, or needs no proof.

import type { Authenticator } from "@postern/apiserver/authentication/authenticator";
import { anonymousUser } from "@postern/apiserver/authentication/user-info";
import { type Authorizer, isImpersonationVerb } from "@postern/apiserver/authorization/authorizer";

/** Credentials are ignored. */
export const anonymousCallers: Authenticator = { authenticate: () => ({ user: anonymousUser }) };

/** `reason`: why no credential is needed, for the audit log. */
export const allowAnybody = (reason: string): Authorizer => ({
  authorize: ({ verb }) => (isImpersonationVerb(verb) ? { verdict: "deny", reason: "" } : { verdict: "allow", reason }),
});

/** For sign-ins and exchanges, whose routes return an identity. */
export const allowExchange = allowAnybody("token exchange needs no credential besides the token");
