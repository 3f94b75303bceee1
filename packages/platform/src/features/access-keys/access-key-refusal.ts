// The 401 of a refused access key: one text for clients, the reason for the audit log.

import {
  ACCESS_KEY_ANNOTATION,
  ACCESS_KEY_ORIGINS_ANNOTATION,
  ACCESS_KEY_OWNER_ANNOTATION,
  ACCESS_KEY_PRESENTED_ANNOTATION,
} from "@postern/apimachinery/audit/audit-annotations";
import { ApiError } from "@postern/apimachinery/meta/api-error";
import { type CredentialAnnotations, CredentialRefusedError } from "@postern/apiserver/authentication/authenticator";

/** The one text for unknown, disabled and expired keys; existing clients match it. */
export const ACCESS_KEY_NOT_FOUND = "platform access key not found. Please login again";

/** Why a key was refused, for the audit log alone: the cause of the 401. */
export class AccessKeyRefusedError extends CredentialRefusedError {
  override readonly name = "AccessKeyRefusedError";
}

/** By name, so that users can search for it, also for credentials that were created with it. */
export const accessKeyAnnotations = (
  name: string,
  origins: readonly { readonly name: string }[],
): CredentialAnnotations => ({
  [ACCESS_KEY_ANNOTATION]: name,
  ...(origins.length === 0
    ? {}
    : { [ACCESS_KEY_ORIGINS_ANNOTATION]: [...new Set(origins.map((origin) => origin.name))].join(",") }),
});

type RefusedKey = {
  readonly name: string;
  readonly origins: readonly { readonly name: string }[];
  readonly owner: { readonly kind: string; readonly name: string };
};

/** The annotations of a refused key: the request has no user, and its record names the owner. */
export const refusedKeyAnnotations = ({ name, origins, owner }: RefusedKey): CredentialAnnotations => ({
  ...accessKeyAnnotations(name, origins),
  ...(owner.name === "" ? {} : { [ACCESS_KEY_OWNER_ANNOTATION]: `${owner.kind}/${owner.name}` }),
});

/** 401 with always the same message; the cause has the details. */
export const keyNotFoundError = (
  why: string,
  keyId: string | undefined,
  annotations: CredentialAnnotations = {},
  headers?: { readonly [name: string]: string },
): ApiError =>
  new ApiError({
    code: 401,
    reason: "Unauthorized",
    message: ACCESS_KEY_NOT_FOUND,
    cause: new AccessKeyRefusedError(why, keyId, annotations, { headers }),
  });

/** The refusal of a value that no key has. The record names the ID in it, which stays when the key is deleted. */
export const unknownKeyError = (
  presentedId: string | undefined,
  headers?: { readonly [name: string]: string },
): ApiError => {
  const annotations = presentedId === undefined ? {} : { [ACCESS_KEY_PRESENTED_ANNOTATION]: presentedId };
  return keyNotFoundError("unknown", undefined, annotations, headers);
};

/** The refusal of a key that is for other receivers. */
export const audienceRefusal = (audience: string): { readonly reason: string; readonly message: string } => ({
  reason: "AudienceNotAllowed",
  message: `spec.audiences does not include ${audience}`,
});
