// The fields of VirtualClusterInstanceKubeConfigs, and their validation.

import { wrappedField } from "@postern/api/wrapped-value";
import { invalidObjectError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { type FieldError, forbiddenError, invalidError } from "@postern/apimachinery/validation/field-error";
import { normalizeServer, validateServer } from "../../../../../foundation/kubeconfig/normalize-server.ts";
import {
  type CertificateRequest,
  CertificateRequestError,
  parseCertificateRequest,
} from "../../../../../foundation/pki/certificate-request.ts";

export const KUBE_CONFIG_KIND = "VirtualClusterInstanceKubeConfig";

export const KUBECONFIG_ENDPOINTS = ["Platform", "Cluster", "Both"] as const;
export type KubeconfigEndpoint = (typeof KUBECONFIG_ENDPOINTS)[number];

const MAX_CONTEXT_NAME_LENGTH = 253;
/** Ten times what an RSA key of 8192 bits needs. */
const MAX_CERTIFICATE_REQUEST_LENGTH = 64 * 1024;

export const kubeconfigFields = s
  .object({
    spec: s
      .object({
        certificateTTL: s
          .int32()
          .describe(
            "TTL of the credential in the kubeconfig, in seconds, at least 600. Defaults to one day. 0 for no limit; " +
              "certificates are then valid for the signing duration of the virtual cluster, typically one year.",
          ),
        server: s
          .string()
          .describe(
            "Server address to write into the kubeconfig, instead of the virtual cluster's own. The platform never connects to it.",
          ),
        endpoint: s
          .string({ enum: KUBECONFIG_ENDPOINTS })
          .describe(
            "Where the kubeconfig of a connected or external virtual cluster leads. Platform: through the platform, also with a client certificate, which is then revoked like a token. Cluster: to its own address. Both: one context for each; the name of the second one ends with -direct. Not together with server. Defaults to the address that the credential is valid at; for client certificates to spec.certificateEndpoint of the project, and to Platform where an agent connects the virtual cluster. Embedded virtual clusters are always reached through the platform.",
          ),
        contextName: s
          .string({ maxLength: MAX_CONTEXT_NAME_LENGTH })
          .describe("Name of cluster, user and context in the kubeconfig. Defaults to <project>-<name>."),
        clientCert: s.boolean().describe("Whether to use a client certificate instead of a platform token."),
        role: s
          .string({ enum: ["view"] })
          .describe(
            "view: a read-only credential without access to Secrets. A token allows what the ClusterRole view allows. A certificate has only " +
              "the group of that role, and in addition what is bound to your own name in the virtual cluster. Defaults to all your permissions.",
          ),
        certificateSigningRequest: s
          .string({ maxLength: MAX_CERTIFICATE_REQUEST_LENGTH })
          .describe(
            "A PKCS #10 certificate request in PEM, signed by a private key that stays with the client. The kubeconfig then holds a " +
              "client certificate for that key, and no private key. Embedded virtual clusters replace the subject with yours; for " +
              "others it must be status.certificateSubject, which a dry run returns. EC P-256, P-384 or P-521, RSA of 2048 bits or " +
              "more, or Ed25519.",
          ),
      })
      .describe("Requested kubeconfig."),
    status: s
      .object({
        kubeConfig: s.string().describe("The kubeconfig, as YAML. It contains the credential, except in a dry run."),
        certificateSubject: s
          .object({
            commonName: s.string().describe("Your username in the virtual cluster."),
            organizations: s.list(s.string()).describe("Your groups in the virtual cluster."),
          })
          .describe("Subject for a client certificate. Only in a dry run."),
        wrapped: wrappedField,
        expirationTimestamp: s
          .timestamp()
          .describe(
            "When the credential expires, which may be earlier than requested, and later for a certificate that another cluster signs. Unset if it never expires.",
          ),
      })
      .describe("The response. Ignored in requests."),
  })
  .describe("Requests a kubeconfig for a virtual cluster. Not stored.");

export type KubeconfigKind = KindOf<typeof kubeconfigFields>;

export type KubeconfigRequest = {
  /** Also where there is only a request for one. */
  readonly clientCert: boolean;
  readonly certificateRequest: CertificateRequest | undefined;
  /** Whether the credential reads alone. */
  readonly isReadOnly: boolean;
  /** Undefined: no end is asked for. */
  readonly ttlSeconds: number | undefined;
  /** The request names no TTL. */
  readonly isDefaultTtl: boolean;
  /** Undefined: after the project and the virtual cluster. */
  readonly contextName: string | undefined;
  /** Normalised. Undefined: the virtual cluster's own address. */
  readonly server: string | undefined;
  /** Undefined: by the credential and the project. */
  readonly endpoint: KubeconfigEndpoint | undefined;
};

const DEFAULT_TTL_SECONDS = 86_400;
/** The CertificateSigningRequest API takes nothing shorter. */
export const MIN_TTL_SECONDS = 600;

/** `body` has gone through the schema. Throws ApiError 422. */
export function readKubeconfigRequest(body: KubeObject, group: string): KubeconfigRequest {
  const {
    certificateTTL: requestedTTL,
    server = "",
    clientCert = false,
    contextName = "",
    role,
    endpoint,
    certificateSigningRequest = "",
  } = (body as KubeconfigKind).spec ?? {};
  const certificateTTL = requestedTTL ?? DEFAULT_TTL_SECONDS;
  const certificateRequest =
    certificateSigningRequest === "" ? undefined : readCertificateRequest(certificateSigningRequest);
  const errors = [
    ...(certificateRequest instanceof CertificateRequestError
      ? [invalidError("spec.certificateSigningRequest", "", certificateRequest.message)]
      : []),
    ...validateTTL(certificateTTL),
    ...(server === "" ? [] : validateServer(server)),
    ...(server === "" || endpoint === undefined
      ? []
      : [forbiddenError("spec.endpoint", "may not be set together with spec.server")]),
    ...validateContextName(contextName),
  ];
  if (errors.length > 0 || certificateRequest instanceof CertificateRequestError) {
    throw invalidObjectError({ group, kind: KUBE_CONFIG_KIND }, body.metadata.name ?? "", errors);
  }
  return {
    clientCert: clientCert || certificateRequest !== undefined,
    certificateRequest,
    isReadOnly: role === "view",
    contextName: contextName === "" ? undefined : contextName,
    ttlSeconds: certificateTTL === 0 ? undefined : certificateTTL,
    isDefaultTtl: requestedTTL === undefined,
    server: server === "" ? undefined : normalizeServer(server),
    // The schema has checked it.
    endpoint: endpoint as KubeconfigEndpoint | undefined,
  };
}

function readCertificateRequest(pem: string): CertificateRequest | CertificateRequestError {
  try {
    return parseCertificateRequest(pem);
  } catch (error) {
    if (error instanceof CertificateRequestError) return error;
    throw error;
  }
}

/** Line breaks and the like would hide in the output of `kubectl config get-contexts`. */
const validateContextName = (contextName: string): readonly FieldError[] =>
  /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]*$/u.test(contextName)
    ? []
    : [invalidError("spec.contextName", contextName, "must not contain control characters")];

function validateTTL(certificateTTL: number): readonly FieldError[] {
  if (certificateTTL === 0 || certificateTTL >= MIN_TTL_SECONDS) return [];
  return [
    invalidError(
      "spec.certificateTTL",
      certificateTTL,
      `must be 0 for no limit, or at least ${MIN_TTL_SECONDS} seconds (10 minutes)`,
    ),
  ];
}
