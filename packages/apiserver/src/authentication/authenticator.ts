// The port that identifies the user of a request.

import type { InnerRequest } from "../request/request-info.ts";
import { type Awaitable, whenDone } from "../runtime/awaitable.ts";
import type { ApiRequest } from "../transport/api-request.ts";
import type { CredentialLineage } from "./credential-lineage.ts";
import type { UserInfo } from "./user-info.ts";

/** The credential that authenticated a request, so that work it started can be stopped when the credential is revoked. */
export type Credential = {
  /** A public handle: safe in logs and audit events, never usable as a secret. */
  readonly id: string;
  /** Details of the credential for audit events. Holds no secret. */
  readonly annotations?: CredentialAnnotations;
  /** Its requests and connections count against the share of this name, where names of users may be made up. Absent: that of its user. */
  readonly account?: string;
  /** Calls `listener` once when the credential stops being valid (revoked, disabled, expired, narrowed). */
  onRevoked?(listener: () => void): Disposable;
  /** The credential and its ancestors, recorded with the credentials that are created with it. Absent: nothing. */
  lineage?(): CredentialLineage | undefined;
};

export type CredentialAnnotations = { readonly [key: string]: string };

/** The result of a successful authentication. */
export type Authentication = {
  readonly user: UserInfo;
  readonly credential?: Credential;
  /** For tokens with audiences: the requested audiences that the token is valid for. */
  readonly audiences?: readonly string[];
};

/**
 * Returns the user, or undefined when the request has no credential that this authenticator understands. `behind` is the request to an API behind
 * this one. Throws an ApiError 401 for an invalid credential.
 */
export type Authenticator = {
  authenticate(request: ApiRequest, innerRequest?: InnerRequest): Awaitable<Authentication | undefined>;
};

/** Why a credential was refused, as the cause of a 401: for the audit log alone. Holds no secret. */
export class CredentialRefusedError extends Error {
  override readonly name: string = "CredentialRefusedError";
  /** The public handle; undefined if the owner of the credential is not known. */
  readonly credentialId: string | undefined;

  readonly annotations: CredentialAnnotations;
  /** Headers of the response, such as `www-authenticate`. */
  readonly headers: { readonly [name: string]: string } | undefined;
  /** False where the request may be sent again with what the response asks for: it counts as no wrong credential. */
  readonly isGuess: boolean;

  constructor(
    why: string,
    credentialId: string | undefined,
    annotations: CredentialAnnotations = {},
    { headers, isGuess = true }: Partial<Pick<CredentialRefusedError, "headers" | "isGuess">> = {},
  ) {
    super(why);
    this.credentialId = credentialId;
    this.annotations = annotations;
    this.headers = headers;
    this.isGuess = isGuess;
  }
}

/** A list of authenticators is an authenticator: the first that recognises the request decides. */
export function unionAuthenticator(authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate: (request, innerRequest) => firstToRecognise(authenticators, request, innerRequest),
  };
}

function firstToRecognise(
  [authenticator, ...others]: readonly Authenticator[],
  request: ApiRequest,
  innerRequest: InnerRequest | undefined,
): Awaitable<Authentication | undefined> {
  if (authenticator === undefined) return undefined;
  return whenDone(
    authenticator.authenticate(request, innerRequest),
    (authentication) => authentication ?? firstToRecognise(others, request, innerRequest),
  );
}
