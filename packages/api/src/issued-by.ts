// The trust rule and the token that an access key was issued for, as its status and the list of credentials show them.

import { s } from "@postern/apimachinery/schema/builder";

export const issuedByField = s
  .object({
    rule: s.string().describe("The rule, such as clustertrustrules/deploy or trustrules/p-team/deploy."),
    issuer: s.string().describe("Issuer of the token."),
    subject: s.string().describe("Subject of the token."),
    claims: s.map(s.string()).describe("Further claims of the token; long ones are left out."),
  })
  .describe("The trust rule that issued the key in exchange for a token. Unset for keys that were created directly.");
