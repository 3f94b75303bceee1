// The fields of trust rules, cluster-scoped and of projects, and of the test whether a token meets one.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { accessKeyRule, accessKeyScope, allowedSourceRanges } from "./access-key-scope.ts";
import { conditionsField } from "./conditions.ts";
import { description, displayName } from "./display-fields.ts";
import { ISSUER_PRESETS } from "./issuer-presets.ts";

/** The maximum TTL of issued keys. */
export const MAX_ISSUED_SECONDS = 3_600;
const MIN_ISSUED_SECONDS = 60;

const issuer = s.object({
  preset: s
    .string({ enum: ISSUER_PRESETS })
    .describe(
      "Preset for github, gitlab, buildkite or kubernetes. It sets the URL of the public service, and requires a claim that is never reassigned.",
    ),
  url: s
    .string()
    .describe(
      "Issuer (iss) of the tokens, compared exactly. Defaults to the URL of the preset. Without discoveryURL and jwks, the signing keys are fetched by OIDC discovery from this URL, over HTTPS.",
    ),
  discoveryURL: s
    .string()
    .describe("Full URL of the discovery document, if it is not below url. Its issuer must be url."),
  certificateAuthority: s
    .string()
    .describe("CA certificates in PEM to verify the issuer's server with. Defaults to the public CAs."),
  jwks: s.string().describe("Public keys of the issuer as a JWK set in JSON, instead of discovery."),
});

const claim = s.object({
  claim: s
    .string({ minLength: 1, maxLength: 256 })
    .required()
    .describe(
      "Name of the claim, such as repository_id, or a JSON pointer, such as /kubernetes.io/serviceaccount/uid.",
    ),
  values: s
    .list(s.string({ maxLength: 1024 }), { minItems: 1, maxItems: 100 })
    .required()
    .describe("Allowed values of the claim, compared exactly. No wildcards."),
});

const condition = s.object({
  expression: s
    .string({ minLength: 1, maxLength: 4096 })
    .required()
    .describe("CEL expression over the variable claims that must be true, such as claims.ref == 'refs/heads/main'."),
  message: s.string({ maxLength: 256 }).describe("Human-readable message for tokens that do not meet the condition."),
});

const spec = s.object({
  displayName,
  description,
  disabled: s
    .boolean()
    .describe("Whether the rule is disabled. A disabled rule issues no keys, and the keys that it issued are refused."),
  issuer: issuer.required().describe("Issuer of the tokens."),
  audiences: s
    .list(s.string({ minLength: 1, maxLength: 512 }), { minItems: 1, maxItems: 20 })
    .required()
    .describe("Allowed audiences (aud) of tokens, compared exactly. One must match."),
  claims: s
    .list(claim, { maxItems: 32 })
    .describe("Claims that a token must have. All must match. Presets require a claim that is never reassigned."),
  conditions: s
    .list(condition, { maxItems: 16 })
    .describe("Further conditions on the claims. All must be true. An expression that is too expensive is false."),
  singleUse: s
    .boolean()
    .describe(
      "Whether each token is accepted only once. Tokens must have a jti, which is remembered until the token expires.",
    ),
  user: s
    .string({ minLength: 1 })
    .required()
    .describe(
      "User, usually a bot, that keys are issued for. To create the rule you must be that user, have permission to impersonate it, or administer the project of the bot.",
    ),
  scope: accessKeyScope.describe(
    "Scope of issued keys. Defaults to the project of the rule; without a project, issued keys have all permissions of the user.",
  ),
  rules: s
    .list(accessKeyRule)
    .describe("Requests that issued keys allow, in addition to the scope. At least one rule must match."),
  allowedSourceRanges: allowedSourceRanges.describe(
    "IP addresses and networks, such as 10.20.0.0/16 or 2001:db8::/32, that requests with issued keys may come from. Unset: from anywhere.",
  ),
  ttl: s
    .int32({ minimum: MIN_ISSUED_SECONDS, maximum: MAX_ISSUED_SECONDS })
    .describe(`TTL of issued keys, in seconds. Defaults to ${MAX_ISSUED_SECONDS}, which is also the maximum.`),
});

export const trustRuleFields = s
  .object({
    spec: spec.required().describe("Accepted tokens, and the keys that are issued for them."),
    status: s
      .object({
        conditions: conditionsField,
        keysFetchedTime: s.timestamp().describe("Last time the issuer's keys were fetched, or read from the rule."),
        keyIDs: s.list(s.string()).describe("Key IDs (kid) that tokens may be signed with."),
      })
      .describe("Observed state of the issuer. Set by the server."),
  })
  .describe(
    "Issues access keys in exchange for tokens of another issuer, such as tokens of CI jobs, so that no key has to be stored.",
  );

export type TrustRule = KindOf<typeof trustRuleFields>;
export type TrustRuleSpec = Infer<typeof spec>;

const checked = s.object({
  type: s.string().describe("Type of the check, such as Signature, Audience or Claim."),
  field: s.string().describe("Field of the rule that requires it."),
  status: s.string().describe("True, False, or Unknown if an earlier check failed."),
  message: s.string().describe("Human-readable explanation."),
});

export const trustTestFields = s
  .object({
    spec: s
      .object({ token: s.string().required().describe("The token to test. It is neither stored nor logged.") })
      .required()
      .describe("What to test."),
    status: s
      .object({
        accepted: s.boolean().describe("Whether the rule accepts the token."),
        checks: s.list(checked).describe("Checks, in order."),
        claims: s.map(s.string()).describe("Claims of the token, verified or not; long ones are left out."),
      })
      .describe("The result. No key is issued, and the token is not used up."),
  })
  .describe("Tests whether a trust rule accepts a token.");

export type TrustTest = KindOf<typeof trustTestFields>;
export const trustTestSchema = kindSchema(trustTestFields.schema);
