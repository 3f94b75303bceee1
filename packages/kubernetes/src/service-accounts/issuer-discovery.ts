// OIDC discovery for ServiceAccount tokens: the discovery document of the issuer, and its key set.
// Source: k8s.io/kubernetes/pkg/serviceaccount/openidmetadata.go

import { methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { NonResourceHandler } from "@postern/apiserver/endpoints/non-resource-handler";
import { type ApiResponse, jsonResponse } from "@postern/apiserver/transport/api-response";
import { SERVICE_ACCOUNT_ISSUER } from "./bound-token.ts";
import { TOKEN_ALGORITHM } from "./json-web-token.ts";
import type { ServiceAccountKey, ServiceAccountKeys } from "./service-account-key.ts";

const CONFIGURATION_PATH = "/.well-known/openid-configuration";
const KEYS_PATH = "/openid/v1/jwks";
export const ISSUER_DISCOVERY_PATHS: readonly string[] = [CONFIGURATION_PATH, KEYS_PATH];

/** The document names the key set below the address at which the client found the document. Throws ApiError 405 for other methods than GET. */
export function createIssuerDiscovery(keys: Pick<ServiceAccountKeys, "current">): NonResourceHandler {
  const keySet = (): ApiResponse =>
    jsonResponse(200, JSON.stringify({ keys: keys.current.map(webKeyOf) }), {
      "content-type": "application/jwk-set+json",
    });
  const configuration = (address: string): ApiResponse =>
    jsonResponse(
      200,
      JSON.stringify({
        issuer: SERVICE_ACCOUNT_ISSUER,
        jwks_uri: `${address}${KEYS_PATH}`,
        response_types_supported: ["id_token"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: [TOKEN_ALGORITHM],
      }),
    );
  return ({ request: { method, host, basePath }, info: { path } }) => {
    if (!ISSUER_DISCOVERY_PATHS.includes(path)) return undefined;
    if (method !== "GET") throw methodNotAllowedError();
    return Promise.resolve(path === KEYS_PATH ? keySet() : configuration(`https://${host}${basePath}`));
  };
}

const webKeyOf = ({ verificationKey, id }: ServiceAccountKey) => ({
  ...verificationKey.export({ format: "jwk" }),
  use: "sig",
  alg: TOKEN_ALGORITHM,
  kid: id,
});
