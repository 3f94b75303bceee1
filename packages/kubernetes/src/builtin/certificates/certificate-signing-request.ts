// The fields of CertificateSigningRequests.
// Source: k8s.io/api/certificates/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";

export const CERTIFICATES_GROUP = "certificates.k8s.io";

const condition = s.object({
  type: s
    .string()
    .required()
    .describe('type of the condition. Known conditions are "Approved", "Denied", and "Failed".'),
  status: s
    .string()
    .required()
    .describe(
      'status of the condition, one of True, False, Unknown. Approved, Denied, and Failed conditions may not be "False" or "Unknown".',
    ),
  reason: s.string().describe("reason indicates a brief reason for the request state"),
  message: s.string().describe("message contains a human readable message with details about the request state"),
  lastUpdateTime: s.timestamp().describe("lastUpdateTime is the time of the last update to this condition"),
  lastTransitionTime: s
    .timestamp()
    .describe("lastTransitionTime is the time the condition last transitioned from one status to another."),
});
export type CertificateCondition = Infer<typeof condition>;

export const certificateSigningRequestFields = s
  .object({
    spec: s
      .object({
        request: s
          .bytes()
          .describe(
            'request contains an x509 certificate signing request encoded in a "CERTIFICATE REQUEST" PEM block.',
          ),
        signerName: s.string().describe("signerName indicates the requested signer, and is a qualified name."),
        expirationSeconds: s
          .int32()
          .describe("expirationSeconds is the requested duration of validity of the issued certificate."),
        usages: s
          .list(s.string())
          .describe("usages specifies a set of key usages requested in the issued certificate."),
        username: s
          .string()
          .describe("username contains the name of the user that created the CertificateSigningRequest."),
        uid: s.string().describe("uid contains the uid of the user that created the CertificateSigningRequest."),
        groups: s
          .list(s.string())
          .describe("groups contains group membership of the user that created the CertificateSigningRequest."),
        extra: s
          .map(s.list(s.string()))
          .describe("extra contains extra attributes of the user that created the CertificateSigningRequest."),
      })
      .describe("CertificateSigningRequestSpec contains the certificate request."),
    status: s
      .object({
        conditions: mergedInPatches(s.listMap(condition, ["type"]), "type").describe(
          'conditions applied to the request. Known conditions are "Approved", "Denied", and "Failed".',
        ),
        certificate: s
          .bytes()
          .describe(
            "certificate is populated with an issued certificate by the signer after an Approved condition is present.",
          ),
      })
      .describe(
        "CertificateSigningRequestStatus contains conditions used to indicate approved/denied/failed status of the request, and the issued certificate.",
      ),
  })
  .describe(
    "CertificateSigningRequest objects provide a mechanism to obtain x509 certificates by submitting a certificate signing request, and having it asynchronously approved and issued.",
  );

export type CertificateSigningRequest = KindOf<typeof certificateSigningRequestFields>;

export const conditionsOf = ({ status }: CertificateSigningRequest): readonly CertificateCondition[] =>
  status?.conditions ?? [];
