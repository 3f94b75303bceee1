// Marks the requests that the SCIM routes send for a directory. The role `scim` of a scope opens these and no others, so the mark is part of the
// credential that authentication yields: nothing that a client sends makes it.

import type { Authenticator } from "@postern/apiserver/authentication/authenticator";
import { whenDone } from "@postern/apiserver/runtime/awaitable";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { ProvisioningCredential } from "./key-standing.ts";

/** For the requests of the SCIM routes alone. */
export const provisioningAuthenticator = (
  authenticator: Authenticator,
  keys: { byId(id: string): AccessKeyState | undefined },
): Authenticator => ({
  authenticate: (request, innerRequest) =>
    whenDone(authenticator.authenticate(request, innerRequest), (authentication) => {
      const { credential } = authentication ?? {};
      const key = credential === undefined ? undefined : keys.byId(credential.id);
      if (authentication === undefined || credential === undefined || key === undefined) return authentication;
      const { onRevoked, lineage } = credential;
      const marked: ProvisioningCredential = {
        ...credential,
        ...(onRevoked === undefined ? {} : { onRevoked: (listener) => onRevoked.call(credential, listener) }),
        ...(lineage === undefined ? {} : { lineage: () => lineage.call(credential) }),
        provisioner: `${key.owner.kind}/${key.owner.name}`,
      };
      return { ...authentication, credential: marked };
    }),
});
