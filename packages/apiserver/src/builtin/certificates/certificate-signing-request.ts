// The fields of CertificateSigningRequests.
// Source: k8s.io/api/certificates/v1/types.go

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import type { KindOf } from "@postern/apimachinery/schema/kind-schema";
import { mergedInPatches } from "../builtin-resource.ts";

export const CERTIFICATES_GROUP = "certificates.k8s.io";

const condition = s.object({
  type: s.string().required().describe("Approved, Denied or Failed; others are free."),
  status: s.string().required().describe("True, False or Unknown. Approved, Denied and Failed can only be True."),
  reason: s.string().describe("The cause in one word."),
  message: s.string().describe("The cause for people to read."),
  lastUpdateTime: s.timestamp().describe("When the condition was last written."),
  lastTransitionTime: s.timestamp().describe("When its status last changed."),
});
export type CertificateCondition = Infer<typeof condition>;

export const certificateSigningRequestFields = s
  .object({
    spec: s
      .object({
        request: s.bytes().describe("The PKCS #10 request in PEM, all of it in base64."),
        signerName: s
          .string()
          .describe(
            "Who is to sign, such as kubernetes.io/kube-apiserver-client, or one of your own: example.com/signer.",
          ),
        expirationSeconds: s
          .int32()
          .describe("How long the certificate should be valid, 600 at least. The signer may give less, or more."),
        usages: s.list(s.string()).describe("What the certificate is for, such as client auth."),
        username: s.string().describe("Who made the request. Filled in by the server."),
        uid: s.string().describe("The uid of who made the request. Filled in by the server."),
        groups: s.list(s.string()).describe("The groups of who made the request. Filled in by the server."),
        extra: s
          .map(s.list(s.string()))
          .describe("What else is known of who made the request. Filled in by the server."),
      })
      .describe("The request. Cannot be changed."),
    status: s
      .object({
        conditions: mergedInPatches(s.listMap(condition, ["type"]), "type").describe(
          "Whether the request has been approved or denied, or has failed.",
        ),
        certificate: s.bytes().describe("The certificate chain in PEM, all of it in base64, once it has been signed."),
      })
      .describe("What has become of the request."),
  })
  .describe("Requests a certificate from a signer. It must be approved; old requests are removed after a while.");

export type CertificateSigningRequest = KindOf<typeof certificateSigningRequestFields>;

export const conditionsOf = ({ status }: CertificateSigningRequest): readonly CertificateCondition[] =>
  status?.conditions ?? [];
