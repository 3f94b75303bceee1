// The fields of identity providers: who signs people in, and what of its claims counts for what.

import { type Infer, s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { conditionsField } from "./conditions.ts";
import { description, displayName } from "./display-fields.ts";

export const DEFAULT_SESSION_SECONDS = 12 * 60 * 60;
const MAX_SESSION_SECONDS = 90 * 24 * 60 * 60;
export const DEFAULT_REFRESH_SECONDS = 300;
export const DEFAULT_STALE_SECONDS = 4 * 60 * 60;
export const DEFAULT_SCOPES = ["openid", "profile", "email", "offline_access"] as const;

const expression = s.string({ maxLength: 4096 });

const mapping = (what: string) =>
  s
    .object({
      claim: s
        .string({ maxLength: 256 })
        .describe("Name of the claim. One that begins with a slash is a JSON pointer."),
      expression: expression.describe("CEL over the variable claims, instead of claim."),
      prefix: s.string({ maxLength: 64 }).describe("Put before each value."),
    })
    .describe(what);

const spec = s.object({
  displayName,
  description,
  disabled: s
    .boolean()
    .describe("Whether the provider is disabled. Nobody can sign in with it, and its sessions are refused."),
  issuer: s
    .object({
      url: s
        .string({ minLength: 1, maxLength: 2048 })
        .required()
        .describe(
          "The iss of the provider's tokens, compared exactly. Its settings are found by OIDC discovery below it, over HTTPS.",
        ),
      discoveryURL: s
        .string({ maxLength: 2048 })
        .describe(
          "Where the discovery document is, with its whole path, if it is not below url. It must name url as its issuer.",
        ),
      certificateAuthority: s
        .string()
        .describe("PEM bundle of the CA certificates to verify the provider with. Defaults to the public ones."),
    })
    .required()
    .describe("Who the provider is."),
  clientId: s
    .string({ minLength: 1, maxLength: 512 })
    .required()
    .describe("The client that the provider knows this platform by. Tokens must be for this audience."),
  clientSecretRef: s
    .object({
      secretNamespace: s.string({ minLength: 1 }).required().describe("Namespace of the Secret."),
      secretName: s.string({ minLength: 1 }).required().describe("Name of the Secret."),
      key: s.string({ minLength: 1 }).describe("The key in the Secret's data. Defaults to clientSecret."),
    })
    .describe("Reference to the Secret with the client secret. If unset, the client is public and PKCE protects it."),
  clientAuthentication: s
    .string({ enum: ["Basic", "Post"] })
    .describe("How the secret is sent: in the header (Basic, the default) or in the body (Post)."),
  scopes: s
    .list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 32 })
    .describe(`Scopes to request; openid is always included. Defaults to ${DEFAULT_SCOPES.join(", ")}.`),
  claimMappings: s
    .object({
      username: mapping("The user's name, which rights are granted to.").required(),
      groups: mapping("The user's groups. Defaults to none.").describe("The user's groups. Defaults to none."),
      uid: mapping("Unique identifier of the user at the provider, which is never reused. Defaults to the claim sub."),
      email: mapping("The e-mail address. Defaults to the claim email."),
      displayName: mapping("The display name. Defaults to the claim name."),
      extra: s
        .list(
          s.object({
            key: s.string({ minLength: 1, maxLength: 256 }).required().describe("Name of the extra claim."),
            valueExpression: expression.required().describe("CEL over the variable claims."),
          }),
          { maxItems: 32 },
        )
        .describe("What else is kept in spec.identity.extraClaims of the login key."),
    })
    .required()
    .describe(
      "What of the claims counts for what. The claims are those of the ID token, and those of the userinfo endpoint that it lacks.",
    ),
  claimValidationRules: s
    .list(
      s.object({
        claim: s.string({ maxLength: 256 }).describe("A claim that must have a value."),
        requiredValue: s.string({ maxLength: 1024 }).describe("The value, compared exactly."),
        expression: expression.describe("CEL over the variable claims, which must be true. Instead of claim."),
        message: s.string({ maxLength: 256 }).describe("What the rule asks for, for people who are refused."),
      }),
      { maxItems: 16 },
    )
    .describe("What must hold of the claims, at sign-in and at every refresh."),
  allowedGroups: s
    .list(s.string({ minLength: 1, maxLength: 256 }), { maxItems: 100 })
    .describe("Only members of these groups may sign in, as claimMappings.groups maps them. If unset, everyone may."),
  teams: s
    .list(s.string({ minLength: 1, maxLength: 253 }), { maxItems: 32 })
    .describe("Teams that users join when they are created at their first sign-in."),
  createUsers: s
    .boolean()
    .describe("Whether users are created at their first sign-in. If unset, only existing users can sign in."),
  linkUsers: s
    .boolean()
    .describe(
      "True: who has the username of a user without an identity of this provider becomes that user at the first sign-in. Only for providers where nobody chooses their username.",
    ),
  sessionTTL: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe(`TTL of a session in seconds, whether or not it is used. Defaults to ${DEFAULT_SESSION_SECONDS}.`),
  inactivityTTL: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe("Seconds after which an unused session expires. Defaults to sessionTTL."),
  refreshInterval: s
    .int32({ minimum: 10, maximum: 86_400 })
    .describe(
      `Interval in seconds at which the server refreshes a session that has a refresh token. Defaults to ${DEFAULT_REFRESH_SECONDS}.`,
    ),
  staleAfter: s
    .int32({ minimum: 60, maximum: MAX_SESSION_SECONDS })
    .describe(
      `Seconds after which a session expires when the provider cannot be reached. Defaults to ${DEFAULT_STALE_SECONDS}. Sessions without a refresh token last for sessionTTL.`,
    ),
});

export const identityProviderFields = s
  .object({
    spec: spec.required().describe("Who the provider is, and whom it signs in as what."),
    status: s
      .object({
        conditions: conditionsField,
        redirectURI: s.string().describe("The redirect URI that the client needs at the provider."),
        backChannelLogoutURI: s.string().describe("The back-channel logout URI of the client at the provider."),
      })
      .describe("What the server knows of the provider. Read-only."),
  })
  .describe("Signs people in: an OpenID Connect provider.");

export type IdentityProvider = KindOf<typeof identityProviderFields>;
export type IdentityProviderSpec = Infer<typeof spec>;
export const identityProviderSchema = kindSchema(identityProviderFields.schema);
