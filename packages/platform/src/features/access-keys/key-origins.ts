// The keys, and the values of them, that a credential was created with. The server records them with the write, from the credential of the request.
// Clients cannot change them, and deleting a key in between does not hide it.

import { ApiError } from "@postern/apimachinery/meta/api-error";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isFrontProxyCredential } from "../../foundation/http/front-proxy-credential.ts";
import { keyNotFoundError } from "./access-key-refusal.ts";

/** One value of a key. Serials count the values that a key has had, from 0. */
export type KeyOrigin = { readonly name: string; readonly uid: string; readonly serial: number };

/** Members that define a lineage. */
export type KeyWithOrigins = {
  readonly name: string;
  readonly uid: string;
  readonly serial: number;
  readonly origins: readonly KeyOrigin[];
  /** Credentials made with a value of a lower serial are revoked. */
  readonly childrenFrom: number;
};

/** A key with this many existing ancestors cannot create keys. */
const MAX_ORIGINS = 64;

const NOTHING: readonly KeyOrigin[] = [];

/**
 * The credential's key and all its ancestors, the key itself last. Empty for callers without an access key. Throws ApiError 401
 * where the value that the request came in with is known no more: it was replaced while the request was on its way.
 */
export function originsOf(
  { credential }: Pick<RequestContext, "credential">,
  keys: { byId(id: string): KeyWithOrigins | undefined; byName(name: string): KeyWithOrigins | undefined },
): readonly KeyOrigin[] {
  if (credential === undefined || isFrontProxyCredential(credential)) return NOTHING;
  const key = keys.byId(credential.id);
  if (key === undefined) throw replacedError(credential.id);
  const { name, uid, serial } = key;
  // A deleted key cannot be reported.
  const before = key.origins.filter((made) => made.uid !== uid && keys.byName(made.name)?.uid === made.uid);
  if (before.length >= MAX_ORIGINS) throw tooDeepError();
  return [...before, { name, uid, serial }];
}

/** Whether the value of an ancestor with which the credential was created is compromised. */
export const isVoid = (
  origins: readonly KeyOrigin[],
  byName: (name: string) => Pick<KeyWithOrigins, "uid" | "childrenFrom"> | undefined,
): boolean =>
  origins.some(({ name, uid, serial }) => {
    const key = byName(name);
    return key !== undefined && key.uid === uid && serial < key.childrenFrom;
  });

/** 401 for a value that was replaced after the request was authenticated. */
export const replacedError = (keyId: string | undefined): ApiError =>
  keyNotFoundError("replaced while the request was in progress", keyId);

const tooDeepError = (): ApiError =>
  new ApiError({
    code: 403,
    reason: "Forbidden",
    message: `the access key has ${MAX_ORIGINS} ancestors: create the new one with one of those`,
  });
