// The credential of a request that another kube-apiserver forwards for one of its users.

import type { Credential } from "@postern/apiserver/authentication/authenticator";

const PREFIX = "front-proxy:";

/** Handles of access keys have no colon. */
export const frontProxyCredentialId = (user: string): string => `${PREFIX}${user}`;

export const isFrontProxyCredential = (credential: Pick<Credential, "id"> | undefined): boolean =>
  credential?.id.startsWith(PREFIX) === true;
