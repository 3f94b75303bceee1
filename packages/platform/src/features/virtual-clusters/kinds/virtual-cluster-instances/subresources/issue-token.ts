// Tokens for virtual clusters that a controller gets for a user, as the user itself would get them with the subresource kubeconfig.

import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { authorizationAttributesOf, forbiddenErrorFor } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { KubeconfigDeps } from "./kubeconfig.ts";
import { type CredentialDeps, grantToken } from "./kubeconfig-credential.ts";
import { authorizedRequester, type Requester, type RequesterDeps } from "./kubeconfig-requester.ts";
import { type ServerAddress, type ServerAddressDeps, serverAddressOf } from "./server-address.ts";

export type TokenIssuer = {
  /** Throws ApiErrors: the virtual cluster cannot be reached, or has no address for this. */
  addressOf(instance: VirtualClusterInstance, wanted: { readonly isReadOnly: boolean }): ServerAddress;
  /** For the kubeconfig that `context` asks for. Throws ApiError 403 if the user of the context may not have it. */
  requesterOf(context: RequestContext): Promise<Requester>;
  /** `expiresAt` in milliseconds; undefined: never. Throws ApiErrors. */
  issue(
    instance: VirtualClusterInstance,
    wanted: { readonly isReadOnly: boolean; readonly ttlSeconds: number },
    requester: Requester,
    context: RequestContext,
  ): Promise<{ readonly token: string; readonly keyName: string; readonly expiresAt: number | undefined }>;
};

export const createTokenIssuer = (
  deps: RequesterDeps &
    ServerAddressDeps &
    CredentialDeps &
    Pick<KubeconfigDeps, "lookup" | "backends" | "onKubeconfigIssued">,
): TokenIssuer => ({
  addressOf: (instance, { isReadOnly }) =>
    serverAddressOf(instance, deps.backends.backendOf(instance), { needsPlatform: isReadOnly }, deps),

  async requesterOf(context) {
    const asked = authorizationAttributesOf(context);
    const { verdict, reason } = await deps.authorizer.authorize(asked);
    if (verdict !== "allow") throw forbiddenErrorFor(asked, reason);
    return await authorizedRequester(context, deps);
  },

  async issue(instance, { isReadOnly, ttlSeconds }, requester, context) {
    const request = { ttlSeconds, isReadOnly, isDefaultTtl: true };
    const { token, keyName, notAfter } = await grantToken(request, requester, instance, context, deps);
    deps.onKubeconfigIssued?.("token");
    return { token, keyName, expiresAt: notAfter };
  },
});
