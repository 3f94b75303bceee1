// Whether the credential of a request is still good.

import type { Credential } from "@postern/apiserver/authentication/authenticator";
import { isMaster } from "@postern/apiserver/authorization/masters-authorizer";
import type { AccessKeyState } from "../access-keys/access-key-state.ts";
import type { DecisionDeps, Subject } from "./platform-decision.ts";

/** Keys, certificates and impersonation never give system:masters: such requests have a credential. */
export const isServerItself = ({ user, credential }: Subject): boolean => credential === undefined && isMaster(user);

/** The credential of requests that the SCIM routes send for a directory; `provisioning.ts` makes it. */
export type ProvisioningCredential = Credential & {
  /** The owner of the key, such as `user/directory`: it is the same after the directory got another key. */
  readonly provisioner: string;
};

/** The directory that a request comes from; undefined for all requests but those of the SCIM routes. */
export const provisionerOf = (credential: Pick<Credential, "id"> | undefined): string | undefined =>
  credential !== undefined && "provisioner" in credential && typeof credential.provisioner === "string"
    ? credential.provisioner
    : undefined;

/** The current state of the access key of a request. */
export type KeyStanding =
  | { readonly good: true; readonly key: AccessKeyState | undefined }
  | { readonly good: false; readonly cause: string };

const NO_KEY: KeyStanding = { good: true, key: undefined };

/** Other means than access keys carry a prefix in their handle: `token-file:`, `certificate:`. Handles of keys have no colon. */
const isAccessKeyId = (id: string): boolean => !id.includes(":");

/** Looked up for every decision, so that a revoked key is refused immediately. */
export function keyStanding({ credential }: Subject, keys: DecisionDeps["keys"]): KeyStanding {
  if (credential === undefined || !isAccessKeyId(credential.id)) return NO_KEY;
  const key = keys.byId(credential.id);
  if (key === undefined) return { good: false, cause: "deleted" };
  const cause = keys.refusalOf(key);
  return cause === undefined ? { good: true, key } : { good: false, cause };
}
