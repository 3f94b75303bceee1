// The decision point as the management API asks it, with a note of what was let through.

import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { KeyUsage } from "./key-usage.ts";
import type { PlatformAuthorizer } from "./platform-authorizer.ts";
import { managementRequest } from "./request-target.ts";

/** For the handler chain alone: what the server asks about others is no use of theirs. */
export const notingUse = (authorizer: PlatformAuthorizer, usage: KeyUsage): Authorizer => ({
  rights: authorizer.rights,
  authorize(attributes) {
    const request = managementRequest(attributes);
    const decision = authorizer.decide(request, attributes);
    if (decision.verdict === "allow") usage.note(request, attributes);
    return decision;
  },
});
