// Signs a stored request: writes the certificate, or the reason why there is none, into its status.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { CONTROLLER_WRITE, type ControlledResource, contextOf } from "@postern/apiserver/controllers/controller-port";
import type { Runtime } from "@postern/apiserver/runtime/clock";
import {
  type CertificateSigningRequest,
  conditionsOf,
} from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import { CLIENT_SIGNER } from "@postern/kubernetes/builtin/certificates/signer-permission";
import type { CertificateAuthority } from "../../../foundation/pki/certificate-authority.ts";
import { type SignOutcome, signRequest } from "./sign-request.ts";

export type RequestSigner = {
  /** Returns the request with its new status; unchanged if it is not to be signed, or already has a result. */
  sign(name: string, signal: AbortSignal): Promise<CertificateSigningRequest>;
};

export function createRequestSigner({
  runtime,
  requests,
  authority,
  onSigned,
}: {
  readonly runtime: Runtime;
  readonly requests: ControlledResource;
  /** The CA that signs now. */
  readonly authority: () => CertificateAuthority;
  /** Called with a certificate before it is returned; if it rejects, the certificate is discarded. */
  readonly onSigned?: ((certificatePem: string, request: CertificateSigningRequest) => Promise<void>) | undefined;
}): RequestSigner {
  /** The controller and a waiting request may sign at the same moment. */
  const underWay = new Map<string, Promise<CertificateSigningRequest>>();

  /** A certificate for whose holder there is no room is discarded: trying again would not end. */
  async function announced(
    outcome: SignOutcome & { readonly certificatePem: string },
    request: CertificateSigningRequest,
  ): Promise<SignOutcome> {
    try {
      await onSigned?.(outcome.certificatePem, request);
      return outcome;
    } catch (error) {
      if (isApiError(error, "Forbidden")) return { failure: error.message };
      throw error;
    }
  }

  async function withOutcome(current: KubeObject, known: { outcome?: SignOutcome }): Promise<KubeObject> {
    const request = asRequest(current);
    if (!awaitsSigning(request)) return current;
    // The spec of a request is immutable: a retried update writes the same certificate.
    const isFirst = known.outcome === undefined;
    let outcome = known.outcome ?? signRequest(request, authority(), runtime);
    if (isFirst && !("failure" in outcome)) outcome = await announced(outcome, request);
    known.outcome = outcome;
    if ("failure" in outcome) {
      const failed = { type: "Failed", status: "True", reason: "SignerValidationFailure", message: outcome.failure };
      return { ...request, status: { ...request.status, conditions: [...conditionsOf(request), failed] } };
    }
    const certificate = Buffer.from(outcome.certificatePem).toString("base64");
    return { ...request, status: { ...request.status, certificate } };
  }
  async function sign(name: string, signal: AbortSignal): Promise<CertificateSigningRequest> {
    const known: { outcome?: SignOutcome } = {};
    const call = { verb: "update", resource: requests, subresource: "status", namespace: "", name } as const;
    const context = contextOf({ runtime }, call, signal);
    const update = { transform: (current: KubeObject) => withOutcome(current, known), subresource: "status" };
    const { object } = await requests.genericStore.update(context, "", name, update, CONTROLLER_WRITE);
    return asRequest(object.decode());
  }
  return {
    sign(name, signal) {
      const before = underWay.get(name);
      if (before !== undefined) return before;
      const signing = sign(name, signal).finally(() => underWay.delete(name));
      underWay.set(name, signing);
      return signing;
    },
  };
}

/** Approved, for our signer, and neither signed nor failed yet. */
export function awaitsSigning(request: CertificateSigningRequest): boolean {
  const has = (wanted: string): boolean => conditionsOf(request).some(({ type }) => type === wanted);
  const isSigned = (request.status?.certificate ?? "") !== "";
  return request.spec?.signerName === CLIENT_SIGNER && has("Approved") && !has("Denied") && !has("Failed") && !isSigned;
}

/** Stored objects have been validated against the schema of their kind. */
export const asRequest = (object: KubeObject): CertificateSigningRequest => object as CertificateSigningRequest;
