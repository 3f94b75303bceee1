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
  kind: s.string().describe("Certificate, AccessKey of a kubeconfig, or Secret for a token of a ServiceAccount."),
  id: s.string().describe("serial:<serial> of a certificate, ID of an access key, or namespace and name of a Secret."),
  subject: s.string().describe("Subject of a certificate, or the virtual cluster of an access key."),
  owner: s.string().describe("Owner of a certificate or an access key, such as user/jane."),
  expirationTimestamp: s.timestamp().describe("When a certificate or an access key expires."),
  lastActivity: s
    .timestamp()
    .describe("Last use of a certificate or an access key, at most a minute late. Unset: it was not used."),
  lastUsedFrom: s
    .object({
      address: s.string().describe("IP address of the client."),
      userAgent: s.string().describe("User-Agent header of the request, at most 200 characters."),
    })
    .describe("Where the last use came from."),
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
            accessKeys: s
              .int32()
              .describe(
                "Access keys of kubeconfigs from before the preparation that were used since. Only for the platform, while a rotation is prepared.",
              ),
            used: s
              .int32()
              .describe(
                "Certificates and access keys among them that were used since the rotation was prepared. Only while one is.",
              ),
            items: s.list(outdatedItem).describe("100 of them at most, those that were used last first."),
          })
          .describe("What Complete makes invalid."),
      })
      .describe("The CA. Read-only."),
  })
  .describe("Certificate authority, and the rotation of it.");

export type CertificateAuthorityView = KindOf<typeof certificateAuthorityFields>;
export type OutdatedItem = Infer<typeof outdatedItem>;
export const certificateAuthoritySchema = kindSchema(certificateAuthorityFields.schema);
