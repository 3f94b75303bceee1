// The fields of trust rules, cluster-scoped ones and those of projects, and of the question whether a token fits one.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { ISSUER_PRESETS } from "./issuer-presets.ts";
import { description, displayName } from "./people-fields.ts";
import { accessKeyRule, accessKeyScope } from "./scope-fields.ts";

/** A key that is issued lives so long at most. */
export const MAX_ISSUED_SECONDS = 3_600;
const MIN_ISSUED_SECONDS = 60;

const issuer = s.object({
  preset: s
    .string({ enum: ISSUER_PRESETS })
    .describe(
      "A known issuer: github, gitlab, buildkite or kubernetes. It brings the address of the public service along, and asks for a claim that never changes hands.",
    ),
  url: s
    .string()
    .describe(
      "The iss of the tokens, compared exactly. Absent: that of the preset. Without discoveryURL and jwks, its keys are found by OIDC discovery below it, over HTTPS.",
    ),
  discoveryURL: s
    .string()
    .describe(
      "Where the discovery document is, with its whole path, if it is not below url. The document must name url as its issuer.",
    ),
  certificateAuthority: s
    .string()
    .describe("PEM of the certificates that the issuer's server is verified against. Absent: the public ones."),
  jwks: s
    .string()
    .describe("The issuer's public keys as the JSON of a JWK set, in place of discovery: nothing is fetched then."),
});

const claim = s.object({
  claim: s
    .string({ minLength: 1, maxLength: 256 })
    .required()
    .describe(
      "Name of the claim, such as repository_id. One that begins with a slash is a JSON pointer, such as /kubernetes.io/serviceaccount/uid.",
    ),
  values: s
    .list(s.string({ maxLength: 1024 }), { minItems: 1, maxItems: 100 })
    .required()
    .describe("The claim must be a string, and equal to one of these. There are no wildcards."),
});

const condition = s.object({
  expression: s
    .string({ minLength: 1, maxLength: 4096 })
    .required()
    .describe("CEL over the variable claims, which must be true, such as claims.ref == 'refs/heads/main'."),
  message: s.string({ maxLength: 256 }).describe("What it asks for, for people who test a token."),
});

const spec = s.object({
  displayName,
  description,
  disabled: s.boolean().describe("True: the rule issues nothing, and the keys that it issued open nothing."),
  issuer: issuer.required().describe("Who signs the tokens."),
  audiences: s
    .list(s.string({ minLength: 1, maxLength: 512 }), { minItems: 1, maxItems: 20 })
    .required()
    .describe("The aud of a token must have one of these, compared exactly."),
  claims: s
    .list(claim, { maxItems: 32 })
    .describe("Claims that a token must have. All of them count. A preset asks for one that never changes hands."),
  conditions: s
    .list(condition, { maxItems: 16 })
    .describe("What else must hold of the claims. All of them count. What costs too much does not hold."),
  singleUse: s
    .boolean()
    .describe("True: each token is taken once. It must have a jti, which is remembered until the token has expired."),
  user: s
    .string({ minLength: 1 })
    .required()
    .describe(
      "The user, mostly a bot, that keys are issued for. Who writes the rule is that user, may impersonate it, or administers the project that the bot works in.",
    ),
  scope: accessKeyScope.describe(
    "What issued keys are narrowed to. Absent: in a project, the project; otherwise nothing, so that they may do all that the user may.",
  ),
  rules: s.list(accessKeyRule).describe("Requests that issued keys open, in addition to the scope. One has to match."),
  ttl: s
    .int32({ minimum: MIN_ISSUED_SECONDS, maximum: MAX_ISSUED_SECONDS })
    .describe(`Life of issued keys in seconds. Absent: ${MAX_ISSUED_SECONDS}, which is also the most.`),
});

export const trustRuleFields = s
  .object({
    spec: spec.required().describe("Which tokens are taken, and what is given for them."),
    status: s
      .object({
        conditions: conditionsField,
        keysFetchedTime: s.timestamp().describe("When the issuer's keys were last fetched, or read from the rule."),
        keyIDs: s.list(s.string()).describe("The kid of each key that a token may be signed with."),
      })
      .describe("What is known of the issuer. Filled in by the server."),
  })
  .describe(
    "Gives access keys for tokens that somebody else signed, such as those of CI jobs, so that nobody stores a key.",
  );

export type TrustRule = KindOf<typeof trustRuleFields>;
export type TrustRuleSpec = Infer<typeof spec>;

const checked = s.object({
  type: s.string().describe("What was looked at, such as Signature, Audience or Claim."),
  field: s.string().describe("The field of the rule that asks for it."),
  status: s.string().describe("True, False, or Unknown where something before it does not hold."),
  message: s.string().describe("Why, for people to read."),
});

export const trustTestFields = s
  .object({
    spec: s
      .object({ token: s.string().required().describe("The token to test. It is neither stored nor logged.") })
      .required()
      .describe("What to test."),
    status: s
      .object({
        accepted: s.boolean().describe("Whether the rule gives a key for the token."),
        checks: s.list(checked).describe("What was looked at, one after another."),
        claims: s.map(s.string()).describe("What the token says, as far as it is short, whether or not it is true."),
      })
      .describe("The answer. Nothing is handed out, and a token that is taken once is still good."),
  })
  .describe("Asks whether a trust rule takes a token.");

export type TrustTest = KindOf<typeof trustTestFields>;
export const trustTestSchema = kindSchema(trustTestFields.schema);
