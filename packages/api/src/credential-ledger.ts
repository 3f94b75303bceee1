// The fields of a list of credentials, and of the request to revoke some of them.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { issuedByField } from "./issued-by.ts";

const credential = s.object({
  id: s.string().describe("Public ID of an access key, or serial:<serial> of a certificate."),
  kind: s.string().describe("AccessKey or Certificate."),
  name: s.string().describe("Name of the access key."),
  type: s.string().describe("spec.type of the access key."),
  owner: s.string().describe("Owner of the credential, such as user/jane."),
  subject: s.string().describe("Subject of a certificate."),
  virtualCluster: s.string().describe("The virtual cluster, if the credential is valid for this one only."),
  parents: s.list(s.string()).describe("IDs of the access keys that it was created with. It is revoked with them."),
  creationTimestamp: s.timestamp().describe("When it was created."),
  expirationTimestamp: s.timestamp().describe("When it expires. Unset if it never expires."),
  lastActivity: s.timestamp().describe("Last time an access key was used."),
  enforcedBy: s
    .string()
    .describe(
      "Cluster for a certificate that the cluster itself verifies: it cannot be revoked, and is valid there until expirationTimestamp. Unset if the platform refuses the credential once it is revoked.",
    ),
  issuedBy: issuedByField,
});

const credentialLedgerFields = s
  .object({
    spec: s
      .object({
        revoke: s
          .list(s.string())
          .describe(
            "IDs of credentials to revoke. An access key is disabled together with all credentials created with it; a certificate is refused by its serial number. Certificates that a cluster itself verifies cannot be revoked, and stay in the list until they expire.",
          ),
        all: s
          .boolean()
          .describe(
            "Revoke all credentials of the list instead, and leave out certificates that a cluster itself verifies. spec.revoke must be empty.",
          ),
      })
      .describe("What to revoke."),
    status: s
      .object({ credentials: s.list(credential).describe("Credentials, each after the one it was created with.") })
      .describe("Valid credentials. Read-only."),
  })
  .describe("Credentials of an object.");

export type CredentialLedger = KindOf<typeof credentialLedgerFields>;
export type Credential = Infer<typeof credential>;
export const credentialLedgerSchema = kindSchema(credentialLedgerFields.schema);
