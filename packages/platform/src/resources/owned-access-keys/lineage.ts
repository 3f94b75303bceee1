// The parents of a new access key, from the credential of the request and never from client input.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import { keyNotFoundError } from "../../access-keys/access-key-authenticator.ts";
import type { AccessKeyIndex } from "../../access-keys/access-key-index.ts";
import type { AccessKeyState } from "../../access-keys/access-key-state.ts";

/** The resources whose create makes a key that is its owner's own, rather than a part of something else, such as a kubeconfig. */
const KEY_RESOURCES: readonly string[] = ["ownedaccesskeys", "accesskeys"];

export const createsKeyDirectly = ({ info }: Pick<RequestContext, "info">): boolean =>
  KEY_RESOURCES.includes(info.resource) && info.subresource === "";

/**
 * The key that a request came in with; undefined for the server's own work. Throws ApiError 401 if it was deleted meanwhile: without it the limits of
 * the request are unknown.
 */
export function keyOfRequest(
  { credential }: Pick<RequestContext, "credential">,
  keys: Pick<AccessKeyIndex, "byId">,
): AccessKeyState | undefined {
  if (credential === undefined) return undefined;
  const key = keys.byId(credential.id);
  if (key === undefined) throw keyNotFoundError("the key of the request does not exist", credential.id);
  return key;
}

/**
 * Keys that are created with a limited key, or with one that a trust rule issued, never have more permissions or a later expiration than it. Keys
 * that people make for programs while they are signed in outlast the session, as those that they make with any other key of theirs.
 */
export const bindsItsChildren = ({ restrictions, grant }: Pick<AccessKeyState, "restrictions" | "grant">): boolean =>
  restrictions !== undefined || (grant !== undefined && grant.login === undefined);

/** A key becomes invalid with the limited key that created it; one of another request than a create of keys, with any key. */
export function parentsOf(
  context: Pick<RequestContext, "credential" | "info">,
  keys: Pick<AccessKeyIndex, "byId">,
): readonly AccessKeyState[] {
  const maker = keyOfRequest(context, keys);
  if (maker === undefined) return [];
  return bindsItsChildren(maker) || !createsKeyDirectly(context) ? [maker] : [];
}
