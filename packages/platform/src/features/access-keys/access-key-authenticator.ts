// Authenticates requests, and tokens in reviews, by access key.

import { type ApiError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Authentication, Authenticator } from "@postern/apiserver/authentication/authenticator";
import type { TokenAuthenticator } from "@postern/apiserver/authentication/token-authenticator";
import type { UserInfo } from "@postern/apiserver/authentication/user-info";
import { bearerTokenOf, presentedToken, tokenWithProof } from "@postern/apiserver/request/credentials";
import type { InnerRequest } from "@postern/apiserver/request/request-info";
import type { Awaitable } from "@postern/apiserver/runtime/awaitable";
import type { Clock } from "@postern/apiserver/runtime/clock";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { KeyRing } from "../../foundation/encryption/key-ring.ts";
import { accessKeyIdentity, type IdentityDeps } from "./access-key-identity.ts";
import {
  AccessKeyRefusedError,
  accessKeyAnnotations,
  audienceRefusal,
  keyNotFoundError,
  refusedKeyAnnotations,
  unknownKeyError,
} from "./access-key-refusal.ts";
import type { AccessKeyState } from "./access-key-state.ts";
import { isForAudience } from "./audiences.ts";
import type { AccessKeyIndex } from "./index/access-key-index.ts";
import type { CatchUp } from "./index/catch-up.ts";
import { sourceRefusalOfKey } from "./key-sources.ts";
import { type KeyUses, usesRefusal } from "./key-uses.ts";
import { type LastActivity, type UsedFrom, usedFrom } from "./last-use/last-activity.ts";
import type { Proof } from "./proofs/dpop-proof.ts";
import { keyNamedIn } from "./proofs/key-certificate.ts";
import { needsSignedProof, proofRefusal } from "./proofs/proof-of-possession.ts";
import { challenge, type ProofVerifier } from "./proofs/proof-verifier.ts";
import type { DigestRenewal } from "./rotation/digest-renewal.ts";
import type { RotationGuard } from "./rotation/rotation-guard.ts";
import type { AccessKeyFormat } from "./secrets/access-key-format.ts";

export type AccessKeyAuthenticatorDeps = IdentityDeps & {
  readonly keys: AccessKeyIndex;
  /** The ID in a value, for the audit log. Default: records of unknown values name none. */
  readonly idOf?: AccessKeyFormat["idOf"];
  readonly activity: LastActivity;
  readonly clock: Clock;
  /** Receiver of a request. Default: no key is limited to receivers. */
  readonly audienceOf?: (behind: InnerRequest | undefined) => string;
  /** Called for every presented key. Default: none. */
  readonly rotations?: RotationGuard;
  /** Called for every accepted value. Default: none. */
  readonly renewal?: DigestRenewal;
  /** Counts the requests of keys that have only some. Default: such keys authenticate none. */
  readonly uses?: KeyUses;
  /** For a key that another server may just have created. Default: memory shows everything that has been written. */
  readonly catchUp?: CatchUp;
  /** Verifies signed proofs. Default: requests with one are not looked at. */
  readonly proofs?: ProofVerifier;
  /**
   * Called with the reason of a refusal: the reason of the condition Ready, `SourceNotAllowed`, `AudienceNotAllowed`, `ProofMissing`, `ProofInvalid`,
   * `ProofReplayed`, `UsesExhausted`, `NotFound` or `Malformed`. Default: none.
   */
  readonly onRefused?: (reason: string) => void;
  /** Called for a good value without the proof that its key is bound to. Default: nothing. */
  readonly onUnproven?: (key: AccessKeyState) => void;
};

export type AccessKeyAuthenticator = Authenticator &
  TokenAuthenticator & {
    /** Identity that a key gives its bearer, remembered per revision of the key, and version of the directory and of grants. */
    identityOf(key: AccessKeyState): UserInfo;
    /** By a client certificate that stands in for the value of a key. Undefined for a request with another one, or with none. */
    authenticateCertificate: Authenticator["authenticate"];
    /** For the requests that the server itself sends to answer one that was authenticated: together they are one use of the key. */
    readonly parts: Authenticator;
  };

/** The header that was shown last on a connection and was good, and what it was found as. */
type Proven = {
  readonly header: string;
  readonly token: string;
  readonly key: AccessKeyState;
  readonly version: number;
};

/** A key in a request, and not in a review. */
type PresentedKey = {
  readonly from: UsedFrom;
  readonly behind: InnerRequest | undefined;
  readonly request: Pick<ApiRequest, "peerCertificate">;
  /** A part of a request of the client, which was counted for spec.maxUses and has proven what its connection shows. */
  readonly isPart?: boolean;
  /** Absent: the request has the scheme Bearer. */
  readonly proof?: Proof;
};

type Refusal = { readonly reason: string; readonly message: string };

const NOT_BOUND: Refusal = { reason: "ProofInvalid", message: "the key is bound to no key pair: its scheme is Bearer" };
const NO_COUNT: Refusal = { reason: "UsesExhausted", message: "the uses of keys are not counted here" };

type Remembered = {
  readonly version: number;
  readonly authentication: Authentication & { readonly user: UserInfo };
  /** The keys of the ring while which nothing has to be renewed. */
  current: KeyRing["keys"] | undefined;
};

export function createAccessKeyAuthenticator(deps: AccessKeyAuthenticatorDeps): AccessKeyAuthenticator {
  const { keys, activity, clock, directory, granted, rotations, renewal, audienceOf, onRefused } = deps;
  // Each only goes up, so that the sum is the same only when both are.
  const identityVersion = (): number => directory.version + (granted?.version ?? 0);
  // Every revision is a new object, so a record identifies its revision.
  const remembered = new WeakMap<AccessKeyState, Remembered>();

  const remember = (key: AccessKeyState): Remembered => {
    const known = remembered.get(key);
    const version = identityVersion();
    if (known?.version === version) return known;
    const { id } = key;
    const annotations = accessKeyAnnotations(key.name, key.origins);
    const credential = { id, annotations, onRevoked: (listener: () => void) => keys.onRevoked(id, listener) };
    const authentication = { user: accessKeyIdentity(key, deps), credential };
    const made: Remembered = { version, authentication, current: undefined };
    remembered.set(key, made);
    return made;
  };

  const refused = (key: AccessKeyState, { reason, message }: Refusal, asked?: PresentedKey): ApiError => {
    onRefused?.(reason);
    const headers =
      asked?.proof === undefined
        ? undefined
        : challenge(reason.startsWith("Proof") ? "invalid_dpop_proof" : "invalid_token");
    return keyNotFoundError(message, key.id, refusedKeyAnnotations(key), headers);
  };

  /** Throws ApiError 401 for a key that is not valid, or not for this request. */
  const checkKey = (key: AccessKeyState, asked?: PresentedKey): void => {
    const message = keys.refusalOf(key);
    if (message !== undefined) {
      rotations?.refused(key);
      throw refused(key, { reason: keys.stateOf(key)?.reason ?? "Unknown", message }, asked);
    }
    if (asked === undefined) return;
    // After the value itself: an old one locks its key from every address, and for every receiver.
    const refusal =
      sourceRefusalOfKey(key, asked.from.address, directory) ??
      audienceRefusalOf(key, asked.behind) ??
      (asked.isPart === true ? undefined : (proofRefusalOf(key, asked) ?? usesRefusal(key)));
    if (refusal !== undefined) throw refused(key, refusal, asked);
  };

  const audienceRefusalOf = (key: AccessKeyState, behind: InnerRequest | undefined): Refusal | undefined => {
    const audience = key.audiences.length === 0 ? undefined : audienceOf?.(behind);
    return audience === undefined || isForAudience(key.audiences, audience) ? undefined : audienceRefusal(audience);
  };

  const proofRefusalOf = (key: AccessKeyState, { request, proof }: PresentedKey): Refusal | undefined => {
    if (key.confirmation === "" && proof === undefined) return undefined;
    // The signature is verified after everything else, and only once.
    if (proof !== undefined && needsSignedProof(key.confirmation)) return undefined;
    if (proof !== undefined && key.confirmation === "") return NOT_BOUND;
    const refusal = proofRefusal(key.confirmation, request.peerCertificate());
    if (refusal !== undefined) deps.onUnproven?.(key);
    return refusal;
  };

  const accept = (key: AccessKeyState, token: string, from?: UsedFrom): Authentication => {
    if (key.retired !== undefined && key.retired.length > 0) rotations?.accepted(key);
    activity.record(key.uid, clock.now(), from);
    const known = remember(key);
    const keysOfRing = renewal?.keyRing.keys;
    if (known.current !== keysOfRing && renewal?.used(key, token) === true) known.current = keysOfRing;
    return known.authentication;
  };

  /** A request that is refused for another reason uses nothing up, and one without a use left has no effect on the key. */
  const acceptCounted = async (key: AccessKeyState, accept: () => Authentication): Promise<Authentication> => {
    const refusal = deps.uses === undefined ? NO_COUNT : await deps.uses.take(key);
    if (refusal !== undefined) throw refused(key, refusal);
    return accept();
  };
  const accepted = (
    key: AccessKeyState,
    { isPart = false }: PresentedKey,
    accept: () => Authentication,
  ): Awaitable<Authentication> => (key.maxUses === undefined || isPart ? accept() : acceptCounted(key, accept));

  /** A key that is bound to this very certificate, which the server made for it: no other certificate names a key. */
  const authenticateCertificate = (name: string, asked: PresentedKey): Awaitable<Authentication> | undefined => {
    const key = keys.byName(name);
    if (key === undefined || key.confirmation === "") return undefined;
    if (proofRefusal(key.confirmation, asked.request.peerCertificate()) !== undefined) return undefined;
    checkKey(key, asked);
    return accepted(key, asked, () => {
      activity.record(key.uid, clock.now(), asked.from);
      return remember(key).authentication;
    });
  };

  const authenticateRequest = (key: AccessKeyState, token: string, asked: PresentedKey): Awaitable<Authentication> => {
    checkKey(key, asked);
    return accepted(key, asked, () => accept(key, token, asked.from));
  };

  /** A proof counts once, where nothing else is wrong with the request. */
  const authenticateWithProof = async (
    request: ApiRequest,
    token: string,
    asked: PresentedKey & { readonly proof: Proof },
  ): Promise<Authentication> => {
    const find = (): AccessKeyState => {
      const key = keys.find(token);
      if (key !== undefined) return key;
      onRefused?.("NotFound");
      throw unknownKeyError(deps.idOf?.(token), challenge("invalid_token"));
    };
    await keys.whenFound(token, request.remoteAddress);
    const key = find();
    checkKey(key, asked);
    const { kind, name } = key.owner;
    const refusal = await deps.proofs?.refusalOf(asked.proof, key.confirmation, `${kind} ${name}`);
    if (refusal !== undefined) {
      deps.onUnproven?.(key);
      throw refused(key, refusal, asked);
    }
    // It may have changed meanwhile.
    const current = keys.byId(key.id) === key ? key : find();
    return await authenticateRequest(current, token, asked);
  };

  /** The caller checks audiences that only the asker proves. */
  const authenticateToken = (token: string, wanted: readonly string[]): Authentication | undefined => {
    const key = keys.find(token);
    if (key === undefined) return undefined;
    checkKey(key);
    const authentication = accept(key, token);
    const common = key.audiences.filter((audience) => wanted.includes(audience));
    return common.length === 0 ? authentication : { ...authentication, audiences: common };
  };

  // Saves the hash of a value that was hashed on this connection before. Validity and owner are checked every time: after a rotation or change the
  // record is another object, and is looked up again.
  const proven = new WeakMap<object, Proven>();
  const provenOn = ({ connection, headers, upgrade }: ApiRequest): Proven | undefined => {
    const known = connection === undefined || upgrade !== undefined ? undefined : proven.get(connection);
    if (known === undefined || known.header !== headers["authorization"]) return undefined;
    return known.version === keys.valueVersion && keys.byId(known.key.id) === known.key ? known : undefined;
  };
  const setProven = ({ connection, headers, upgrade }: ApiRequest, token: string, key: AccessKeyState): void => {
    const { authorization: header } = headers;
    const version = keys.valueVersion;
    if (connection === undefined || upgrade !== undefined || typeof header !== "string" || version === undefined)
      return;
    proven.set(connection, { header, token, key, version });
  };

  /** At once, but for the first seconds after a start. */
  const whenFound = <T>(
    token: string,
    address: string,
    authenticate: (token: string) => Awaitable<T>,
  ): Awaitable<T> => {
    const found = keys.whenFound(token, address);
    return found === undefined ? authenticate(token) : found.then(() => authenticate(token));
  };

  const ofScheme = (request: ApiRequest, asked: PresentedKey): Promise<Authentication> | undefined => {
    const token = deps.proofs === undefined ? undefined : tokenWithProof(request);
    const proof = token === undefined ? undefined : readProof(request, token);
    return token === undefined || proof === undefined
      ? undefined
      : authenticateWithProof(request, token, { ...asked, proof });
  };
  const readProof = (request: ApiRequest, token: string): Proof | undefined => {
    try {
      return deps.proofs?.read(request, token);
    } catch (error) {
      if (isApiError(error) && error.cause instanceof AccessKeyRefusedError && error.cause.isGuess)
        onRefused?.("ProofInvalid");
      throw error;
    }
  };

  const authenticate = (request: ApiRequest, asked: PresentedKey): Awaitable<Authentication | undefined> => {
    const known = provenOn(request);
    if (known !== undefined) return authenticateRequest(known.key, known.token, asked);
    if (bearerTokenOf(request).type === "invalid") {
      onRefused?.("Malformed");
      throw keyNotFoundError("malformed", undefined);
    }
    const token = presentedToken(request);
    if (token === undefined) return ofScheme(request, asked);
    return whenFound(token, request.remoteAddress, () => {
      const key = keys.find(token);
      if (key === undefined) {
        onRefused?.("NotFound");
        throw unknownKeyError(deps.idOf?.(token));
      }
      const authentication = authenticateRequest(key, token, asked);
      setProven(request, token, key);
      return authentication;
    });
  };

  return {
    identityOf: (key) => remember(key).authentication.user,
    authenticateCertificate(request, behind) {
      const certificate = request.peerCertificate();
      const name = certificate === undefined ? "" : keyNamedIn(certificate);
      if (name === "") return undefined;
      const asked = { from: usedFrom(request), behind, request };
      if (keys.byName(name) !== undefined) return authenticateCertificate(name, asked);
      const caughtUp = keys.isRead ? deps.catchUp?.(request.remoteAddress, { isFormless: true }) : keys.whenRead();
      return caughtUp?.then(() => authenticateCertificate(name, asked));
    },
    authenticateToken: (token, wanted = []) => whenFound(token, "", () => authenticateToken(token, wanted)),
    authenticate: (request, behind) => authenticate(request, { from: usedFrom(request), behind, request }),
    parts: {
      authenticate: (request, behind) =>
        authenticate(request, { from: usedFrom(request), behind, request, isPart: true }),
    },
  };
}
