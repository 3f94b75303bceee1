// The fields of a certificate authority with its rotation, and of the request to take a step of one.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";

export const ROTATION_ACTIONS = ["Prepare", "Complete", "Abort"] as const;
export type RotationAction = (typeof ROTATION_ACTIONS)[number];

export const ROTATION_PHASES = ["None", "Prepared", "Completed", "Aborted"] as const;

const authority = (what: string) =>
  s
    .object({
      name: s.string().describe("Common name of the CA."),
      fingerprint: s.string().describe("SHA-256 of its certificate, in hexadecimal."),
      expirationTimestamp: s.timestamp().describe("When the CA expires."),
    })
    .describe(what);

const outdatedItem = s.object({
  kind: s.string().describe("Certificate, or Secret for a token of a ServiceAccount."),
  id: s.string().describe("serial:<serial> of a certificate, or namespace and name of a Secret."),
  subject: s.string().describe("Subject of a certificate."),
  owner: s.string().describe("Owner of a certificate, such as user/jane."),
  expirationTimestamp: s.timestamp().describe("When a certificate expires."),
});

const certificateAuthorityFields = s
  .object({
    spec: s
      .object({
        action: s
          .string({ enum: ROTATION_ACTIONS })
          .describe(
            "Prepare creates a new CA, which signs from then on, and keeps the earlier one trusted. Complete removes the earlier one, and what it signed is refused. Abort removes the new one. Unset: nothing changes.",
          ),
      })
      .describe("The step to take."),
    status: s
      .object({
        phase: s.string({ enum: ROTATION_PHASES }).describe("Phase of the last rotation."),
        bundle: s.string().describe("Trusted CA certificates in PEM, the one that signs first."),
        signing: authority("The CA that signs."),
        previous: authority("The CA that Complete removes. Only while a rotation is prepared."),
        preparationTimestamp: s.timestamp().describe("When the rotation was prepared."),
        completionTimestamp: s.timestamp().describe("When the last rotation was completed."),
        outdated: s
          .object({
            certificates: s.int32().describe("Valid certificates that another CA than `signing` has signed."),
            tokenSecrets: s
              .int32()
              .describe("Secrets whose ServiceAccount token has an earlier key. Only while a rotation is prepared."),
            items: s.list(outdatedItem).describe("The first 100 of them."),
          })
          .describe("What Complete makes invalid."),
      })
      .describe("The CA. Read-only."),
  })
  .describe("Certificate authority, and the rotation of it.");

export type CertificateAuthorityView = KindOf<typeof certificateAuthorityFields>;
export type OutdatedItem = Infer<typeof outdatedItem>;
export const certificateAuthoritySchema = kindSchema(certificateAuthorityFields.schema);
