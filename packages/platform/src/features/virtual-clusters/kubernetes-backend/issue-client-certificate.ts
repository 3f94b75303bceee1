// Gets a client certificate through a cluster's CertificateSigningRequest API: create, approve, wait, read.
// Source: k8s.io/client-go/util/certificate/csr/csr.go

import { createPublicKey, generateKeyPair, type KeyObject, X509Certificate } from "node:crypto";
import { promisify } from "node:util";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { ApiError, badRequestError, forbiddenPathError, isApiError } from "@postern/apimachinery/meta/api-error";
import type { Clock, Scheduler } from "@postern/apiserver/runtime/clock";
import type { ApiClient } from "@postern/client/api-client";
import { collectionPath } from "@postern/client/resource-client";
import {
  CERTIFICATES_GROUP,
  type CertificateCondition,
  type CertificateSigningRequest,
  conditionsOf,
} from "@postern/kubernetes/builtin/certificates/certificate-signing-request";
import { isSystemName } from "../../../foundation/kinds/system-name.ts";
import { createCertificateRequest } from "../../../foundation/pki/certificate-request.ts";
import { badGatewayError } from "../../../foundation/upstream/upstream-failure.ts";
import type { ClientCertificateRequest, IssuedClientCertificate } from "../virtual-cluster-backend.ts";
import { checkSignedCertificate, isSameSet } from "./check-signed-certificate.ts";
import { asPlatformRequest, clusterRefusal } from "./cluster-refusal.ts";
import { deadline, pause } from "./pause.ts";

export type IssueOptions = {
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  /** Timeout for the signer. Absent: 30 seconds. */
  readonly signingTimeoutMs?: number;
};

const SIGNER = "kubernetes.io/kube-apiserver-client";
const COLLECTION = collectionPath({ group: CERTIFICATES_GROUP, version: "v1", resource: "certificatesigningrequests" });
const NAME_PREFIX = "kube-config-";
/** The minimum of the API. */
const MIN_EXPIRATION_SECONDS = 600;
const SIGNING_TIMEOUT_MS = 30_000;
const CLEAN_UP_TIMEOUT_MS = 10_000;
const FIRST_POLL_MS = 25;
const MAX_POLL_MS = 1_000;
const APPROVAL_ATTEMPTS = 5;
const MAX_WORDS_LENGTH = 500;

const generateKeys = promisify(generateKeyPair);

/**
 * A private key that is generated here is only in the result; the request is always deleted.
 *
 * Rejects with ApiErrors, distinguished by their cause: 403 CertificateDenied, 502 CertificateFailed, 504 CertificateTimedOut, and 502
 * RequestRefused where the platform's credential may not do this.
 */
export async function issueClientCertificate(
  client: ApiClient,
  request: ClientCertificateRequest,
  options: IssueOptions,
  signal: AbortSignal,
): Promise<IssuedClientCertificate> {
  refuseNames(request);
  const { expirationSeconds } = request;
  if (expirationSeconds !== undefined && expirationSeconds < MIN_EXPIRATION_SECONDS) {
    throw badRequestError(`a certificate must be valid for at least ${MIN_EXPIRATION_SECONDS} seconds`);
  }
  const { pem, publicKey, privateKeyPem } = await requestToSign(request);
  const created = await asPlatformRequest("request certificates", create(client, pem, expirationSeconds, signal));
  const { name = "" } = created.metadata;
  try {
    await approve(client, created, signal);
    const certificatePem = await untilSigned(client, name, options, signal);
    const { serial, notAfter } = checkedCertificate(certificatePem, publicKey, request, options.clock);
    return { certificatePem, privateKeyPem, serial, notAfter };
  } finally {
    await remove(client, name, options.scheduler);
  }
}

type RequestToSign = {
  readonly pem: string;
  readonly publicKey: KeyObject;
  readonly privateKeyPem: string | undefined;
};

/** The signer takes over the subject of a request, so a client's request must have the subject that ours would have. Throws ApiError 400. */
async function requestToSign({ commonName, organizations, request }: ClientCertificateRequest): Promise<RequestToSign> {
  if (request === undefined) {
    const { privateKey } = await generateKeys("ec", { namedCurve: "prime256v1" });
    return {
      pem: createCertificateRequest(privateKey, { commonName, organizations }),
      publicKey: createPublicKey(privateKey),
      privateKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    };
  }
  const { subject, hasOtherSubjectAttributes, requestedExtensions, pem, publicKey } = request;
  const isOurs = subject.commonName === commonName && isSameSet(subject.organizations, organizations);
  if (!isOurs || hasOtherSubjectAttributes) {
    const wanted = [...organizations.map((organization) => `O=${organization}`), `CN=${commonName}`].join(", ");
    throw badRequestError(
      `spec.certificateSigningRequest: the cluster signs the subject of the request, so it must be ${wanted} and nothing else`,
    );
  }
  if (requestedExtensions.length > 0) {
    throw badRequestError("spec.certificateSigningRequest: must not request extensions, such as other names");
  }
  return { pem, publicKey, privateKeyPem: undefined };
}

function refuseNames({ commonName, organizations }: ClientCertificateRequest): void {
  const names = [commonName, ...organizations];
  if (names.some(isSystemName)) throw forbiddenPathError("certificates are not issued for system names");
  if (commonName === "" || names.some((name) => /\p{Cc}/u.test(name))) {
    throw forbiddenPathError("certificates are not issued for empty names, or names with control characters");
  }
}

/** The path returns a CertificateSigningRequest or an error. */
const send = async (
  client: ApiClient,
  request: Parameters<ApiClient["request"]>[0],
): Promise<CertificateSigningRequest> => (await client.request(request)) as CertificateSigningRequest;

const create = (client: ApiClient, pem: string, expirationSeconds: number | undefined, signal: AbortSignal) =>
  send(client, {
    method: "POST",
    path: COLLECTION,
    signal,
    body: {
      apiVersion: `${CERTIFICATES_GROUP}/v1`,
      kind: "CertificateSigningRequest",
      metadata: { generateName: NAME_PREFIX },
      spec: {
        request: Buffer.from(pem).toString("base64"),
        signerName: SIGNER,
        usages: ["client auth", "digital signature"],
        ...(expirationSeconds === undefined ? {} : { expirationSeconds }),
      },
    },
  });

/** Others write to it, too: a policy of the cluster may already have denied it. */
async function approve(client: ApiClient, created: CertificateSigningRequest, signal: AbortSignal): Promise<void> {
  const path = `${COLLECTION}/${encodeURIComponent(created.metadata.name ?? "")}`;
  let current = created;
  for (let attempt = 1; ; attempt++) {
    throwIfRefused(current);
    if (conditionOf(current, "Approved") !== undefined) return;
    try {
      await send(client, { method: "PUT", path: `${path}/approval`, body: withApproval(current), signal });
      return;
    } catch (error) {
      // It was changed, or decided differently, meanwhile.
      const isRace = isApiError(error, "Conflict") || isApiError(error, "Invalid");
      if (!isRace || attempt >= APPROVAL_ATTEMPTS) throw clusterRefusal("approve certificate requests", error);
    }
    current = await asPlatformRequest(
      "see the CertificateSigningRequest",
      send(client, { method: "GET", path, signal }),
    );
  }
}

function withApproval(request: CertificateSigningRequest): JsonObject {
  const approved = {
    type: "Approved",
    status: "True",
    reason: "KubeConfigRequested",
    message: "The platform approved this request for a kubeconfig.",
  };
  // Objects of an API are JSON; only their named types hide it.
  return { ...request, status: { ...request.status, conditions: [...conditionsOf(request), approved] } } as JsonObject;
}

/** The certificate, in PEM. */
async function untilSigned(
  client: ApiClient,
  name: string,
  { scheduler, signingTimeoutMs = SIGNING_TIMEOUT_MS }: IssueOptions,
  outer: AbortSignal,
): Promise<string> {
  using time = deadline(scheduler, signingTimeoutMs, timedOut, outer);
  const { signal } = time;
  const path = `${COLLECTION}/${encodeURIComponent(name)}`;
  for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 2, MAX_POLL_MS)) {
    const request = await asPlatformRequest(
      "see the CertificateSigningRequest",
      send(client, { method: "GET", path, signal }),
    );
    throwIfRefused(request);
    const { certificate } = request.status ?? {};
    if (typeof certificate === "string" && certificate !== "")
      return Buffer.from(certificate, "base64").toString("latin1");
    await pause(scheduler, wait, signal);
  }
}

const conditionOf = (request: CertificateSigningRequest, wanted: string) =>
  conditionsOf(request).find(({ type, status }) => type === wanted && status !== "False");

function throwIfRefused(request: CertificateSigningRequest): void {
  const denied = conditionOf(request, "Denied");
  if (denied !== undefined) throw deniedError(wordsOf(denied));
  const failed = conditionOf(request, "Failed");
  if (failed !== undefined) {
    throw badGatewayError({ reason: "CertificateFailed", message: `its signer failed: ${wordsOf(failed)}` });
  }
}

/** The fields that a caller needs. */
const wordsOf = ({ reason = "", message = "" }: CertificateCondition): string =>
  [reason, message]
    .filter((text) => text !== "")
    .join(": ")
    .replaceAll(/\p{Cc}+/gu, " ")
    .slice(0, MAX_WORDS_LENGTH);

const deniedError = (why: string): ApiError => {
  const message = `the cluster denied the certificate: ${why}`;
  return new ApiError({
    code: 403,
    reason: "Forbidden",
    message,
    details: { causes: [{ reason: "CertificateDenied", message }] },
  });
};

function timedOut(): ApiError {
  const message =
    "the cluster did not sign the certificate in time: check that a signer for kubernetes.io/kube-apiserver-client runs there";
  return new ApiError({
    code: 504,
    reason: "Timeout",
    message,
    details: { causes: [{ reason: "CertificateTimedOut", message }] },
  });
}

/** Throws ApiError 502 if the certificate differs from the request. */
function checkedCertificate(
  certificatePem: string,
  publicKey: KeyObject,
  request: ClientCertificateRequest,
  clock: Clock,
): Pick<IssuedClientCertificate, "serial" | "notAfter"> {
  const checked = checkSignedCertificate(certificatePem, { ...request, publicKey }, clock);
  if ("fault" in checked) {
    const message = `its signer issued another certificate than requested: ${checked.fault}`;
    throw badGatewayError({ reason: "CertificateFailed", message });
  }
  return { serial: new X509Certificate(certificatePem).serialNumber, notAfter: checked.notAfter };
}

/** Not with the signal of the request, which may be aborted. */
async function remove(client: ApiClient, name: string, scheduler: Scheduler): Promise<void> {
  using time = deadline(scheduler, CLEAN_UP_TIMEOUT_MS, timedOut);
  try {
    await client.request({ method: "DELETE", path: `${COLLECTION}/${encodeURIComponent(name)}`, signal: time.signal });
  } catch {
    // An earlier error is more important, and the cluster deletes old requests by itself.
  }
}
