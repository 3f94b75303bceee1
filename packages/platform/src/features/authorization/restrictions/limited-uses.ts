// Keys with spec.maxUses issue no credentials: those would authenticate any number of requests.
// Source: restricted use tokens of Vault create no child tokens, vault/token_store.go

import type { PlatformNames } from "@postern/api/platform-names";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";
import { CREDENTIAL_KINDS } from "../credential-kinds.ts";
import { isAccessKeyRequest } from "../request/access-key-request.ts";
import { isControlPlaneKeyRequest } from "../request/control-plane-key-request.ts";
import { issuesCredential } from "../request/issues-credential.ts";
import type { PlatformRequest, TargetedRequest } from "../request/platform-request.ts";
import type { ScopeVerdict } from "./scope.ts";

const LIMITED: ScopeVerdict = { open: false, reason: "limited-uses" };
const HARMLESS: readonly string[] = ["get", "list", "watch", "delete", "deletecollection"];

/** Kinds of the management group. Secrets have only what clients put there. */
const ISSUERS = CREDENTIAL_KINDS.filter(({ surface, group }) => surface === "management" && group === "management");

/** Undefined: the uses of the key do not limit this request. */
export const usesScope = (
  key: Pick<AccessKeyState, "maxUses"> | undefined,
  request: PlatformRequest,
  names: PlatformNames,
): ScopeVerdict | undefined => (key?.maxUses !== undefined && yieldsCredential(request, names) ? LIMITED : undefined);

function yieldsCredential(request: PlatformRequest, names: PlatformNames): boolean {
  if (request.target !== "Management") return issuesCredential(request.inner);
  if (isControlPlaneKeyRequest(request, names)) return true;
  const { inner } = request;
  if (!inner.isResourceRequest || HARMLESS.includes(inner.verb)) return false;
  return isAccessKeyRequest(inner, names) || isIssuer(inner, names);
}

/** A question about all resources, or all subresources, is one about these too. */
const isIssuer = ({ apiGroup, resource, subresource }: TargetedRequest, { managementGroup }: PlatformNames): boolean =>
  (apiGroup === managementGroup || apiGroup === "*") &&
  ISSUERS.some(
    (issuer) =>
      (resource === issuer.resource && (subresource === issuer.subresource || subresource === "*")) ||
      (resource === "*" && (subresource === "" || subresource === issuer.subresource || subresource === "*")),
  );
