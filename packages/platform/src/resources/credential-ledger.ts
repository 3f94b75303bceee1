// The fields of a list of credentials, and of the request to revoke some of them.

import { s } from "@postern/apimachinery/schema/builder";
import { issuedByField } from "../api/issued-by.ts";

const credential = s.object({
  id: s.string().describe("The public handle of an access key, or serial:<serial> of a certificate."),
  kind: s.string().describe("AccessKey or Certificate."),
  name: s.string().describe("Name of the access key."),
  type: s.string().describe("spec.type of the access key."),
  owner: s.string().describe("Whom it speaks for, such as user/jane."),
  subject: s.string().describe("Whom a certificate names."),
  virtualCluster: s.string().describe("The virtual cluster, where the credential opens this one and nothing else."),
  parents: s.list(s.string()).describe("IDs of the access keys that it was made with, and dies with."),
  creationTimestamp: s.timestamp().describe("When it was made."),
  expirationTimestamp: s.timestamp().describe("When it ends by itself. Absent: never."),
  lastActivity: s.timestamp().describe("When an access key was last used."),
  issuedBy: issuedByField,
});

export const credentialLedgerFields = s
  .object({
    spec: s
      .object({
        revoke: s
          .list(s.string())
          .describe(
            "IDs of credentials in the list that are to open nothing any more: an access key is disabled, and with it goes all that was made with it; a certificate is refused by its serial.",
          ),
      })
      .describe("What to revoke."),
    status: s
      .object({ credentials: s.list(credential).describe("Each after what it was made with.") })
      .describe("What is good now. Read-only."),
  })
  .describe("The credentials of somebody or something.");
