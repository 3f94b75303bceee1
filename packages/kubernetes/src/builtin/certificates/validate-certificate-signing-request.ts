// Validates CertificateSigningRequests, their approval and their status.
// Source: k8s.io/kubernetes/pkg/apis/certificates/validation/validation.go

import { equalJson } from "@postern/apimachinery/json/equal-json";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  notSupportedError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { isDNS1123Subdomain } from "@postern/apimachinery/validation/string-validators";
import { readEncodedCertificateRequest } from "@postern/apiserver/x509/certificate-request";
import { DerError } from "@postern/apiserver/x509/der";
import { decodeDistinguishedName } from "@postern/apiserver/x509/distinguished-name";
import { choiceFaults } from "../field-checks.ts";
import {
  type CertificateCondition,
  type CertificateSigningRequest,
  conditionsOf,
} from "./certificate-signing-request.ts";

const USAGES = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];
const MIN_EXPIRATION_SECONDS = 600;
const MAX_SIGNER_NAME_LENGTH = 571;
/** Decisions, which can neither be taken back nor be anything but true. */
const FINAL_CONDITIONS = ["Approved", "Denied", "Failed"];

export function validateCertificateSigningRequest({ spec }: CertificateSigningRequest): readonly FieldError[] {
  const { request = "", usages = [], signerName = "", expirationSeconds } = spec ?? {};
  return [
    ...validateRequest(request),
    ...(usages.length === 0 ? [requiredError("spec.usages")] : []),
    ...usages.flatMap((usage, index) => validateUsage(usages, usage, index)),
    ...validateSignerName(signerName),
    ...(expirationSeconds !== undefined && expirationSeconds < MIN_EXPIRATION_SECONDS
      ? [
          invalidError(
            "spec.expirationSeconds",
            expirationSeconds,
            "may not specify a duration less than 600 seconds (10 minutes)",
          ),
        ]
      : []),
  ];
}

function validateRequest(request: string): readonly FieldError[] {
  try {
    // A name that cannot be read could hide a group from the check of what a signer may be asked for.
    decodeDistinguishedName(readEncodedCertificateRequest(request).subject);
    return [];
  } catch (error) {
    if (error instanceof DerError) return [invalidError("spec.request", request, error.message)];
    throw error;
  }
}

function validateUsage(usages: readonly string[], usage: string, index: number): readonly FieldError[] {
  const path = indexPath("spec.usages", index);
  if (!USAGES.includes(usage)) return [notSupportedError(path, usage, USAGES)];
  return usages.indexOf(usage) < index ? [duplicateError(path, usage)] : [];
}

function validateSignerName(signerName: string): readonly FieldError[] {
  const path = "spec.signerName";
  const refuse = (detail: string): readonly FieldError[] => [invalidError(path, signerName, detail)];
  if (signerName === "") return [requiredError(path)];
  if (signerName === "kubernetes.io/legacy-unknown") {
    return refuse("the legacy signerName is not allowed via this API version");
  }
  const [domain = "", ...paths] = signerName.split("/");
  if (paths.length !== 1 || paths[0] === "") {
    return refuse("must be a fully qualified domain and path of the form 'example.com/signer-name'");
  }
  if (signerName.length > MAX_SIGNER_NAME_LENGTH)
    return refuse(`must be no more than ${MAX_SIGNER_NAME_LENGTH} characters`);
  const faults = [...isDNS1123Subdomain(domain), ...paths.flatMap((path) => isDNS1123Subdomain(path))];
  if (faults.length > 0) return faults.map((fault) => invalidError(path, signerName, fault));
  return domain.includes(".") ? [] : refuse("should be a domain with at least two segments separated by dots");
}

/** Conditions as any write may leave them. */
export function validateConditions(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
): readonly FieldError[] {
  const conditions = conditionsOf(request);
  const has = (type: string): boolean => conditions.some((condition) => condition.type === type);
  return [
    ...conditions.flatMap((condition, index) => validateCondition(condition, indexPath("status.conditions", index))),
    ...(has("Approved") && has("Denied")
      ? [
          invalidError(
            indexPath(
              "status.conditions",
              conditions.findIndex(({ type }) => type === "Denied"),
            ),
            "Denied",
            "Approved and Denied conditions are mutually exclusive",
          ),
        ]
      : []),
    ...FINAL_CONDITIONS.filter(
      (type) => !has(type) && conditionsOf(old).some((condition) => condition.type === type),
    ).map((type) => forbiddenError("status.conditions", `updates may not remove a condition of type "${type}"`)),
  ];
}

function validateCondition({ type, status }: CertificateCondition, path: string): readonly FieldError[] {
  if (type === "") return [requiredError(`${path}.type`)];
  if (status === "") return [requiredError(`${path}.status`)];
  const allowed = FINAL_CONDITIONS.includes(type) ? ["True"] : ["True", "False", "Unknown"];
  return choiceFaults(`${path}.status`, status, allowed);
}

/** The status subresource can neither approve nor deny, and cannot change a certificate. */
export function validateStatusUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
): readonly FieldError[] {
  const certificate = old.status?.certificate ?? "";
  const decisions = ({ status }: CertificateSigningRequest) =>
    (status?.conditions ?? []).filter(({ type }) => type === "Approved" || type === "Denied").map(({ type }) => type);
  return [
    ...validateConditions(request, old),
    ...(equalJson(decisions(request), decisions(old))
      ? []
      : [
          forbiddenError(
            "status.conditions",
            'updates may not add or remove a condition of type "Approved" or "Denied"',
          ),
        ]),
    ...(certificate !== "" && certificate !== request.status?.certificate
      ? [forbiddenError("status.certificate", "updates may not change or remove a non-empty certificate")]
      : []),
  ];
}
