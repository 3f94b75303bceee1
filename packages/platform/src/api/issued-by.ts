// By what a trust rule issued an access key, as its status and the list of credentials show it.

import { s } from "@postern/apimachinery/schema/builder";

export const issuedByField = s
  .object({
    rule: s.string().describe("The rule, such as clustertrustrules/deploy or trustrules/p-team/deploy."),
    issuer: s.string().describe("Who signed the token."),
    subject: s.string().describe("The sub of the token."),
    claims: s.map(s.string()).describe("What else the token said, as far as it was short."),
  })
  .describe("The trust rule that issued the key for a token. Absent: somebody made the key.");
