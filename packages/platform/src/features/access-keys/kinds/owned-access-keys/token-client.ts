// spec.oidcProvider of keys that hold a refresh token, and that a client creates.

import type { AccessKeySpec } from "@postern/api/owned-access-key";
import type { IdentityProviders } from "../../../sign-in/providers/identity-provider-index.ts";
import { callbackUrl } from "../../../sign-in/sign-in-paths.ts";
import type { PlatformEndpoint } from "../../../virtual-clusters/platform-endpoint.ts";

export type TokenClientDeps = {
  /** Absent: there are no providers. */
  readonly identityProviders?: Pick<IdentityProviders, "get" | "all">;
  readonly endpoint?: Pick<PlatformEndpoint, "url">;
};

/**
 * For a refresh token: the client to which it was issued, which is that of the identity provider that the key names, or of the only one. The nonce of the
 * sign-in is not known.
 */
export function providerOf(
  spec: AccessKeySpec,
  { identityProviders, endpoint }: TokenClientDeps,
): Pick<AccessKeySpec, "oidcProvider"> {
  const holdsToken = spec.type === "OIDCRefreshToken" || (spec.oidcLogin?.refreshToken ?? "") !== "";
  if (!holdsToken || spec.oidcProvider !== undefined || identityProviders === undefined) return {};
  const { connector = "" } = spec.identity ?? {};
  const [only, ...others] = identityProviders.all().filter(({ isOff }) => !isOff);
  const provider = connector !== "" ? identityProviders.get(connector) : others.length === 0 ? only : undefined;
  if (provider === undefined) return {};
  const redirectUri = endpoint === undefined ? {} : { redirectUri: callbackUrl(endpoint.url(), provider.name) };
  return { oidcProvider: { clientId: provider.spec.clientId, ...redirectUri, scopes: provider.scopes.join(" ") } };
}
